import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

/** Tables that no exporter of an agent's data gives out, each with the reason. Whatever is not here needs an exporter. */
const unexported: Record<string, string> = {
  _prisma_migrations: 'names of migrations',
  settings: 'settings of the installation',
  retention_overrides: 'settings of the installation',
  retention_sweeps: 'counts of the installation’s sweeps, of nobody in particular',
  signing_keys: 'keys of the installation',
  rate_limit_windows: 'counters that live for a minute',
  search_words: 'the words of units, without whose they are; the units themselves are exported',
  search_news: 'ids of units whose words have yet to be gathered',
  idempotency_records: 'copies, for 24 hours, of answers that the agent was given',
  erased_ids: 'ids that are not taken again; those of the agent are in its erasures',
  deletion_audit_log: 'ids and counts of deletions; those of the agent are in its erasures, with their receipts',
  invites: 'given out by admins, and to nobody by name',
  legal_holds: 'an admin’s notes on a matter of law; whoever meets a hold is told so with the refusal (art. 23)',
  // Of people, who export what is about them with their account.
  organisations: 'the tenant; its id is in the agent’s part',
  accounts: 'of a person',
  sessions: 'of a person',
  known_sign_ins: 'of a person',
}

it('every table of the database is an exporter’s, or on the list with its reason; nothing on the list is an exporter’s or gone', async () => {
  const { rows } = await test.db.pool.query<{ name: string }>(
    "SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1",
  )
  const exported = test.app.exporters.flatMap(({ tables }) => tables)
  expect([...exported, ...Object.keys(unexported)].sort()).toEqual(rows.map(({ name }) => name))
})

it('no two exporters give out a part of one name', () => {
  const parts = test.app.exporters.map(({ part }) => part)
  expect(new Set(parts).size).toBe(parts.length)
})
