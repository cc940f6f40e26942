'use client'

import { useNow } from 'next-intl'
import { useEffect, useState } from 'react'

/** The current time, updated every `every` milliseconds. `useNow` starts with the time at which the server rendered the page. */
export function useCurrentTime(every: number): Date {
  const [now, setNow] = useState(useNow())
  useEffect(() => {
    const tick = () => setNow(new Date())
    tick()
    const timer = setInterval(tick, every)
    return () => clearInterval(timer)
  }, [every])
  return now
}
