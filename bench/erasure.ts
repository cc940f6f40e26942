import { setTimeout as delay } from 'node:timers/promises'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { adminSession, fileErasure } from '#lib/testing/due-day.ts'
import {
  type BenchInstallation,
  contributeTarget,
  copyOf,
  readTarget,
  registerBenchAgent,
  startCluster,
  startWorker,
} from './installation.ts'
import { percentile, steadily } from './latency.ts'
import type { BenchRow } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, type Server, startApiServer } from './server.ts'

const LONGEST = 120
const MOST = 2
/** Requests per second during the erasure. */
const READS = 100
const WRITES = 10
const account = 'usr_0000000000000000000big'

export interface ErasureSizes {
  agents: number
  units: number
  votes: number
  /** How many times as much data other people have. */
  others: number
  /** Duration of the measurement before the erasure, in milliseconds. */
  quiet: number
}
export const fullErasureSizes: ErasureSizes = { agents: 10, units: 50_000, votes: 100_000, others: 10, quiet: 20_000 }

/**
 * Seeds a person with agents, units of about 1 KB with their words, and votes, and other people with `others` times as
 * much. A hundredth of the others' units name an agent of the person. Derived data is included: reputation and vote
 * sums. Indexes are built afterwards.
 */
async function seed({ ownerUrl }: BenchInstallation, { agents, units, votes, others }: ErasureSizes): Promise<void> {
  await withConnection(ownerUrl, async (owner) => {
    await owner.query(
      "SET session_replication_role = replica; SET synchronous_commit = off; SET maintenance_work_mem = '1GB'",
    )
    const { rows } = await owner.query<{ name: string; definition: string }>(
      `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
       WHERE tablename IN ('units', 'unit_votes', 'reputation_ledger') AND indexname NOT LIKE '%_pkey'`,
    )
    for (const { name } of rows) await owner.query(`DROP INDEX "${name}"`)
    await owner.query(
      `INSERT INTO organisations (id, name, created_at) VALUES ('org_big', 'One', now()), ('org_others', 'Others', now())`,
    )
    await owner.query(
      `INSERT INTO accounts (id, organisation_id, email, name, role, password_hash, created_at, updated_at)
       VALUES ($1, 'org_big', 'big@example.org', 'Big', 'person', '-', now(), now())`,
      [account],
    )
    await owner.query(
      `INSERT INTO agents (id, organisation_id, owner_id, lawful_basis, notice_version, created_at)
       SELECT CASE WHEN n <= $1::int THEN 'big-' ELSE 'other-' END || n, CASE WHEN n <= $1 THEN 'org_big' ELSE 'org_others' END,
         CASE WHEN n <= $1 THEN $3 END, 'consent', '1', now() FROM generate_series(1, $1 * (1 + $2::int)) AS n`,
      [agents, others, account],
    )
    await owner.query(
      `INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, quality_score, novelty, created_at, updated_at, domain, search)
       SELECT 'kp:trace:' || lpad(n::text, 12, '0'), 'ReasoningTrace', a.id, a.organisation_id, 'network',
         jsonb_build_object('@type', 'ReasoningTrace', 'id', n, 'metadata',
             CASE WHEN n % 100 = 99 AND a.owner_id IS NULL THEN jsonb_build_object('validated_by', jsonb_build_array('big-' || 1 + n / 100 % $1)) ELSE '{}' END,
           'task', jsonb_build_object('objective', md5(n::text)), 'steps', (SELECT jsonb_agg(jsonb_build_object('step_id', s, 'type', 'thought', 'content', md5((n * 7 + s)::text) || ' word' || (n * s) % 20000))
             FROM generate_series(1, 8) AS s)),
         random(), 0.5, at, at, 'code', (SELECT array_to_tsvector(array_agg(DISTINCT 'word' || (n * s) % 20000)) FROM generate_series(1, 40) AS s)
       FROM (SELECT n, now() - interval '300 days' + n * interval '30 seconds' AS at FROM generate_series(1, $2::int) AS n) AS s
       JOIN agents a ON a.id = CASE WHEN n % (1 + $3::int) = 0 THEN 'big-' || 1 + n % $1 ELSE 'other-' || ($1 + 1 + n % ($1 * $3)) END`,
      [agents, units * (1 + others), others],
    )
    // The person's agents count as one voter: at most one vote per unit.
    await owner.query(
      `INSERT INTO unit_votes (unit_id, voter_id, owner_key, valid, weight, at)
       SELECT u.id, 'big-' || 1 + (row_number() OVER ()) % $1::int, 'user:' || $3, true, 1, now()
       FROM (SELECT id FROM units WHERE agent_id LIKE 'other-%' ORDER BY id LIMIT $2) AS u`,
      [agents, votes, account],
    )
    await owner.query(
      `INSERT INTO unit_votes (unit_id, voter_id, owner_key, valid, weight, at)
       SELECT u.id, v.voter, v.voter, true, 1, now() FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM units) AS u,
         LATERAL (SELECT DISTINCT 'other-' || ($1::int + 1 + (n * 31 + k * 17) % ($1 * $2::int)) AS voter FROM generate_series(1, $3::int) AS k) AS v
       ON CONFLICT DO NOTHING`,
      [agents, others, Math.max(1, Math.round((votes * others) / (units * (1 + others))))],
    )
    await owner.query(`INSERT INTO reputation_ledger (id, agent_id, at, change, reason, subject_id)
      SELECT 'rep_u' || id, agent_id, created_at, 1, 'unit', id FROM units
      UNION ALL SELECT 'rep_v' || voter_id || unit_id, voter_id, at, 0.05, 'vote', unit_id FROM unit_votes`)
    await owner.query(`INSERT INTO reputation (agent_id, score, day, gained_today, voted_today)
      SELECT agent_id, sum(change), now(), 0, 0 FROM reputation_ledger GROUP BY 1 ON CONFLICT (agent_id) DO UPDATE SET score = excluded.score`)
    await owner.query(`INSERT INTO search_words (scope, word, units, bearer)
      SELECT 'network', word, count(*), min(id) FROM units, unnest(tsvector_to_array(search)) AS w(word) GROUP BY word ON CONFLICT DO NOTHING`)
    for (const { definition } of rows) await owner.query(definition)
    await owner.query('VACUUM (ANALYZE)')
    await owner.query('CHECKPOINT')
  })
}

