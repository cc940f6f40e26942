'use client'

import { usePathname, useRouter, useSearchParams } from 'next/navigation'
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { type QueryChange, type QueryParsers, queryText, readQuery, writeQuery } from './query-parsers.ts'

export interface QueryOptions {
  /** Whether the change is a step that the back button undoes; by default it is not. */
  history?: 'push' | 'replace'
  /** Whether only the browser needs the change; by default it does. Otherwise the server renders the page again. */
  shallow?: boolean
  /** Tracks whether the server still renders. */
  startTransition?: (render: () => void) => void
}

/** Milliseconds between two changes of the address. Browsers reject many changes in a short time. */
const pause = 60

/** A query that was chosen here, but that the router may not have rendered yet. */
interface PendingQuery {
  path: string
  text: string
  /** Earlier queries since the router last had the current one: it still renders one of these. */
  earlier: readonly string[]
}
let pending: PendingQuery | undefined
const listeners = new Set<() => void>()
function setPending(next: PendingQuery | undefined): void {
  pending = next
  for (const listener of listeners) listener()
}
function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
const pendingNow = () => pending
const pendingOnServer = () => undefined

/** The change of the address that waits for the pause, with the options of all changes that it contains. */
let planned:
  | { path: string; isPush: boolean; renders: (() => void)[]; timer: ReturnType<typeof setTimeout> }
  | undefined
let lastWrite = 0

function writeAddress(): void {
  const plan = planned
  planned = undefined
  if (!plan || !pending) return
  // A navigation came first.
  if (plan.path !== location.pathname) {
    setPending(undefined)
    return
  }
  lastWrite = Date.now()
  const search = queryText(new URLSearchParams(pending.text))
  const url = `${location.pathname}${search === '' ? '' : `?${search}`}${location.hash}`
  if (plan.isPush) history.pushState(null, '', url)
  else history.replaceState(null, '', url)
  for (const render of plan.renders) render()
}

function change(
  text: string,
  { history: mode, startTransition }: QueryOptions,
  refresh: (() => void) | undefined,
): void {
  const current = new URLSearchParams(location.search).toString()
  const path = location.pathname
  const earlier = pending?.path === path ? [...pending.earlier, pending.text, current] : [current]
  setPending({ path, text, earlier })
  const render = refresh && (() => (startTransition ?? ((run: () => void) => run()))(refresh))
  planned = {
    path,
    isPush: (planned?.isPush ?? false) || mode === 'push',
    renders: [...(planned?.renders ?? []), ...(render ? [render] : [])],
    timer: planned?.timer ?? setTimeout(writeAddress, Math.max(0, lastWrite + pause - Date.now())),
  }
}

/** The current query: the pending one until the router has it. */
function useQueryText(): string {
  const text = useSearchParams().toString()
  const path = usePathname()
  const own = useSyncExternalStore(subscribe, pendingNow, pendingOnServer)
  const isHere = own?.path === path
  const isBehind = isHere && own.text !== text && own.earlier.includes(text)
  useEffect(() => {
    if (own && pending === own && (!isHere || (!isBehind && planned === undefined))) setPending(undefined)
  }, [own, isHere, isBehind])
  return isBehind ? own.text : text
}

/**
 * Values in the query of the address, and a function that changes some of them. A change is visible immediately; the address follows.
 * The parsers and options of the first render remain.
 */
export function useQueryStates<P extends QueryParsers>(parsers: P, options: QueryOptions = {}) {
  const [own] = useState(parsers)
  const [usual] = useState(options)
  const router = useRouter()
  const text = useQueryText()
  const values = useMemo(() => readQuery(own, new URLSearchParams(text)), [own, text])
  const set = useCallback(
    (changed: QueryChange<P>, more: QueryOptions = {}) => {
      const all = { ...usual, ...more }
      const isPending = pending?.path === location.pathname
      const before = isPending && pending ? pending.text : new URLSearchParams(location.search).toString()
      const next = writeQuery(own, new URLSearchParams(before), changed).toString()
      const refresh = () => router.replace(`${location.pathname}${location.search}${location.hash}`, { scroll: false })
      if (next !== before) change(next, all, all.shallow === false ? refresh : undefined)
    },
    [own, usual, router],
  )
  return [values, set] as const
}

const anyText: QueryParsers[string] = { parse: (text) => text, fallback: null }

/** One value in the query of the address, like {@link useQueryStates}. */
export function useQueryState(name: string, options: QueryOptions = {}) {
  const [own] = useState({ [name]: anyText })
  const [values, set] = useQueryStates(own, options)
  const setOne = useCallback((value: string | null, more?: QueryOptions) => set({ [name]: value }, more), [name, set])
  return [values[name] ?? null, setOne] as const
}
