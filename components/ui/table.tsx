'use client'

import { clsx } from 'clsx'
import { ArrowDown, ArrowUp, ChevronsUpDown, Settings2 } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type MouseEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { useQueryState } from '#components/frame/query-state.ts'
import type { ProblemDocument } from '#lib/client/request.ts'
import { Button } from './button.tsx'
import { csvOf, saveCsv } from './csv.ts'
import { useLoaded } from './loaded.ts'
import { Menu } from './menu.tsx'
import type { MenuItem } from './menu-drawn.tsx'
import { MoreButton } from './more-button.tsx'
import { ProblemAlert } from './problem-alert.tsx'
import type { Selection } from './selection.ts'
import { Skeleton } from './skeleton.tsx'
import { isDescending, nextOrder, type ShownColumn, type SortOrder, sortKeyOf } from './table-column.ts'
import { type TableDensity, type TableView, useTableView } from './table-view.ts'

const engine = () => import('./table-engine.tsx')

/** The order that the server applied, where the API sorts all rows. */
interface ServerSort {
  order: SortOrder | null
  /** The columns by which the API sorts. */
  keys: readonly string[]
  onOrder: (order: SortOrder | null) => void
}
interface TableOrderOptions<Row> {
  columns: readonly ShownColumn<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  isNamed: boolean
  parameter: string
  serverSort: ServerSort | undefined
}
interface TableOrder<Row> {
  rows: readonly Row[]
  order: SortOrder | null
  onOrder: (order: SortOrder | null) => void
  isSortable: (column: ShownColumn<Row>) => boolean
  /** Sorted in the browser, so only the loaded rows are. */
  isSortedHere: boolean
  /** Renders nothing; the table must contain it. */
  engine: ReactNode
}

/** The rows in the order of the keys; rows that the keys do not contain come last. */
function inOrder<Row>(rows: readonly Row[], keys: readonly string[], rowKey: (row: Row) => string): readonly Row[] {
  if (keys.length === 0) return rows
  const rank = new Map(keys.map((key, index) => [key, index]))
  const at = (row: Row) => rank.get(rowKey(row)) ?? keys.length
  return [...rows].sort((first, second) => at(first) - at(second))
}

/** The order of a table: that of the server, or the one in the address, which sorts the loaded rows. */
function useTableOrder<Row>({
  columns,
  rows,
  rowKey,
  isNamed,
  parameter,
  serverSort,
}: TableOrderOptions<Row>): TableOrder<Row> {
  const [inAddress, setInAddress] = useQueryState(parameter)
  const [sorted, setSorted] = useState<readonly string[]>([])
  const own = isNamed ? inAddress : null
  const isSortedHere = !serverSort && own !== null && columns.some(({ key }) => key === sortKeyOf(own))
  const loaded = useLoaded(engine, isSortedHere)
  return {
    rows: isSortedHere ? inOrder(rows, sorted, rowKey) : rows,
    order: serverSort ? serverSort.order : own,
    onOrder: serverSort ? serverSort.onOrder : (next) => void setInAddress(next, { history: 'replace' }),
    isSortable: ({ key, value, isUnsortable, isTitleHidden }) =>
      serverSort ? serverSort.keys.includes(key) : isNamed && value !== undefined && !isUnsortable && !isTitleHidden,
    isSortedHere,
    engine: loaded && isSortedHere && (
      <loaded.TableEngine columns={columns} rows={rows} rowKey={rowKey} order={own} onSorted={setSorted} />
    ),
  }
}

interface ViewMenuProps<Row> {
  name: string
  columns: readonly ShownColumn<Row>[]
  /** The visible columns and the sorted rows, for the export. */
  shown: { columns: readonly ShownColumn<Row>[]; rows: readonly Row[] }
  view: TableView
  onView: (changes: Partial<TableView>) => void
}

/** Chooses columns and density of a table, and exports what it shows. */
function ViewMenu<Row>({ name, columns, shown, view, onView }: ViewMenuProps<Row>) {
  const t = useTranslations('common.table')
  const visible = new Set(shown.columns.map(({ key }) => key))
  const toggle = (key: string) =>
    onView({
      toggled: view.toggled.includes(key) ? view.toggled.filter((one) => one !== key) : [...view.toggled, key],
    })
  const choosable = columns.filter(({ main, isTitleHidden }) => !main && !isTitleHidden)
  const items: MenuItem[] = [
    ...choosable.map(({ key, title }, index) => ({
      key,
      label: title,
      isChecked: visible.has(key),
      onSelect: () => toggle(key),
      ...(index === 0 && { group: t('columns') }),
    })),
    {
      key: 'compact',
      label: t('compact'),
      group: t('density'),
      isChecked: view.density === 'compact',
      onSelect: () => onView({ density: view.density === 'compact' ? 'comfortable' : 'compact' }),
    },
    ...(shown.columns.some(({ value }) => value)
      ? [
          {
            key: 'csv',
            label: t('csv', { count: shown.rows.length }),
            group: t('export'),
            isDisabled: shown.rows.length === 0,
            onSelect: () => saveCsv(name, csvOf(shown.columns, shown.rows)),
          },
        ]
      : []),
  ]
  return (
    <Menu
      trigger={
        <Button tone="plain" size="small">
          <Settings2 aria-hidden className="size-4" />
          {t('view')}
        </Button>
      }
      items={items}
    />
  )
}

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
function TableHead<Row>({
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

/** A row of a table. On a phone it is a block: the name with the facts beside it, then the other facts in as few lines as possible. */
function TableRow<Row>({
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

/** Whether the child of the element is wider than the element. True until it has been measured. */
function useIsOverflowing(place: RefObject<HTMLElement | null>): boolean {
  const [isOverflowing, setIsOverflowing] = useState(true)
  useEffect(() => {
    const outer = place.current
    const inner = outer?.firstElementChild
    if (!outer || !inner) return
    const observer = new ResizeObserver(() => setIsOverflowing(inner.scrollWidth > outer.clientWidth + 1))
    observer.observe(outer)
    observer.observe(inner)
    return () => observer.disconnect()
  }, [place])
  return isOverflowing
}

const skeletonRows = ['first', 'second', 'third', 'fourth', 'fifth']

/** The rows of a table and what one can do with them; see `DataTable`. */
interface TableRows<Row> {
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
function TableGrid<Row>(props: TableGridProps<Row>) {
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
        <div className="flex flex-wrap items-start justify-between gap-3">
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
