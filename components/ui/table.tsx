'use client'

import { clsx } from 'clsx'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useQueryState } from 'nuqs'
import { type MouseEvent, type ReactNode, useRef, useState } from 'react'
import type { ProblemDocument } from '#lib/client/request.ts'
import { Button } from './button.tsx'
import { useLoaded } from './loaded.ts'
import { MoreButton } from './more-button.tsx'
import { useIsOverflowing } from './overflow.ts'
import { ProblemAlert } from './problem-alert.tsx'
import type { Selection } from './selection.ts'
import { Skeleton } from './skeleton.tsx'
import { type ShownColumn, type SortOrder, sortKeyOf } from './table-column.ts'
import { TableHead } from './table-head.tsx'
import { TableRow } from './table-row.tsx'
import { useTableView } from './table-view.ts'
import { ViewMenu } from './view-menu.tsx'

export type { ShownColumn } from './table-column.ts'

const engine = () => import('./table-engine.tsx')
const skeletonRows = ['first', 'second', 'third', 'fourth', 'fifth']

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
interface DataTableProps<Row> {
  label: string
  columns: readonly ShownColumn<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  /** Name of the row for the label of its checkbox. */
  rowName?: (row: Row) => string
  /** Target of a click anywhere on the row; the main cell should contain a link to it. */
  open?: (row: Row) => string
  /** Opens the row in a drawer instead; the main cell should contain a button that does the same. */
  onOpen?: (row: Row) => void
  selection?: Selection
  /** Index of the current row, as returned by `useRowKeys`. */
  cursor?: number
  /**
   * A unique name in kebab case. With it, the reader can sort by columns that have a `value`, choose columns and density (remembered in the
   * browser), and export what is shown. The address holds the order in `sort`.
   */
  name?: string
  /** The order that the server applied, where the API sorts all rows. Without it, sorting applies to the loaded rows. */
  serverSort?: { order: SortOrder | null; keys: readonly string[]; onOrder: (order: SortOrder | null) => void }
  /** Filters above the table: a `FilterBar`. It stays visible when no row matches. */
  toolbar?: ReactNode
  /** The result of `useApiInfiniteQuery`: adds the loading and error states and the button for more rows. */
  pages?: ListPages
  /** An `EmptyState`, shown when there are no rows. */
  empty?: ReactNode
  /** A `BulkBar`. */
  bulk?: ReactNode
}

/** A table; on a phone each row becomes a block with the same facts in the same order. */
export function DataTable<Row>({
  label,
  columns,
  rows: arrived,
  rowKey,
  rowName,
  open,
  onOpen,
  selection,
  cursor = -1,
  name,
  serverSort,
  toolbar,
  pages,
  empty,
  bulk,
}: DataTableProps<Row>) {
  const t = useTranslations('common')
  const router = useRouter()
  const place = useRef<HTMLDivElement>(null)
  const isOverflowing = useIsOverflowing(place)
  const [view, setView] = useTableView(name)
  const [orderInAddress, setOrderInAddress] = useQueryState('sort')
  const ownOrder = name === undefined ? null : orderInAddress
  const order = serverSort ? serverSort.order : ownOrder
  const isSortedHere = !serverSort && ownOrder !== null && columns.some(({ key }) => key === sortKeyOf(ownOrder))
  const loaded = useLoaded(engine, isSortedHere)
  const [sorted, setSorted] = useState<readonly string[]>([])

  const rows = isSortedHere ? inOrder(arrived, sorted, rowKey) : arrived
  const visible = columns.filter(
    ({ key, main, isHiddenAtFirst = false }) => main || isHiddenAtFirst === view.toggled.includes(key),
  )
  const isSortable = ({ key, value, isUnsortable, isTitleHidden }: ShownColumn<Row>) =>
    serverSort
      ? serverSort.keys.includes(key)
      : name !== undefined && value !== undefined && !isUnsortable && !isTitleHidden
  const onOrder = (next: SortOrder | null) =>
    serverSort ? serverSort.onOrder(next) : void setOrderInAddress(next, { history: 'replace' })
  const follow = (event: MouseEvent, row: Row) => {
    if (event.target instanceof Element && event.target.closest('a, button, input, label, summary')) return
    if (window.getSelection()?.toString()) return
    if (onOpen) onOpen(row)
    else if (open) router.push(open(row))
  }
  const areAllChosen =
    selection !== undefined && rows.length > 0 && rows.every((row) => selection.chosen.has(rowKey(row)))
  const isLoading = pages?.isLoading ?? false
  const hasFailed = pages?.problem !== undefined && rows.length === 0
  const isEmpty = !isLoading && !hasFailed && rows.length === 0 && empty !== undefined

  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-3">
      {loaded && isSortedHere && (
        <loaded.TableEngine columns={columns} rows={arrived} rowKey={rowKey} order={order} onSorted={setSorted} />
      )}
      {(toolbar || name !== undefined) && (
        <div className="flex flex-wrap items-end justify-between gap-3">
          <div className="min-w-0 grow">{toolbar}</div>
          {name !== undefined && !isEmpty && (
            <ViewMenu name={name} columns={columns} shown={{ columns: visible, rows }} view={view} onView={setView} />
          )}
        </div>
      )}
      {hasFailed && pages?.problem && (
        <div className="grid justify-items-start gap-3">
          <ProblemAlert problem={pages.problem} />
          <Button tone="plain" size="small" onClick={pages.again}>
            {t('again')}
          </Button>
        </div>
      )}
      {isEmpty && empty}
      {!isEmpty && !hasFailed && (
        <section
          ref={place}
          className={clsx(isOverflowing && 'sm:overflow-x-auto')}
          {...(isOverflowing && { tabIndex: 0, 'aria-label': label })}
        >
          <table
            aria-label={label}
            aria-busy={isLoading || undefined}
            className="w-full border-collapse text-sm max-sm:block"
          >
            <TableHead
              columns={visible}
              isSortable={isSortable}
              order={order}
              onOrder={onOrder}
              selection={selection}
              areAllChosen={areAllChosen}
              isSticky={!isOverflowing}
            />
            <tbody className="max-sm:block">
              {isLoading
                ? skeletonRows.map((key) => (
                    <tr key={key} className="border-b border-line">
                      <td colSpan={visible.length + (selection ? 1 : 0)} className="py-2">
                        <Skeleton className="h-5" />
                      </td>
                    </tr>
                  ))
                : rows.map((row, index) => (
                    <TableRow
                      key={rowKey(row)}
                      row={row}
                      id={rowKey(row)}
                      name={rowName?.(row) ?? rowKey(row)}
                      index={index}
                      columns={visible}
                      isOpenable={open !== undefined || onOpen !== undefined}
                      onFollow={(event) => follow(event, row)}
                      selection={selection}
                      isCurrent={index === cursor}
                      density={view.density}
                    />
                  ))}
            </tbody>
          </table>
        </section>
      )}
      {isSortedHere && pages?.hasMore && (
        <p role="status" className="text-sm text-quiet">
          {t('table.partlySorted', { count: rows.length })}
        </p>
      )}
      {pages && !hasFailed && rows.length > 0 && <MoreButton pages={pages} />}
      {bulk}
    </div>
  )
}

/** The rows in the order of the keys; rows that the keys do not contain come last. */
function inOrder<Row>(rows: readonly Row[], keys: readonly string[], rowKey: (row: Row) => string): readonly Row[] {
  if (keys.length === 0) return rows
  const rank = new Map(keys.map((key, index) => [key, index]))
  const at = (row: Row) => rank.get(rowKey(row)) ?? keys.length
  return [...rows].sort((first, second) => at(first) - at(second))
}
