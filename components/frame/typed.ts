'use client'

import { useEffect, useState } from 'react'

/** Milliseconds between the last key press and the query. */
const later = 250

/** A text field whose value is passed on after a pause in typing. It follows `value` when the address changes for another reason. */
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

/** The value once it has not changed for this number of milliseconds, by default a pause in typing. */
export function useSettled<T>(value: T, milliseconds = later): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds)
    return () => clearTimeout(timer)
  }, [value, milliseconds])
  return settled
}
