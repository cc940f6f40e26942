'use client'

import { useCallback, useEffect, useRef, useState } from 'react'

const prefix = 'draft:'
function stored<T>(key: string): T | undefined {
  try {
    const text = sessionStorage.getItem(prefix + key)
    return text === null ? undefined : JSON.parse(text)
  } catch {
    return undefined // storage that is switched off, or another version's draft
  }
}

/** For who leaves: nothing of what was typed stays in the tab. */
export function forgetDrafts(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key)
  } catch {
    // storage that is switched off has nothing
  }
}

const owner = 'draft-of'
/** Drafts are whose they are: what another account typed in this tab goes when this one comes. The same one finds them again. */
export function claimDrafts(accountId: string): void {
  try {
    const before = sessionStorage.getItem(owner)
    if (before !== null && before !== accountId) forgetDrafts()
    sessionStorage.setItem(owner, accountId)
  } catch {
    // as above
  }
}

/**
 * What is typed into a form, kept in this browser tab: it survives a reload, a session that ended and a lost connection. Not for passwords
 * and keys. `clear` when it is sent.
 */
export function useDraft<T extends Record<string, unknown>>(key: string, initial: T) {
  const [draft, setDraft] = useState(initial)
  const isTouched = useRef(false)
  const first = useRef(initial)
  // After the first drawing: the server knows no draft, and both have to draw the same.
  useEffect(() => {
    const kept = stored<Partial<T>>(key)
    if (kept) setDraft({ ...first.current, ...kept })
  }, [key])
  useEffect(() => {
    if (!isTouched.current) return
    try {
      sessionStorage.setItem(prefix + key, JSON.stringify(draft))
    } catch {
      // full or switched off: the form works on without
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
      // as above
    }
    setDraft(first.current)
  }, [key])
  return { draft, change, clear }
}
