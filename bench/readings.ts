import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { createClient } from '@redis/client'
import neo4j, { type Driver } from 'neo4j-driver'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { Fingerprints } from '#lib/domains/projects/words/fingerprints.ts'
import { newId } from '#lib/kernel/ids.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { createPool } from '#lib/stores/postgres/pool.ts'
import { versionedBucket } from '#lib/testing/connected-stores.ts'
import { startRedis } from '#lib/testing/redis.ts'
import { startNeo4j } from '#lib/testing/services/neo4j.ts'
import { startS3 } from '#lib/testing/services/objects.ts'
import { startCluster } from './installation.ts'
import { percentile } from './latency.ts'
import type { BenchRow } from './row.ts'
import { withScope } from './scope.ts'

/** Records at scale 1. `READINGS_SCALE=10` measures 1,000,000 checkpoint rows, keys and facts, and 100,000 objects. */
const sizes = { rows: 100_000, keys: 100_000, objects: 10_000, facts: 100_000 }
const rowBytes = 1_000
/** Milliseconds in which other clients are measured without a reading. */
const quiet = 10_000
const mib = 2 ** 20

const lexicon = Array.from({ length: 5_000 }, (_, n) => `word${n.toString(36)}`)
let seed = 1
function text(length: number): string {
  const words: string[] = []
  for (let size = 0; size < length; ) {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    const word = lexicon[seed % lexicon.length] ?? ''
    words.push(word)
    size += word.length + 1
  }
  return words.join(' ')
}

/** Runs `work` for the numbers below `count`, at most `max` at a time. */
async function each(count: number, max: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: max }, async () => {
      for (let n = next++; n < count; n = next++) await work(n)
    }),
  )
}

/** How long one request of another client takes in each store, ten times a second, until the signal. Milliseconds by store. */
async function otherClients(
  asks: Readonly<Record<string, () => Promise<unknown>>>,
  signal: AbortSignal,
): Promise<Record<string, number[]>> {
  const taken: Record<string, number[]> = {}
  await Promise.all(
    Object.entries(asks).map(async ([store, ask]) => {
      const own: number[] = []
      taken[store] = own
      while (!signal.aborted) {
        const began = performance.now()
        await ask()
        own.push(performance.now() - began)
        await delay(Math.max(1, 100 - own.length / 1_000))
      }
    }),
  )
  return taken
}

const changing =
  /^cmdstat_(set|del|unlink|hset|hdel|lpush|rpush|lset|lrem|ltrim|sadd|srem|zadd|zrem|xadd|xdel|expire|pexpire|persist|rename|json)/

