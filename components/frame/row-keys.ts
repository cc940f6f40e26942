'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { useKeys } from './keys.ts'

/** Moves over the rows of a list by j and k, opens one by Enter, and goes to its filter by `/`. Gives the row that is at hand; -1: none. */
export function useRowKeys({ count, onOpen }: { count: number; onOpen?: (index: number) => void }) {
  const t = useTranslations('common.keys')
  const [cursor, setCursor] = useState(-1)
  const at = Math.min(cursor, count - 1)
  useEffect(() => {
    if (at >= 0) document.querySelector(`[data-row="${at}"]`)?.scrollIntoView({ block: 'nearest' })
  }, [at])
  useKeys([
    { key: 'j', label: t('next'), run: () => setCursor(Math.min(at + 1, count - 1)) },
    { key: 'k', label: t('previous'), run: () => setCursor(Math.max(at - 1, 0)) },
    ...(onOpen ? [{ key: 'Enter', label: t('open'), run: () => at >= 0 && onOpen(at) }] : []),
    {
      key: '/',
      label: t('filter'),
      run: () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
    },
  ])
  return { cursor: at, setCursor }
}
