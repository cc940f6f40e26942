import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { withConnection } from './connection.ts'

// prisma/database shows what the migrations created, in its current form. After a migration: vitest run -u <this file>.
const folder = '../../../prisma/database'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database?.drop())

const head = (what: string) =>
  `-- ${what} that the migrations created, in their current form. A test compares this file with a migrated database.\n-- To change one, write a migration.\n`

async function texts(sql: string): Promise<string[]> {
  const { rows } = await withConnection(database.ownerUrl, (owner) => owner.query<{ text: string }>(sql))
  return rows.map(({ text }) => text.trim())
}

it('prisma/database/functions.sql contains every function of the migrated database', async () => {
  const functions = await texts(`
    SELECT concat_ws(E'\n', '-- ' || obj_description(p.oid, 'pg_proc'), rtrim(pg_get_functiondef(p.oid), E'\n') || ';') AS text
    FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    ORDER BY p.proname COLLATE "C", pg_get_function_identity_arguments(p.oid) COLLATE "C"`)
  expect(functions.length).toBeGreaterThan(40)
  await expect(`${head('Functions')}\n${functions.join('\n\n')}\n`).toMatchFileSnapshot(`${folder}/functions.sql`)
})

it('prisma/database/triggers.sql contains every trigger of the migrated database by table', async () => {
  const triggers = await texts(`
    SELECT '-- ' || t.tgrelid::regclass || E'\n' || string_agg(
      concat_ws(E'\n', '-- ' || obj_description(t.oid, 'pg_trigger'), pg_get_triggerdef(t.oid, true) || ';'), E'\n' ORDER BY t.tgname COLLATE "C") AS text
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND c.relnamespace = 'public'::regnamespace
    GROUP BY t.tgrelid
    ORDER BY t.tgrelid::regclass::text COLLATE "C"`)
  expect(triggers.length).toBeGreaterThan(20)
  await expect(`${head('Triggers')}\n${triggers.join('\n\n')}\n`).toMatchFileSnapshot(`${folder}/triggers.sql`)
})
