'use client'

import { useEffect, useState } from 'react'

/** Milliseconds until a failed load is tried again. */
const pause = 2_000

/**
 * Loads code when it is first needed, so that no page waits for parts that are closed. A failed load throws nothing, which keeps typed
 * text; it is tried again while the code is wanted.
 */
export function useLoaded<T extends object>(load: () => Promise<T>, isWanted: boolean): T | undefined {
  const [loaded, setLoaded] = useState<T>()
  useEffect(() => {
    if (!isWanted || loaded) return
    let isCurrent = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const begin = () =>
      load().then(
        (found) => {
          if (isCurrent) setLoaded(found)
        },
        () => {
          if (isCurrent) timer = setTimeout(begin, pause)
        },
      )
    void begin()
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [isWanted, loaded, load])
  return loaded
}
