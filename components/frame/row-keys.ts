'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useKeys } from './keys.ts'

/** Focuses the link of the row if the row opens a page, otherwise the row. */
function focusRow(index: number): void {
  const row = document.querySelector<HTMLElement>(`[data-row="${index}"]`)
  if (!row) return
  row.scrollIntoView({ block: 'nearest' })
  // A drawer that follows the current row keeps the focus.
  if (document.querySelector('[role=dialog]')) return
  const link = row.hasAttribute('data-opens') ? row.querySelector<HTMLElement>('th a[href]') : null
  if (!link && !row.hasAttribute('tabindex')) row.tabIndex = -1
  const target = link ?? row
  target.focus({ preventScroll: true })
}

/** Opens the page or the drawer of the row, like a click on it. */
function followRow(index: number): void {
  const row = document.querySelector<HTMLElement>(`[data-row="${index}"][data-opens]`)
  const target = row?.querySelector<HTMLElement>('th a[href]') ?? row
  target?.click()
}

/**
 * Keyboard navigation for a list: j and k move the current row and the focus, Enter opens it, `/` focuses the filter. Returns the index of
 * the current row, or -1. Enter follows the link of the row unless `onOpen` replaces it; null disables Enter.
 */
export function useRowKeys({
  count,
  onOpen = followRow,
  openLabel,
}: {
  count: number
  onOpen?: ((index: number) => void) | null
  /** What Enter does, for the help; needed where it does not open the row. */
  openLabel?: string
}) {
  const t = useTranslations('common.keys')
  const [cursor, setCursor] = useState(-1)
  const at = Math.min(cursor, count - 1)
  // The latest index: keys may arrive faster than renders.
  const latest = useRef(at)
  const isMoved = useRef(false)
  useLayoutEffect(() => {
    latest.current = at
  }, [at])
  useEffect(() => {
    // Only after a key press, not when rows disappear while the user types elsewhere.
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
    ...(onOpen
      ? [{ key: 'Enter', label: openLabel ?? t('open'), run: () => latest.current >= 0 && onOpen(latest.current) }]
      : []),
    {
      key: '/',
      label: t('filter'),
      run: () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
    },
  ])
  return { cursor: at, setCursor }
}
