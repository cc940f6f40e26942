import { withConnection } from '#lib/stores/postgres/connection.ts'
import { contributeTarget, type Installation, readTarget, registerAgent, startCluster } from './installation.ts'
import { CONNECTIONS, load, type Target } from './load.ts'
import { type Row, shareRow } from './row.ts'
import { openScope } from './scope.ts'
import { buildCeiling, buildPages, startCeiling, startFront, startNext } from './server.ts'

const ROUNDS = 5
const SECONDS = 4
const WARM_UP = 4

type Action = 'read' | 'create'
interface Contest {
  name: string
  action: Action
  target: Target
  /** The share of the empty route's rate that it must reach. */
  least: number
  ours: number[]
  ceiling: number[]
}
const contest = (name: string, action: Action, target: Target, least: number): Contest => ({
  ...{ name, action, target, least },
  ours: [],
  ceiling: [],
})

/** An answer leaves once its entry is stored, so none may be missing; a request that a round's end cut off may have left one more. */
async function auditRow({ ownerUrl }: Installation, agentId: string, action: Action, answered: number, loads: number) {
  const { rows } = await withConnection(ownerUrl, (owner) =>
    owner.query<{ stored: number }>(
      'SELECT count(*)::int AS stored FROM audit_entries WHERE agent_id = $1 AND action = $2 AND resource_type = $3',
      [agentId, action, 'knowledge'],
    ),
  )
  const stored = rows[0]?.stored ?? 0
  const most = answered + CONNECTIONS * loads
  return {
    name: `audit entries of ${answered.toLocaleString('en')} answered ${action === 'read' ? 'GET' : 'POST'} requests`,
    value: stored,
    unit: 'entries',
    bar: `${answered}–${most}`,
    met: stored >= answered && stored <= most,
  }
}

/**
 * How fast the two hot operations are beside an empty Next route, in turns: the route, one of ours, the route, the next of ours.
 * Any answer but the expected one fails the run, so nothing here counts a refusal.
 */
export async function run(): Promise<Row[]> {
  await using scope = openScope()
  await buildPages()
  await buildCeiling()
  const installation = await (await startCluster(scope))('kp')
  const front = await startFront(scope, installation.env)
  const plain = await startNext(scope, installation.env)
  const empty = await startCeiling(scope)
  const agent = await registerAgent(front.url, installation)
  const contests = [
    contest('GET /v1/knowledge/{id} through the front', 'read', readTarget(front.url, agent), 1.5),
    contest('GET /v1/knowledge/{id} through Next', 'read', readTarget(plain.url, agent), 0.45),
    contest('POST /v1/knowledge through the front', 'create', contributeTarget(front.url, agent), 1.2),
    contest('POST /v1/knowledge through Next', 'create', contributeTarget(plain.url, agent), 0.35),
  ]
  const answered = { read: 0, create: 1 } // one unit was stored to be read
  const ask = async ({ action, target }: Contest, seconds: number): Promise<number> => {
    const done = await load(target, seconds)
    answered[action] += done.answered
    return done.perSecond
  }
  for (const one of contests) {
    await load(empty, WARM_UP / contests.length)
    await ask(one, WARM_UP)
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const one of contests) {
      one.ceiling.push((await load(empty, SECONDS)).perSecond)
      one.ours.push(await ask(one, SECONDS))
    }
  const loads = (ROUNDS + 1) * 2
  return [
    ...contests.map(({ name, ours, ceiling, least }) =>
      shareRow(name, ours, { name: 'empty Next route', values: ceiling }, least),
    ),
    await auditRow(installation, agent.id, 'read', answered.read, loads),
    await auditRow(installation, agent.id, 'create', answered.create, loads),
  ]
}
