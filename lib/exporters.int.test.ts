import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

/** Tables that no export of an agent or person contains, each with the reason. Every other table needs an exporter. */
const unexported: Record<string, string> = {
  _prisma_migrations: 'names of migrations',
  known_stores: 'addresses of stores without credentials, of nobody in particular',
  graph_gatherings: 'summaries of what many said together: nobody’s in particular',
  graph_links: 'which episodes and entities stand together; they themselves are exported',
  remaining_mentions: 'places where names of erased people stand in what others wrote: ids, of nobody who is here',
  settings: 'settings of the installation',
  retention_overrides: 'settings of the installation',
  retention_shortenings: 'settings of the installation',
  retention_sweeps: 'counts of the installation’s sweeps, of nobody in particular',
  signing_keys: 'keys of the installation',
  suppression_keys: 'keys of the installation',
  registration_networks: 'keyed hashes of networks, of nobody in particular',
  storage_counts: 'sizes of what other parts give out',
  rate_limit_windows: 'counters that live for a minute',
  search_words: 'the words of units, without whose they are; the units themselves are exported',
  search_news: 'ids of units whose words have yet to be gathered',
  idempotency_records: 'copies, for 24 hours, of answers that the agent was given',
  erased_ids: 'ids that are not taken again; those of the agent are in its erasures',
  deletion_audit_log: 'ids and counts of deletions; those of the agent are in its erasures, with their receipts',
  erasure_tallies:
    'ids of records that a running erasure retained, so that each is counted once; deleted when the erasure ends',
  erased_words:
    'fingerprints of the words that a run erases; they cannot be read and are deleted with its last verification',
  complete_readings: 'ids of the receipts for which every store is read, and times; no words',
  reading_stores: 'how far a store was read, and counts',
  reading_findings: 'counts and ids of places in stores where erased words were found; no words',
  reading_pages: 'ids of records that a reading is about to erase; deleted when the reading continues',
  remaining_places: 'ids of places in stores where a reading left erased words, and decisions; no words',
  receipt_readings: 'second statements of receipts: counts and times; they are returned with the receipts',
  erasure_waits: 'names of stores that an erasure waits for, and times; the row is deleted when the store answers',
  erasure_pages: 'ids of records that a running erasure is about to delete; other exporters return these records',
  write_fences: 'whether an erasure is running, which its run also states',
  suppressions: 'keyed hashes of erased subjects, never of existing ones',
  clades: 'ids of groups of agents; the group of an agent is in its record',
  invites: 'created by admins; an invite names nobody',
  legal_holds: 'notes of admins about legal matters; a refusal because of a hold says so (art. 23)',
}
/** Tables with data of people but not of agents, so an agent's export of its own data omits them. */
const ofPeople = [
  'organisations',
  'accounts',
  'email_choices',
  'approval_proposals',
  'sessions',
  'account_identities',
  'account_links',
  'account_factors',
  'account_recovery_codes',
  'known_sign_ins',
  'prepared_exports',
  'project_participants',
  'read_notices',
  'saved_searches',
  'unconfirmed_requests',
]

const tablesOf = (exporters: readonly { tables: readonly string[] }[]) =>
  new Set(exporters.flatMap(({ tables }) => [...tables]))

it('every table of the database has an exporter or is listed as having none, and the list has no other tables', async () => {
  const { rows } = await test.db.pool.query<{ name: string }>(
    "SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1",
  )
  const exported = tablesOf([...test.app.exporters, ...test.app.personExporters])
  expect([...exported, ...Object.keys(unexported)].sort()).toEqual(rows.map(({ name }) => name))
})

it('tables exported only for people are exactly those in the list', () => {
  const ofAgents = tablesOf(test.app.exporters)
  const others = [...tablesOf(test.app.personExporters)].filter((table) => !ofAgents.has(table))
  expect(others.sort()).toEqual(ofPeople.toSorted())
})

describe.each([
  ['agents', () => test.app.exporters],
  ['people', () => test.app.personExporters],
])('exporters of %s', (_, exporters) => {
  it('have distinct part names, none of which is the name of a folder', () => {
    const parts = exporters().map(({ part }) => part)
    expect(new Set(parts).size).toBe(parts.length)
    for (const part of parts) expect(part).toMatch(/^[a-z_]+$/)
    expect(parts).not.toContain('agents')
  })
})
