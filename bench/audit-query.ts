import { Agent as HttpAgent } from 'node:http'
import pg from 'pg'
import { AuditActions } from '#lib/domains/audit/contract.ts'
import { entriesOf } from '#lib/domains/audit/repository.ts'
import { searchOf } from '#lib/domains/audit/service.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type BenchInstallation, makeAdmin, registerBenchAgent, startCluster } from './installation.ts'
import { percentile, timeRequest } from './latency.ts'
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, type Server, startApiServer } from './server.ts'

const ENTRIES = 5_000_000
const DAYS = 80
const MOST = 50
const QUESTIONS = 600
const WARM_UP = 100
const AGENTS = 500
const dayMs = 86_400_000

/**
 * Fills 80 days with a realistic distribution: the busiest agent has a ninth of the entries, most have few, and seven
 * of ten are reads. Each partition is created before its entries, and indexes are built afterwards.
 */
async function fill({ ownerUrl }: BenchInstallation, entries: number): Promise<void> {
  await withConnection(ownerUrl, async (owner) => {
    await owner.query("SET synchronous_commit = off; SET maintenance_work_mem = '512MB'")
    await owner.query(`DO $$
      DECLARE day date;
      BEGIN
        FOR i IN 1..${DAYS + 1} LOOP
          day := (now() AT TIME ZONE 'UTC')::date - i;
          EXECUTE format('CREATE TABLE %I PARTITION OF audit_entries FOR VALUES FROM (%L) TO (%L)',
            'audit_entries_' || to_char(day, 'YYYYMMDD'), day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
        END LOOP;
      END $$`)
    const { rows } = await owner.query<{ name: string; definition: string }>(
      "SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE tablename = 'audit_entries' AND indexname <> 'audit_entries_pkey'",
    )
    for (const { name } of rows) await owner.query(`DROP INDEX "${name}"`)
    await owner.query(
      `INSERT INTO audit_entries (id, at, action, agent_id, resource_type, resource_id, ip, details)
       SELECT gen_random_uuid(), now() - interval '${DAYS} days' * (1 - n / $1::float8),
         (ARRAY['read','read','read','read','read','read','read','read','read','read','read','read','read','read','create','create','create','create','update','delete'])[1 + floor(random() * 20)::int],
         'agent-' || floor(power(${AGENTS}, random()))::int, 'knowledge', 'kp:trace:' || md5((n % 200000)::text), '127.0.0.1', '{"operation":"readUnit"}'
       FROM generate_series(1, $1::int) AS n`,
      [entries],
    )
    // A partitioned index without children prints itself with ON ONLY. Without ONLY it is created for all partitions.
    for (const { definition } of rows) await owner.query(definition.replace(' ON ONLY ', ' ON '))
    await owner.query('VACUUM (ANALYZE) audit_entries')
    await owner.query('CHECKPOINT')
  })
}

/** A random query: an agent by its activity, an action and a month. */
function question() {
  const from = new Date(Date.now() - dayMs * (30 + Math.random() * (DAYS - 30)))
  return {
    agent_id: `agent-${Math.floor(AGENTS ** Math.random())}`,
    action: AuditActions[Math.floor(Math.random() * AuditActions.length)],
    from,
    to: new Date(from.getTime() + 30 * dayMs),
  }
}

interface MeasureDeps {
  entries?: number
  start?: (scope: AsyncDisposableStack, env: Record<string, string>) => Promise<Server>
}

/**
 * The audit query by agent, action and month through the API (first page and total), compared with plain SQL for the
 * page's rows, in turns.
 */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    await buildPages()
    return measure(scope, {})
  })

export async function measure(
  scope: AsyncDisposableStack,
  { entries = ENTRIES, start = startApiServer }: MeasureDeps,
): Promise<BenchRow[]> {
  const installation = await (await startCluster(scope)).open('audit')
  const { url } = await start(scope, installation.env)
  const admin = await registerBenchAgent(url, installation)
  await makeAdmin(installation, admin)
  await fill(installation, entries)
  const pool = new pg.Pool({ connectionString: installation.appUrl, max: 1 })
  scope.defer(() => pool.end())
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 })
  scope.defer(async () => agent.destroy())

  const ours: number[] = []
  const plain: number[] = []
  for (let n = 0; n < WARM_UP + QUESTIONS; n++) {
    const asked = question()
    const search = searchOf({ ...asked, resource_type: undefined, resource_id: undefined }, undefined, new Date())
    const started = performance.now()
    await entriesOf(async (text, values) => (await pool.query(text, [...values])).rows, search, 21)
    const took = performance.now() - started
    const query = new URLSearchParams({
      agent_id: asked.agent_id,
      action: asked.action ?? 'read',
      from: asked.from.toISOString(),
      to: asked.to.toISOString(),
    })
    const headers = { Authorization: `Bearer ${admin.token}` }
    const answered = await timeRequest(agent, { url: `${url}/v1/audit?${query}`, method: 'GET', headers, status: 200 })
    if (n < WARM_UP) continue
    plain.push(took)
    ours.push(answered)
  }
  const name = `audit query by agent, action and month over ${entries.toLocaleString('en')} entries`
  const p95 = percentile(ours, 0.95)
  return [
    {
      name: `${name}: p95`,
      value: p95,
      unit: 'ms',
      ceiling: { name: 'SQL: the page’s rows alone', value: percentile(plain, 0.95) },
      bar: `under ${MOST} ms`,
      met: p95 < MOST,
    },
    {
      name: `${name}: median`,
      value: median(ours),
      unit: 'ms',
      ceiling: { name: 'SQL: the page’s rows alone', value: median(plain) },
    },
  ]
}
