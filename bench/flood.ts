import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { attempt, countsOf, type LoadAttempt, tookOf } from './attempt.ts'
import {
  type Agent as Agents,
  contributeTarget,
  readTarget,
  registerBenchAgent,
  startCluster,
  storeMessages,
  storeUnit,
} from './installation.ts'
import { percentile, steadily } from './latency.ts'
import type { BenchRow } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, startApiServer } from './server.ts'
import { benchTrace } from './trace.ts'

const SECOND = 1_000
const REGISTRATIONS = 2_000
const UPLOADS = 10_000
const IDLE = 2_000
const SLOW = 100
const DELETIONS = 400
/** Concurrent requests of each flood. */
const CONNECTIONS = { registrations: 20, uploads: 20, deletions: 100 }
/** The flood's registrations and uploads arrive over this time. */
const FLOOD = 60 * SECOND
/** The duration of the measurements before and after the flood. */
const QUIET = 20 * SECOND
/** The other client's requests per second. */
const READS = 20
const WRITES = 4
/** The tokens of the flood, of the tier free: 30 writes a minute each, and one window for all beyond the 60th. */
const TOKENS = 100
const OWN_WINDOWS = 60
const FREE_WRITES = 30
/** Bars. */
const MEMORY = 600
const SHED = 2
const SLOWDOWN = 2
/** After this time, the server has closed a connection that never sends its request: 20 s for the headers, checked every 5 s. */
const HEADERS = 30 * SECOND
/** Time after which it has closed a connection whose body does not arrive. */
const BODIES = 70 * SECOND

const from = (address: string) => ({ 'X-Forwarded-For': address, 'Content-Type': 'application/json' })
const flooder = (n: number) => from(`203.0.113.${n % 250}`)

/** Runs `count` requests at an even rate over `duration`, as many at once as there are connections. */
async function paced(
  { count, duration, connections }: { count: number; duration: number; connections: number },
  one: (agent: Agent, n: number) => Promise<LoadAttempt>,
): Promise<LoadAttempt[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const made: LoadAttempt[] = []
  const started = performance.now()
  let next = 0
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let n = next++; n < count; n = next++) {
        const wait = started + (n * duration) / count - performance.now()
        if (wait > 1) await delay(wait)
        made.push(await one(agent, n))
      }
    }),
  )
  agent.destroy()
  return made
}

/** Connections that send nothing, or the beginning of a request. Resolves with those that the server closed within `max`. */
async function silent(port: number, count: number, begin: string, max: number): Promise<number> {
  const sockets: Socket[] = []
  let closed = 0
  for (let n = 0; n < count; n++) {
    const socket = connect(port, '127.0.0.1', () => socket.write(begin))
    // An ended connection is closed, although the response was not read.
    socket.on('error', () => {}).on('data', () => {})
    socket.once('close', () => closed++)
    sockets.push(socket)
    if (n % 100 === 99) await once(socket, 'connect')
  }
  const until = performance.now() + max
  while (closed < count && performance.now() < until) await delay(100)
  for (const socket of sockets) socket.destroy()
  return closed
}

/** The largest resident set of a process so far, in MiB. */
const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

const listed = (attempts: readonly LoadAttempt[]): string =>
  [...countsOf(attempts)]
    .sort(([one], [other]) => one - other)
    .map(([status, count]) => `${count.toLocaleString('en')} × ${status}`)
    .join(', ')

/** Erases units and messages of one organization in turns, over many connections. */
async function deletions(url: string, { token }: Agents): Promise<LoadAttempt[]> {
  const units: string[] = []
  while (units.length < DELETIONS / 2) units.push(await storeUnit(url, token))
  const messages = await storeMessages(url, token, DELETIONS / 2)
  const paths = units.flatMap((id, n) => [`/v1/knowledge/${id}`, messages[n] ?? ''])
  const { length: count } = paths
  return paced({ count, duration: 0, connections: CONNECTIONS.deletions }, (agent, n) =>
    attempt(agent, {
      url: url + paths[n],
      method: 'DELETE',
      headers: { Authorization: `Bearer ${token}` },
    }),
  )
}

const statusRow = (name: string, attempts: readonly LoadAttempt[], expected: readonly number[]): BenchRow => {
  const wrong = attempts.filter(({ status }) => !expected.includes(status)).length
  return { name: `${name}: ${listed(attempts)}`, value: wrong, unit: 'unexpected', bar: '0', met: wrong === 0 }
}

