'use client'

import { Settings2 } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { useQueryState } from '#components/frame/query-state.ts'
import type { ProblemDocument } from '#lib/client/request.ts'
import { Button } from './button.tsx'
import { csvOf, saveCsv } from './csv.ts'
import { useLoaded } from './loaded.ts'
import { Menu } from './menu.tsx'
import type { MenuItem } from './menu-drawn.tsx'
import { MoreButton } from './more-button.tsx'
import { ProblemAlert } from './problem-alert.tsx'
import { type ShownColumn, type SortOrder, sortKeyOf } from './table-column.ts'
import { TableGrid, type TableRows } from './table-grid.tsx'
import { type TableView, useTableView } from './table-view.ts'

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
