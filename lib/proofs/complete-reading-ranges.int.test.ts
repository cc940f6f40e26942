// Complete readings while others store records in front of the places of a page: such places move to the next page, and are not erased.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fileObjects } from '#lib/stores/objects/files.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { eraseWholeProject, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'

let sentences = 0
const sentence = (): string => {
  const n = `r${++sentences}`
  return `I have suffered${n} from cobalt${n} fever${n} since the house${n} in Rhabarberstrasse burned${n} down.`
}

class Crash extends Error {}
let crashAt: string | undefined
let between: (() => void) | undefined
/** Every store stops after each page. */
let isStepping = false
let test: TestApp
let threads: TestDatabase
beforeAll(async () => {
  threads = await testDatabase()
  const saver = PostgresSaver.fromConnString(threads.ownerUrl)
  await saver.setup()
  await saver.end()
  const memories = PostgresStore.fromConnString(threads.ownerUrl)
  await memories.setup()
  await memories.stop()
  await inThreads(`GRANT ALL ON ALL TABLES IN SCHEMA public TO "${role()}"`)
  test = await testApp({ KP_CHECKPOINTS_URL: threads.appUrl }, undefined, {
    interrupt(point) {
      if (point === 'read.noted') {
        const work = between
        between = undefined
        work?.()
      }
      if (isStepping && point === 'read.advanced') throw new Crash(point)
      if (point !== crashAt) return
      crashAt = undefined
      throw new Crash(point)
    },
  })
})
afterAll(async () => {
  await test?.close()
  await threads?.drop()
})

const read = () => test.app.completeReadings.read({ rests: false })
const lines = async (id: string) => {
  const { json } = await test.fetch('GET', `/v1/receipts/${id}`)
  return Object.fromEntries(json.complete_reading.stores.map((one: { holder: string }) => [one.holder, one]))
}
const inThreads = (sql: string, values: unknown[] = []) =>
  withConnection(threads.ownerUrl, (client) => client.query(sql, values))
const inOurs = (sql: string, values: unknown[] = []) =>
  withConnection(test.ownerUrl, (client) => client.query(sql, values))
/** Another client changes a store while the reading handles a page: the interruption cannot wait, so it is another process. */
const elsewhere = (code: string, ...values: string[]): void =>
  void execFileSync(process.execPath, ['--input-type=module', '-e', code, ...values], { stdio: 'inherit' })
const statementElsewhere = (url: string, sql: string, ...values: string[]): void =>
  elsewhere(
    `import pg from 'pg'
     const [url, sql, ...values] = process.argv.slice(1)
     const client = new pg.Client({ connectionString: url })
     await client.connect()
     await client.query(sql, values)
     await client.end()`,
    url,
    sql,
    ...values,
  )

/** The role with which the application reads the other database. */
const role = () => new URL(threads.appUrl).username
/** A long-term store in another schema, with an item. */
async function madeStore(schema: string, rights: string, text: string): Promise<string> {
  const store = PostgresStore.fromConnString(threads.ownerUrl, { schema })
  await store.setup()
  await store.put([crypto.randomUUID()], 'k', { text })
  await store.stop()
  await inThreads(`GRANT USAGE ON SCHEMA "${schema}" TO "${role()}"`)
  await inThreads(`GRANT ${rights} ON ALL TABLES IN SCHEMA "${schema}" TO "${role()}"`)
  return schema
}
const textsIn = async (schema: string): Promise<string> =>
  JSON.stringify((await inThreads(`SELECT value FROM "${schema}".store`)).rows)
/** Reads page by page until the long-term store in this schema was begun. */
async function readUntil(schema: string): Promise<void> {
  isStepping = true
  try {
    for (;;) {
      expect(await read()).toBe('waiting')
      const row = await test.db.prisma.readingStore.findFirstOrThrow({
        where: { holder: 'checkpoints.messages', reading: { completedAt: null } },
      })
      if (row.cursor?.includes(`"schema":"${schema}"`)) return
      expect(row.completedAt).toBeNull()
    }
  } finally {
    isStepping = false
  }
}

interface Place {
  holder: string
  /** Fills a page, whose last record belongs to others and contains the text. */
  fill(text: string): Promise<void>
  /** Stores a record before it. */
  insert(): void
}
const blobs = 'INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)'
const episodes =
  'INSERT INTO graph_episodes (group_id, uuid, name, source, source_description, content, created_at, valid_at)'
const copies = (n: string) =>
  `INSERT INTO conversations SELECT (jsonb_populate_record(c, jsonb_build_object('id', ${n}, 'title', 'nothing'))).* FROM conversations c`

