'use client'

import { useCallback, useEffect, useRef, useState } from 'react'
import { Vault } from './vault.ts'
import type { Opening } from './vault-protocol.ts'
import { idleFor, isIdle } from './vault-rules.ts'

const signs = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const
const lookEvery = 15_000

export type OpenVault = ReturnType<typeof useVault>

/** The lock of the grimoire: it opens with a new or unlocked key and locks on request, on leaving the page, or after 15 idle minutes. */
export function useVault() {
  const vault = useRef<Vault>(undefined)
  /** How it was opened; undefined while it is locked. */
  const [openBy, setOpenBy] = useState<Opening['by']>()
  const [wasIdle, setWasIdle] = useState(false)
  const isOpen = openBy !== undefined

  const ask = useCallback<Vault['ask']>((name, asks) => {
    vault.current ??= new Vault()
    return vault.current.ask(name, asks)
  }, [])
  const lock = useCallback((byItself = false) => {
    vault.current?.lock()
    setOpenBy(undefined)
    setWasIdle(byItself)
  }, [])
  const opened = useCallback((by: Opening['by']) => {
    setWasIdle(false)
    setOpenBy(by)
  }, [])

  useEffect(() => {
    const leave = () => lock()
    // Also lock pages that enter the back/forward cache.
    window.addEventListener('pagehide', leave)
    return () => {
      window.removeEventListener('pagehide', leave)
      vault.current?.lock()
    }
  }, [lock])
  useEffect(() => {
    if (!isOpen) return
    let last = Date.now()
    const look = () => {
      if (isIdle(last, Date.now())) lock(true)
    }
    const note = () => {
      look()
      last = Date.now()
    }
    const timer = setInterval(look, Math.min(lookEvery, idleFor))
    // Timers do not run while the machine sleeps: check when the page becomes visible, and before an event counts as activity.
    document.addEventListener('visibilitychange', look)
    for (const sign of signs) window.addEventListener(sign, note, { passive: true, capture: true })
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
      for (const sign of signs) window.removeEventListener(sign, note, { capture: true })
    }
  }, [isOpen, lock])

  return { isOpen, openBy, wasIdle, ask, lock, opened }
}