/** Deletes the person's units, votes and reputation in four statements, without records, verification or pseudonyms. Returns seconds. */
const plainDelete = (url: string): Promise<number> =>
  withConnection(url, async (owner) => {
    await owner.query('CHECKPOINT')
    const started = performance.now()
    await owner.query("DELETE FROM unit_votes WHERE voter_id LIKE 'big-%'")
    await owner.query("DELETE FROM unit_votes WHERE unit_id IN (SELECT id FROM units WHERE agent_id LIKE 'big-%')")
    await owner.query("DELETE FROM reputation_ledger WHERE agent_id LIKE 'big-%'")
    await owner.query("DELETE FROM units WHERE agent_id LIKE 'big-%'")
    return (performance.now() - started) / 1000
  })

type Start = (scope: AsyncDisposableStack, env: Record<string, string>) => Promise<Server>

/**
 * The erasure of a person with much data, filed by an admin, while the API answers others at a steady rate, compared
 * with a plain deletion of the same rows.
 */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    await buildPages()
    return measure(scope, {})
  })

export async function measure(
  scope: AsyncDisposableStack,
  { start = startApiServer, ...given }: Partial<ErasureSizes> & { start?: Start },
): Promise<BenchRow[]> {
  const sizes = { ...fullErasureSizes, ...given }
  const cluster = await startCluster(scope)
  const installation = await cluster.open('erasure')
  const reader = await withScope(async (inner) => {
    const { url } = await start(inner, installation.env)
    return registerBenchAgent(url, installation)
  })
  await seed(installation, sizes)
  const plain = await plainDelete(await copyOf(installation, 'plain'))

  const { url } = await start(scope, installation.env)
  await startWorker(scope, installation.env)
  const app = createApp({ env: readEnv({ ...installation.env, NODE_ENV: 'production' }) })
  scope.defer(() => app.close())
  const cookie = await adminSession(app)
  const rates = [
    { target: readTarget(url, reader), perSecond: READS },
    { target: contributeTarget(url, reader), perSecond: WRITES },
  ]
  await steadily(rates, AbortSignal.timeout(Math.min(5_000, sizes.quiet)))
  const quiet = await steadily(rates, AbortSignal.timeout(sizes.quiet))
  const over = new AbortController()
  const noticing = steadily(rates, over.signal)
  const started = performance.now()
  const request = await fileErasure(app, cookie, account, 'now')
  const state = async () => (await app.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: request } })).state
  for (let now = await state(); now !== 'completed'; now = await state()) {
    if (now === 'failed' || performance.now() - started > 1_800_000) {
      over.abort()
      throw new Error(`the request is ${now} after ${Math.round((performance.now() - started) / 1000)} s`)
    }
    await delay(100)
  }
  const ours = (performance.now() - started) / 1000
  over.abort()
  const noticed = await noticing
  const [items, again] = [await itemsOf(app, request), await secondRun(app, sizes)]

  const what = `${sizes.agents} agents, ${sizes.units.toLocaleString('en')} units and ${sizes.votes.toLocaleString('en')} votes amid ${sizes.others} times as much`
  const [before, during] = [percentile(quiet, 0.95), percentile(noticed, 0.95)]
  return [
    {
      name: `a person with ${what} (${items.toLocaleString('en')} items): from the request to erased and verified, among ${READS + WRITES} requests/s`,
      value: ours,
      unit: 's',
      ceiling: { name: 'four plain DELETEs, alone', value: plain },
      bar: `under ${LONGEST} s`,
      met: ours < LONGEST,
    },
    {
      name: `p95 of the ${noticed.length.toLocaleString('en')} requests meanwhile`,
      value: during,
      unit: 'ms',
      ceiling: { name: 'before', value: before },
      bar: `at most ${MOST} ×`,
      met: during <= MOST * before,
    },
    { name: 'items that a second run erases', value: again, unit: 'items', bar: '0', met: again === 0 },
  ]
}

type Running = ReturnType<typeof createApp>
const planned = (steps: readonly { planned: number }[]): number => steps.reduce((sum, step) => sum + step.planned, 0)

const itemsOf = async ({ db }: Running, requestId: string): Promise<number> =>
  planned(await db.prisma.erasureStep.findMany({ where: { run: { requestId } } }))

/** Erases the same person again. */
async function secondRun({ db, pipeline, subjectErasures }: Running, { agents }: ErasureSizes): Promise<number> {
  const subject = { account, agents: Array.from({ length: agents }, (_, n) => `big-${n + 1}`) }
  const now = pipeline.clock.now()
  const { runId } = await db.transaction((tx) =>
    subjectErasures.begin(tx, { requestId: null, subject, requestedBy: 'system:bench', reason: 'replay', now }),
  )
  await subjectErasures.complete(runId)
  return planned((await subjectErasures.run(runId))?.steps ?? [])
}
