'use client'

import { useEffect, useLayoutEffect, useRef, useSyncExternalStore } from 'react'

export interface KeyAction {
  /** As the event names it (`j`, `Enter`, `/`), or two after one another (`g r`). */
  key: string
  /** What it does, for the help. */
  label: string
  run: () => void
}

// Who listens now; the help shows them in this order. The page's own come after the frame's, and win.
let registered: readonly (readonly KeyAction[])[] = []
const watchers = new Set<() => void>()
function change(next: readonly (readonly KeyAction[])[]): void {
  registered = next
  for (const watcher of watchers) watcher()
}
const none: readonly (readonly KeyAction[])[] = []

const watch = (watcher: () => void) => {
  watchers.add(watcher)
  return () => {
    watchers.delete(watcher)
  }
}

/** All keys that work on this page, for the help. */
export const useRegisteredKeys = (): readonly (readonly KeyAction[])[] =>
  useSyncExternalStore(
    watch,
    () => registered,
    () => none,
  )

/** Runs what a key does, for who asks for it by another way. */
export const runKey = (name: string): void =>
  registered
    .flat()
    .findLast(({ key }) => key === name)
    ?.run()

const switchedOff = 'keys-off'
function areOn(): boolean {
  try {
    return localStorage.getItem(switchedOff) === null
  } catch {
    return areOnHere // storage that is switched off keeps no choice beyond this page
  }
}
let areOnHere = true
/** Switches the keys of one character on or off, in this browser. */
export function switchKeys(on: boolean): void {
  areOnHere = on
  try {
    if (on) localStorage.removeItem(switchedOff)
    else localStorage.setItem(switchedOff, '')
  } catch {
    // as above
  }
  for (const watcher of watchers) watcher()
}
/** Whether keys of one character work here (WCAG 2.1.4: whoever speaks to the machine, or trembles, must be able to switch them off). */
export const useAreKeysOn = (): boolean => useSyncExternalStore(watch, areOn, () => true)

/** Whether a key belongs to what has the focus: a field, an open menu or dialog. */
function isTaken(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return true
  const at = event.target instanceof Element ? event.target : null
  if (at?.closest('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], [role=menu]'))
    return true
  const dialog = document.querySelector('[role=dialog]:not([data-keys])')
  if (dialog) return true
  // Enter and space are a button's and a link's own.
  return (event.key === 'Enter' || event.key === ' ') && at?.closest('a, button, summary') != null
}

let waiting: { first: string; until: number } | undefined

function onKey(event: KeyboardEvent): void {
  if (isTaken(event) || (event.key.length === 1 && !areOn())) return
  const now = event.timeStamp
  const typed = waiting && now < waiting.until ? `${waiting.first} ${event.key}` : event.key
  waiting = undefined
  const all = registered.flat()
  const found = all.findLast(({ key }) => key === typed)
  if (found) {
    event.preventDefault()
    found.run()
  } else if (all.some(({ key }) => key.startsWith(`${event.key} `))) waiting = { first: event.key, until: now + 1_500 }
}

/** Makes keys work while the component is there. They are silent in fields, and while a dialog is open. */
export function useKeys(actions: readonly KeyAction[]): void {
  const current = useRef(actions)
  // Before the next key can come: an effect of the quieter kind may run after it.
  useLayoutEffect(() => {
    current.current = actions
  })
  const signature = actions.map(({ key, label }) => `${key}\u0000${label}`).join('\u0001')
  useEffect(() => {
    if (signature === '') return
    const own = signature.split('\u0001').map((line) => {
      const [key = '', label = ''] = line.split('\u0000')
      return { key, label, run: () => current.current.find((action) => action.key === key)?.run() }
    })
    if (registered.length === 0) document.addEventListener('keydown', onKey)
    change([...registered, own])
    return () => {
      change(registered.filter((one) => one !== own))
      if (registered.length === 0) document.removeEventListener('keydown', onKey)
    }
  }, [signature])
}