const places: Record<string, () => Promise<Place>> = {
  async objects() {
    const objects = fileObjects(join(test.dataDir, 'objects'))
    const bytes = (text: string) => Readable.from([Buffer.from(text)])
    return {
      holder: 'objects.bytes',
      async fill(text) {
        for (let n = 100; n < 199; n++)
          await objects.put(`elsewhere/${n}.txt`, bytes('nothing'), { mediaType: 'text/plain' })
        await objects.put('elsewhere/last.txt', bytes(text), { mediaType: 'text/plain' })
      },
      insert: () =>
        elsewhere(
          `import { Readable } from 'node:stream'
           import { fileObjects } from '#lib/stores/objects/files.ts'
           await fileObjects(process.argv[1]).put('elsewhere/0.txt', Readable.from([Buffer.from('new')]), { mediaType: 'text/plain' })`,
          join(test.dataDir, 'objects'),
        ),
    }
  },
  async threads() {
    const others = await madeProject(test)
    const { id } = await madeConversation(test, others)
    return {
      holder: 'checkpoints.messages',
      async fill(text) {
        await inThreads(
          `${blobs} SELECT 'a' || n, '', 'messages', '1', 'json', convert_to('"nothing"', 'UTF8') FROM generate_series(1001, 1499) n`,
        )
        await inThreads(`${blobs} VALUES ($1, '', 'messages', '1', 'json', convert_to($2, 'UTF8'))`, [
          id,
          JSON.stringify(text),
        ])
      },
      insert: () =>
        statementElsewhere(
          threads.ownerUrl,
          `${blobs} VALUES ('a0', '', 'messages', '1', 'json', convert_to('"new"', 'UTF8'))`,
        ),
    }
  },
  async 'long-term items'() {
    const others = await madeProject(test)
    const store = (await inThreads("SELECT column_name FROM information_schema.columns WHERE table_name = 'store'"))
      .rows
    const column = store.some((one) => one.column_name === 'prefix') ? 'prefix' : 'namespace_path'
    const insert = `INSERT INTO store (${column}, key, value, created_at, updated_at)`
    return {
      holder: 'checkpoints.messages',
      async fill(text) {
        await inThreads(
          `${insert} SELECT 'a' || n, 'k', '{"x": 1}', now(), now() FROM generate_series(100001, 119999) n`,
        )
        await inThreads(`${insert} VALUES ($1, 'k', $2, now(), now())`, [others.id, JSON.stringify({ text })])
      },
      insert: () => statementElsewhere(threads.ownerUrl, `${insert} VALUES ('a0', 'k', '{"x": 1}', now(), now())`),
    }
  },
  async graph() {
    const others = await madeProject(test)
    return {
      holder: 'graph.episodes',
      async fill(text) {
        const { rows } = await inOurs('SELECT count(*)::int AS n FROM graph_episodes')
        expect(rows).toEqual([{ n: 0 }])
        await inOurs(
          `${episodes} SELECT $1, 'a' || n, '', 'text', '', 'nothing', now(), now() FROM generate_series(1001, 1499) n`,
          [others.groupId],
        )
        await inOurs(`${episodes} VALUES ($1, 'b', '', 'text', '', $2, now(), now())`, [others.groupId, text])
      },
      insert: () =>
        statementElsewhere(
          test.ownerUrl,
          `${episodes} VALUES ($1, 'a0', '', 'text', '', 'new', now(), now())`,
          others.groupId,
        ),
    }
  },
  async quotations() {
    const others = await madeProject(test)
    const conversation = await madeConversation(test, others)
    return {
      holder: 'projects.quotations',
      async fill(text) {
        await inOurs(`${copies("'cnv_' || n")}, generate_series(1001, 1999) n WHERE c.id = $1`, [conversation.id])
        await inOurs(`UPDATE conversations SET created_by = 'agent:x' WHERE id LIKE 'cnv_1___'`)
        await inOurs(`${copies("'cnv_9'")} WHERE c.id = $1`, [conversation.id])
        await inOurs(`UPDATE conversations SET created_by = 'agent:x', title = $1 WHERE id = 'cnv_9'`, [text])
      },
      insert: () => statementElsewhere(test.ownerUrl, `${copies("'cnv_0'")} WHERE c.id = $1`, 'cnv_1001'),
    }
  },
}

async function erased() {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const text = sentence()
  const message = await madeMessage(test, conversation, project.owner, { content: text })
  return { text, receiptId: await eraseWholeProject(test, message.path, project.owner) }
}

