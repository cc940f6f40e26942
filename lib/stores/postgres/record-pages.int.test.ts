import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { type Database, openDatabase } from './database.ts'
import { recordPages } from './record-pages.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.appUrl, { max: 2 })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

/** Exports 300 rows, of which pairs have the same time. Returns the numbers of each page. */
async function exported(query: { maxRows?: number; weight?: string }): Promise<number[][]> {
  const pages: number[][] = []
  const rows = recordPages(db, {
    from: 'generate_series(1, $1::int) AS g(n)',
    where: 'true',
    values: [300],
    columns: 'g.n',
    at: "timestamptz '2026-01-01' + g.n / 2 * interval '1 second'",
    id: "lpad(g.n::text, 4, '0')",
    record: 'c.n',
    ...query,
  })
  for await (const { lines, count } of rows) {
    const numbers = lines.split('\n').map(Number)
    expect(numbers).toHaveLength(count)
    pages.push(numbers)
  }
  return pages
}
const all = Array.from({ length: 300 }, (_, n) => n + 1)

it.each([
  { what: 'by default', query: {}, pages: [128, 128, 44] },
  { what: 'with larger pages', query: { maxRows: 200 }, pages: [200, 100] },
  { what: 'with one page', query: { maxRows: 1_000 }, pages: [300] },
  { what: 'of 100 KiB each', query: { maxRows: 1_000, weight: '102400' }, pages: Array(150).fill(2) },
])('recordPages returns every row once $what', async ({ query, pages }) => {
  const made = await exported(query)
  expect(made.flat()).toEqual(all)
  expect(made.map(({ length }) => length)).toEqual(pages)
})

it('recordPages passes long records on in pieces of at most 16,384 characters', async () => {
  const lengths: number[] = []
  const rows = recordPages(db, {
    from: 'generate_series(1, $1::int) AS g(n)',
    where: 'true',
    values: [200],
    columns: 'g.n',
    at: "timestamptz '2026-01-01'",
    id: "lpad(g.n::text, 4, '0')",
    record: "to_json(repeat('x', 5000))",
  })
  for await (const { lines, count } of rows) {
    expect(lines).toBe(
      Array(count)
        .fill(`"${'x'.repeat(5_000)}"`)
        .join('\n'),
    )
    lengths.push(count)
  }
  expect(Math.max(...lengths)).toBe(3)
  expect(lengths.reduce((sum, one) => sum + one)).toBe(200)
})
