'use client'

import type { ComponentProps, ReactNode } from 'react'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { useRowKeys } from './row-keys.ts'

interface ListTableProps<Row> {
  /** See `DataTable`. */
  name: string
  label: string
  /** The result of `useApiInfiniteQuery`. */
  list: NonNullable<ComponentProps<typeof DataTable<Row>>['pages']> & { rows: readonly Row[] }
  columns: readonly ShownColumn<Row>[]
  rowKey: (row: Row) => string
  /** The page of a row. Without it, a row opens nothing. */
  open?: (row: Row) => string
  /** The title of the empty state. */
  none: string
  /** What the list is for, in the empty state. */
  children: ReactNode
}

/** A list without filters: a table with its pages, keyboard navigation and empty state. */
export function ListTable<Row>({ list, open, none, children, ...table }: ListTableProps<Row>) {
  const { cursor } = useRowKeys({ count: list.rows.length, ...(!open && { onOpen: null }) })
  return (
    <DataTable
      {...table}
      rows={list.rows}
      pages={list}
      cursor={cursor}
      {...(open && { open })}
      empty={
        <EmptyState title={none}>
          <p>{children}</p>
        </EmptyState>
      }
    />
  )
}
