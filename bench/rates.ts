import { withConnection } from '#lib/stores/postgres/connection.ts'
import { corpusOrganisation, seedCorpus } from './corpus.ts'
import { type Agent, type BenchInstallation, registerBenchAgent, startCluster } from './installation.ts'
import { CONNECTIONS, load } from './load.ts'
import { profiledTargets } from './profile.ts'
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'
import { openSearchPool, queryOf, rankMatches, readAnyMatches } from './search-bounds.ts'
import { buildPages, startApiServer } from './server.ts'

const UNITS = 10_000
const ROUNDS = 5
const SECONDS = 3
const WARM_UP = 3
/** Pool size of one server process. */
const POOL = 10

const searches = [
  { name: 'a rare word', target: 'search-rare', words: ['thermoclin'], from: 'index', goal: 2_000 },
  { name: 'a word in most units', target: 'search-common', words: ['everywher'], from: 'quality', goal: 600 },
  { name: 'two words', target: 'search-two', words: ['cartographi', 'everywher'], from: 'index', goal: 1_400 },
] as const
const MOST_EXPORT_SECONDS = 0.3

/** Statements per second, over as many connections as the server has. */
async function statementRate(run: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  const until = started + SECONDS * 1000
  let done = 0
  const client = async () => {
    while (performance.now() < until) {
      await run()
      done++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client))
  return (done / (performance.now() - started)) * 1000
}

async function searchRows(scope: AsyncDisposableStack, installation: BenchInstallation, url: string, agent: Agent) {
  const pool = openSearchPool(installation.appUrl, POOL)
  scope.defer(() => pool.end())
  const scopes = ['network', `org:${corpusOrganisation(1)}`, `agent:${agent.id}`]
  const contests = searches.map((search) => {
    const targetOf = profiledTargets[search.target]
    if (!targetOf) throw new Error(`no request is named ${search.target}`)
    return { ...search, target: targetOf(url, agent), ours: [] as number[], any: [] as number[], rank: [] as number[] }
  })
  for (const { target } of contests) await load(target, WARM_UP)
  for (let round = 0; round < ROUNDS; round++)
    for (const { target, words, from, ours, any, rank } of contests) {
      any.push(await statementRate(() => readAnyMatches(pool, queryOf(words), scopes)))
      rank.push(await statementRate(() => rankMatches(pool, words, scopes, from)))
      ours.push((await load(target, SECONDS)).perSecond)
    }
  return contests.flatMap(({ name, goal, ours, any, rank }): BenchRow[] => {
    const ceiling = { name: 'SQL: any 20 that match', value: median(any) }
    return [
      {
        name: `search among ${UNITS.toLocaleString('en')} units: ${name}`,
        value: median(ours),
        unit: 'requests/s',
        ceiling,
        bar: `at least ${goal.toLocaleString('en')}`,
        met: median(ours) >= goal,
      },
      {
        name: '… the statement that ranks its matches and reads the page, alone',
        value: median(rank),
        unit: 'statements/s',
        ceiling,
      },
    ]
  })
}

/** Gives all units to an agent without other records, exports them, and reads the same rows as JSON with one statement. */
async function exportRow(installation: BenchInstallation, url: string, agent: Agent): Promise<BenchRow> {
  const ours: number[] = []
  const plain: number[] = []
  await withConnection(installation.ownerUrl, async (owner) => {
    await owner.query('ALTER TABLE units DISABLE TRIGGER USER')
    await owner.query('UPDATE agents SET organisation_id = $2 WHERE id = $1', [agent.id, corpusOrganisation(1)])
    await owner.query('UPDATE units SET agent_id = $1, organisation_id = $2', [agent.id, corpusOrganisation(1)])
    await owner.query('ALTER TABLE units ENABLE TRIGGER USER')
    await owner.query('VACUUM (ANALYZE) units')
    for (let round = 0; round < ROUNDS; round++) {
      const begun = performance.now()
      await owner.query(
        `SELECT json_build_object('id', id, 'unit', document, 'visibility', visibility)::text AS line FROM units ORDER BY created_at, id`,
      )
      plain.push((performance.now() - begun) / 1000)
      const started = performance.now()
      const response = await fetch(`${url}/v1/export/${agent.id}?format=ndjson`, {
        headers: { Authorization: `Bearer ${agent.token}` },
      })
      if (!response.ok) throw new Error(`the export answered ${response.status}`)
      await response.arrayBuffer()
      ours.push((performance.now() - started) / 1000)
    }
  })
  return {
    name: `export of ${UNITS.toLocaleString('en')} units, ndjson`,
    value: median(ours),
    unit: 's',
    ceiling: { name: 'the same rows with one statement', value: median(plain) },
    bar: `at most ${MOST_EXPORT_SECONDS} s`,
    met: median(ours) <= MOST_EXPORT_SECONDS,
  }
}

/** Requests per second of searches over 32 connections, and an export, among 10,000 units. */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    await buildPages()
    const installation = await (await startCluster(scope)).open('kp')
    const { url } = await startApiServer(scope, installation.env)
    const agent = await registerBenchAgent(url, installation)
    await withConnection(installation.ownerUrl, async (owner) => {
      await seedCorpus(owner, UNITS)
      await owner.query('UPDATE agents SET organisation_id = $2 WHERE id = $1', [agent.id, corpusOrganisation(1)])
      await owner.query('VACUUM (ANALYZE)')
    })
    const searched = await searchRows(scope, installation, url, agent)
    return [...searched, await exportRow(installation, url, await registerBenchAgent(url, installation))]
  })
