import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { nodeFlags } from '#bin/children.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { prepareDatabase } from '#lib/stores/postgres/preparation.ts'
import { startTemporary } from '#lib/stores/postgres/temporary.ts'
import type { LoadTarget } from './load.ts'
import { benchTrace } from './trace.ts'

const SECRET = 'only for the databases of one measurement'
/** More requests per minute than any machine can send, so that no rejections are measured. */
const LIMIT = 100_000_000

export interface BenchInstallation {
  ownerUrl: string
  appUrl: string
  /** The environment of its servers. Limits are counted in memory, as in any installation with one process. */
  env: Record<string, string>
}

export interface Cluster {
  pid: number
  /** Creates a database in the cluster. */
  open(name: string): Promise<BenchInstallation>
}

/**
 * A durable cluster: every commit is on disk before it is answered.
 * @param tune further settings of the server, each `name=value`
 */
export async function startCluster(scope: AsyncDisposableStack, tune: readonly string[] = []): Promise<Cluster> {
  const cluster = await startTemporary({ isDurable: true, tune })
  scope.defer(() => cluster.stop())
  const open = async (name: string) => {
    const ownerUrl = cluster.ownerUrl(name)
    const { appUrl } = await prepareDatabase({ ownerUrl, secret: SECRET, mayCreateDatabase: true })
    const dataDir = await mkdtemp(join(tmpdir(), 'kp-bench-'))
    scope.defer(() => rmSync(dataDir, { recursive: true, force: true }))
    const env = {
      DATABASE_URL: appUrl,
      KP_DATA_DIR: dataDir,
      KP_SECRET: SECRET,
      KP_LIMITS: 'memory',
      XDG_STATE_HOME: dataDir,
      XDG_DATA_HOME: dataDir,
    }
    return { ownerUrl, appUrl, env }
  }
  return { pid: cluster.pid, open }
}

/** Copies the database's files to another database and returns its URL. Ends connections to the original. */
export async function copyOf({ ownerUrl }: BenchInstallation, name: string): Promise<string> {
  const source = new URL(ownerUrl).pathname.slice(1)
  const at = (database: string) => Object.assign(new URL(ownerUrl), { pathname: `/${database}` }).href
  await withConnection(at('postgres'), async (owner) => {
    await owner.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
      [source],
    )
    await owner.query(`CREATE DATABASE "${name}" TEMPLATE "${source}" STRATEGY file_copy`)
    await owner.query('CHECKPOINT')
  })
  return at(name)
}

/** Starts a production worker, including scheduled jobs. Ends with the scope. */
export async function startWorker(scope: AsyncDisposableStack, env: Record<string, string>): Promise<ChildProcess> {
  const { PATH = '', HOME = '' } = process.env
  const child = fork('bin/worker.ts', [], {
    env: { PATH, HOME, NODE_ENV: 'production', ...env },
    execArgv: [...nodeFlags],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  scope.defer(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    await ended
  })
  await Promise.race([once(child, 'message'), ended.then(() => Promise.reject(new Error('the worker ended')))])
  return child
}

export interface Agent {
  id: string
  token: string
  /** A unit that the agent stored. */
  unitId: string
}

async function post<T>(
  url: string,
  body: unknown,
  schema: z.ZodType<T>,
  headers: Record<string, string> = {},
): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`)
  return schema.parse(JSON.parse(text))
}

const Registered = z.object({ data: z.object({ agent_id: z.string(), api_key: z.string() }) })
const Stored = z.object({ data: z.object({ id: z.string() }) })

/** Creates a project with a conversation of `count` messages. Returns their paths. */
export async function storeMessages(url: string, token: string, count: number): Promise<string[]> {
  const authorized = { Authorization: `Bearer ${token}` }
  const made = async (path: string, body: object) => (await post(url + path, body, Stored, authorized)).data.id
  const project = `/api/projects/${await made('/api/projects', { name: 'A project' })}`
  const conversation = `${project}/conversations/${await made(`${project}/conversations`, { title: 'A conversation' })}`
  const paths: string[] = []
  while (paths.length < count)
    paths.push(
      `${conversation}/messages/${await made(`${conversation}/messages`, { role: 'user', content: 'Something was said.' })}`,
    )
  return paths
}

/** Contributes the trace. Returns its id. */
export async function storeUnit(url: string, token: string): Promise<string> {
  const { data } = await post(`${url}/v1/knowledge`, benchTrace, Stored, { Authorization: `Bearer ${token}` })
  return data.id
}

/** Registers an agent at a running server, raises its limits, and stores one unit. */
export async function registerBenchAgent(
  url: string,
  { ownerUrl }: Pick<BenchInstallation, 'ownerUrl'>,
): Promise<Agent> {
  const { data } = await post(`${url}/v1/auth/register`, { scopes: ['read', 'write'] }, Registered)
  await withConnection(ownerUrl, (owner) =>
    owner.query(`UPDATE agents SET tier = 'enterprise', reads_per_minute = $2, writes_per_minute = $2 WHERE id = $1`, [
      data.agent_id,
      LIMIT,
    ]),
  )
  return { id: data.agent_id, token: data.api_key, unitId: await storeUnit(url, data.api_key) }
}

export const readTarget = (url: string, { token, unitId }: Agent): LoadTarget => ({
  url: `${url}/v1/knowledge/${unitId}`,
  method: 'GET',
  headers: { Authorization: `Bearer ${token}` },
  status: 200,
})
export const contributeTarget = (url: string, { token }: Agent): LoadTarget => ({
  url: `${url}/v1/knowledge`,
  method: 'POST',
  headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
  body: JSON.stringify(benchTrace),
  status: 201,
})

/** Gives the agent's token every scope, like an operator. */
export const makeAdmin = ({ ownerUrl }: BenchInstallation, { id }: Agent) =>
  withConnection(ownerUrl, (owner) =>
    owner.query("UPDATE tokens SET scopes = ARRAY['read', 'write', 'admin'] WHERE agent_id = $1", [id]),
  )
