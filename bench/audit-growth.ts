import { setTimeout as delay } from 'node:timers/promises'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import type { ApiRequest } from '#lib/http/api-request.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import {
  type Agent,
  type BenchInstallation,
  contributeTarget,
  readTarget,
  registerBenchAgent,
  startCluster,
} from './installation.ts'
import { type LoadTarget, load } from './load.ts'
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, startApiServer } from './server.ts'
import { benchTrace } from './trace.ts'

const ENTRIES = 1_000_000
const PAIRS = 12
const SECONDS = 2
const WARM_UP = 4
const LEAST = 0.9

/** The distribution of the entries: over time, or all in the current partition. */
const spreads = {
  'over 80 days': `now() - random() * interval '80 days'`,
  'all of today': `date_trunc('day', now(), 'UTC') + random() * (now() - date_trunc('day', now(), 'UTC'))`,
}
type Spread = keyof typeof spreads

/** Fills the log day by day. Each partition is created before its entries. */
async function fill({ ownerUrl }: BenchInstallation, spread: Spread): Promise<void> {
  await withConnection(ownerUrl, async (owner) => {
    await owner.query(`DO $$
      DECLARE day date; name text;
      BEGIN
        FOR i IN 1..81 LOOP
          day := (now() AT TIME ZONE 'UTC')::date - i;
          name := 'audit_entries_' || to_char(day, 'YYYYMMDD');
          EXECUTE format('CREATE TABLE %I PARTITION OF audit_entries FOR VALUES FROM (%L) TO (%L)',
            name, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
        END LOOP;
      END $$`)
    await owner.query(
      `INSERT INTO audit_entries (id, at, action, agent_id, resource_type, resource_id, ip, details)
       SELECT gen_random_uuid(), ${spreads[spread]}, CASE WHEN n % 5 = 0 THEN 'create' ELSE 'read' END, 'agent-' || n % 500,
         'knowledge', 'kp:trace:' || md5((n % 20000)::text), '127.0.0.1', '{"operation":"readUnit"}'
       FROM generate_series(1, $1::int) AS n`,
      [ENTRIES],
    )
  })
}

