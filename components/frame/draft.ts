'use client'

import { useCallback, useEffect, useRef, useState } from 'react'

const prefix = 'draft:'
function stored<T>(key: string): T | undefined {
  try {
    const text = sessionStorage.getItem(prefix + key)
    return text === null ? undefined : JSON.parse(text)
  } catch {
    return undefined // Storage is disabled, or another version wrote the draft.
  }
}

/** On sign-out: deletes all typed text from this tab. */
export function forgetDrafts(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key)
  } catch {
    // Disabled storage contains nothing.
  }
}

const owner = 'draft-of'
/** Deletes the drafts of another account in this tab. The same account keeps its drafts. */
export function claimDrafts(accountId: string): void {
  try {
    const before = sessionStorage.getItem(owner)
    if (before !== null && before !== accountId) forgetDrafts()
    sessionStorage.setItem(owner, accountId)
  } catch {
    // Storage is disabled: no drafts exist.
  }
}

/**
 * A form draft that is stored in this browser tab. It survives a reload, an ended session and a lost connection. Never use it for passwords
 * or keys. Call `clear` after sending. `isRestored`: the form shows an earlier draft.
 */
export function useDraft<T extends Record<string, unknown>>(key: string, initial: T) {
  const [draft, setDraft] = useState(initial)
  const [isRestored, setRestored] = useState(false)
  const isTouched = useRef(false)
  const first = useRef(initial)
  // After the first render: the server has no draft, and hydration needs equal output.
  useEffect(() => {
    const kept = stored<Partial<T>>(key)
    if (kept) setDraft({ ...first.current, ...kept })
    setRestored(kept !== undefined)
  }, [key])
  useEffect(() => {
    if (!isTouched.current) return
    try {
      sessionStorage.setItem(prefix + key, JSON.stringify(draft))
    } catch {
      // Storage is full or disabled: the form works without it.
    }
  }, [key, draft])
  const change = useCallback((changes: Partial<T>) => {
    isTouched.current = true
    setDraft((before) => ({ ...before, ...changes }))
  }, [])
  const clear = useCallback(() => {
    isTouched.current = false
    try {
      sessionStorage.removeItem(prefix + key)
    } catch {
      // Storage is disabled: there is nothing to remove.
    }
    setDraft(first.current)
    setRestored(false)
  }, [key])
  return { draft, change, clear, isRestored }
}
