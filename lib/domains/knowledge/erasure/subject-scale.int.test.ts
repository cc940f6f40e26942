import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { stages } from '#lib/kernel/data-source.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

/**
 * Ten agents of a subject with a thousand units, and ninety others with nine thousand. All agents vote on each other's units. Finally
 * updates the statistics like autovacuum, so that query plans do not depend on its timing.
 */
const seed = `
  INSERT INTO organisations (id, name, created_at) VALUES ('org', 'Test', now());
  INSERT INTO agents (id, organisation_id, lawful_basis, notice_version, created_at)
    SELECT 'agent' || n, 'org', 'consent', '1', now() FROM generate_series(0, 99) AS n;
  INSERT INTO units (id, type, agent_id, organisation_id, attributed_to, original_author, visibility, domain, document, search, quality_score, novelty, created_at, updated_at)
    SELECT 'kp:sop:' || md5(n::text), 'ExpertSOP', 'agent' || n % 100, 'org', 'expert' || n % 500, CASE WHEN n % 10 = 0 THEN 'agent' || n % 90 END, 'network', 'code',
      jsonb_build_object('@type', 'ExpertSOP', 'source', jsonb_build_object('expert_id', 'expert' || n % 500), 'metadata', jsonb_build_object('validated_by', jsonb_build_array('agent' || (n / 7) % 1000))),
      array_to_tsvector(ARRAY['word' || n % 300]), 0.5, 0.5, now(), now() FROM generate_series(1, 10000) AS n;
  INSERT INTO unit_votes (unit_id, voter_id, owner_key, valid, weight, at)
    SELECT 'kp:sop:' || md5(n::text), 'agent' || (n + v) % 100, 'agent' || (n + v) % 100, true, 1, now() FROM generate_series(1, 10000) AS n, generate_series(1, 2) AS v;
  INSERT INTO unit_reports (unit_id, reporter_id, owner_key, reason, at)
    SELECT 'kp:sop:' || md5(n::text), 'agent' || (n + 5) % 100, 'agent' || (n + 5) % 100, 'a doubt', now() FROM generate_series(1, 10000) AS n;
  INSERT INTO sop_versions (unit_id, version, document, created_by, created_at, approved_by, approved_at)
    SELECT id, 1, document, agent_id, now(), agent_id, now() FROM units;
  INSERT INTO skills (id, agent_id, organisation_id, name, description, visibility, front_matter, document, undeclared_tools, quality_score, created_at, updated_at)
    SELECT 'kp:skill:' || md5(n::text), 'agent' || n % 100, 'org', 'skill-' || n, '', 'network', jsonb_build_object('author', 'somebody' || n), '', '{}', 0.5, now(), now() FROM generate_series(1, 10000) AS n;
  INSERT INTO reputation_ledger (id, agent_id, at, change, reason, subject_id)
    SELECT 'rep_' || unit_id || voter_id, voter_id, at, 0.05, 'vote', unit_id FROM unit_votes;
  INSERT INTO reputation (agent_id, score, day, gained_today, voted_today) SELECT agent_id, sum(change), now(), 0, 0 FROM reputation_ledger GROUP BY 1;
  INSERT INTO content_rejections (id, agent_id, at, stage) SELECT 'rej_' || n, 'agent' || n % 100, now(), 'injection' FROM generate_series(1, 10000) AS n;
  INSERT INTO search_words (scope, word, units, bearer) SELECT 'network', 'borne' || id, 1, id FROM units;
  ANALYZE units, unit_votes, unit_reports, sop_versions, skills, reputation_ledger, reputation, content_rejections, search_words;`
const watched = [
  'units',
  'unit_votes',
  'unit_reports',
  'sop_versions',
  'skills',
  'skill_files',
  'reputation_ledger',
  'content_rejections',
  'search_words',
  'search_news',
]

/** Sequential scans per table. The server counts them when the reading connections are closed. */
const scans = async (): Promise<Record<string, number>> =>
  withConnection(database.ownerUrl, async (client) => {
    const others = async () =>
      (
        await client.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
        )
      ).rowCount
    await vi.waitUntil(async () => (await others()) === 0, 120_000)
    const { rows } = await client.query<{ name: string; n: number }>(
      'SELECT relname AS name, seq_scan::int AS n FROM pg_stat_user_tables WHERE relname = ANY($1)',
      [watched],
    )
    return Object.fromEntries(rows.map(({ name, n }) => [name, n]))
  })

it('plan, erasure and verification use indexes: with 10,000 rows per table there is no sequential scan', async () => {
  await withConnection(database.ownerUrl, (client) => client.query(seed))
  const before = await scans()
  const test = await testApp({}, { ...database, drop: async () => {} })
  const { app } = test
  const subject = { account: 'usr_somebody', agents: Array.from({ length: 10 }, (_, n) => `agent${n * 10}`) }
  const dataSources = stages.flatMap((stage) =>
    app.dataSources.filter(
      (dataSource) => dataSource.stage === stage && /^(?:knowledge|idempotency)\./.test(dataSource.name),
    ),
  )
  const now = new Date()
  for (const dataSource of dataSources) {
    const { items } = await app.db.transaction((tx) => dataSource.plan({ subject }, tx, now))
    expect([dataSource.name, items.length > 0]).toEqual([dataSource.name, dataSource.name !== 'idempotency.answers'])
    for (let at = 0; at < items.length; at += 1_000)
      await app.db.transaction(async (tx) => {
        const page = items.slice(at, at + 1_000)
        await dataSource.identities?.(page, tx)
        await dataSource.erase({ subject }, page, tx)
      })
    expect([dataSource.name, await dataSource.residue({ subject }, items, now)]).toEqual([dataSource.name, 0])
  }
  await test.close()
  expect(await scans()).toEqual(before)
  // Check that the counter detects a scan.
  await withConnection(database.ownerUrl, (client) => client.query('SELECT count(document) FROM units'))
  expect((await scans()).units).toBe((before.units ?? 0) + 1)
})
