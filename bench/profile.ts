import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { nodeFlags } from '#bin/children.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { corpusOrganisation, planted, seedCorpus } from './corpus.ts'
import { cpuOf } from './cpu.ts'
import {
  type Agent,
  type BenchInstallation,
  contributeTarget,
  readTarget,
  registerBenchAgent,
  startCluster,
} from './installation.ts'
import { type LoadTarget, load } from './load.ts'
import { withScope } from './scope.ts'
import { startServer } from './server.ts'

const UNITS = 10_000
const SECONDS = 6
const WARM_UP = 4

const searchTarget = (url: string, { token }: Agent, q: string): LoadTarget => ({
  url: `${url}/v1/knowledge?${new URLSearchParams({ q })}`,
  method: 'GET',
  headers: { Authorization: `Bearer ${token}` },
  status: 200,
})

/** The requests that can be profiled, each from a server's address and an agent. */
export const profiledTargets: Readonly<Record<string, (url: string, agent: Agent) => LoadTarget>> = {
  get: readTarget,
  post: contributeTarget,
  'search-rare': (url, agent) => searchTarget(url, agent, planted.rare),
  'search-common': (url, agent) => searchTarget(url, agent, planted.everywhere),
  'search-two': (url, agent) => searchTarget(url, agent, `${planted.frequent} ${planted.everywhere}`),
  export: (url, { id, token }) => ({
    url: `${url}/v1/export/${id}?format=ndjson`,
    connections: 1,
    method: 'GET',
    headers: { Authorization: `Bearer ${token}` },
    status: 200,
  }),
}

/** Parts of a request by the innermost file of a call stack that matches, except the general ones at the end. */
const parts: readonly (readonly [string, RegExp])[] = [
  ['token and session', /lib\/access\/(?:access|sessions|repository)/],
  ['rate limit', /lib\/access\/limit|rate-limiter-flexible|lib\/http\/request-limits/],
  ['storage quota', /lib\/domains\/quotas/],
  ['sanitizer', /lib\/domains\/sanitizer/],
  ['personal-data scan', /lib\/domains\/pii/],
  ['words and vector', /lib\/domains\/knowledge\/search\/(?:words|vector|unit-texts)/],
  ['snippets', /lib\/domains\/knowledge\/search\/snippet/],
  ['query and ranking', /lib\/domains\/knowledge\/search/],
  ['audit entry', /lib\/domains\/audit/],
  ['telemetry', /lib\/domains\/telemetry/],
  [
    'database client',
    /node_modules\/(?:pg|pg-protocol|pg-pool|postgres-\w+|pg-types)\/|lib\/stores\/postgres|node_modules\/@?prisma/,
  ],
  ['knowledge domain', /lib\/domains\/knowledge/],
  ['other domains', /lib\/domains/],
  ['input validation', /lib\/kernel\/input/],
  ['output validation', /lib\/kernel\/use-case/],
  ['HTTP and JSON', /lib\/http|node:_?http|node:net|node:stream|node:internal|bench\/api|find-my-way/],
]

const Profile = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string() }),
      children: z.array(z.number()).optional(),
    }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
})

/** The share of each part in the processor time of a V8 profile, idle time excluded. */
export function sharesOf(text: string): Map<string, number> {
  const { nodes, samples, timeDeltas } = Profile.parse(JSON.parse(text))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parentOf = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const partOf = new Map<number, string>()
  const find = (id: number): string => {
    const known = partOf.get(id)
    if (known !== undefined) return known
    const node = byId.get(id)
    const { functionName = '', url = '' } = node?.callFrame ?? {}
    const own =
      functionName === '(garbage collector)'
        ? 'garbage collection'
        : functionName === '(idle)' || url === 'node:inspector'
          ? 'idle'
          : parts.find(([, pattern]) => pattern.test(url))?.[0]
    const parent = parentOf.get(id)
    const made = own ?? (parent === undefined ? 'other' : find(parent))
    partOf.set(id, made)
    return made
  }
  const sums = new Map<string, number>()
  for (const [at, id] of samples.entries()) {
    const part = find(id)
    sums.set(part, (sums.get(part) ?? 0) + (timeDeltas[at] ?? 0))
  }
  sums.delete('idle')
  const all = [...sums.values()].reduce((sum, one) => sum + one, 0)
  return new Map([...sums].map(([part, sum]) => [part, sum / all] as const).sort(([, one], [, other]) => other - one))
}

