'use client'

import { useCallback, useSyncExternalStore } from 'react'

export type TableDensity = 'comfortable' | 'compact'
/** How a reader wants to see a table. Stored in the browser by the name of the table. */
export interface TableView {
  /** Keys of the columns that are shown although hidden at first, or hidden although shown at first. */
  toggled: readonly string[]
  density: TableDensity
}
const standard: TableView = { toggled: [], density: 'comfortable' }
const known = new Map<string, TableView>()
const watchers = new Set<() => void>()
const keyOf = (name: string) => `table:${name}`

function stored(name: string): TableView {
  const before = known.get(name)
  if (before) return before
  let view = standard
  try {
    const found: Partial<TableView> = JSON.parse(localStorage.getItem(keyOf(name)) ?? '{}')
    view = {
      toggled: Array.isArray(found.toggled) ? found.toggled.filter((key) => typeof key === 'string') : [],
      density: found.density === 'compact' ? 'compact' : 'comfortable',
    }
  } catch {
    // Storage is disabled, or another version wrote the view: the standard view applies.
  }
  known.set(name, view)
  return view
}

const watch = (watcher: () => void) => {
  watchers.add(watcher)
  return () => {
    watchers.delete(watcher)
  }
}

/** The view of the table with this name, and a function that changes and stores it. */
export function useTableView(name: string | undefined): [TableView, (changes: Partial<TableView>) => void] {
  const view = useSyncExternalStore(
    watch,
    () => (name === undefined ? standard : stored(name)),
    () => standard,
  )
  const change = useCallback(
    (changes: Partial<TableView>) => {
      if (name === undefined) return
      const next = { ...stored(name), ...changes }
      known.set(name, next)
      try {
        localStorage.setItem(keyOf(name), JSON.stringify(next))
      } catch {
        // Storage is full or disabled: the view lasts until the page is closed.
      }
      for (const watcher of watchers) watcher()
    },
    [name],
  )
  return [view, change]
}
