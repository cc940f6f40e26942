'use client'

import { useEffect, useState } from 'react'

/**
 * Loads code when it is first needed, so that no page waits for parts that are closed. A failed load throws nothing, which keeps typed
 * text; the next request tries again.
 */
export function useLoaded<T extends object>(load: () => Promise<T>, isWanted: boolean): T | undefined {
  const [loaded, setLoaded] = useState<T>()
  useEffect(() => {
    if (!isWanted || loaded) return
    let isCurrent = true
    load().then(
      (found) => isCurrent && setLoaded(found),
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [isWanted, loaded, load])
  return loaded
}