/** Seeds the corpus, and gives the first 10,000 units to the agent for the export. */
async function seed({ ownerUrl }: BenchInstallation, agent: Agent, isOwn: boolean): Promise<void> {
  await withConnection(ownerUrl, async (owner) => {
    await seedCorpus(owner, UNITS)
    await owner.query('UPDATE agents SET organisation_id = $2 WHERE id = $1', [agent.id, corpusOrganisation(1)])
    if (isOwn) {
      await owner.query('ALTER TABLE units DISABLE TRIGGER USER')
      await owner.query('UPDATE units SET agent_id = $1, organisation_id = $2', [agent.id, corpusOrganisation(1)])
      await owner.query('ALTER TABLE units ENABLE TRIGGER USER')
    }
    await owner.query('VACUUM ANALYZE')
  })
}

const microseconds = (value: number): string => Math.round(value).toLocaleString('en')
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, at) => (at === 0 ? '---' : '---:')), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')

interface StatementRow {
  calls: number
  ms: number
  blocks: number
  wal: number
  query: string
}
const statements = `SELECT calls::int, total_exec_time + total_plan_time AS ms,
    (shared_blks_hit + shared_blks_read)::float8 AS blocks, wal_bytes::float8 AS wal, query
  FROM pg_stat_statements ORDER BY 2 DESC LIMIT 14`

/** Runs one kind of request under V8's profiler and `pg_stat_statements`, and prints the cost of a request by part. */
export const profile = (name: string): Promise<void> => withScope((scope) => profileWithin(scope, name))

async function profileWithin(scope: AsyncDisposableStack, name: string): Promise<void> {
  const targetOf = profiledTargets[name]
  if (!targetOf) throw new Error(`Choose one of ${Object.keys(profiledTargets).join(', ')}.`)
  const cluster = await startCluster(scope, [
    'shared_preload_libraries=pg_stat_statements',
    'pg_stat_statements.track_planning=on',
  ])
  const installation = await cluster.open('kp')
  const folder = mkdtempSync(join(tmpdir(), 'kp-profile-'))
  scope.defer(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'server.cpuprofile')
  let made = { answered: 0, perSecond: 0, server: 0, database: 0 }
  let rows: StatementRow[] = []
  await withScope(async (inner) => {
    const server = await startServer(inner, {
      command: () => [...nodeFlags, 'bench/profiled-api.ts'],
      env: { ...installation.env, KP_PROFILE_FILE: file },
      readyPath: '/ready',
    })
    const agent = await registerBenchAgent(server.url, installation)
    await seed(installation, agent, name === 'export')
    const target = targetOf(server.url, agent)
    await load(target, WARM_UP)
    await withConnection(installation.ownerUrl, async (owner) => {
      await owner.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
      await owner.query('SELECT pg_stat_statements_reset()')
      const before = [cpuOf(server.pid) ?? 0, cpuOf(cluster.pid) ?? 0] as const
      process.kill(server.pid, 'SIGUSR2')
      const { answered, perSecond } = await load(target, SECONDS)
      process.kill(server.pid, 'SIGUSR2')
      const after = [cpuOf(server.pid) ?? 0, cpuOf(cluster.pid) ?? 0] as const
      while (!existsSync(file)) await delay(100)
      rows = (await owner.query<StatementRow>(statements)).rows
      made = {
        answered,
        perSecond,
        server: (after[0] - before[0]) / answered,
        database: (after[1] - before[1]) / answered,
      }
    })
  })
  const shares = sharesOf(readFileSync(file, 'utf8'))
  const { answered, perSecond, server, database } = made
  console.log(
    `${name}: ${microseconds(perSecond)} requests/s under the profiler, ${microseconds(server)} µs of the server and ${microseconds(database)} µs of the database a request\n`,
  )
  console.log(
    table(
      ['part of the server', 'µs a request', 'share'],
      [...shares].map(([part, share]) => [part, microseconds(share * server), `${(share * 100).toFixed(1)} %`]),
    ),
  )
  console.log()
  console.log(
    table(
      ['statement', 'calls a request', 'µs a request', 'blocks', 'WAL bytes'],
      rows.map(({ calls, ms, blocks, wal, query }) => [
        query.replace(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 110),
        (calls / answered).toFixed(2),
        microseconds((ms * 1000) / answered),
        (blocks / answered).toFixed(1),
        microseconds(wal / answered),
      ]),
    ),
  )
}
