'use client'

import { type RefObject, useEffect, useState } from 'react'

/** Whether the child of the element is wider than the element. True until it has been measured. */
export function useIsOverflowing(place: RefObject<HTMLElement | null>): boolean {
  const [isOverflowing, setIsOverflowing] = useState(true)
  useEffect(() => {
    const outer = place.current
    const inner = outer?.firstElementChild
    if (!outer || !inner) return
    const observer = new ResizeObserver(() => setIsOverflowing(inner.scrollWidth > outer.clientWidth + 1))
    observer.observe(outer)
    observer.observe(inner)
    return () => observer.disconnect()
  }, [place])
  return isOverflowing
}
