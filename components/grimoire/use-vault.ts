'use client'

import { useCallback, useEffect, useRef, useState } from 'react'
import { Vault } from './vault.ts'
import type { Opening } from './vault-protocol.ts'
import { idleFor, isIdle } from './vault-rules.ts'

const signs = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const
const lookEvery = 15_000

export type OpenVault = ReturnType<typeof useVault>

/** The grimoire's lock: open from when a key was made or found until somebody locks it, leaves, or is not at it for 15 minutes. */
export function useVault() {
  const vault = useRef<Vault>(undefined)
  /** By what it is open; undefined: it is locked. */
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
    // Also into the memory of pages that Back brings back.
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
    // A machine that slept has no timers: it is looked at when somebody is back, and before that counts as being there.
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
