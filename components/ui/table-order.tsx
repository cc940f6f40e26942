'use client'

import { type ReactNode, useState } from 'react'
import { useQueryState } from '#components/frame/query-state.ts'
import { useLoaded } from './loaded.ts'
import { type ShownColumn, type SortOrder, sortKeyOf } from './table-column.ts'

const engine = () => import('./table-engine.tsx')

/** The order that the server applied, where the API sorts all rows. */
export interface ServerSort {
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
export function useTableOrder<Row>({
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