/** A flood of one network while another client works: registrations, uploads, idle connections, slow bodies, then deletions. */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    await buildPages()
    const installation = await (await startCluster(scope)).open('flood')
    const { url, pid } = await startApiServer(scope, { ...installation.env, KP_TRUSTED_PROXIES: '127.0.0.1' })
    const port = Number(new URL(url).port)
    const client = await registerBenchAgent(url, installation)
    const rates = [
      { target: readTarget(url, client), perSecond: READS },
      { target: contributeTarget(url, client), perSecond: WRITES },
    ]
    await steadily(rates, AbortSignal.timeout(5 * SECOND))
    const quiet = await steadily(rates, AbortSignal.timeout(QUIET))

    const over = new AbortController()
    const during = steadily(rates, over.signal)
    const tokens: string[] = []
    const begin = `POST /v1/knowledge HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{`
    const connections = Promise.all([silent(port, IDLE, '', HEADERS), silent(port, SLOW, begin, BODIES)])
    const started = performance.now()
    const [registered, uploaded] = await Promise.all([
      paced({ count: REGISTRATIONS, duration: FLOOD, connections: CONNECTIONS.registrations }, async (agent, n) => {
        const body = JSON.stringify({ scopes: ['read', 'write'] })
        const made = await attempt(agent, { url: `${url}/v1/auth/register`, method: 'POST', headers: flooder(n), body })
        if (made.status === 201 && tokens.length < TOKENS) tokens.push(JSON.parse(made.body).data.api_key)
        return made
      }),
      paced({ count: UPLOADS, duration: FLOOD, connections: CONNECTIONS.uploads }, async (agent, n) => {
        while (tokens.length === 0) await delay(10)
        const headers = { ...flooder(n), Authorization: `Bearer ${tokens[n % tokens.length]}` }
        return attempt(agent, { url: `${url}/v1/knowledge`, method: 'POST', headers, body: JSON.stringify(benchTrace) })
      }),
    ])
    const lasted = performance.now() - started
    const [idleClosed, slowClosed] = await connections
    over.abort()
    const noticed = percentile(await during, 0.95)
    quiet.push(...(await steadily(rates, AbortSignal.timeout(QUIET))))
    const apart = percentile(quiet, 0.95)

    const stored = uploaded.filter(({ status }) => status === 201).length
    const max = (OWN_WINDOWS + 1) * FREE_WRITES * (Math.floor(lasted / (60 * SECOND)) + 1)
    const deleted = await deletions(url, client)
    const shed = deleted.filter(({ status }) => status === 503)
    const slowest = Math.max(0, ...shed.map(tookOf)) / SECOND
    const memory = peakOf(pid)
    return [
      statusRow(
        `${REGISTRATIONS.toLocaleString('en')} registrations of one network in ${Math.round(lasted / SECOND)} s`,
        registered,
        [201, 503],
      ),
      statusRow(`${UPLOADS.toLocaleString('en')} uploads by ${TOKENS} of its agents`, uploaded, [201, 429, 401]),
      {
        name: 'uploads that were stored',
        value: stored,
        unit: 'units',
        bar: `at most ${max.toLocaleString('en')}`,
        met: stored <= max,
      },
      {
        name: `idle connections of ${IDLE.toLocaleString('en')} that are open after ${HEADERS / SECOND} s`,
        value: IDLE - idleClosed,
        unit: 'connections',
        bar: '0',
        met: idleClosed === IDLE,
      },
      {
        name: `slow bodies of ${SLOW} that are open after ${BODIES / SECOND} s`,
        value: SLOW - slowClosed,
        unit: 'connections',
        bar: '0',
        met: slowClosed === SLOW,
      },
      {
        name: `p95 of another client with ${READS + WRITES} requests/s meanwhile`,
        value: noticed,
        unit: 'ms',
        ceiling: { name: 'before and after', value: apart },
        bar: `at most ${SLOWDOWN} ×`,
        met: noticed <= SLOWDOWN * apart,
      },
      statusRow(`${DELETIONS} deletions over ${CONNECTIONS.deletions} connections`, deleted, [200, 202, 204, 503]),
      {
        name: 'deletions: slowest answer of 503',
        value: slowest,
        unit: 's',
        bar: `at most ${SHED}`,
        met: slowest <= SHED,
      },
      { name: 'deletions: p99 of all answers', value: percentile(deleted.map(tookOf), 0.99) / SECOND, unit: 's' },
      {
        name: 'largest resident set of the server',
        value: Math.round(memory),
        unit: 'MiB',
        bar: `under ${MEMORY}`,
        met: memory < MEMORY,
      },
    ]
  })
