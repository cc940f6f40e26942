import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import {
  type Agent,
  type BenchInstallation,
  type Cluster,
  contributeTarget,
  copyOf,
  makeAdmin,
  readTarget,
  registerBenchAgent,
  startCluster,
} from './installation.ts'
import { percentile, steadily } from './latency.ts'
import type { BenchRow } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, type Server, startApiServer } from './server.ts'

const SIZE = 1_000_000
const QUIET = 20_000
const LEAST = 0.5
const MOST = 2
/** Requests per second during the sweep. */
const READS = 200
const WRITES = 20

/**
 * Seeds expired units as wide as contributed ones, with a document of about 2 KB and indexed words. Texts are drawn
 * from a few thousand, so that a million units take minutes. Ids and times increase as in reality. Indexes are built
 * afterwards.
 */
async function seed({ ownerUrl }: BenchInstallation, agent: Agent, size: number): Promise<void> {
  await withConnection(ownerUrl, async (owner) => {
    await owner.query(
      "SET session_replication_role = replica; SET synchronous_commit = off; SET maintenance_work_mem = '1GB'",
    )
    const { rows } = await owner.query<{ name: string; definition: string }>(
      "SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE tablename = 'units' AND indexname <> 'units_pkey'",
    )
    for (const { name } of rows) await owner.query(`DROP INDEX "${name}"`)
    await owner.query(`CREATE TEMP TABLE texts AS
      SELECT k, jsonb_build_object('steps', (SELECT jsonb_agg(jsonb_build_object('step_id', s, 'type', 'thought', 'content', md5((k * 31 + s)::text) || ' ' || text)) FROM generate_series(1, 4) AS s),
          'outcome', jsonb_build_object('result_summary', text, 'confidence', 0.9)) AS body,
        to_tsvector('simple', text) AS words
      FROM (SELECT k, (SELECT string_agg('word' || (power(random(), 3) * 20000)::int, ' ') FROM generate_series(1, 40 + k * 0) AS w) AS text
        FROM generate_series(0, 1999) AS k) AS made`)
    await owner.query(
      `INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, quality_score, created_at, updated_at, domain, search)
       SELECT 'kp:trace:' || lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 19),
         'ReasoningTrace', a.id, a.organisation_id, 'private',
         t.body || jsonb_build_object('id', n, 'task', jsonb_build_object('objective', md5(n::text))),
         random(), at, at, 'code', t.words || to_tsvector('simple', 'unit' || n)
       FROM (SELECT n, now() - interval '500 days' + n * interval '8 seconds' AS at FROM generate_series(1, $1::int) AS n) AS s
       JOIN texts t ON t.k = s.n % 2000, agents a WHERE a.id = $2`,
      [size, agent.id],
    )
    for (const { definition } of rows) await owner.query(definition)
    await owner.query('VACUUM (ANALYZE) units')
    await owner.query('CHECKPOINT')
  })
}

/** Deletes all of them in one statement, with one audit entry and one deletion entry each. Returns seconds. */
const plainDelete = (url: string, size: number): Promise<number> =>
  withConnection(url, async (owner) => {
    await owner.query('CHECKPOINT')
    const started = performance.now()
    const { rows } = await owner.query<{ n: number }>(`WITH gone AS (
        DELETE FROM units WHERE visibility = 'private' AND created_at <= now() - interval '365 days' RETURNING id),
      audited AS (INSERT INTO audit_entries (id, at, action, agent_id, resource_type, resource_id, ip, details)
        SELECT gen_random_uuid(), now(), 'delete', 'system:retention.sweep', 'knowledge', id, '', '{"sweep":"plain"}' FROM gone),
      logged AS (INSERT INTO deletion_audit_log (audit_id, "timestamp", requested_by, reason, scope, results)
        SELECT gen_random_uuid(), now(), 'system:retention.sweep', 'retention', jsonb_build_object('unit', id), '{"knowledge.units":1}' FROM gone)
      SELECT count(*)::int AS n FROM gone`)
    if (rows[0]?.n !== size) throw new Error(`the plain DELETE took ${rows[0]?.n} of ${size}`)
    return (performance.now() - started) / 1000
  })

const Answer = z.object({
  data: z.object({ id: z.string(), state: z.string(), deleted: z.object({ total: z.number() }) }),
})

/** Runs a sweep on demand and waits for it, like an admin. Returns seconds. */
async function sweep(url: string, token: string, size: number): Promise<number> {
  const started = performance.now()
  const headers = { Authorization: `Bearer ${token}` }
  let answer = await fetch(`${url}/v1/retention/sweep`, { method: 'POST', headers })
  for (;;) {
    if (!answer.ok) throw new Error(`the sweep answered ${answer.status}: ${await answer.text()}`)
    const { data } = Answer.parse(await answer.json())
    if (data.state === 'interrupted') throw new Error('the sweep was interrupted')
    if (data.state === 'finished') {
      if (data.deleted.total !== size) throw new Error(`the sweep took ${data.deleted.total} of ${size}`)
      return (performance.now() - started) / 1000
    }
    await delay(100)
    answer = await fetch(`${url}/v1/retention/sweeps/${data.id}`, { headers })
  }
}

interface MeasureDeps {
  size?: number
  start?: (scope: AsyncDisposableStack, env: Record<string, string>) => Promise<Server>
}

/**
 * A sweep of a million expired units through the API while it answers other requests at a steady rate, compared with
 * one plain DELETE of the same units on a copy without other load. Also measures the effect on the other requests.
 */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    await buildPages()
    return measure(scope, {})
  })

export async function measure(
  scope: AsyncDisposableStack,
  { size = SIZE, start = startApiServer }: MeasureDeps,
): Promise<BenchRow[]> {
  const cluster: Cluster = await startCluster(scope)
  const installation = await cluster.open('sweep')
  const agent = await withScope(async (inner) => {
    const { url } = await start(inner, installation.env)
    return registerBenchAgent(url, installation)
  })
  await makeAdmin(installation, agent)
  await seed(installation, agent, size)
  const plain = await plainDelete(await copyOf(installation, 'plain'), size)

  const { url } = await start(scope, installation.env)
  const rates = [
    { target: readTarget(url, agent), perSecond: READS },
    { target: contributeTarget(url, agent), perSecond: WRITES },
  ]
  await steadily(rates, AbortSignal.timeout(5_000))
  const quiet = await steadily(rates, AbortSignal.timeout(QUIET))
  const swept = new AbortController()
  const noticing = steadily(rates, swept.signal)
  const ours = await sweep(url, agent.token, size).finally(() => swept.abort())
  const noticed = await noticing

  const rows = `${size.toLocaleString('en')} expired units`
  const speed = size / ours
  const [before, during] = [percentile(quiet, 0.95), percentile(noticed, 0.95)]
  return [
    {
      name: `sweep of ${rows}, audit and deletion rows included, among ${READS + WRITES} requests/s`,
      value: Math.round(speed),
      unit: 'units/s',
      ceiling: { name: 'one plain DELETE with the INSERT … SELECTs, alone', value: Math.round(size / plain) },
      bar: `at least ${LEAST} ×`,
      met: speed / (size / plain) >= LEAST,
    },
    {
      name: `p95 of the ${noticed.length.toLocaleString('en')} requests meanwhile`,
      value: during,
      unit: 'ms',
      ceiling: { name: 'before the sweep', value: before },
      bar: `at most ${MOST} ×`,
      met: during <= MOST * before,
    },
  ]
}
