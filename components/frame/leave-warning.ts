'use client'

import { useRouter } from 'next/navigation'
import { useEffect, useEffectEvent, useRef } from 'react'

/** While active, the browser asks for confirmation before it leaves or reloads the page, whose content or work would be lost. */
export function useLeaveWarning(isActive: boolean): void {
  useEffect(() => {
    if (!isActive) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [isActive])
}

/**
 * While active, Back calls `onBack` instead of leaving the page; false stays on the page. It works with an extra history entry of the same
 * address, so the router does not render again. Returns a function that removes this entry, for leaving the page in another way.
 */
export function useBackStop(isActive: boolean, onBack: () => boolean): () => void {
  const router = useRouter()
  const isBetween = useRef(false)
  const asked = useEffectEvent(onBack)
  useEffect(() => {
    if (!isActive) return
    const stop = () => {
      if (isBetween.current) return
      // The router accepts only history entries with its own state, so the new entry keeps that state.
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
    // Going back makes the router abort its refresh: request it again.
    window.addEventListener('popstate', () => router.refresh(), { once: true })
    window.history.back()
  }
}
