'use client'

import { clsx } from 'clsx'
import { useTranslations } from 'next-intl'
import type { MouseEvent } from 'react'
import type { Selection } from './selection.ts'
import type { ShownColumn } from './table-column.ts'
import type { TableDensity } from './table-view.ts'

interface TableRowProps<Row> {
  row: Row
  id: string
  /** The text in the label of the checkbox. */
  name: string
  index: number
  columns: readonly ShownColumn<Row>[]
  isOpenable: boolean
  onFollow: (event: MouseEvent) => void
  selection: Selection | undefined
  isCurrent: boolean
  density: TableDensity
}
const minWidths = { short: 'as-table:min-w-20', medium: 'as-table:min-w-36', long: 'as-table:min-w-64' }

/** A row of a table. On a phone it is a block: the name with what stands beside it, then the other facts in as few lines as they need. */
export function TableRow<Row>({
  row,
  id,
  name,
  index,
  columns,
  isOpenable,
  onFollow,
  selection,
  isCurrent,
  density,
}: TableRowProps<Row>) {
  const t = useTranslations('common')
  const hasBeside = columns.some(({ phone }) => phone === 'beside')
  const padding = density === 'compact' ? 'as-table:py-1' : 'as-table:py-2'
  return (
    <tr
      data-row={index}
      data-opens={isOpenable ? '' : undefined}
      onClick={onFollow}
      className={clsx(
        'border-b border-line align-top as-cards:relative as-cards:flex as-cards:flex-wrap as-cards:items-center as-cards:gap-x-3 as-cards:gap-y-0.5 as-cards:py-1.5',
        density === 'compact' ? 'as-table:h-8' : 'as-table:h-9',
        isOpenable && 'cursor-pointer hover:bg-sunken',
        selection && 'as-cards:pr-8',
        selection?.chosen.has(id) && 'bg-accent-wash',
        isCurrent && 'outline-2 -outline-offset-2 outline-accent',
      )}
    >
      {selection && (
        <td className={clsx('as-cards:absolute as-cards:top-1.5 as-cards:right-0 as-table:pr-2', padding)}>
          <label className="inline-flex size-6 items-center justify-center">
            <input
              type="checkbox"
              aria-label={t('choose', { what: name })}
              checked={selection.chosen.has(id)}
              onChange={() => selection.toggle(id)}
              className="size-4 accent-accent"
            />
          </label>
        </td>
      )}
      {hasBeside && <td aria-hidden className="basis-full p-0 as-cards:order-2 as-table:hidden" />}
      {columns.map(({ key, title, value, cell = value, numeric, main, isTitleHidden, minWidth, phone }) => {
        const Cell = main ? 'th' : 'td'
        return (
          <Cell
            key={key}
            {...(main && { scope: 'row' as const })}
            className={clsx(
              'pr-5 last:pr-0 as-cards:pr-0',
              phone === 'hidden'
                ? 'as-cards:hidden'
                : 'as-cards:flex as-cards:gap-1.5 as-cards:has-[>div:empty]:hidden',
              phone === 'beside' && 'as-cards:order-1',
              !main && phone !== 'beside' && 'as-cards:order-3',
              padding,
              numeric ? 'tabular-nums as-table:text-right' : 'text-left',
              main
                ? clsx(
                    'font-medium as-cards:text-base as-cards:leading-snug',
                    hasBeside ? 'as-cards:min-w-0 as-cards:flex-auto' : 'as-cards:basis-full',
                  )
                : 'font-normal',
            )}
          >
            {!main && !isTitleHidden && phone === undefined && (
              <span aria-hidden className="shrink-0 text-quiet as-table:hidden">
                {title}
              </span>
            )}
            <div
              className={clsx(
                'min-w-0 max-w-full as-cards:wrap-anywhere as-table:max-w-md as-table:wrap-break-word',
                numeric && 'as-table:ml-auto',
                minWidth && minWidths[minWidth],
              )}
            >
              {cell?.(row)}
            </div>
          </Cell>
        )
      })}
    </tr>
  )
}
