'use client'

import { clsx } from 'clsx'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import type { MouseEvent, ReactNode } from 'react'

export interface ShownColumn<Row> {
  key: string
  title: string
  cell: (row: Row) => ReactNode
  numeric?: boolean
  /** Marks the cell that names the row: the row header, and the block heading on a phone. */
  main?: boolean
  /** Shows the title only to screen readers. */
  isTitleHidden?: boolean
}
interface Selection {
  chosen: ReadonlySet<string>
  toggle: (id: string) => void
  toggleAll: () => void
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
  selection?: Selection
  /** Index of the current row, as returned by `useRowKeys`. */
  cursor?: number
}

/** A table; on a phone each row becomes a block with the same facts in the same order. */
export function DataTable<Row>({
  label,
  columns,
  rows,
  rowKey,
  rowName,
  open,
  selection,
  cursor = -1,
}: DataTableProps<Row>) {
  const t = useTranslations('common')
  const router = useRouter()
  const follow = (event: MouseEvent, row: Row) => {
    if (!open || (event.target instanceof Element && event.target.closest('a, button, input, label, summary'))) return
    if (window.getSelection()?.toString()) return
    router.push(open(row))
  }
  const areAllChosen =
    selection !== undefined && rows.length > 0 && rows.every((row) => selection.chosen.has(rowKey(row)))
  return (
    <div className="sm:overflow-x-auto">
      <table aria-label={label} className="w-full border-collapse text-sm max-sm:block">
        <thead className="max-sm:sr-only">
          <tr>
            {selection && (
              <th scope="col" className="w-9 border-b border-line py-2 pr-2 text-left">
                <input
                  type="checkbox"
                  aria-label={t('chooseAll')}
                  checked={areAllChosen}
                  onChange={selection.toggleAll}
                  className="size-4 accent-accent align-middle"
                />
              </th>
            )}
            {columns.map(({ key, title, numeric, isTitleHidden }) => (
              <th
                key={key}
                scope="col"
                className={clsx(
                  'border-b border-line py-2 pr-4 font-medium whitespace-nowrap text-quiet last:pr-0',
                  numeric ? 'text-right' : 'text-left',
                )}
              >
                {isTitleHidden ? <span className="sr-only">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="max-sm:block">
          {rows.map((row, index) => {
            const id = rowKey(row)
            return (
              <tr
                key={id}
                data-row={index}
                data-opens={open && ''}
                onClick={(event) => follow(event, row)}
                className={clsx(
                  'border-b border-line align-top max-sm:grid max-sm:gap-1 max-sm:py-3 sm:h-9',
                  open && 'cursor-pointer hover:bg-sunken',
                  selection?.chosen.has(id) && 'bg-accent-wash',
                  index === cursor && 'outline-2 -outline-offset-2 outline-accent',
                )}
              >
                {selection && (
                  <td className="py-2 pr-2">
                    <input
                      type="checkbox"
                      aria-label={t('choose', { what: rowName?.(row) ?? id })}
                      checked={selection.chosen.has(id)}
                      onChange={() => selection.toggle(id)}
                      className="size-4 accent-accent align-middle"
                    />
                  </td>
                )}
                {columns.map(({ key, title, cell, numeric, main, isTitleHidden }) => {
                  const Cell = main ? 'th' : 'td'
                  return (
                    <Cell
                      key={key}
                      {...(main && { scope: 'row' as const })}
                      className={clsx(
                        'py-2 pr-4 last:pr-0 max-sm:flex max-sm:gap-3 max-sm:py-0 max-sm:pr-0',
                        numeric ? 'tabular-nums sm:text-right' : 'text-left',
                        main ? 'font-medium max-sm:text-base' : 'font-normal',
                      )}
                    >
                      {!main && !isTitleHidden && (
                        <span aria-hidden className="w-28 shrink-0 text-quiet sm:hidden">
                          {title}
                        </span>
                      )}
                      <div className="min-w-0 [overflow-wrap:anywhere]">{cell(row)}</div>
                    </Cell>
                  )
                })}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
