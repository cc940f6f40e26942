import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { testDatabase } from '#lib/testing/database.ts'
import { withConnection } from './connection.ts'
import { createPool } from './pool.ts'

test('a borrowed connection that the server ends fails its next statement and not the process', async () => {
  const database = await testDatabase()
  const pool = createPool({ connectionString: database.ownerUrl })
  const client = await pool.connect()
  const ended = new Promise((done) => client.once('end', done))
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  await withConnection(database.ownerUrl, (owner) => owner.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]))
  await ended
  await expect(client.query('SELECT 1')).rejects.toThrow()
  client.release(true)
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  await pool.end()
  await database.drop()
})

test('no other code creates a pool', () => {
  const root = new URL('../../../', import.meta.url).pathname
  const files = globSync('{app,bin,lib}/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
  expect(files.filter((file) => /new (pg\.)?Pool\(/.test(readFileSync(root + file, 'utf8')))).toEqual([
    'lib/stores/postgres/pool.ts',
  ])
})
