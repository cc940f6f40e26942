import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint'
import { createClient } from '@redis/client'
import neo4j from 'neo4j-driver'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  connectTestStores,
  type StoreServers,
  storeServers,
} from '#lib/testing/connected-stores.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { answersOf, commandsOf } from '#lib/testing/guide-walk.ts'
import { pythonProgram } from '#lib/testing/python.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'

const root = join(import.meta.dirname, '../..')
const name = 'Iris Probe'
const email = 'iris.probe@example.org'
const group = `find-${randomUUID()}`
const deleted = randomUUID()

interface Place {
  store: string
  kind: string
  name: string
  field?: string
  matches: number
  content?: string[]
}

/**
 * The versions of all rows of a database, by table: each insert, update, delete and lock of a row changes them. The server's counters would
 * count late what other sessions wrote before.
 */
const rowVersions = (url: string): Promise<Record<string, string>> =>
  withConnection(url, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' ORDER BY 1`,
    )
    const versions: Record<string, string> = {}
    for (const { name } of tables) {
      const { rows } = await client.query<{ versions: string }>(
        `SELECT count(*) || ' ' || coalesce(md5(string_agg(concat_ws(' ', ctid, xmin, xmax), ',' ORDER BY ctid)), '') AS versions FROM ${name}`,
      )
      versions[name] = rows[0]?.versions ?? ''
    }
    return versions
  })

