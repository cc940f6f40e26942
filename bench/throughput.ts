import { withConnection } from '#lib/stores/postgres/connection.ts'
import { cpuOf } from './cpu.ts'
import {
  type BenchInstallation,
  contributeTarget,
  readTarget,
  registerBenchAgent,
  startCluster,
} from './installation.ts'
import { CONNECTIONS, type LoadTarget, load } from './load.ts'
import { type BenchRow, median, shareRow } from './row.ts'
import { withScope } from './scope.ts'
import { buildCeiling, buildPages, type Server, startApiServer, startCeiling, startNext } from './server.ts'

const ROUNDS = 4
const SECONDS = 4
const WARM_UP = 4

type Action = 'read' | 'create'
interface Contest {
  name: string
  action: Action
  target: LoadTarget
  server: Server
  /** The required share of the empty route's rate. */
  least: number
  ours: Round[]
  ceiling: Round[]
}
interface Round {
  perSecond: number
  /** Processor time per request, in microseconds. */
  server: number | undefined
  database: number | undefined
}
const contest = (name: string, action: Action, target: LoadTarget, server: Server, least: number): Contest => ({
  name,
  action,
  target,
  server,
  least,
  ours: [],
  ceiling: [],
})

/**
 * A response is sent after its audit entry is stored, so no entry may be missing. A request that was cut off at the
 * end of a round may add one.
 */
async function auditRow(
  { ownerUrl }: BenchInstallation,
  agentId: string,
  action: Action,
  answered: number,
  loads: number,
) {
  const { rows } = await withConnection(ownerUrl, (owner) =>
    owner.query<{ stored: number }>(
      'SELECT count(*)::int AS stored FROM audit_entries WHERE agent_id = $1 AND action = $2 AND resource_type = $3',
      [agentId, action, 'knowledge'],
    ),
  )
  const stored = rows[0]?.stored ?? 0
  const max = answered + CONNECTIONS * loads
  return {
    name: `audit entries of ${answered.toLocaleString('en')} answered ${action === 'read' ? 'GET' : 'POST'} requests`,
    value: stored,
    unit: 'entries',
    bar: `${answered}–${max}`,
    met: stored >= answered && stored <= max,
  }
}

const rates = (rounds: Round[]) => rounds.map(({ perSecond }) => perSecond)
const known = (values: (number | undefined)[]) => median(values.filter((value) => value !== undefined))

/** Processor time per request of the server and the database, which a busy machine affects less than the rate. */
function costRow({ name, ours, ceiling }: Contest): BenchRow {
  const database = known(ours.map((round) => round.database))
  return {
    name: `${name}: processor time of the server (and ${Math.round(database)} of the database)`,
    value: Math.round(known(ours.map((round) => round.server))),
    unit: 'µs a request',
    ceiling: { name: 'empty Next route', value: Math.round(known(ceiling.map((round) => round.server))) },
  }
}

/**
 * The rate of the two hot operations compared with an empty Next route, in turns. Any unexpected response fails the
 * run, so no rejections are counted.
 */
export const run = (): Promise<BenchRow[]> => withScope(measureAll)

async function measureAll(scope: AsyncDisposableStack): Promise<BenchRow[]> {
  await buildPages()
  await buildCeiling()
  const cluster = await startCluster(scope)
  const installation = await cluster.open('kp')
  const apiServer = await startApiServer(scope, installation.env)
  const plain = await startNext(scope, installation.env)
  const empty = await startCeiling(scope)
  const agent = await registerBenchAgent(apiServer.url, installation)
  const contests = [
    contest('GET /v1/knowledge/{id} through the API server', 'read', readTarget(apiServer.url, agent), apiServer, 1.5),
    contest('GET /v1/knowledge/{id} through Next', 'read', readTarget(plain.url, agent), plain, 0.45),
    contest(
      'POST /v1/knowledge through the API server',
      'create',
      contributeTarget(apiServer.url, agent),
      apiServer,
      1.2,
    ),
    contest('POST /v1/knowledge through Next', 'create', contributeTarget(plain.url, agent), plain, 0.35),
  ]
  const answered = { read: 0, create: 1 } // one unit was stored for reading
  const measure = async (target: LoadTarget, server: Server, seconds: number, action?: Action): Promise<Round> => {
    const before = [cpuOf(server.pid), cpuOf(cluster.pid)]
    const done = await load(target, seconds)
    if (action) answered[action] += done.answered
    const [ours, database] = [cpuOf(server.pid), cpuOf(cluster.pid)].map((after, index) => {
      const from = before[index]
      return after === undefined || from === undefined ? undefined : (after - from) / done.answered
    })
    return { perSecond: done.perSecond, server: ours, database }
  }
  for (const { target, server, action } of contests) {
    await measure(empty.target, empty.server, WARM_UP / 2)
    await measure(target, server, WARM_UP, action)
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const { target, server, action, ours, ceiling } of contests) {
      ceiling.push(await measure(empty.target, empty.server, SECONDS))
      ours.push(await measure(target, server, SECONDS, action))
    }
  const loads = (ROUNDS + 1) * 2
  return [
    ...contests.map(({ name, ours, ceiling, least }) =>
      shareRow(name, rates(ours), { name: 'empty Next route', values: rates(ceiling) }, least),
    ),
    ...(process.platform === 'linux' ? contests.map(costRow) : []),
    await auditRow(installation, agent.id, 'read', answered.read, loads),
    await auditRow(installation, agent.id, 'create', answered.create, loads),
  ]
}
