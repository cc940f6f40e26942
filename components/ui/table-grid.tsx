'use client'

import { clsx } from 'clsx'
import { useRouter } from 'next/navigation'
import { type MouseEvent, useRef } from 'react'
import { useIsOverflowing } from './overflow.ts'
import type { Selection } from './selection.ts'
import { Skeleton } from './skeleton.tsx'
import type { ShownColumn, SortOrder } from './table-column.ts'
import { TableHead } from './table-head.tsx'
import { TableRow } from './table-row.tsx'
import type { TableDensity } from './table-view.ts'

const skeletonRows = ['first', 'second', 'third', 'fourth', 'fifth']

/** The rows of a table and what one can do with them; see `DataTable`. */
export interface TableRows<Row> {
  label: string
  rows: readonly Row[]
  rowKey: (row: Row) => string
  /** Name of the row for the label of its checkbox. */
  rowName?: ((row: Row) => string) | undefined
  /** Target of a click anywhere on the row; the main cell should contain a link to it. */
  open?: ((row: Row) => string) | undefined
  /** Opens the row in a drawer instead; the main cell should contain a button that does the same. */
  onOpen?: ((row: Row) => void) | undefined
  selection?: Selection | undefined
  /** Index of the current row, as returned by `useRowKeys`. */
  cursor?: number | undefined
}
interface TableGridProps<Row> extends TableRows<Row> {
  columns: readonly ShownColumn<Row>[]
  isSortable: (column: ShownColumn<Row>) => boolean
  order: SortOrder | null
  onOrder: (order: SortOrder | null) => void
  density: TableDensity
  isLoading: boolean
}

/** The table itself. It scrolls sideways when it does not fit; otherwise its header stays at the top of the window. */
export function TableGrid<Row>(props: TableGridProps<Row>) {
  const { label, columns, rows, rowKey, rowName, open, onOpen, selection, cursor = -1, density, isLoading } = props
  const router = useRouter()
  const place = useRef<HTMLDivElement>(null)
  const isOverflowing = useIsOverflowing(place)
  const follow = (event: MouseEvent, row: Row) => {
    if (event.target instanceof Element && event.target.closest('a, button, input, label, summary')) return
    if (window.getSelection()?.toString()) return
    if (onOpen) onOpen(row)
    else if (open) router.push(open(row))
  }
  const areAllChosen =
    selection !== undefined && rows.length > 0 && rows.every((row) => selection.chosen.has(rowKey(row)))
  return (
    // A group and not a region: a region with the title of its section would be a second landmark with that name.
    <div
      ref={place}
      // Positioned, so that hidden texts in its cells scroll with it and do not widen the page.
      className={clsx(isOverflowing && 'relative as-table:overflow-x-auto')}
      {...(isOverflowing && { role: 'group', tabIndex: 0, 'aria-label': label })}
    >
      <table
        aria-label={label}
        aria-busy={isLoading || undefined}
        className="w-full border-collapse text-sm as-cards:block"
      >
        <TableHead {...props} selection={selection} areAllChosen={areAllChosen} isSticky={!isOverflowing} />
        <tbody className="as-cards:block">
          {isLoading
            ? skeletonRows.map((key) => (
                <tr key={key} className="border-b border-line">
                  <td colSpan={columns.length + (selection ? 1 : 0)} className="py-2">
                    <Skeleton className="h-5" />
                  </td>
                </tr>
              ))
            : rows.map((row, index) => (
                <TableRow
                  key={rowKey(row)}
                  {...{ row, index, columns, selection, density }}
                  id={rowKey(row)}
                  name={rowName?.(row) ?? rowKey(row)}
                  isOpenable={open !== undefined || onOpen !== undefined}
                  onFollow={(event) => follow(event, row)}
                  isCurrent={index === cursor}
                />
              ))}
        </tbody>
      </table>
    </div>
  )
}
