'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import type { ProblemDocument } from '#lib/client/request.ts'
import { Button } from './button.tsx'
import { MoreButton } from './more-button.tsx'
import { ProblemAlert } from './problem-alert.tsx'
import type { ShownColumn } from './table-column.ts'
import { TableGrid, type TableRows } from './table-grid.tsx'
import { type ServerSort, useTableOrder } from './table-order.tsx'
import { useTableView } from './table-view.ts'
import { ViewMenu } from './view-menu.tsx'

export type { ShownColumn } from './table-column.ts'

/** The part of a `useApiInfiniteQuery` result that a table needs. */
interface ListPages {
  rows: readonly unknown[]
  total: number | undefined
  hasMore: boolean
  isLoading: boolean
  isLoadingMore: boolean
  more: () => void
  problem: ProblemDocument | undefined
  again: () => void
}
interface DataTableProps<Row> extends TableRows<Row> {
  columns: readonly ShownColumn<Row>[]
  /**
   * A unique name in kebab case. With it, the reader can sort by columns that have a `value`, choose columns and density (remembered in the
   * browser), and export what is shown. The address holds the order in `sort`.
   */
  name?: string
  /** The parameter for the order, where a page has several tables. */
  sortParameter?: string
  /** Without it, sorting applies to the loaded rows. */
  serverSort?: ServerSort
  /** Filters above the table: a `FilterBar`. It stays visible when no row matches. */
  toolbar?: ReactNode
  /** The result of `useApiInfiniteQuery`: adds the loading and error states and the button for more rows. */
  pages?: ListPages
  /** An `EmptyState`, shown when there are no rows. */
  empty?: ReactNode
  /** A `BulkBar`. */
  bulk?: ReactNode
}

function Failed({ problem, again }: { problem: ProblemDocument; again: () => void }) {
  const t = useTranslations('common')
  return (
    <div className="grid justify-items-start gap-3">
      <ProblemAlert problem={problem} />
      <Button tone="plain" size="small" onClick={again}>
        {t('again')}
      </Button>
    </div>
  )
}

/** A table; on a phone each row becomes a block with the same facts in the same order. */
export function DataTable<Row>({
  columns,
  name,
  sortParameter = 'sort',
  serverSort,
  toolbar,
  pages,
  empty,
  bulk,
  ...table
}: DataTableProps<Row>) {
  const t = useTranslations('common.table')
  const [view, setView] = useTableView(name)
  const { rowKey } = table
  const { rows, engine, isSortedHere, ...sorting } = useTableOrder({
    columns,
    rows: table.rows,
    rowKey,
    serverSort,
    isNamed: name !== undefined,
    parameter: sortParameter,
  })
  const visible = columns.filter(
    ({ key, main, isHiddenAtFirst = false }) => main || isHiddenAtFirst === view.toggled.includes(key),
  )
  const isLoading = pages?.isLoading ?? false
  const failure = rows.length === 0 ? pages?.problem : undefined
  const isEmpty = !isLoading && !failure && rows.length === 0 && empty !== undefined
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-3">
      {engine}
      {(toolbar || name !== undefined) && (
        <div className="flex flex-wrap items-end justify-between gap-3">
          <div className="min-w-[min(100%,16rem)] flex-1">{toolbar}</div>
          {name !== undefined && !isEmpty && (
            <ViewMenu name={name} columns={columns} shown={{ columns: visible, rows }} view={view} onView={setView} />
          )}
        </div>
      )}
      {failure && pages && <Failed problem={failure} again={pages.again} />}
      {isEmpty && empty}
      {!isEmpty && !failure && (
        <TableGrid {...table} {...sorting} rows={rows} columns={visible} density={view.density} isLoading={isLoading} />
      )}
      {isSortedHere && pages?.hasMore && (
        <p role="status" className="text-sm text-quiet">
          {t('partlySorted', { count: rows.length })}
        </p>
      )}
      {pages && !failure && rows.length > 0 && <MoreButton pages={pages} />}
      {bulk}
    </div>
  )
}
