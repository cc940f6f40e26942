'use client'

import { clsx } from 'clsx'
import { ArrowDown, ArrowUp, ChevronsUpDown } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { Selection } from './selection.ts'
import { isDescending, nextOrder, type ShownColumn, type SortOrder, sortKeyOf } from './table-column.ts'

interface TableHeadProps<Row> {
  columns: readonly ShownColumn<Row>[]
  /** Whether the reader can sort by this column. */
  isSortable: (column: ShownColumn<Row>) => boolean
  order: SortOrder | null
  onOrder: (order: SortOrder | null) => void
  selection: Selection | undefined
  areAllChosen: boolean
  isSticky: boolean
}

function SortButton({ title, state, onClick }: { title: string; state: 'up' | 'down' | 'none'; onClick: () => void }) {
  const t = useTranslations('common.table')
  const Icon = { up: ArrowUp, down: ArrowDown, none: ChevronsUpDown }[state]
  return (
    <button
      type="button"
      onClick={onClick}
      title={t('sort', { column: title })}
      className="-mx-1.5 inline-flex min-h-7 items-center gap-1 rounded-small px-1.5 font-medium hover:bg-sunken hover:text-ink"
    >
      {title}
      <Icon aria-hidden className={clsx('size-3.5', state === 'none' && 'opacity-50')} />
    </button>
  )
}

/** The header row of a table. */
export function TableHead<Row>({
  columns,
  isSortable,
  order,
  onOrder,
  selection,
  areAllChosen,
  isSticky,
}: TableHeadProps<Row>) {
  const t = useTranslations('common')
  // A collapsed border does not move with a sticky cell.
  const cell = clsx(
    'bg-paper py-1.5 shadow-[inset_0_-1px_var(--line)]',
    isSticky && 'as-table:sticky as-table:top-12 as-table:z-10',
  )
  return (
    // Cards have no header row; its controls appear while one of them has the focus.
    <thead className="as-cards:block as-cards:not-focus-within:sr-only">
      <tr className="as-cards:flex as-cards:flex-wrap as-cards:gap-x-4">
        {selection && (
          <th scope="col" className={clsx(cell, 'w-9 pr-2 text-left')}>
            <label className="inline-flex size-6 items-center justify-center">
              <input
                type="checkbox"
                aria-label={t('chooseAll')}
                checked={areAllChosen}
                onChange={selection.toggleAll}
                className="size-4 accent-accent"
              />
            </label>
          </th>
        )}
        {columns.map((column) => {
          const { key, title, numeric, isTitleHidden } = column
          const isSorted = order !== null && sortKeyOf(order) === key
          const state = isSorted ? (isDescending(order) ? 'down' : 'up') : 'none'
          return (
            <th
              key={key}
              scope="col"
              aria-sort={isSorted ? (state === 'down' ? 'descending' : 'ascending') : undefined}
              className={clsx(
                cell,
                'pr-5 font-medium whitespace-pre text-quiet last:pr-0',
                numeric ? 'text-right' : 'text-left',
              )}
            >
              {isTitleHidden ? (
                <span className="sr-only">{title}</span>
              ) : isSortable(column) ? (
                <SortButton title={title} state={state} onClick={() => onOrder(nextOrder(order, key))} />
              ) : (
                title
              )}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}
