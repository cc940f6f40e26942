'use client'

import { useRouter } from 'next/navigation'
import { useEffect, useEffectEvent, useRef } from 'react'

/** While it is active the browser asks before the page is left or loaded anew: what is on it cannot be shown again. */
export function useLeaveWarning(isActive: boolean): void {
  useEffect(() => {
    if (!isActive) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [isActive])
}

/**
 * While it is active, Back does not leave the page, but asks `onBack`; false: stay where you are. An entry of its own in the history stands
 * in between, of the same address, so that the router finds nothing to draw anew. Gives what takes that entry out again, for who leaves by
 * another way.
 */
export function useBackStop(isActive: boolean, onBack: () => boolean): () => void {
  const router = useRouter()
  const isBetween = useRef(false)
  const asked = useEffectEvent(onBack)
  useEffect(() => {
    if (!isActive) return
    const stop = () => {
      if (isBetween.current) return
      // With the router's own state: it takes the entry for one of its own.
      window.history.pushState(window.history.state, '', window.location.href)
      isBetween.current = true
    }
    const wentBack = () => {
      if (!isBetween.current) return
      isBetween.current = false
      if (!asked()) stop()
    }
    stop()
    window.addEventListener('popstate', wentBack)
    return () => window.removeEventListener('popstate', wentBack)
  }, [isActive])
  return () => {
    if (!isBetween.current) return
    isBetween.current = false
    // Going back makes the router drop what it is asking for: it asks once more.
    window.addEventListener('popstate', () => router.refresh(), { once: true })
    window.history.back()
  }
}
