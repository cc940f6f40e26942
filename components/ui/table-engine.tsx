'use client'

import {
  createColumnHelper,
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { useLocale } from 'next-intl'
import { useLayoutEffect, useMemo } from 'react'
import { isDescending, type ShownColumn, type SortOrder, sortKeyOf } from './table-column.ts'

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() })

interface TableEngineProps<Row> {
  columns: readonly ShownColumn<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  order: SortOrder | null
  /** Receives the keys of the rows in their order. */
  onSorted: (keys: readonly string[]) => void
}

/** Sorts rows with TanStack Table. It loads when somebody sorts, and renders nothing. */
export function TableEngine<Row>({ columns, rows, rowKey, order, onSorted }: TableEngineProps<Row>) {
  const locale = useLocale()
  const definitions = useMemo(() => {
    const collator = new Intl.Collator(locale, { numeric: true, sensitivity: 'base' })
    const helper = createColumnHelper<typeof features, { row: Row }>()
    return columns.flatMap(({ key, value }) =>
      value
        ? [
            helper.accessor(({ row }): unknown => value(row) ?? undefined, {
              id: key,
              sortUndefined: 'last',
              sortFn: (first, second, id) => {
                const [one, other] = [first.getValue(id), second.getValue(id)]
                return typeof one === 'number' && typeof other === 'number'
                  ? one - other
                  : collator.compare(String(one), String(other))
              },
            }),
          ]
        : [],
    )
  }, [columns, locale])
  const data = useMemo(() => rows.map((row) => ({ row })), [rows])
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: ({ row }) => rowKey(row),
    state: { sorting: order === null ? [] : [{ id: sortKeyOf(order), desc: isDescending(order) }] },
  })
  // As text: React compares dependencies by identity, and a new array with the same ids would count as changed.
  const sorted = JSON.stringify(table.getRowModel().rows.map(({ id }) => id))
  useLayoutEffect(() => onSorted(JSON.parse(sorted)), [sorted, onSorted])
  return null
}
