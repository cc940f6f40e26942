import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { contributeTarget, type Installation, readTarget, registerAgent, startCluster } from './installation.ts'
import { CONNECTIONS, type Load, load, type Target } from './load.ts'
import { type Row, shareRow } from './row.ts'
import { openScope } from './scope.ts'
import { buildPages, next, startFront, startNext } from './server.ts'

const ROUNDS = 5
const SECONDS = 4
const WARM_UP = 5
const CEILING = 'empty Next route'

async function buildCeiling(): Promise<void> {
  const child = spawn(process.execPath, [next, 'build', 'bench/ceiling'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
  })
  const [status] = await once(child, 'exit')
  if (status !== 0) throw new Error('the empty route could not be built; what Next said stands above')
}

interface Measured {
  name: string
  kind: 'read' | 'create'
  target: Target
  least: number
  ours: Load[]
  ceiling: number[]
}

/** An answer leaves once its audit entry is stored, so none may be missing; a request that a round's end cut off may have one more. */
async function auditRow({ ownerUrl }: Installation, agentId: string, kind: Measured['kind'], measured: Measured[], loads: number): Promise<Row> {
  const answered = measured.filter((one) => one.kind === kind).reduce((sum, { ours }) => sum + ours.reduce((part, one) => part + one.answered, 0), 0)
  const { rows } = await withConnection(ownerUrl, (owner) =>
    owner.query<{ stored: number }>('SELECT count(*)::int AS stored FROM audit_entries WHERE agent_id = $1 AND action = $2', [agentId, kind]),
  )
  const stored = rows[0]?.stored ?? 0
  return {
    name: `audit entries stored for ${answered.toLocaleString('en')} answered ${kind === 'read' ? 'GET' : 'POST'} requests`,
    value: stored,
    unit: 'entries',
    bar: `one each; up to ${CONNECTIONS} more for what each of ${loads} rounds cut off`,
    met: stored >= answered && stored <= answered + CONNECTIONS * loads + 1,
  }
}

/**
 * How fast the two hot operations are beside an empty Next route, asked in turns: first the route, then one of ours, and so on.
 * Every answer must be the expected one, with its token, its limit and its audit entry.
 */
export async function run(): Promise<Row[]> {
  await using scope = openScope()
  await buildPages()
  await buildCeiling()
  const installation = await (await startCluster(scope))('kp')
  const front = await startFront(scope, installation.env)
  const plain = await startNext(scope, installation.env)
  const empty: Target = {
    url: `${(await startNext(scope, {}, 'bench/ceiling', '/empty')).url}/empty`,
    method: 'GET',
    status: 204,
  }
  const agent = await registerAgent(front.url, installation)
  const measured = [
    { name: 'GET /v1/knowledge/{id} through the front', kind: 'read', target: readTarget(front.url, agent), least: 1.5 },
    { name: 'GET /v1/knowledge/{id} through Next', kind: 'read', target: readTarget(plain.url, agent), least: 0.45 },
    { name: 'POST /v1/knowledge through the front', kind: 'create', target: contributeTarget(front.url, agent), least: 1.2 },
    { name: 'POST /v1/knowledge through Next', kind: 'create', target: contributeTarget(plain.url, agent), least: 0.35 },
  ].map((one): Measured => ({ ...one, kind: one.kind === 'read' ? 'read' : 'create', ours: [], ceiling: [] }))

  await load(empty, WARM_UP)
  const warmed = await Promise.all([])
  return []
}
