import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { z } from 'zod'
import { nodeFlags } from '#bin/children.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { createPool } from '#lib/stores/postgres/pool.ts'
import { childrenOf, cpuOf, peakMemoryOf } from './cpu.ts'
import { startCluster } from './installation.ts'
import type { BenchRow } from './row.ts'
import { withScope } from './scope.ts'

/** Checkpoint rows at scale 1. `FIND_SCALE=10` searches 1,000,000 rows. */
const rowsAtScale = 100_000
/** The longest search, in seconds at scale 1: 1,000,000 rows in 5 minutes. */
const longest = 30
/** The largest share of one core that the database may use. */
const share = 0.25
/** The largest memory of the search in MiB, at any scale. */
const mostMemory = 512
const planted = 100
const person = 'Iris Probe'
const sentence = 'The customer asks again when the contract of the house will be ready, and wants a call on Monday. '
const Report = z.object({
  data: z.object({
    matches: z.number(),
    stores: z.array(z.object({ state: z.string(), records: z.number(), unread: z.record(z.string(), z.number()) })),
  }),
})

/** `kp find` over the three tables of LangGraph, with rows as its libraries write them in Python (MessagePack) and JavaScript (JSON). */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    const scale = Number(process.env.FIND_SCALE ?? 1)
    const total = Math.ceil(rowsAtScale * scale)
    // The server logs each statement of the search with its application name.
    const cluster = await startCluster(scope, [
      'logging_collector=on',
      'log_directory=log',
      'log_rotation_size=0',
      'log_statement=all',
      'log_line_prefix=%a|',
    ])
    const { ownerUrl: url } = await cluster.open('threads')
    const pool = createPool({ connectionString: url })
    await new PostgresSaver(pool, undefined, { schema: 'threads' }).setup()

    console.log('  storing the threads …')
    const said = sentence.repeat(8)
    const words = `CASE WHEN n % ($1::int / ${planted}) = 0 THEN '${person} ' ELSE 'Somebody ' END || n || ' ' || $2`
    const fill = (count: number, sql: string) => pool.query(sql, [count, said])
    const [states, values, writes] = [total / 5, (total * 2) / 5, (total * 2) / 5].map(Math.round) as [
      number,
      number,
      number,
    ]
    await pool.query(
      `INSERT INTO threads.checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata)
       SELECT 'thread-' || n / 20, '', n::text, 'json', jsonb_build_object('v', 4, 'id', n::text, 'ts', now(), 'channel_values', '{}'::jsonb,
         'channel_versions', jsonb_build_object('messages', n), 'versions_seen', '{}'::jsonb), jsonb_build_object('source', 'loop', 'step', n % 20)
       FROM generate_series(1, $1::int) n`,
      [states],
    )
    await fill(
      values,
      `INSERT INTO threads.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
       SELECT 'js-' || n / 40, '', 'messages', n::text, 'json', convert_to(jsonb_build_array(jsonb_build_object('lc', 1, 'type', 'constructor',
         'id', '["langchain_core", "messages", "HumanMessage"]'::jsonb, 'kwargs', jsonb_build_object('id', n::text, 'content', ${words})))::text, 'UTF8')
       FROM generate_series(1, $1::int) n`,
    )
    // An array with one string of 16-bit length.
    await fill(
      writes,
      `INSERT INTO threads.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
       SELECT 'python-' || n / 40, '', n::text, 'task', 0, 'messages', 'msgpack', '\\x91da'::bytea || int2send(length(said)::int2) || convert_to(said, 'UTF8')
       FROM (SELECT n, ${words} AS said FROM generate_series(1, $1::int) n) AS rows`,
    )
    // Settles the rows, so that the search itself changes no hint bits.
    await pool.query('VACUUM (FREEZE, ANALYZE)')
    await pool.query('CHECKPOINT')
    const filling = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    await pool.end()
    // The processor time of a connection that ends meanwhile would be subtracted.
    while (filling.rows.some(({ pid }) => childrenOf(cluster.pid).includes(pid))) await delay(50)

    const { PATH = '', HOME = '' } = process.env
    const searched = new URL(url)
    searched.searchParams.set('schema', 'threads')
    const began = performance.now()
    const before = cpuOf(cluster.pid) ?? Number.NaN
    let [used, ownUse, peak] = [0, 0, 0]
    const search = spawn(
      process.execPath,
      [...nodeFlags, 'bin/kp.ts', 'find', person, '--postgres', searched.href, '--json'],
      { env: { NODE_ENV: 'production', PATH, HOME }, stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const watch = setInterval(() => {
      used = Math.max(used, (cpuOf(cluster.pid) ?? Number.NaN) - before)
      ownUse = Math.max(ownUse, cpuOf(search.pid ?? 0) ?? Number.NaN)
      peak = Math.max(peak, peakMemoryOf(search.pid ?? 0))
    }, 50)
    const printed = await text(search.stdout)
    clearInterval(watch)
    const seconds = (performance.now() - began) / 1_000
    const { matches, stores } = Report.parse(JSON.parse(printed)).data
    const [store] = stores
    if (store?.state !== 'done' || store.records < total)
      throw new Error(`the search ended as ${printed.slice(0, 500)}`)

    const { rows: logged } = await withConnection(url, (client) =>
      client.query<{ line: string }>(
        `SELECT line FROM regexp_split_to_table(pg_read_file(pg_current_logfile()), '\\n') AS line WHERE line LIKE 'kp find|LOG:%'`,
      ),
    )
    const reading =
      /^kp find\|LOG: {2}(?:statement|execute [^:]+): (?:BEGIN [A-Z ]*READ ONLY|SET LOCAL|SELECT|DECLARE|FETCH|ROLLBACK)/
    const writing = logged.filter(({ line }) => !reading.test(line)).length
    const expected =
      Math.floor(values / Math.floor(values / planted)) + Math.floor(writes / Math.floor(writes / planted))
    const busy = used / 1_000_000 / seconds
    return [
      {
        name: `kp find over ${total.toLocaleString('en')} checkpoint rows`,
        value: Math.round(seconds * 10) / 10,
        unit: 's',
        bar: `at most ${Math.round(longest * scale)} s`,
        met: seconds <= longest * scale,
      },
      {
        name: 'processor time of the database meanwhile, of one core',
        value: Math.round(busy * 1_000) / 10,
        unit: '%',
        bar: `at most ${share * 100} %`,
        met: busy <= share,
      },
      {
        name: 'processor time of the search itself',
        value: Math.round(ownUse / 100_000) / 10,
        unit: 's',
      },
      {
        name: 'its peak memory',
        value: Math.round(peak),
        unit: 'MiB',
        bar: `at most ${mostMemory}`,
        met: peak <= mostMemory,
      },
      {
        name: 'rows with the person that it finds',
        value: matches,
        unit: 'rows',
        ceiling: { name: 'planted', value: expected },
        bar: 'all',
        met: matches === expected,
      },
      {
        name: `statements of ${logged.length.toLocaleString('en')} in the log of the database that could write`,
        value: writing,
        unit: 'statements',
        bar: '0',
        met: writing === 0 && logged.length > 0,
      },
    ]
  })
