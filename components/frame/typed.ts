'use client'

import { useEffect, useState } from 'react'

/** Follows what is typed a little later: each letter is no question of its own. In milliseconds. */
const later = 250

/** Text that is typed and passed on once it stands; it follows the address when that changes by another way. */
export function useTyped(value: string, pass: (text: string) => void) {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => pass(typed), later)
    return () => clearTimeout(timer)
  }, [typed, value, pass])
  return { typed, setTyped }
}