describe('a complete reading', () => {
  it.each(Object.keys(places))(
    'counts a place of others in %s as left when another client stores a record before it',
    async (name) => {
      const place = await places[name]?.()
      if (!place) throw new Error(name)
      const { text, receiptId } = await erased()
      await place.fill(text)
      let isInserted = false
      between = () => {
        isInserted = true
        place.insert()
      }
      expect(await read()).toBe('completed')
      expect(isInserted).toBe(true)
      const line = (await lines(receiptId))[place.holder]
      expect([line.erased, line.found]).toEqual([0, line.left])
      expect(line.left).toBeGreaterThan(0)
    },
    120_000,
  )

  it('counts a place of others as left when the process ended in between', async () => {
    const { text, receiptId } = await erased()
    const own = await madeProject(test)
    const { id } = await madeConversation(test, own)
    await inThreads('DELETE FROM checkpoint_blobs')
    await inThreads(
      `${blobs} SELECT 'a' || n, '', 'messages', '1', 'json', convert_to('"nothing"', 'UTF8') FROM generate_series(1001, 1498) n`,
    )
    for (const thread of ['b', id])
      await inThreads(`${blobs} VALUES ($1, '', 'messages', '1', 'json', convert_to($2, 'UTF8'))`, [
        thread,
        JSON.stringify(text),
      ])
    crashAt = 'read.noted'
    expect(await read()).toBe('waiting')
    expect(crashAt).toBeUndefined()
    await inThreads(
      `${blobs} SELECT 'a0' || n, '', 'messages', '1', 'json', convert_to('"new"', 'UTF8') FROM generate_series(1, 5) n`,
    )
    expect(await read()).toBe('completed')
    expect((await lines(receiptId))['checkpoints.messages']).toMatchObject({ found: 2, erased: 1, left: 1 })
  }, 120_000)

  it('finishes a page that an earlier version noted without its end', async () => {
    const { text, receiptId } = await erased()
    await inThreads('DELETE FROM checkpoint_blobs')
    await inThreads(`${blobs} VALUES ('b', '', 'messages', '1', 'json', convert_to($1, 'UTF8'))`, [
      JSON.stringify(text),
    ])
    await inThreads(
      `${blobs} SELECT 'd' || n, '', 'messages', '1', 'json', convert_to('"nothing"', 'UTF8') FROM generate_series(1001, 1600) n`,
    )
    crashAt = 'read.noted'
    expect(await read()).toBe('waiting')
    const where = { holder: 'checkpoints.messages' }
    expect(await test.db.prisma.readingPage.updateMany({ where, data: { until: null } })).toEqual({ count: 1 })
    expect(await read()).toBe('completed')
    expect((await lines(receiptId))['checkpoints.messages']).toMatchObject({ found: 1, erased: 1 })
  }, 120_000)

  it('reads the other long-term stores, and the same one under its new name, when a schema is renamed between pages', async () => {
    const { text, receiptId } = await erased()
    await madeStore('tenant_b', 'ALL', 'nothing')
    await madeStore('tenant_a', 'ALL', 'nothing')
    await readUntil('tenant_a')
    await inThreads('ALTER SCHEMA tenant_a RENAME TO tenant_0')
    for (const schema of ['tenant_0', 'tenant_b'])
      await inThreads(`UPDATE ${schema}.store SET value = $1`, [JSON.stringify({ text })])
    expect(await read()).toBe('completed')
    for (const schema of ['tenant_0', 'tenant_b']) expect(await textsIn(schema)).not.toContain(text.slice(0, 40))
    expect((await lines(receiptId))['checkpoints.messages']).toMatchObject({ left: 0 })
    await inThreads('DROP SCHEMA tenant_0 CASCADE; DROP SCHEMA tenant_b CASCADE')
  }, 120_000)

  it('waits when a long-term store can no longer be read', async () => {
    const { text, receiptId } = await erased()
    await madeStore('tenant_c', 'ALL', 'nothing')
    await madeStore('tenant_d', 'ALL', text)
    await readUntil('tenant_c')
    await inThreads(`REVOKE ALL ON ALL TABLES IN SCHEMA tenant_d FROM "${role()}"`)
    expect(await read()).toBe('waiting')
    await inThreads(`GRANT ALL ON ALL TABLES IN SCHEMA tenant_d TO "${role()}"`)
    expect(await read()).toBe('completed')
    expect(await textsIn('tenant_d')).not.toContain(text.slice(0, 40))
    expect((await lines(receiptId))['checkpoints.messages']).toMatchObject({ erased: 1, left: 0 })
    await inThreads('DROP SCHEMA tenant_c CASCADE; DROP SCHEMA tenant_d CASCADE')
  }, 120_000)

  it('counts words in a long-term store that it may only read as left', async () => {
    const { text, receiptId } = await erased()
    await madeStore('tenant_e', 'SELECT', text)
    expect(await read()).toBe('completed')
    expect((await lines(receiptId))['checkpoints.messages']).toMatchObject({ erased: 0, left: 1 })
    await inThreads('DROP SCHEMA tenant_e CASCADE')
  }, 120_000)
})
