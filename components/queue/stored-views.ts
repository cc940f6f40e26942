'use client'

import { useCallback, useSyncExternalStore } from 'react'

export interface SavedView {
  name: string
  /** The filters as in the address, with `?`; empty for none. */
  query: string
}
/** The most views of one admin. */
const most = 30
const none: readonly SavedView[] = []
const keyOf = (owner: string) => `request-views:${owner}`
const watchers = new Set<() => void>()
const known = new Map<string, readonly SavedView[]>()

const isView = (value: unknown): value is SavedView =>
  typeof value === 'object' &&
  value !== null &&
  'name' in value &&
  typeof value.name === 'string' &&
  'query' in value &&
  typeof value.query === 'string' &&
  /^(\?[^#]*)?$/.test(value.query)

/** Parses stored views. Entries of another version are dropped. */
function viewsIn(text: string | null): SavedView[] {
  try {
    const found: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(found) ? found.filter(isView).slice(0, most) : []
  } catch {
    return []
  }
}

function stored(owner: string): readonly SavedView[] {
  const before = known.get(owner)
  if (before) return before
  let views: readonly SavedView[] = none
  try {
    views = viewsIn(localStorage.getItem(keyOf(owner)))
  } catch {
    // Storage is disabled: views last until the page is closed.
  }
  known.set(owner, views)
  return views
}

function change(owner: string, views: readonly SavedView[]): void {
  known.set(owner, views)
  try {
    localStorage.setItem(keyOf(owner), JSON.stringify(views))
  } catch {
    // Storage is full or disabled: views last until the page is closed.
  }
  for (const watcher of watchers) watcher()
}

const watch = (watcher: () => void) => {
  watchers.add(watcher)
  return () => {
    watchers.delete(watcher)
  }
}

/** The saved views of an admin. A view with the same name is replaced. */
export function useSavedViews(owner: string) {
  const views = useSyncExternalStore(
    watch,
    () => stored(owner),
    () => none,
  )
  const save = useCallback(
    (view: SavedView) =>
      change(owner, [view, ...stored(owner).filter(({ name }) => name !== view.name)].slice(0, most)),
    [owner],
  )
  const remove = useCallback(
    (name: string) =>
      change(
        owner,
        stored(owner).filter((view) => view.name !== name),
      ),
    [owner],
  )
  return { views, save, remove }
}
