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
const minWidths = { short: 'sm:min-w-20', medium: 'sm:min-w-36', long: 'sm:min-w-64' }

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
  const padding = density === 'compact' ? 'sm:py-1' : 'sm:py-2'
  return (
    <tr
      data-row={index}
      data-opens={isOpenable ? '' : undefined}
      onClick={onFollow}
      className={clsx(
        'border-b border-line align-top max-sm:relative max-sm:flex max-sm:flex-wrap max-sm:items-center max-sm:gap-x-3 max-sm:gap-y-0.5 max-sm:py-1.5',
        density === 'compact' ? 'sm:h-8' : 'sm:h-9',
        isOpenable && 'cursor-pointer hover:bg-sunken',
        selection && 'max-sm:pr-8',
        selection?.chosen.has(id) && 'bg-accent-wash',
        isCurrent && 'outline-2 -outline-offset-2 outline-accent',
      )}
    >
      {selection && (
        <td className={clsx('max-sm:absolute max-sm:top-1.5 max-sm:right-0 sm:pr-2', padding)}>
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
      {hasBeside && <td aria-hidden className="basis-full p-0 max-sm:order-2 sm:hidden" />}
      {columns.map(({ key, title, value, cell = value, numeric, main, isTitleHidden, minWidth, phone }) => {
        const Cell = main ? 'th' : 'td'
        return (
          <Cell
            key={key}
            {...(main && { scope: 'row' as const })}
            className={clsx(
              'pr-5 last:pr-0 max-sm:pr-0',
              phone === 'hidden' ? 'max-sm:hidden' : 'max-sm:flex max-sm:gap-1.5 max-sm:has-[>div:empty]:hidden',
              phone === 'beside' && 'max-sm:order-1',
              !main && phone !== 'beside' && 'max-sm:order-3',
              padding,
              numeric ? 'tabular-nums sm:text-right' : 'text-left',
              main
                ? clsx(
                    'font-medium max-sm:text-base max-sm:leading-snug',
                    hasBeside ? 'max-sm:min-w-0 max-sm:flex-auto' : 'max-sm:basis-full',
                  )
                : 'font-normal',
            )}
          >
            {!main && !isTitleHidden && phone === undefined && (
              <span aria-hidden className="shrink-0 text-quiet sm:hidden">
                {title}
              </span>
            )}
            <div
              className={clsx(
                'min-w-0 max-w-full max-sm:wrap-anywhere sm:max-w-md sm:wrap-break-word',
                numeric && 'sm:ml-auto',
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