describe.skipIf(!(await areStoresInstalled()))('kp find and kp orphans with every store', () => {
  let servers: StoreServers & { close(): Promise<void> }
  let stores: ConnectedStores
  let line: ReturnType<typeof commandLine>
  let reader = ''
  const driver = () => {
    const { username, password, host } = new URL(servers.graphUrl)
    return neo4j.driver(`bolt://${host}`, neo4j.auth.basic(username, decodeURIComponent(password)))
  }
  const addresses = () => [
    '--postgres',
    reader,
    '--neo4j',
    servers.graphUrl,
    '--redis',
    servers.redisUrl,
    '--s3',
    stores.settings.KP_OBJECTS_URL,
  ]

  beforeAll(async () => {
    servers = await storeServers()
    stores = await connectTestStores(servers)
    line = commandLine('http://127.0.0.1:9')
    const { checkpointsUrl } = servers
    // LangGraph in JavaScript, and its long-term store.
    for (const [thread, text] of [
      ['thread-js', `My name is ${name}, write to ${email}.`],
      ['thread-other', 'Nobody is mentioned here.'],
    ] as const) {
      const config = { configurable: { thread_id: thread, checkpoint_ns: '' } }
      const checkpoint = {
        ...emptyCheckpoint(),
        channel_values: { messages: [text] },
        channel_versions: { messages: 1 },
      }
      const put = await stores.saver.put(config, checkpoint, { source: 'input', step: 1, parents: {} }, { messages: 1 })
      await stores.saver.putWrites(put, [['messages', [text]]], randomUUID())
    }
    await stores.remember(['memories', 'user'], 'fact', { text: `Likes tea, says "${name}"` })
    // A vector table, JSON escapes, gzip, another script, and a table that nobody may read.
    await withConnection(checkpointsUrl, async (client) => {
      await client.query(`CREATE SCHEMA app; SET search_path = app;
        CREATE TABLE app.langchain_pg_embedding (id uuid PRIMARY KEY, document text, cmetadata jsonb, embedding real[]);
        CREATE TABLE app.events (id bigint PRIMARY KEY, body json, raw bytea, tags text[]);
        CREATE TABLE app.secret (note text); CREATE TABLE app.conversations (id text PRIMARY KEY);
        INSERT INTO conversations VALUES ('thread-js')`)
      await client.query('INSERT INTO langchain_pg_embedding VALUES (gen_random_uuid(), $1, $2, $3)', [
        `Notes about ${name}`,
        { source: email },
        [0.1],
      ])
      const escaped = JSON.stringify({ inner: JSON.stringify({ from: 'Iris \\u0050robe' }) })
      await client.query('INSERT INTO events VALUES (1, $1, $2, $3), (2, $4, NULL, NULL)', [
        escaped,
        gzipSync(`a log line of ${email}`),
        ['x', name.toUpperCase()],
        '{"nothing": true}',
      ])
      await client.query('INSERT INTO secret VALUES ($1)', [name])
      // Rows whose thread is gone, and writes whose checkpoint is gone.
      await client.query(
        `INSERT INTO threads.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
         VALUES ($1, '', 'c1', 't1', 0, 'messages', 'json', '"left"'), ('thread-js', '', 'gone', 't1', 0, 'messages', 'json', '"left"')`,
        [deleted],
      )
      const role = `kp_reader_${randomUUID().slice(0, 8)}`
      await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'reader'; GRANT USAGE ON SCHEMA app, threads TO ${role};
        GRANT SELECT ON ALL TABLES IN SCHEMA app, threads TO ${role}; REVOKE ALL ON secret FROM ${role}, PUBLIC`)
      const url = new URL(checkpointsUrl)
      url.username = role
      url.password = 'reader'
      reader = url.href
    })
    const redis = createClient({ url: servers.redisUrl })
    await redis.connect()
    await redis.set('session:1', `{"user":"${name}"}`)
    await redis.hSet('profile:2', { email, age: '30' })
    await redis.set(`user:${email}`, 'x')
    await redis.set(`session:${deleted}`, 'left behind')
    await redis.set('session:thread-js', 'alive')
    redis.destroy()
    await stores.putObject('exports/1.json', `{"to":"${email}"}`)
    await stores.putObject(`uploads/${deleted}/file.txt`, 'left behind')
    const graph = driver()
    await graph.executeQuery(
      `CREATE (e:Episodic {uuid: $group + '-e', group_id: $group, name: 'm1', content: $text, source: 'message', created_at: datetime()})
       CREATE (n:Entity {uuid: $group + '-n', group_id: $group, name: $name, summary: 'A person', created_at: datetime()})
       CREATE (m:Entity {uuid: $group + '-m', group_id: $group, name: 'Tea', summary: '', created_at: datetime()})
       CREATE (e)-[:MENTIONS {uuid: $group + '-x', group_id: $group}]->(n)
       CREATE (n)-[:RELATES_TO {uuid: $group + '-f', group_id: $group, name: 'LIKES', fact: $fact, episodes: [$group + '-e']}]->(m)
       CREATE (n)-[:RELATES_TO {uuid: $group + '-g', group_id: $group, name: 'LIKES', fact: 'left', episodes: ['gone']}]->(m)`,
      { group, name, text: `${name} said hello`, fact: `${name} likes tea` },
    )
    await graph.close()
  })
  afterAll(async () => {
    if (!servers) return
    const graph = driver()
    await graph.executeQuery('MATCH (n) WHERE n.group_id = $group DETACH DELETE n', { group })
    await graph.close()
    line?.close()
    await stores?.close()
    await withConnection(servers.checkpointsUrl, async (client) => {
      if (reader === '') return
      const { username } = new URL(reader)
      await client.query(`DROP OWNED BY ${username}; DROP ROLE ${username}`)
    })
    await servers.close()
  })

  /** Records each command that Redis logs. */
  async function redisLog() {
    const redis = createClient({ url: servers.redisUrl })
    await redis.connect()
    const commands = new Set<string>()
    // A line is: time, [database address], "COMMAND" "argument" …
    await redis.monitor((line) => commands.add(/\] "(\w+)"/.exec(String(line))?.[1]?.toUpperCase() ?? String(line)))
    // The commands of a script (EVAL) are logged, too.
    const client = redis.duplicate()
    await client.connect()
    const writing = z.array(z.string()).parse(await client.sendCommand(['ACL', 'CAT', 'write']))
    client.destroy()
    const writes = () => [...commands].filter((command) => writing.includes(command.toLowerCase()))
    return { commands, writes, close: () => redis.destroy() }
  }

  it('finds the person in every store and encoding, and writes nothing', async () => {
    const log = await redisLog()
    onTestFinished(() => log.close())
    const [before, versions] = [await stores.everything(group), await rowVersions(servers.checkpointsUrl)]
    log.commands.clear()
    const { status, json, err } = await line.run(['find', name, email, ...addresses(), '--load', '100', '--json'])
    expect([status, err]).toEqual([0, ''])
    expect(log.commands).toContain('SCAN')
    expect(log.writes()).toEqual([])
    const places: Place[] = json.data.places
    const has = (store: string, kind: string, part: string, field?: string) =>
      places.some(
        (place) =>
          place.store === store &&
          place.kind === kind &&
          place.name.includes(part) &&
          (!field || place.field === field),
      )
    expect(has('postgresql', 'thread', 'thread-js')).toBe(true)
    expect(has('postgresql', 'thread', 'thread-other')).toBe(false)
    expect(has('postgresql', 'row', 'threads.store', 'value')).toBe(true)
    expect(has('postgresql', 'row', 'app.langchain_pg_embedding', 'document')).toBe(true)
    expect(has('postgresql', 'row', 'app.langchain_pg_embedding', 'cmetadata')).toBe(true)
    for (const field of ['body', 'raw', 'tags'])
      expect([field, has('postgresql', 'row', 'app.events 1', field)]).toEqual([field, true])
    expect(has('postgresql', 'row', 'app.events 2')).toBe(false)
    expect(has('neo4j', 'episode', `${group}-e`, 'content')).toBe(true)
    expect(has('neo4j', 'entity', `${group}-n`, 'name')).toBe(true)
    expect(has('neo4j', 'fact', `${group}-f`, 'fact')).toBe(true)
    expect(has('redis', 'key', 'session:1', 'string')).toBe(true)
    expect(has('redis', 'key', 'profile:2', 'hash')).toBe(true)
    expect(has('redis', 'key', 'user:…', 'name')).toBe(true)
    expect(has('objects', 'object', 'exports/1.json')).toBe(true)
    // Places and counts only.
    expect(JSON.stringify(json)).not.toMatch(/iris|example\.org/i)
    const postgres = json.data.stores.find(({ store }: { store: string }) => store === 'postgresql')
    expect(postgres.skipped).toContain('app.secret: this user may not read note')
    expect(JSON.stringify(json)).not.toContain('reader:')

    expect(await stores.everything(group)).toEqual(before)
    expect(await rowVersions(servers.checkpointsUrl)).toEqual(versions)
  })

  it('prints excerpts only when asked, and finds a sentence by six of its words', async () => {
    const args = ['find', '--text', 'Notes were taken. Nobody is mentioned here.', ...addresses().slice(0, 2), '--json']
    expect((await line.run(args)).json.data.places).toEqual([])
    const found = await line.run(['find', email, ...addresses(), '--content', '--json'])
    expect(JSON.stringify(found.json.data.places)).toContain('a log line of iris.probe@example.org')
  })

  it('reports a store that does not answer, searches the others, and continues from the state file', async () => {
    const dead = 'redis://127.0.0.1:1'
    const args = ['find', name, '--postgres', reader, '--load', '100', '--json', '--state', 'state.json']
    const first = await line.run([...args, '--redis', dead])
    expect(first.status).toBe(1)
    const states = (run: typeof first) =>
      run.json.data.stores.map(({ store, state }: { store: string; state: string }) => [store, state])
    expect(states(first)).toEqual([
      ['postgresql', 'done'],
      ['redis', 'failed'],
    ])
    const state = readFileSync(join(line.workplace, 'state.json'), 'utf8')
    expect(state).not.toMatch(/iris|reader:/i)
    const again = await line.run([...args, '--redis', servers.redisUrl])
    expect(states(again)).toEqual([
      ['postgresql', 'done'],
      ['redis', 'done'],
    ])
    const records = (run: typeof first) => run.json.data.stores[0].records
    expect(records(again)).toBe(records(first))
    expect(existsSync(join(line.workplace, 'state.json.new'))).toBe(false)
  })

  it('names a table that is locked, searches the others, and counts values that are too large', async () => {
    const huge = `kp_find_${randomUUID().slice(0, 8)}`
    await withConnection(servers.checkpointsUrl, async (client) => {
      await client.query(`CREATE SCHEMA ${huge}; SET search_path = ${huge};
        CREATE TABLE a_locked (note text); CREATE TABLE b_large (note text); CREATE TABLE c_changed (note text); CREATE TABLE d_last (note text);
        ALTER TABLE b_large ALTER note SET STORAGE EXTERNAL;
        INSERT INTO b_large VALUES (repeat('x', 17 * 1024 * 1024)); INSERT INTO d_last VALUES ('${name}')`)
      await client.query('BEGIN; LOCK TABLE a_locked')
      const url = new URL(servers.checkpointsUrl)
      url.searchParams.set('schema', huge)
      const args = ['find', name, '--postgres', url.href, '--load', '100', '--json']
      const { status, json } = await line.run(args).finally(() => client.query('ROLLBACK'))
      const [store] = json.data.stores
      expect([status, store.state, store.unread]).toEqual([0, 'done', { large: 1 }])
      expect(store.skipped).toEqual([`${huge}.a_locked: another session has locked it`])
      expect(json.data.places.map((place: Place) => place.name)).toEqual([`${huge}.d_last (0,1)`])
      await client.query(`DROP SCHEMA ${huge} CASCADE`)
    })
  })

  it('continues when a table is dropped or changed while the search reads another', async () => {
    const { find } = await import('#lib/operator/find.ts')
    const { postgresSource } = await import('#lib/operator/find-postgres.ts')
    const schema = `kp_find_${randomUUID().slice(0, 8)}`
    const url = new URL(servers.checkpointsUrl)
    url.searchParams.set('schema', schema)
    const source = postgresSource(url.href)
    await withConnection(servers.checkpointsUrl, async (client) => {
      await client.query(`CREATE SCHEMA ${schema}; SET search_path = ${schema};
        CREATE TABLE a (note text); CREATE TABLE b (note text); CREATE TABLE c (note text); CREATE TABLE d (note text);
        INSERT INTO a VALUES ('x'); INSERT INTO b VALUES ('x'); INSERT INTO c VALUES ('x'); INSERT INTO d VALUES ('${name}')`)
      let pages = 0
      const altered = {
        ...source,
        async page(after: string | null) {
          const page = await source.page(after)
          if (++pages === 1) await client.query('DROP TABLE b; ALTER TABLE c RENAME note TO body')
          return page
        },
      }
      const report = await find({
        sources: [altered],
        sought: { names: [name], texts: [] },
        withContent: false,
        load: 1,
      })
      await source.close()
      expect(report.stores).toMatchObject([
        {
          state: 'done',
          skipped: [
            `${schema}.b: it was dropped during the search`,
            `${schema}.c: its columns were changed during the search`,
          ],
        },
      ])
      expect(report.places.map((place) => place.name)).toEqual([`${schema}.d (0,1)`])
      await client.query(`DROP SCHEMA ${schema} CASCADE`)
    })
  })

  it('says why a store was not searched, without its password', async () => {
    const silent = createServer((socket) => socket.on('error', () => {}))
    await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening))
    const address = silent.address()
    const port = typeof address === 'object' ? address?.port : 0
    const secret = 'hidden'
    const wrong = new URL(reader)
    wrong.password = secret
    const missing = new URL(reader)
    missing.pathname = '/nothing'
    const noSchema = new URL(reader)
    noSchema.searchParams.set('schema', 'nothing')
    const noBucket = stores.settings.KP_OBJECTS_URL.replace(/\/[^/?]+(?=\?|$)/, '/nothing-here')
    const unknownUser = servers.graphUrl.replace(/:[^:@]+@/, `:${secret}@`)
    for (const [option, url, reason] of [
      ['--postgres', wrong.href, 'the user name or password is wrong (28P01)'],
      ['--postgres', missing.href, 'this database does not exist (3D000)'],
      ['--postgres', `postgres://u:${secret}@127.0.0.1:${port}/x`, 'the server does not answer'],
      ['--neo4j', unknownUser, 'the user name or password is wrong'],
      [
        '--neo4j',
        `bolt://neo4j:${secret}@127.0.0.1:${port}`,
        'the server does not answer, or the scheme of the address is wrong',
      ],
      [
        '--redis',
        `redis://:${secret}@127.0.0.1:1`,
        'the server does not answer, or the scheme of the address is wrong',
      ],
      ['--postgres', noSchema.href, 'this database, schema, bucket or folder does not exist'],
      ['--s3', noBucket, 'this database, schema, bucket or folder does not exist'],
    ] as const) {
      const { status, out, err } = await line.run(['find', name, option, url])
      expect([option, status, out.includes(`not searched completely: ${reason}\n`)]).toEqual([option, 1, true])
      expect([option, out.includes('Nothing was found in what was searched.')]).toEqual([option, true])
      expect(`${out}${err}`).not.toContain(secret)
    }
    silent.close()
    const bucket = await line.run(['find', name, '--s3', `s3://key:${secret}@127.0.0.1/b`])
    expect([bucket.status, bucket.err.includes('--s3 must name one bucket'), bucket.err.includes(secret)]).toEqual([
      2,
      true,
      false,
    ])
  }, 120_000)

  it('takes the addresses from the variables, and refuses wrong ones without repeating them', async () => {
    const env = { KP_REDIS_URL: servers.redisUrl }
    expect((await line.run(['find', name, '--json'], { env })).json.data.stores).toHaveLength(1)
    const none = await line.run(['find', name])
    expect([none.status, none.err.includes('KP_CHECKPOINTS_URL')]).toEqual([2, true])
    const wrong = await line.run(['find', name, '--postgres', 'mysql://root:hidden@localhost/app'])
    expect([wrong.status, wrong.err.includes('hidden')]).toEqual([2, false])
    expect((await line.run(['find', '--redis', servers.redisUrl])).status).toBe(2)
    expect((await line.run(['find', name, '--redis', servers.redisUrl, '--load', '0'])).status).toBe(2)
  })

  it('lists what past deletes left behind, and writes nothing', async () => {
    const [before, versions] = [await stores.everything(group), await rowVersions(servers.checkpointsUrl)]
    const known = ['--known', 'app.conversations.id', '--named', 'session:{id}']
    const { status, json, err } = await line.run(['orphans', ...addresses(), ...known, '--json'])
    expect(err).toBe('')
    const found: { what: string; name: string; count: number }[] = json.data.orphans
    const named = (what: string) => found.filter((one) => one.what === what).map((one) => one.name)
    expect(status).toBe(0)
    expect(named('thread without checkpoints')).toEqual([`threads.checkpoint_writes ${deleted}`])
    expect(named('writes without their checkpoint')).toEqual(['threads thread-js'])
    expect(named('thread of a deleted conversation')).toEqual(['threads thread-other'])
    expect(named('entity without episodes')).toContain(`${group}-m of group ${group}`)
    expect(named('entity without episodes')).not.toContain(`${group}-n of group ${group}`)
    expect(named('fact without episodes')).toContain(`${group}-g of group ${group}`)
    expect(named('fact without episodes')).not.toContain(`${group}-f of group ${group}`)
    expect(named('key of a deleted conversation').toSorted()).toEqual(['session:1', `session:${deleted}`].toSorted())
    expect(named('object of a deleted conversation')).toEqual([`uploads/${deleted}/file.txt`])
    expect(await stores.everything(group)).toEqual(before)
    expect(await rowVersions(servers.checkpointsUrl)).toEqual(versions)
  })

  it('runs every command of its guide as printed', async () => {
    const commands = commandsOf(readFileSync(join(root, 'docs/find.md'), 'utf8'))
      .join('\n')
      .replaceAll(/postgres:\S+@localhost\/app/g, `'${reader}'`)
      .replaceAll('redis://localhost', servers.redisUrl)
      .replaceAll('public.conversations', 'app.conversations')
    const { PATH = '', HOME = '' } = process.env
    // The first command answers, so that the shell ends with the status of the first that fails.
    const shell = spawn('sh', ['-e', '-c', commands], { cwd: root, env: { NODE_ENV: 'production', PATH, HOME } })
    const [out, err, [status]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')])
    expect([status, err]).toEqual([0, ''])
    const [shown = ''] = answersOf(readFileSync(join(root, 'docs/find.md'), 'utf8'))
    // The guide shows: the store, the place, the number of matches.
    expect(shown).toMatch(/^postgresql {2}thread \S+, \w+: \d+ times$/)
    expect(out).toMatch(/^postgresql {2}thread thread-js, threads: \d+ times$/m)
    expect(out).toMatch(/^✓ postgresql \S+: [\d,]+ texts read$/m)
    expect(out).toMatch(/^Found in \d+ places: [\d,]+ times, and \d+ possible mentions?\.$/m)
    expect(out).toContain(`session:${deleted}`)
  }, 120_000)

  it('refuses a column that does not exist instead of taking every thread for deleted', async () => {
    const { status, out } = await line.run(['orphans', '--postgres', reader, '--known', 'app.conversations.nothing'])
    expect([status, out]).toEqual([1, ''])
  })
})

describe.skipIf(!isInstalled('python'))('kp find with LangGraph in Python', () => {
  let database: TestDatabase
  let line: ReturnType<typeof commandLine>
  beforeAll(async () => {
    database = await testDatabase()
    line = commandLine('http://127.0.0.1:9')
  })
  afterAll(async () => {
    line?.close()
    await database?.drop()
  })

  it('finds the person in checkpoints that the library packed', async () => {
    const url = database.ownerUrl
    const python = pythonProgram('langgraph_threads.py')
    await python.call('setup', { url }, z.null())
    await python.call('say', { url, thread: 'py-1', id: 'm1', text: `I am ${name}.` }, z.null())
    await python.call('say', { url, thread: 'py-2', id: 'm2', text: 'I am nobody.' }, z.null())
    await python.close()
    const { json } = await line.run(['find', name, '--postgres', url, '--load', '100', '--json'])
    const threads = json.data.places.filter(({ kind }: Place) => kind === 'thread').map((place: Place) => place.name)
    expect(threads).toEqual(['py-1'])
  })
})
