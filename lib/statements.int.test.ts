import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type DeclaredStatement, declaredStatements, statement } from '#lib/stores/postgres/statement.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'

const root = import.meta.dirname
const repositories = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /(^|\/)repository\.ts$/.test(file),
)
let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
  for (const file of repositories) await import(join(root, file))
})
afterAll(() => database?.drop())

interface Field {
  name: string
  dataTypeID: number
  tableID: number
  columnID: number
}
interface WireConnection {
  parse(query: { name: string; text: string }): void
  describe(target: { type: 'S'; name: string }): void
  sync(): void
}
/** A query of node-postgres that only describes a statement (PostgreSQL documentation, section 54.2.3). Nothing is executed. */
const describing = (text: string, done: (fields: Field[]) => void, failed: (error: Error) => void) => {
  let fields: Field[] = []
  return {
    submit(connection: WireConnection) {
      connection.parse({ name: '', text })
      connection.describe({ type: 'S', name: '' })
      connection.sync()
    },
    handleRowDescription(message: { fields: Field[] }) {
      fields = message.fields
    },
    handleError: failed,
    handleReadyForQuery: () => done(fields),
  }
}

interface DescribedColumn {
  name: string
  type: string
  isNullable: boolean
}
async function describeStatement(client: pg.Client, text: string): Promise<DescribedColumn[]> {
  const fields = await new Promise<Field[]>((done, failed) =>
    // The types of the driver know only its own kinds of queries.
    client.query(describing(text, done, failed) as unknown as pg.Submittable),
  )
  const { rows } = await client.query<{ type: string; isNullable: boolean }>(
    `SELECT format_type(f.type, NULL) AS type, coalesce(NOT a.attnotnull AND c.relkind <> 'v', false) AS "isNullable"
     FROM unnest($1::oid[], $2::oid[], $3::int[]) WITH ORDINALITY AS f(type, tab, col, n)
     LEFT JOIN pg_attribute a ON a.attrelid = f.tab AND a.attnum = f.col AND f.tab <> 0
     LEFT JOIN pg_class c ON c.oid = f.tab ORDER BY f.n`,
    [
      fields.map((field) => field.dataTypeID),
      fields.map((field) => field.tableID),
      fields.map((field) => field.columnID),
    ],
  )
  return rows.map((row, n) => ({ name: fields[n]?.name ?? '', ...row }))
}

/** Short names of types, by the names that format_type returns. */
const shortNames: Readonly<Record<string, string>> = {
  boolean: 'bool',
  bigint: 'int8',
  integer: 'int4',
  smallint: 'int2',
  'double precision': 'float8',
  real: 'float4',
  'timestamp with time zone': 'timestamptz',
  'character varying': 'varchar',
}
const shortName = (type: string): string => {
  const [, item = '', list = ''] = /^(.*?)(\[\])?$/.exec(type.replaceAll('"', '')) ?? []
  return (shortNames[item] ?? item) + list
}

/** How the declaration of a statement differs from what PostgreSQL returns. */
async function differences(client: pg.Client, { columns, texts }: DeclaredStatement): Promise<string[]> {
  const found: string[] = []
  for (const text of texts()) {
    const described = await describeStatement(client, text).catch((error: Error) => error)
    if (described instanceof Error) {
      found.push(described.message)
      continue
    }
    if (columns === 'count') continue
    const returned = new Map(described.map((column) => [column.name, column]))
    for (const [name, column] of Object.entries(columns)) {
      const declaredType = typeof column === 'string' ? column : column.type
      const actual = returned.get(name)
      if (!actual) found.push(`${name} is not returned`)
      else {
        const type = shortName(actual.type)
        if (type !== declaredType.replace(/[?!]$/, '')) found.push(`${name} is ${type}, not ${declaredType}`)
        if (actual.isNullable && !/[?!]$/.test(declaredType)) found.push(`${name} may be null`)
      }
    }
    for (const name of returned.keys())
      if (!Object.hasOwn(columns, name)) found.push(`${name} is returned and not declared`)
  }
  return [...new Set(found)]
}

describe('declared SQL statements', () => {
  it('have the parameters and rows that PostgreSQL reports', async () => {
    expect(repositories.length).toBeGreaterThan(1)
    const wrong: Record<string, string[]> = {}
    await withConnection(database.ownerUrl, async (client) => {
      for (const one of declaredStatements()) {
        const found = await differences(client, one)
        if (found.length > 0) wrong[one.name] = found
      }
    })
    expect(wrong).toEqual({})
  })

  it('are reported as different for a wrong type, a nullable column, a missing column, an undeclared column and invalid SQL', async () => {
    const returns = { id: 'int4', released_at: 'timestamptz', nothing: 'text' } as const
    const wrong = statement('test.wrong', {
      takes: { id: 'text' },
      returns,
      sql: 'SELECT id, released_at, kind FROM legal_holds WHERE id = $id',
    })
    const invalid = statement('test.invalid', { takes: {}, returns: {}, sql: 'SELECT id FROM no_such_table' })
    expect([wrong, invalid].every((one) => typeof one === 'function')).toBe(true)
    const found = await withConnection(database.ownerUrl, async (client) => {
      const results: string[][] = []
      for (const one of declaredStatements().filter(({ name }) => name.startsWith('test.')))
        results.push(await differences(client, one))
      return results
    })
    expect(found).toEqual([
      [
        'id is text, not int4',
        'released_at may be null',
        'nothing is not returned',
        'kind is returned and not declared',
      ],
      ['relation "no_such_table" does not exist'],
    ])
  })

  it('reject statement names that are used twice and parameters that are not declared', () => {
    const declaration = { takes: {}, returns: { n: 'int4' }, sql: 'SELECT 1 AS n' } as const
    statement('test.twice', declaration)
    expect(() => statement('test.twice', declaration)).toThrow('Two statements are named test.twice.')
    const unknown = statement('test.parameter', { takes: {}, returns: {}, sql: 'SELECT $missing' })
    expect(typeof unknown).toBe('function')
    const one = declaredStatements().find(({ name }) => name === 'test.parameter')
    expect(() => one?.texts()).toThrow('The statement test.parameter does not declare the parameter missing.')
  })
})