/** Complete readings of all stores, for one and for a thousand waiting erasures, beside other clients. */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    const scale = Number(process.env.READINGS_SCALE ?? 1)
    const count = (of: keyof typeof sizes): number => Math.ceil(sizes[of] * scale)
    const cluster = await startCluster(scope)
    const installation = await cluster.open('readings')
    const threads = (await cluster.open('threads')).ownerUrl
    const [redisServer, graph, s3] = [await startRedis(), await startNeo4j(), await startS3()]
    if (!redisServer) throw new Error('no Redis')
    scope.defer(() => redisServer.stop())
    scope.defer(() => graph.stop())
    scope.defer(() => s3.stop())
    const bucket = await versionedBucket(s3.endpoint)
    const redis = createClient({ url: redisServer.url })
    await redis.connect()
    scope.defer(() => redis.destroy())
    const { username, password, host } = new URL(graph.url)
    const driver: Driver = neo4j.driver(`bolt://${host}`, neo4j.auth.basic(username, decodeURIComponent(password)))
    scope.defer(() => driver.close())
    const pool = createPool({ connectionString: threads })
    scope.defer(() => pool.end())
    await new PostgresSaver(pool, undefined, { schema: 'threads' }).setup()

    console.log('  filling the stores …')
    const texts = Array.from({ length: 200 }, () => text(rowBytes))
    await pool.query(
      `INSERT INTO threads.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
       SELECT 'thread-' || n / 100, '', n::text, 'task', n % 100, 'messages', 'json', convert_to(to_json(($1::text[])[1 + n % 200] || ' ' || n)::text, 'UTF8')
       FROM generate_series(1, $2::int) n`,
      [texts, count('rows')],
    )
    await each(count('keys') / 1_000, 4, async (n) => {
      const batch = redis.multi()
      for (let at = 0; at < 1_000; at++) batch.set(`other:${n}:${at}`, `${texts[at % 200]?.slice(0, 200)} ${n}`)
      await batch.exec()
    })
    await each(count('objects'), 8, (n) => bucket.put(`others/${n}.txt`, `${texts[n % 200]} ${n}`))
    await each(count('facts') / 1_000, 2, (n) =>
      driver.executeQuery(
        `UNWIND range(0, 999) AS i CREATE (a:Entity {uuid: randomUUID(), group_id: 'others', name: 'n' + i})
         CREATE (a)-[:RELATES_TO {uuid: randomUUID(), group_id: 'others', fact: $texts[i % 200] + ' ' + $n}]->(a)`,
        { texts: texts.map((one) => one.slice(0, 200)), n },
      ),
    )
    const checkpoints = new URL(threads)
    checkpoints.searchParams.set('schema', 'threads')
    const app = createApp({
      env: readEnv({
        ...installation.env,
        NODE_ENV: 'production',
        KP_CHECKPOINTS_URL: checkpoints.href,
        KP_REDIS_URL: redisServer.url,
        KP_GRAPH_URL: graph.url,
        KP_OBJECTS_URL: bucket.url,
      }),
    })
    scope.defer(() => app.close())

    const key = randomBytes(8)
    /** Replaces the waiting erasures, each with a thousand words of its own. */
    const wait = (erasures: number) =>
      withConnection(installation.ownerUrl, async (owner) => {
        await owner.query('TRUNCATE complete_readings CASCADE')
        await owner.query('DELETE FROM erasure_runs')
        for (let n = 0; n < erasures; n++) {
          const words = new Fingerprints(key)
          words.add(Array.from({ length: 1_000 }, (_, at) => `erased${n}x${at}`).join(' '))
          const id = newId('run')
          await owner.query(
            `INSERT INTO erasure_runs (id, receipt_id, requested_by, reason, agents, state, created_at, finished_at) VALUES ($1, $2, 'x', 'x', '{}', 'done', now(), now())`,
            [id, newId('rcpt')],
          )
          await owner.query('INSERT INTO erased_words (run_id, projects, fingerprints) VALUES ($1, $2, $3)', [
            id,
            [],
            words.toBytes(),
          ])
        }
      })
    /** Reads everything. Returns seconds, and by how many MiB the process grew. */
    const read = async (rests: boolean): Promise<{ seconds: number; grown: number }> => {
      global.gc?.()
      const before = process.memoryUsage().rss
      let max = before
      const watch = setInterval(() => (max = Math.max(max, process.memoryUsage().rss)), 20)
      const began = performance.now()
      const state = await app.completeReadings.read({ rests })
      clearInterval(watch)
      if (state !== 'completed') throw new Error(`the reading ended as ${state}`)
      return { seconds: (performance.now() - began) / 1_000, grown: (max - before) / mib }
    }
    const writes = async () => {
      const { rows } = await pool.query(
        `SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::int AS n FROM pg_stat_user_tables WHERE schemaname = 'threads'`,
      )
      const stats = await redis.sendCommand(['INFO', 'commandstats'])
      const commands = String(stats)
        .split('\n')
        .filter((line) => changing.test(line))
      const { records } = await driver.executeQuery(
        'MATCH (n) WITH count(n) AS n OPTIONAL MATCH ()-[r]->() RETURN n, count(r) AS r, sum(size(r.fact)) AS s',
      )
      return JSON.stringify([
        rows,
        commands,
        records.map((record) => record.toObject()),
        [...(await bucket.contents()).keys()].length,
      ])
    }

    await wait(1)
    await read(false)
    const before = await writes()
    const alone: number[] = []
    const many: number[] = []
    let grown = 0
    for (let round = 0; round < 3; round++)
      for (const [erasures, seconds] of [
        [1, alone],
        [1_000, many],
      ] as const) {
        await wait(erasures)
        const one = await read(false)
        seconds.push(one.seconds)
        grown = Math.max(grown, one.grown)
      }
    await delay(1_500)
    const after = await writes()
    const [one, thousand] = [Math.min(...alone), Math.min(...many)]

    const asks = {
      postgresql: () =>
        pool.query('SELECT blob FROM threads.checkpoint_writes WHERE thread_id = $1 LIMIT 10', ['thread-7']),
      redis: () => redis.get('other:7:7'),
      neo4j: () => driver.executeQuery('MATCH (n) WHERE id(n) = 77 RETURN n'),
      s3: () => bucket.put('clients/one.txt', 'x'),
    }
    const idle = await otherClients(asks, AbortSignal.timeout(quiet))
    await wait(1)
    const done = new AbortController()
    const [busy] = await Promise.all([otherClients(asks, done.signal), read(true).finally(() => done.abort())])
    const rows = Object.keys(asks).map((store): BenchRow => {
      const [own, other] = [percentile(busy[store] ?? [], 0.95), percentile(idle[store] ?? [], 0.95)]
      return {
        name: `another client of ${store} during a complete reading, p95`,
        value: Math.round(own * 100) / 100,
        unit: 'ms',
        ceiling: { name: 'without', value: Math.round(other * 100) / 100 },
        bar: 'at most 1.3 ×',
        met: own <= other * 1.3,
      }
    })
    const total = count('rows') + count('keys') + count('objects') + 2 * count('facts')
    return [
      {
        name: `complete reading of ${total.toLocaleString('en')} records for 1,000 waiting erasures`,
        value: Math.round(thousand * 10) / 10,
        unit: 's',
        ceiling: { name: 'for 1', value: Math.round(one * 10) / 10 },
        bar: 'at most 1.1 ×',
        met: thousand <= one * 1.1,
      },
      {
        name: 'memory by which the process grows in a complete reading',
        value: Math.round(grown),
        unit: 'MiB',
        bar: 'under 200',
        met: grown < 200,
      },
      {
        name: 'stores changed by complete readings that find nothing',
        value: before === after ? 0 : 1,
        unit: 'stores',
        bar: '0',
        met: before === after,
      },
      ...rows,
    ]
  })
