import { Agent as HttpAgent } from 'node:http'
import type { ClientBase } from 'pg'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { planted } from './corpus.ts'
import {
  type Agent,
  contributeTarget,
  readTarget,
  registerBenchAgent,
  startCluster,
  storeUnit,
} from './installation.ts'
import { timeRequest } from './latency.ts'
import type { LoadTarget } from './load.ts'
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'
import { startApi } from './transfer.ts'

const SIZES = [10_000, 100_000, 1_000_000]
const MOST_GROWTH = 1.5
const ROUNDS = 40
const WARM_UP = 15
/** Larger databases are not planted after this time, in milliseconds. */
const PATIENCE = 600_000

const searchTarget = (url: string, { token }: Agent, q: string): LoadTarget => ({
  url: `${url}/v1/knowledge?${new URLSearchParams({ q })}`,
  method: 'GET',
  headers: { Authorization: `Bearer ${token}` },
  status: 200,
})
const client = new HttpAgent({ keepAlive: true, maxSockets: 1 })

interface Registry {
  units: number
  url: string
  agent: Agent
}
interface Operation {
  name: string
  run(registry: Registry): Promise<number>
  /** Whether it must consider more matches in a larger registry, so that its time has no bar. */
  hasGrowingResult?: boolean
}
const operations: readonly Operation[] = [
  { name: 'GET /v1/knowledge/{id}', run: ({ url, agent }) => timeRequest(client, readTarget(url, agent)) },
  { name: 'POST /v1/knowledge', run: ({ url, agent }) => timeRequest(client, contributeTarget(url, agent)) },
  {
    name: 'search for a word in three units',
    run: ({ url, agent }) => timeRequest(client, searchTarget(url, agent, planted.rare)),
  },
  {
    name: 'search for a word in every unit',
    run: ({ url, agent }) => timeRequest(client, searchTarget(url, agent, planted.everywhere)),
  },
  {
    name: 'search for a word in 8 % of the units',
    hasGrowingResult: true,
    run: ({ url, agent }) => timeRequest(client, searchTarget(url, agent, planted.frequent)),
  },
  {
    name: 'erasure of one unit, until its receipt',
    async run({ url, agent }) {
      const id = await storeUnit(url, agent.token)
      const headers = { Authorization: `Bearer ${agent.token}` }
      return timeRequest(client, { url: `${url}/v1/knowledge/${id}`, method: 'DELETE', headers, status: 204 })
    },
  },
]

/**
 * Plants units of 1 KB with 40 of 20,000 words, by 50 agents, as the owner and without triggers. Indexes are built afterwards, so that a
 * million units take some minutes.
 */
async function plant(owner: ClientBase, count: number): Promise<void> {
  await owner.query("SET session_replication_role = replica; SET synchronous_commit = off; SET work_mem = '256MB'")
  await owner.query("SET maintenance_work_mem = '1GB'")
  const { rows: indexes } = await owner.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE indrelid = 'units'::regclass AND NOT indisunique`,
  )
  for (const { name } of indexes) await owner.query(`DROP INDEX ${name}`)
  await owner.query("INSERT INTO organisations (id, name, created_at) VALUES ('growth-org', 'Growth', now())")
  await owner.query(`INSERT INTO agents (id, organisation_id, lawful_basis, notice_version, created_at)
    SELECT 'growth-agent-' || n, 'growth-org', 'contract', 'growth', now() FROM generate_series(0, 49) AS n`)
  await owner.query(
    `INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, quality_score, novelty, created_at, updated_at, domain, search)
     SELECT id, 'ReasoningTrace', 'growth-agent-' || n % 50, 'growth-org', 'network',
       jsonb_build_object('@type', 'ReasoningTrace', 'id', id, 'metadata', jsonb_build_object('agent_id', 'growth-agent-' || n % 50),
         'task', jsonb_build_object('objective', 'everywhere'), 'outcome', jsonb_build_object('result_summary', ''),
         'steps', (SELECT jsonb_agg(jsonb_build_object('step_id', s, 'type', 'thought', 'content', md5((n * 8 + s)::text) || md5((n * 9 + s)::text)))
           FROM generate_series(1, 8) AS s)),
       0.2 + 0.7 * abs(hashint4(n)::float8 / 2147483648), 0.5, at, at, 'code',
       (SELECT string_agg(format('w%s:%s', floor(20000 * (abs(hashint4(n * 41 + s)::float8) / 2147483648) ^ 3), s), ' ') || ' everywher:50A'
         || CASE WHEN n IN (17, 4711, 8000) THEN ' thermoclin:51' ELSE '' END
         || CASE WHEN n % 100 * 37 % 100 < 8 THEN ' cartographi:52' ELSE '' END FROM generate_series(1, 40) AS s)::tsvector
     FROM (SELECT n, 'kp:trace:growth' || lpad(n::text, 14, '0') AS id, now() - interval '300 days' + n * interval '10 seconds' AS at
       FROM generate_series(1, $1::int) AS n) AS s`,
    [count],
  )
  for (const { definition } of indexes) await owner.query(definition)
  await owner.query(`INSERT INTO search_words (scope, word, units, bearer)
    SELECT 'network', word, ndoc, 'kp:trace:growth00000000000001' FROM ts_stat('SELECT search FROM units')`)
  await owner.query(`INSERT INTO search_words (scope, word, units) VALUES ('network', '', ${count})`)
  await owner.query('VACUUM (ANALYZE)')
  await owner.query('CHECKPOINT')
}

/** Latencies of single operations among 10,000, 100,000 and 1,000,000 units, in turns. */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    const cluster = await startCluster(scope)
    const registries: Registry[] = []
    const started = performance.now()
    for (const units of SIZES) {
      // The next database takes about ten times as long as the previous ones.
      if ((performance.now() - started) * 10 > PATIENCE) break
      const installation = await cluster.open(`growth${units}`)
      await withConnection(installation.ownerUrl, (owner) => plant(owner, units))
      const { url } = await startApi(scope, installation)
      registries.push({ units, url, agent: await registerBenchAgent(url, installation) })
      console.log(`  ${units.toLocaleString('en')} units after ${((performance.now() - started) / 1000).toFixed(0)} s`)
    }
    const rows: BenchRow[] = []
    for (const operation of operations) {
      const times = registries.map((registry) => ({ registry, taken: [] as number[] }))
      for (let round = -WARM_UP; round < ROUNDS; round++)
        for (const { registry, taken } of times) {
          const one = await operation.run(registry)
          if (round >= 0) taken.push(one)
        }
      const [first, ...larger] = times.map(({ registry, taken }) => ({ units: registry.units, value: median(taken) }))
      if (!first) continue
      for (const { units, value } of larger)
        rows.push({
          name: `${operation.name}: among ${units.toLocaleString('en')} units`,
          value,
          unit: 'ms',
          ceiling: { name: `among ${first.units.toLocaleString('en')}`, value: first.value },
          ...(!operation.hasGrowingResult && {
            bar: `at most ${MOST_GROWTH} ×`,
            met: value <= MOST_GROWTH * first.value,
          }),
        })
    }
    return rows
  })
