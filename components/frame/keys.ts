'use client'

import { useLayoutEffect, useRef, useSyncExternalStore } from 'react'

export interface KeyAction {
  /** The `key` of a keyboard event (`j`, `Enter`, `/`), or a sequence of two (`g r`). */
  key: string
  /** The description in the help. */
  label: string
  run: () => void
}

// All registered shortcuts, in the order in which the help lists them. Shortcuts of the page come after those of the frame and override
// them.
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

/** All shortcuts that are active on this page, for the help. */
export const useRegisteredKeys = (): readonly (readonly KeyAction[])[] =>
  useSyncExternalStore(
    watch,
    () => registered,
    () => none,
  )

/** Runs the action of a shortcut, for buttons and menus. */
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
    return areOnHere // Storage is disabled: the choice lasts only until the page is left.
  }
}
let areOnHere = true
/** Turns single-character shortcuts on or off in this browser. */
export function switchKeys(on: boolean): void {
  areOnHere = on
  try {
    if (on) localStorage.removeItem(switchedOff)
    else localStorage.setItem(switchedOff, '')
  } catch {
    // Storage is disabled: `areOnHere` holds the choice.
  }
  for (const watcher of watchers) watcher()
}
/** Whether single-character shortcuts are on. WCAG 2.1.4 requires a way to turn them off, for speech input and unsteady hands. */
export const useAreKeysOn = (): boolean => useSyncExternalStore(watch, areOn, () => true)

/** Whether the focused element uses the key: a field, an open menu or a dialog. */
function isTaken(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return true
  const at = event.target instanceof Element ? event.target : null
  if (at?.closest('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], [role=menu]'))
    return true
  const dialog = document.querySelector('[role=dialog]:not([data-keys])')
  if (dialog) return true
  // Buttons and links handle Enter and Space.
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

/**
 * Registers shortcuts while the component is visible. They are inactive in fields and while a dialog is open.
 * All effects are layout effects. Passive effects run after the browser shows the page: a key pressed before that would be lost, or would act
 * on the component that was replaced. They also remain while React hides a component that waits for its data.
 */
export function useKeys(actions: readonly KeyAction[]): void {
  const current = useRef(actions)
  useLayoutEffect(() => {
    current.current = actions
  })
  const signature = actions.map(({ key, label }) => `${key}\u0000${label}`).join('\u0001')
  useLayoutEffect(() => {
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
