import { afterAll, beforeAll, describe, test as each, expect, it } from 'vitest'
import { countOf, stages } from '#lib/kernel/data-source.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

/** Tables without a personal data source, each with the reason. Every other table needs one. */
const unheld: Record<string, string> = {
  _prisma_migrations: 'names of migrations',
  signing_keys: 'keys of the installation',
  suppression_keys: 'keys of the installation',
  registration_networks: 'keyed hashes of networks and times of registrations, for an hour; no agent is named',
  storage_counts: 'bytes and counts by agent and project, deleted with them by the database',
  rate_limit_windows: 'ids of tokens and addresses, for one minute',
  audit_entries: 'kept for 90 days by law; ids and counts, named on every receipt',
  deletion_audit_log: 'kept for seven years as proof; ids and counts, named on every receipt',
  erasures: 'receipts: kept for seven years as proof; ids and counts',
  erased_ids: 'ids of what was erased, so that it cannot come back; named on every receipt',
  erasure_runs:
    'ids of the subject while it is being erased, and taken out once it is; ids of parts of projects, and of who asked; counts and times, as proof',
  erasure_steps: 'names of holders and counts of a run, as proof',
  erasure_pages:
    'ids of what a run erases; they go with its end, those of stores that others write to once these were searched again',
  erasure_tallies: 'ids of what a run met and left, so that it is counted once; they go with its end',
  erased_words:
    'keyed fingerprints of erased words, by which verification finds them in other texts; deleted with the last verification',
  complete_readings: 'ids of the receipts for which every store is read, and times; no words',
  reading_stores: 'how far a store was read, and counts',
  reading_findings: 'counts and ids of places in stores where erased words were found; no words',
  reading_pages: 'ids of what a reading is about to erase; deleted when the reading continues',
  remaining_places: 'ids of places in stores where a reading left erased words, and decisions; no words',
  receipt_readings: 'second statements of receipts: counts and times; they are returned with the receipts',
  erasure_waits: 'names of stores that a run waits for, and times; the row is deleted when the store answers',
  remaining_mentions: 'places where a name of an erased person stands in what others wrote: ids, no words',
  write_fences: 'ids of whom nothing is written for, while their erasure is under way',
  suppressions: 'keyed hashes, so that who was erased does not come back by an import; named on the receipt',
  // Ids of admins who decided something, which the law requires to be known.
  known_stores: 'addresses of stores without credentials, and the id of the admin who retired one',
  settings: 'settings of the installation, and the id of the admin who changed them',
  retention_overrides: 'settings of the installation, and the id of the admin who set them',
  retention_shortenings: 'settings of the installation that wait a day, and the id of the admin who set them',
  retention_sweeps: 'counts by visibility, and the id of who asked; kept as proof of the storage limitation',
  legal_holds: 'ids of what is held, and the reason; kept as proof of why something was not erased',
  clades: 'ids of groups of agents, of nobody in particular',
  invites: 'the id of the admin who gave it out; goes a week after its end',
  // The queue's own tables; jobs have a data source.
  'graphile_worker._private_job_queues': 'names of queues, of nobody in particular',
  'graphile_worker._private_known_crontabs': 'names of jobs that run by the clock',
  'graphile_worker._private_tasks': 'names of jobs',
  'graphile_worker.migrations': 'numbers of migrations',
  'langgraph.checkpoint_migrations': 'numbers of migrations',
  'langgraph.store_migrations': 'numbers of migrations',
}

const tables = async () =>
  (
    await test.db.pool.query<{ name: string }>(
      `SELECT CASE n.nspname WHEN 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END AS name
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind IN ('r', 'p', 'm', 'f') AND NOT c.relispartition
         AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
         AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`,
    )
  ).rows.map(({ name }) => name)

it('every table in every schema has a data source or is listed as having none, and the list has no other tables', async () => {
  const held = test.app.dataSources.flatMap(({ tables: own }) => own)
  expect([...new Set(held), ...Object.keys(unheld)].sort()).toEqual((await tables()).sort())
})

it('data sources have distinct names and describe their data, purpose and retention', () => {
  const names = test.app.dataSources.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const { name, stage, store, what, purpose, kept } of test.app.dataSources) {
    expect(name).toMatch(/^[a-z][a-z.-]*$/)
    expect(stages).toContain(stage)
    for (const words of [store, what, purpose, kept]) expect(words, name).not.toBe('')
  }
})

it('rows needed to find other data are erased late, and the account last', () => {
  const order = stages.flatMap((stage) =>
    test.app.dataSources.filter((one) => one.stage === stage).map(({ name }) => name),
  )
  expect(order.at(-1)).toBe('accounts')
  for (const later of ['tokens', 'agents'])
    for (const earlier of ['knowledge.units', 'knowledge.skills'])
      expect(order.indexOf(later), `${later} after ${earlier}`).toBeGreaterThan(order.indexOf(earlier))
  expect(order.indexOf('agents')).toBeGreaterThan(order.indexOf('tokens'))
})

it('shared stores are the four that the page of an erasure names', () => {
  const shared = test.app.dataSources.filter(({ isShared }) => isShared).map(({ store }) => store)
  expect([...new Set(shared)].sort()).toEqual(['cache', 'checkpoints', 'graph', 'objects'])
})

describe('an unknown subject', () => {
  const subject = { account: 'usr_0123456789abcdefghijkl', agents: ['nobody-here', "o'brien%_"] }
  each('no data source counts, plans, erases or finds anything', async () => {
    const now = test.clock.now()
    for (const dataSource of test.app.dataSources) {
      expect(await dataSource.inventory(subject, now), dataSource.name).toEqual({ count: 0, since: null, until: null })
      const planned = await test.db.transaction((tx) => dataSource.plan({ subject }, tx, now))
      // Watched items do not count.
      const nothing = { items: [], held: {}, watched: [], results: {} }
      expect({ results: {}, ...planned, watched: [] }, dataSource.name).toEqual(nothing)
      const erased = await test.db.transaction((tx) => dataSource.erase({ subject }, [], tx))
      expect(countOf(erased), dataSource.name).toBe(0)
      expect(await dataSource.residue({ subject }, [], now), dataSource.name).toBe(0)
    }
  })
})
