import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { contributeTarget, readTarget, registerBenchAgent, startCluster } from './installation.ts'
import { CONNECTIONS, load } from './load.ts'
import { type BenchRow, shareRow } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, startApiServer } from './server.ts'
import { benchTrace } from './trace.ts'

const ROUNDS = 5
const SECONDS = 3
const WARM_UP = 3
/** Pool size of one server process. */
const POOL = 10
/** Share of the bare statement's rate that a contribution must reach. */
const LEAST_SHARE = 0.5

const entry = `INSERT INTO audit_entries (id, at, action, agent_id, resource_type, resource_id, ip, details)`
const readUnit = {
  name: 'ceiling-read',
  text: `WITH entry AS (${entry} VALUES ($2, $3, 'read', $4, 'knowledge', $1, '127.0.0.1', '{"operation":"readUnit"}'))
    SELECT * FROM units WHERE id = $1`,
}
const insertUnit = {
  name: 'ceiling-insert',
  text: `WITH unit AS (
      INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, domain, quality_score, created_at, updated_at)
      SELECT $1, 'ReasoningTrace', id, organisation_id, 'network', $5::jsonb, 'code', 0.5, $3, $3 FROM agents WHERE id = $4 RETURNING id)
    ${entry} SELECT $2, $3, 'create', $4, 'knowledge', id, '127.0.0.1', '{"operation":"contributeUnit"}' FROM unit`,
}

/** Statements per second, with as many clients as the load has connections, through one pool. */
async function rate(pool: pg.Pool, query: () => pg.QueryConfig, seconds: number): Promise<number> {
  const started = performance.now()
  const until = started + seconds * 1000
  let done = 0
  const asker = async () => {
    while (performance.now() < until) {
      const { rowCount } = await pool.query(query())
      if (rowCount !== 1) throw new Error(`a statement of the ceiling touched ${rowCount} rows`)
      done++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, asker))
  return (done / (performance.now() - started)) * 1000
}

/**
 * Compares the two hot operations through the API server with the bare database: one statement that selects or inserts
 * the unit and inserts the audit entry, without HTTP, token, limit, validation or sanitizer. In turns, on one
 * database.
 */
export const run = (): Promise<BenchRow[]> => withScope(measureAll)

async function measureAll(scope: AsyncDisposableStack): Promise<BenchRow[]> {
  await buildPages()
  const installation = await (await startCluster(scope)).open('kp')
  const apiServer = await startApiServer(scope, installation.env)
  const agent = await registerBenchAgent(apiServer.url, installation)
  const pool = new pg.Pool({ connectionString: installation.appUrl, max: POOL })
  scope.defer(() => pool.end())
  const document = JSON.stringify(benchTrace)
  const contests = [
    {
      name: 'GET /v1/knowledge/{id} through the API server',
      ceiling: 'SQL: select the unit, insert the audit entry',
      query: () => ({ ...readUnit, values: [agent.unitId, randomUUID(), new Date(), agent.id] }),
      target: readTarget(apiServer.url, agent),
      plain: [] as number[],
      ours: [] as number[],
    },
    {
      name: 'POST /v1/knowledge through the API server',
      ceiling: 'SQL: insert the unit and the audit entry',
      query: () => ({
        ...insertUnit,
        values: [`kp:trace:${randomUUID()}`, randomUUID(), new Date(), agent.id, document],
      }),
      target: contributeTarget(apiServer.url, agent),
      plain: [] as number[],
      ours: [] as number[],
    },
  ]
  for (const { query, target } of contests) {
    await rate(pool, query, WARM_UP)
    await load(target, WARM_UP)
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const { query, target, plain, ours } of contests) {
      plain.push(await rate(pool, query, SECONDS))
      ours.push((await load(target, SECONDS)).perSecond)
    }
  return contests.map(({ name, ceiling, plain, ours, target }) =>
    shareRow(name, ours, { name: ceiling, values: plain }, target.method === 'POST' ? LEAST_SHARE : undefined),
  )
}