/** The statements of one read and one contribution with their plans, without costs. */
async function plansOf(installation: BenchInstallation, agent: Agent): Promise<Map<string, string>> {
  const app = createApp({ env: readEnv(installation.env) })
  const ask = async (useCase: UseCase, params: Record<string, string>, body?: unknown) => {
    const headers = new Headers({ Authorization: `Bearer ${agent.token}`, 'Content-Type': 'application/json' })
    const request: ApiRequest = {
      ...useCase.operation,
      headers,
      url: useCase.operation.path,
      body: body === undefined ? null : pieces(body),
    }
    const { status } = await app.handle(useCase, request, { params, address: '127.0.0.1' })
    if (status !== useCase.operation.status) throw new Error(`${useCase.operation.id} answered ${status}`)
  }
  try {
    await ask(app.knowledge.read, { id: agent.unitId })
    await ask(app.knowledge.contribute, {}, benchTrace)
    const plans = new Map<string, string>()
    const { pool } = app.db
    while (pool.idleCount < pool.totalCount) await delay(10) // busy connections would be skipped and new ones opened
    const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
    for (const client of clients) {
      const { rows } = await client.query<{ name: string; statement: string }>(
        `SELECT name, statement FROM pg_prepared_statements WHERE statement NOT LIKE 'UPDATE tokens%'`,
      )
      for (const { name, statement } of rows) {
        const explained = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN, COSTS OFF) ${statement}`)
        plans.set(name, explained.rows.map((row) => row['QUERY PLAN']).join('\n'))
      }
      client.release()
    }
    return plans
  } finally {
    await app.close()
  }
}
async function* pieces(body: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(body))
}

const operations = ['GET /v1/knowledge/{id}', 'POST /v1/knowledge'] as const
interface Side {
  installation: BenchInstallation
  agent: Agent
  targets: Record<(typeof operations)[number], LoadTarget>
}

async function openSide(scope: AsyncDisposableStack, installation: BenchInstallation, spread?: Spread): Promise<Side> {
  const { url } = await startApiServer(scope, installation.env)
  const agent = await registerBenchAgent(url, installation)
  const targets = {
    'GET /v1/knowledge/{id}': readTarget(url, agent),
    'POST /v1/knowledge': contributeTarget(url, agent),
  }
  const warmUp = async () => {
    for (const operation of operations) await load(targets[operation], WARM_UP)
  }
  // Warm up first, so that ANALYZE finds thousands of units. Plans for a table of one row would read all of it.
  await warmUp()
  if (spread) await fill(installation, spread)
  await withConnection(installation.ownerUrl, async (owner) => {
    await owner.query('VACUUM (ANALYZE)')
    await owner.query('CHECKPOINT')
  })
  await warmUp()
  return { installation, agent, targets }
}

/** Deletes the entries of earlier rounds, so that "none" stays empty. */
const empty = ({ installation }: Side) =>
  withConnection(installation.ownerUrl, (owner) => owner.query('TRUNCATE audit_entries'))

const quartile = (values: number[], share: number) =>
  values.toSorted((one, other) => one - other)[Math.round((values.length - 1) * share)] ?? Number.NaN

function growthRow(name: string, none: number[], full: number[]): BenchRow {
  const ratios = full.map((rate, pair) => rate / (none[pair] ?? Number.NaN))
  const ratio = median(ratios)
  const middle = `${quartile(ratios, 0.25).toFixed(2)}–${quartile(ratios, 0.75).toFixed(2)}`
  return {
    name: `${name} (${ratios.length} pairs, the middle half ${middle})`,
    value: Math.round(median(full)),
    unit: 'requests/s',
    ceiling: { name: 'the same with none', value: Math.round(median(none)) },
    ratio,
    bar: `at least ${LEAST} ×`,
    met: ratio >= LEAST,
  }
}

function planRow(spread: Spread, none: Map<string, string>, full: Map<string, string>): BenchRow {
  const names = [...new Set([...none.keys(), ...full.keys()])].sort()
  const changed = names.filter((name) => none.get(name) !== full.get(name))
  for (const name of changed) console.log(`${name}, with none:\n${none.get(name)}\n${spread}:\n${full.get(name)}`)
  return {
    name: `plans that ${ENTRIES.toLocaleString('en')} audit entries ${spread} change, of ${names.join(', ')}`,
    value: changed.length,
    unit: 'plans',
    bar: '0',
    met: changed.length === 0 && names.length > 0,
  }
}

/**
 * Whether a long audit log slows the hot operations. Compares an empty log, a million entries over 80 days, and a
 * million entries in the current day: each with its own database and server in one cluster, loaded in turns. Ratios
 * are of neighbouring rounds.
 */
export const run = (): Promise<BenchRow[]> => withScope(measureAll)

async function measureAll(scope: AsyncDisposableStack): Promise<BenchRow[]> {
  await buildPages()
  const { open } = await startCluster(scope)
  const none = await openSide(scope, await open('none'))
  const days = await openSide(scope, await open('days'), 'over 80 days')
  const today = await openSide(scope, await open('today'), 'all of today')
  const sides = [none, days, today]
  const rows: BenchRow[] = []
  for (const operation of operations) {
    const rates = new Map(sides.map((side) => [side, [] as number[]]))
    for (let pair = 0; pair < PAIRS; pair++) {
      await empty(none)
      for (const side of pair % 2 === 0 ? sides : sides.toReversed())
        rates.get(side)?.push((await load(side.targets[operation], SECONDS)).perSecond)
    }
    const of = (side: Side) => rates.get(side) ?? []
    const name = `${operation} with ${ENTRIES.toLocaleString('en')} audit entries`
    rows.push(
      growthRow(`${name} over 80 days`, of(none), of(days)),
      growthRow(`${name}, all of today`, of(none), of(today)),
    )
  }
  await empty(none)
  for (const { installation } of sides) await withConnection(installation.ownerUrl, (owner) => owner.query('ANALYZE'))
  const plans = await plansOf(none.installation, none.agent)
  rows.push(planRow('over 80 days', plans, await plansOf(days.installation, days.agent)))
  rows.push(planRow('all of today', plans, await plansOf(today.installation, today.agent)))
  return rows
}
