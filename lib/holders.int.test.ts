import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

/** Tables that no holder answers for, each with the reason. Whatever is not here needs a holder. */
const unheld: Record<string, string> = {
  _prisma_migrations: 'names of migrations',
  settings: 'settings of the installation',
  signing_keys: 'keys of the installation',
  rate_limit_windows: 'ids of tokens and addresses, for one minute',
  audit_entries: 'kept for 90 days by law; ids and counts, named on every receipt',
  deletion_audit_log: 'kept for seven years as proof; ids and counts, named on every receipt',
  erasures: 'receipts: kept for seven years as proof; ids and counts',
  erased_ids: 'ids of units, so that they cannot come back; named on every receipt',
  // Of agents and people themselves, whose whole erasure is not offered yet; nothing in them is about a unit.
  organisations: 'goes with its last agent or account',
  accounts: 'of a person; not about a unit',
  sessions: 'goes with its account, and a day after its end',
  known_sign_ins: 'a keyed hash of where an account signed in; goes with its account, and after 30 days',
  agents: 'of an agent; not about a unit',
  invites: 'goes a week after its end',
  tokens: 'goes with its agent',
  reputation: 'of an agent: a sum of its ledger, from which what is erased is taken',
  reputation_ledger: 'rows go with their unit or skill, by its holder; the rest with its agent',
  retention_overrides: 'settings of the installation, and the id of the admin who set them',
  retention_sweeps: 'counts by visibility, and the id of who asked; kept as proof of the storage limitation',
  legal_holds: 'ids of what is held, and the reason; kept as proof of why something was not erased',
  export_runs: 'ids of who exported whose data when',
  content_rejections: 'id of an agent, stage and time of a refusal; goes after an hour',
  rate_limit_refusals: 'goes with its token, and after a week',
}

it('every table of the database is a holder’s, or on the list with its reason; nothing on the list is a holder’s or gone', async () => {
  const { rows } = await test.db.pool.query<{ name: string }>(
    "SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1",
  )
  const held = test.app.holders.flatMap(({ tables }) => tables)
  expect([...held, ...Object.keys(unheld)].sort()).toEqual(rows.map(({ name }) => name))
})
