import { Agent as HttpAgent } from 'node:http'
import pg from 'pg'
import { z } from 'zod'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { corpusOrganisation, countWords, planted, seedCorpus } from './corpus.ts'
import { type Agent, type BenchInstallation, registerBenchAgent, startCluster } from './installation.ts'
import { labelledQueries } from './labelled-queries.ts'
import { percentile, timeRequest } from './latency.ts'
import type { LoadTarget } from './load.ts'
import { type BenchRow, median } from './row.ts'
import { sampleUnits } from './samples.ts'
import { withScope } from './scope.ts'
import { queryOf, readAnyMatches } from './search-bounds.ts'
import { buildPages, startApiServer } from './server.ts'

const [FEW, MANY] = [10_000, 100_000]
const ROUNDS = 40
const CONNECTIONS = 8
const EACH = 25
/** How many labelled queries must have a best match among the first three results. */
const FIRST = 3

const asked = [
  { name: 'a rare word', q: planted.rare, word: planted.rare },
  { name: 'a word in 8 %', q: planted.frequent, word: 'cartographi' },
  { name: 'a word in 100 %', q: planted.everywhere, word: 'everywher' },
  { name: 'a mistyped word', q: planted.mistyped, word: 'thermoclin' },
  { name: 'a Chinese word', q: planted.chinese, word: '编译' },
] as const
const scopes = [
  {
    name: 'all that the reader sees',
    filter: {},
    scopes: (agent: Agent) => ['network', `org:${corpusOrganisation(1)}`, `agent:${agent.id}`],
  },
  { name: 'visibility=org', filter: { visibility: 'org' }, scopes: () => [`org:${corpusOrganisation(1)}`] },
  { name: 'visibility=network', filter: { visibility: 'network' }, scopes: () => ['network'] },
] as const

interface Registry {
  url: string
  agent: Agent
  installation: BenchInstallation
  pool: pg.Pool
}

/** Searches through the API server with 10,000 and 100,000 units, and labelled queries. */
export const run = (): Promise<BenchRow[]> => withScope(measure)

async function measure(scope: AsyncDisposableStack): Promise<BenchRow[]> {
  await buildPages()
  const cluster = await startCluster(scope)
  const open = async (name: string, units: number): Promise<Registry> => {
    const installation = await cluster.open(name)
    await withConnection(installation.ownerUrl, (owner) => seedCorpus(owner, units))
    const apiServer = await startApiServer(scope, installation.env)
    const agent = await registerBenchAgent(apiServer.url, installation)
    // In an organization with its own units.
    await withConnection(installation.ownerUrl, (owner) =>
      owner.query('UPDATE agents SET organisation_id = $2 WHERE id = $1', [agent.id, corpusOrganisation(1)]),
    )
    const pool = new pg.Pool({ connectionString: installation.appUrl, max: 1 })
    scope.defer(() => pool.end())
    return { url: apiServer.url, agent, installation, pool }
  }
  const [few, many] = [await open('few', FEW), await open('many', MANY)]
  const rows: BenchRow[] = []
  for (const { name, q, word } of asked)
    for (const seen of scopes) {
      const what = `${name}, ${seen.name}`
      const parameters = { q, ...seen.filter }
      await one(few, parameters)
      await one(many, parameters)
      const times = { few: [] as number[], many: [] as number[], plain: [] as number[] }
      for (let round = 0; round < ROUNDS; round++) {
        times.few.push(await one(few, parameters))
        times.many.push(await one(many, parameters))
        times.plain.push(await plainly(many.pool, word, seen.scopes(many.agent)))
      }
      const [small, large] = [median(times.few), median(times.many)]
      const together = percentile(await crowd(many, parameters), 0.95)
      const ceiling = { name: 'SQL: any 20 that match', value: median(times.plain) }
      rows.push(
        {
          name: `${what}: median of one connection`,
          value: large,
          unit: 'ms',
          ceiling,
          bar: 'under 60 ms',
          met: large < 60,
        },
        {
          name: `${what}: p95 of ${CONNECTIONS} connections`,
          value: together,
          unit: 'ms',
          bar: 'under 250 ms',
          met: together < 250,
        },
        { name: `${what}: among ${MANY.toLocaleString('en')} beside ${FEW.toLocaleString('en')} units`, value: large, unit: 'ms', ceiling: { name: `among ${FEW.toLocaleString('en')}`, value: small }, bar: 'at most 2 ×', met: large <= 2 * small }, // biome-ignore format: one row a line
      )
    }
  const labelled = await questions(many)
  if (labelled) rows.push(labelled)
  return rows
}

const target = ({ url, agent }: Registry, parameters: Record<string, string>): LoadTarget => ({
  url: `${url}/v1/knowledge?${new URLSearchParams(parameters)}`,
  method: 'GET',
  headers: { Authorization: `Bearer ${agent.token}` },
  status: 200,
})
const line = new HttpAgent({ keepAlive: true, maxSockets: 1 })
const one = (registry: Registry, parameters: Record<string, string>) => timeRequest(line, target(registry, parameters))

async function crowd(registry: Registry, parameters: Record<string, string>): Promise<number[]> {
  const lines = new HttpAgent({ keepAlive: true, maxSockets: CONNECTIONS })
  const taken: number[] = []
  const asker = async () => {
    for (let n = 0; n < EACH; n++) taken.push(await timeRequest(lines, target(registry, parameters)))
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, asker))
  lines.destroy()
  return taken
}

/** Milliseconds of the bound. */
async function plainly(pool: pg.Pool, word: string, seen: readonly string[]): Promise<number> {
  const started = performance.now()
  await readAnyMatches(pool, queryOf([word]), seen)
  return performance.now() - started
}

const Page = z.object({ data: z.array(z.object({ id: z.string() })) })

const Stored = z.object({ data: z.object({ id: z.string() }) })

/** Searches for real traces hidden in the corpus with labelled queries. Undefined without samples. */
async function questions(registry: Registry): Promise<BenchRow | undefined> {
  const { units, what } = sampleUnits()
  if (units.length === 1) {
    console.log(`  no labelled queries: there is ${what}`)
    return undefined
  }
  const ids: string[] = []
  const { url, agent, installation } = registry
  const headers = { Authorization: `Bearer ${agent.token}`, 'Content-Type': 'application/json' }
  for (const unit of units) {
    const answer = await fetch(`${url}/v1/knowledge`, { method: 'POST', headers, body: JSON.stringify(unit) })
    if (!answer.ok) throw new Error(`a sample was refused: ${answer.status} ${await answer.text()}`)
    ids.push(Stored.parse(await answer.json()).data.id)
  }
  await withConnection(installation.ownerUrl, countWords)
  let hits = 0
  for (const { query, best } of labelledQueries) {
    const answer = await fetch(target(registry, { q: query, limit: String(FIRST) }).url, { headers })
    const { data } = Page.parse(await answer.json())
    if (data.some(({ id }) => best.includes(ids.indexOf(id)))) hits++
    else console.log(`  not among the first ${FIRST}: ${query}`)
  }
  return {
    name: `labelled queries with a best match among the first ${FIRST} (${what} among ${MANY.toLocaleString('en')} units)`,
    value: hits,
    unit: `of ${labelledQueries.length}`,
    bar: 'all',
    met: hits === labelledQueries.length,
  }
}
