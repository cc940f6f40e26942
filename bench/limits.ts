import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Limiter } from '#lib/access/limiter.ts'
import { limitHeaders } from '#lib/access/limiter.ts'
import { limitsPool, postgresLimiter } from '#lib/access/limiter-postgres.ts'
import { redisLimiter } from '#lib/access/limiter-redis.ts'
import { startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { prepareDatabase } from '#lib/stores/postgres/preparation.ts'
import { startRedis } from '#lib/testing/redis.ts'
import type { BenchRow } from './row.ts'

const CONNECTIONS = 16
const REPLICAS = 2
const THROUGHPUT_REQUESTS = 6000
/** Limits of the tiers, and how often each is tried with a new key. */
const ROUNDS = [
  { limit: 10, times: 40 },
  { limit: 30, times: 20 },
  { limit: 300, times: 10 },
  { limit: 1000, times: 4 },
  { limit: 2000, times: 2 },
]

/** One replica: an HTTP server in its own process that counts `/<key>?<limit>` and answers 200 or 429. `/` does nothing. */
async function replica(store: string, url: string) {
  const limiter: Limiter = store === 'redis' ? redisLimiter(url) : postgresLimiter(limitsPool(url))
  const server = createServer(async (request, response) => {
    const [key = '', limit] = (request.url ?? '').slice(1).split('?')
    if (key === '') return response.end()
    const window = await limiter.consume(key, Number(limit))
    // A degraded replica counts alone, which invalidates the measurement: answer 503 to fail the run.
    response.writeHead(limiter.degraded ? 503 : window.allowed ? 200 : 429, limitHeaders(window, 'read')).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.(server.address())
  process.once('disconnect', () => process.exit())
}

async function startReplica(store: string, url: string): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(fileURLToPath(import.meta.url), ['replica', store, url])
  const [address] = await once(child, 'message')
  return { child, port: address.port }
}

function status(agent: Agent, port: number, path: string): Promise<number> {
  return new Promise((answer, fail) => {
    get({ agent, port, path, host: '127.0.0.1' }, (response) => {
      response.resume().once('end', () => answer(response.statusCode ?? 0))
    }).once('error', fail)
  })
}

/** Sends `count` requests over sixteen connections, eight per replica. Returns the number of admitted requests and the rate. */
async function load(ports: number[], agents: Agent[], path: string, count: number) {
  let left = count
  let admitted = 0
  const started = performance.now()
  const lane = async (agent: Agent, number: number) => {
    while (left-- > 0) {
      const code = await status(agent, ports[number % ports.length] ?? 0, path)
      if (code === 200) admitted++
      else if (code !== 429) throw new Error(`a replica answered ${code}`)
    }
  }
  await Promise.all(agents.map(lane))
  const milliseconds = performance.now() - started
  if (milliseconds > 25_000) throw new Error('too slow to measure: the window of a minute may have turned meanwhile')
  return { admitted, perSecond: (count / milliseconds) * 1000 }
}

async function measure(name: string, store: string, url: string): Promise<BenchRow[]> {
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => startReplica(store, url)))
  const ports = replicas.map(({ port }) => port)
  const agents = Array.from({ length: CONNECTIONS }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  const exact = { over: 0, under: 0, rounds: 0, sent: 0 }
  try {
    for (const { limit, times } of ROUNDS) {
      for (let round = 0; round < times; round++) {
        const path = `/${limit}-${round}?${limit}`
        const { admitted: first } = await load(ports, agents, path, limit)
        const { admitted: rest } = await load(ports, agents, path, limit) // as many again, all of which must be rejected
        const { admitted: burst } = await load(ports, agents, `/burst-${limit}-${round}?${limit}`, limit * 2)
        exact.under += limit - first + Math.max(0, limit - burst)
        exact.over += rest + Math.max(0, burst - limit)
        exact.sent += limit * 4
        exact.rounds += 2
      }
    }
    const empty = await load(ports, agents, '/', THROUGHPUT_REQUESTS)
    const oneKey = await load(ports, agents, '/one?1000000', THROUGHPUT_REQUESTS)
    const ceiling = { name: 'the same servers, nothing counted', value: Math.round(empty.perSecond) }
    const where = `${CONNECTIONS} connections, ${REPLICAS} replicas, ${name}`
    const which = `${exact.rounds} windows, ${exact.sent.toLocaleString('en')} requests`
    return [
      {
        name: `admitted over the limit: ${where} (${which})`,
        value: exact.over,
        unit: 'requests',
        bar: '0',
        met: exact.over === 0,
      },
      {
        name: `refused under the limit: ${where} (${which})`,
        value: exact.under,
        unit: 'requests',
        bar: '0',
        met: exact.under === 0,
      },
      {
        name: `counting one and the same key: ${where}`,
        value: Math.round(oneKey.perSecond),
        unit: 'requests/s',
        ceiling,
      },
    ]
  } finally {
    for (const agent of agents) agent.destroy()
    for (const { child } of replicas) {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    }
  }
}

async function withRedis(): Promise<BenchRow[]> {
  const redis = await startRedis()
  if (!redis) return []
  try {
    return await measure('Redis', 'redis', redis.url)
  } finally {
    await redis.stop()
  }
}

async function withPostgres(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-limits-'))
  chmodSync(folder, 0o755) // the database's account must be able to enter
  const server = await startEmbedded(folder)
  try {
    const secret = 'only for the database of this one measurement'
    const { appUrl } = await prepareDatabase({ ownerUrl: server.ownerUrl('kp'), secret, mayCreateDatabase: true })
    return await measure('PostgreSQL', 'postgres', appUrl)
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether limits are exact on several replicas, and the cost of counting. Without redis-server, its rows are omitted. */
export async function run(): Promise<BenchRow[]> {
  return [...(await withRedis()), ...(await withPostgres())]
}

if (import.meta.main) {
  const [, , role, store = '', url = ''] = process.argv
  if (role === 'replica') await replica(store, url)
  else
    console.table(
      (await run()).map(({ ceiling, ...row }) => ({
        ...row,
        ...(ceiling && { ceiling: `${ceiling.value} (${ceiling.name})` }),
      })),
    )
}
