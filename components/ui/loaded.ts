'use client'

import { useEffect, useState } from 'react'

/**
 * Code that is fetched when it is first wanted: no page waits for what nobody opened yet. When no answer comes nothing is thrown, so that
 * what is typed on the page stays; the next time that it is wanted it is tried again.
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
