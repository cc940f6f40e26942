'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useKeys } from './keys.ts'

/** Gives the row the focus: its link where the row leads there, else itself. */
function focusRow(index: number): void {
  const row = document.querySelector<HTMLElement>(`[data-row="${index}"]`)
  if (!row) return
  row.scrollIntoView({ block: 'nearest' })
  // A drawer that follows the row at hand keeps the focus within.
  if (document.querySelector('[role=dialog]')) return
  const link = row.hasAttribute('data-opens') ? row.querySelector<HTMLElement>('th a[href]') : null
  if (!link && !row.hasAttribute('tabindex')) row.tabIndex = -1
  const target = link ?? row
  target.focus({ preventScroll: true })
}

/** Goes where the row leads, as a click on its link does. */
const followRow = (index: number): void =>
  document.querySelector<HTMLElement>(`[data-row="${index}"][data-opens] th a[href]`)?.click()

/**
 * Moves over the rows of a list by j and k, and the focus with it; opens one by Enter, and goes to its filter by `/`. Gives the row that
 * is at hand; -1: none. What opens is where the row leads, unless `onOpen` says otherwise; null: nothing does.
 */
export function useRowKeys({
  count,
  onOpen = followRow,
}: {
  count: number
  onOpen?: ((index: number) => void) | null
}) {
  const t = useTranslations('common.keys')
  const [cursor, setCursor] = useState(-1)
  const at = Math.min(cursor, count - 1)
  // Where it is now: keys may come faster than the page is drawn.
  const latest = useRef(at)
  const isMoved = useRef(false)
  useLayoutEffect(() => {
    latest.current = at
  }, [at])
  useEffect(() => {
    // Moved by a key, and not by rows that went while somebody types elsewhere.
    if (at >= 0 && isMoved.current) focusRow(at)
    isMoved.current = false
  }, [at])
  const move = (by: number) => {
    const to = Math.min(Math.max(latest.current + by, 0), count - 1)
    if (to === latest.current) return
    latest.current = to
    isMoved.current = true
    setCursor(to)
  }
  useKeys([
    { key: 'j', label: t('next'), run: () => move(1) },
    { key: 'k', label: t('previous'), run: () => move(-1) },
    ...(onOpen ? [{ key: 'Enter', label: t('open'), run: () => latest.current >= 0 && onOpen(latest.current) }] : []),
    {
      key: '/',
      label: t('filter'),
      run: () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
    },
  ])
  return { cursor: at, setCursor }
}
