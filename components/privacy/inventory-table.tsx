'use client'

import { useFormatter, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useQueryState } from '#components/frame/query-state.ts'
import { Button } from '#components/ui/button.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import { CategoryDrawer, type InventoryRow } from './category-drawer.tsx'

interface InventoryTableProps {
  label: string
  rows: readonly InventoryRow[]
  /** See `DataTable`. */
  name?: string
  empty?: ReactNode
}

/** Categories of personal data; each opens a drawer with its purpose, legal basis and location. */
export function InventoryTable({ label, rows, name, empty }: InventoryTableProps) {
  const t = useTranslations('inventory')
  const format = useFormatter()
  const [open, setOpen] = useQueryState('category')
  const shown = rows.find(({ key }) => key === open)
  const columns: ShownColumn<InventoryRow>[] = [
    {
      key: 'what',
      title: t('columns.what'),
      main: true,
      value: ({ what }) => what,
      cell: ({ key, what }) => (
        <Button
          tone="accent"
          aria-label={t('details', { what })}
          onClick={() => void setOpen(key)}
          className="min-h-6! px-0! py-0! text-left whitespace-normal! hover:bg-transparent! hover:underline"
        >
          {what}
        </Button>
      ),
    },
    {
      key: 'records',
      title: t('columns.records'),
      numeric: true,
      value: ({ records }) => records,
      cell: ({ records }) => (records === null ? t('uncounted') : format.number(records)),
    },
    { key: 'store', title: t('columns.store'), value: ({ store }) => store, cell: ({ store }) => store },
    {
      key: 'since',
      title: t('columns.since'),
      isHiddenAtFirst: true,
      value: ({ since }) => since,
      cell: ({ since }) => (since === null ? <span className="text-quiet">–</span> : <Time at={since} isDay />),
    },
    {
      key: 'until',
      title: t('columns.until'),
      minWidth: 'long',
      isHiddenAtFirst: true,
      value: ({ term }) => term,
    },
    {
      key: 'last',
      title: t('facts.last'),
      value: ({ until }) => until,
      cell: ({ until }) => (until === null ? <span className="text-quiet">–</span> : <Time at={until} isDay />),
    },
  ]
  return (
    <>
      <DataTable
        {...{ label, rows, columns, empty }}
        {...(name !== undefined && { name })}
        rowKey={({ key }) => key}
        onOpen={({ key }) => void setOpen(key)}
      />
      <CategoryDrawer row={shown} onClose={() => void setOpen(null)} />
    </>
  )
}
