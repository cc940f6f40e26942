import { expect, it } from 'vitest'
import { csvOf } from './csv.ts'
import { nextOrder } from './table-column.ts'

it('csvOf writes titles and values, leaves out columns without a value, and disarms formulas', () => {
  const columns = [
    { key: 'name', title: 'Name', cell: () => null, value: (row: { name: string; count: number | null }) => row.name },
    { key: 'act', title: 'Actions', cell: () => null },
    { key: 'count', title: 'Count', cell: () => null, value: (row: { count: number | null }) => row.count },
  ]
  const rows = [
    { name: 'Kim, "K"', count: 3 },
    { name: '=1+1', count: null },
  ]
  expect(csvOf(columns, rows)).toBe(`Name,Count\r\n"Kim, ""K""",3\r\n'=1+1,\r\n`)
})

it.each([
  [null, 'name', 'name'],
  ['name', 'name', '-name'],
  ['-name', 'name', null],
  ['-due', 'name', 'name'],
])('nextOrder(%j, %j) returns %j', (order, key, next) => expect(nextOrder(order, key)).toBe(next))
