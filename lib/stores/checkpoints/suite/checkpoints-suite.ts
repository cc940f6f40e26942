import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { withConnection } from '../../postgres/connection.ts'
import type { CheckpointStore, Remembered, ThreadSearchTerms } from '../checkpoints.ts'
import { type Assistant, approveTool, assistant, historyOf, messagesOf, writeMessage } from './written-thread.ts'

export interface CheckpointsUnderTest {
  store: CheckpointStore
  /** The URL of the database's owner, to inspect everything. */
  url: string
  schema: string
  transaction<T>(run: (tx: Transaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}
const tables = ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'store']
const sentence = 'Erika Musterfrau told us that "her son Max" is ill — since Ostern, grüß Gott.'

/** Tests for every location of checkpoints, with the library itself as writer and reader. */
export function checkpointsSuite(name: string, open: () => Promise<CheckpointsUnderTest>): void {
  describe(`checkpoints in ${name}`, () => {
    let place: CheckpointsUnderTest
    let saver: PostgresSaver
    let memory: PostgresStore
    let app: Assistant
    beforeAll(async () => {
      place = await open()
      saver = PostgresSaver.fromConnString(place.url, { schema: place.schema })
      memory = PostgresStore.fromConnString(place.url, { schema: place.schema })
      await saver.setup()
      await memory.setup()
      app = assistant(saver)
    })
    afterAll(async () => {
      await saver?.end()
      await memory?.stop()
      await place?.close()
    })

    const sql = <R extends Record<string, unknown>>(text: string, values: unknown[] = []): Promise<R[]> =>
      withConnection(place.url, async (client) => (await client.query<R>(text, values)).rows)
    const at = (table: string) => `"${place.schema}"."${table}"`
    const rewrite = (thread: string, wanted: ThreadSearchTerms) =>
      place.transaction((tx) => place.store.rewrite(thread, wanted, tx))
    const residue = (thread: string, wanted: ThreadSearchTerms) => place.store.residue([{ thread, ...wanted }], [])
    const find = (thread: string, wanted: ThreadSearchTerms) =>
      place.transaction((tx) => place.store.find(thread, wanted, tx))

    /** Every row as one text, with all columns, and bytes as text. */
    async function everything(thread?: string): Promise<string[]> {
      const found: string[] = []
      for (const table of tables) {
        const where = thread === undefined ? '' : table === 'store' ? 'WHERE false' : 'WHERE thread_id = $1'
        const rows = await sql(`SELECT * FROM ${at(table)} ${where}`, where.includes('$1') ? [thread] : [])
        for (const row of rows)
          found.push(
            JSON.stringify(
              Object.fromEntries(
                Object.entries(row).map(([key, value]) => [
                  key,
                  Buffer.isBuffer(value) ? value.toString('utf8') : value,
                ]),
              ),
            ),
          )
      }
      return found.sort()
    }
    /** How many rows contain a text, ignoring backslashes, so that escaped forms also count. */
    const hits = (rows: readonly string[], text: string): number => {
      const plain = (one: string) => one.replaceAll('\\', '')
      return rows.filter((row) => plain(row).includes(plain(text))).length
    }
    /** How many rows contain an id as a separate id. */
    const naming = (rows: readonly string[], id: string): number =>
      rows.filter((row) => new RegExp(`(?<![\\w-])${id}(?![\\w-])`).test(row)).length
    /** Keys, versions, parents and order of all rows: everything except the words. */
    async function skeleton(thread: string): Promise<unknown[]> {
      const own = 'thread_id, checkpoint_ns'
      return [
        await sql(
          `SELECT ${own}, checkpoint_id, parent_checkpoint_id, checkpoint -> 'v' AS v, checkpoint -> 'id' AS id, checkpoint -> 'ts' AS ts,
            checkpoint -> 'channel_versions' AS versions, checkpoint -> 'versions_seen' AS seen, metadata -> 'step' AS step, metadata -> 'source' AS source
            FROM ${at('checkpoints')} WHERE thread_id = $1 ORDER BY 1, 2, 3`,
          [thread],
        ),
        await sql(
          `SELECT ${own}, channel, version, type FROM ${at('checkpoint_blobs')} WHERE thread_id = $1 ORDER BY 1, 2, 3, 4`,
          [thread],
        ),
        await sql(
          `SELECT ${own}, checkpoint_id, task_id, idx, channel, type FROM ${at('checkpoint_writes')} WHERE thread_id = $1 ORDER BY 1, 2, 3, 4, 5`,
          [thread],
        ),
      ]
    }
    /** Two turns of a conversation: the first contains the sentence, and the second still waits for an approval. */
    async function talked(): Promise<{ thread: string; first: string; second: string }> {
      const thread = newId('thread')
      const [first, second] = [newId('msg'), newId('msg')]
      await writeMessage(app, thread, first, sentence)
      await approveTool(app, thread)
      await writeMessage(app, thread, second, 'And now to something else entirely, please.')
      return { thread, first, second }
    }

    test('rewrite removes a message from a thread with tools, a subgraph and an interrupt, and the rest reads and resumes', async () => {
      const { thread, first, second } = await talked()
      const other = await talked()
      const others = await everything(other.thread)
      const before = await skeleton(thread)
      const states = (await historyOf(app, thread)).length
      const rows = await everything(thread)
      expect(states).toBeGreaterThan(6)
      expect(new Set(rows.map((row) => JSON.parse(row).checkpoint_ns)).size).toBeGreaterThan(2)
      expect(hits(rows, sentence)).toBeGreaterThan(10)

      const wanted = { ids: [first], texts: [sentence] }
      const found = await find(thread, wanted)
      expect(found.messages).toContainEqual({ id: first, found: 'id', text: sentence })
      const made = await rewrite(thread, wanted)
      expect(made.rows).toBeGreaterThan(10)

      const after = await everything(thread)
      expect(hits(after, sentence)).toBe(0)
      for (const searchString of ['Musterfrau', 'Ostern']) expect(hits(after, searchString), searchString).toBe(0)
      expect(naming(rows, first)).toBeGreaterThan(10)
      expect(naming(after, first)).toBe(0)
      expect(await residue(thread, wanted)).toBe(0)
      expect(await skeleton(thread)).toEqual(before)
      expect(await everything(other.thread)).toEqual(others)

      expect(await historyOf(app, thread)).toHaveLength(states)
      const left = await messagesOf(app, thread)
      expect(left).toContain(second)
      expect(left).toContain(`call-for-${second}`)
      expect(left).not.toContain(first)
      // The thread still waits, resumes, and accepts another message.
      expect((await app.getState({ configurable: { thread_id: thread } })).next).toEqual(['answer'])
      await approveTool(app, thread)
      const third = newId('msg')
      await writeMessage(app, thread, third, 'One thing more, if I may ask you for it.')
      expect(await messagesOf(app, thread)).toEqual(expect.arrayContaining([second, third, `result-tool-of-${third}`]))
      expect(await rewrite(thread, wanted)).toMatchObject({ rows: 0, messages: 0 })
    })

    test('rewrite keeps an empty human message for an interrupt that loses its only one, and it resumes', async () => {
      const [thread, only] = [newId('thread'), newId('msg')]
      await writeMessage(app, thread, only, sentence)
      await rewrite(thread, { ids: [only], texts: [sentence] })
      expect(hits(await everything(thread), 'Musterfrau')).toBe(0)
      const { values, next } = await app.getState({ configurable: { thread_id: thread } })
      const human = values.messages.filter((one: { getType(): string }) => one.getType() === 'human')
      expect(human.map(({ content }: { content: string }) => content)).toEqual(['[erased]'])
      expect(next).toEqual(['answer'])
      await approveTool(app, thread)
      expect((await app.getState({ configurable: { thread_id: thread } })).next).toEqual([])
    })

    test('rewrite removes a tool’s result together with its call, and vice versa', async () => {
      for (const which of [(id: string) => `result-tool-of-${id}`, (id: string) => `call-for-${id}`]) {
        const { thread, first, second } = await talked()
        await rewrite(thread, { ids: [which(first)], texts: [] })
        for (const state of await historyOf(app, thread)) {
          const said = JSON.stringify(state.values.messages ?? [])
          for (const id of [`call-for-${first}`, `result-tool-of-${first}`, `tool-of-${first}`])
            expect(naming([said], id), id).toBe(0)
        }
        const left = await messagesOf(app, thread)
        expect(left).toEqual(expect.arrayContaining([first, second, `call-for-${second}`, `result-tool-of-${second}`]))
        for (const id of [`call-for-${first}`, `result-tool-of-${first}`]) expect(left).not.toContain(id)
      }
    })

    test('rewrite finds messages by their text when the application gave them other ids', async () => {
      const { thread, first } = await talked()
      const wanted = { ids: ['another-id-altogether'], texts: [sentence] }
      const { messages, standing, isUnreadable } = await find(thread, wanted)
      expect(isUnreadable).toBe(false)
      expect([...standing]).toEqual([sentence])
      expect(messages).toEqual([{ id: first, found: 'text', text: sentence }])
      await rewrite(thread, wanted)
      expect(hits(await everything(thread), sentence)).toBe(0)
      expect(await residue(thread, wanted)).toBe(0)
    })

    test('rewrite ignores texts that are too short, and finds a short id only as a message’s id', async () => {
      const thread = newId('thread')
      await writeMessage(app, thread, '1', 'Yes, please.')
      const before = await everything(thread)
      await rewrite(thread, { ids: [], texts: ['Yes, please.'] })
      expect(await everything(thread)).toEqual(before)
      expect(await residue(thread, { ids: ['1'], texts: [] })).toBeGreaterThan(0)
      await rewrite(thread, { ids: ['1'], texts: [] })
      expect(await residue(thread, { ids: ['1'], texts: [] })).toBe(0)
      expect(await messagesOf(app, thread)).not.toContain('1')
    })

    test('residue and naming find a late write of the message, and rewrite removes it again', async () => {
      const { thread, first } = await talked()
      const wanted = { ids: [first], texts: [sentence] }
      await rewrite(thread, wanted)
      expect(await residue(thread, wanted)).toBe(0)
      await approveTool(app, thread)
      await writeMessage(app, thread, first, sentence)
      expect(await residue(thread, wanted)).toBeGreaterThan(0)
      expect(await place.transaction((tx) => place.store.naming([first], tx))).toEqual([{ thread, id: first }])
      const many = [first, ...Array.from({ length: 40 }, () => newId('msg'))]
      expect(await place.transaction((tx) => place.store.naming(many, tx))).toEqual([{ thread, id: first }])
      await rewrite(thread, wanted)
      expect(await residue(thread, wanted)).toBe(0)
      expect(await historyOf(app, thread)).not.toHaveLength(0)
    })

    test('forget deletes items with an id of ours, and items with the words or another id and a tie', async () => {
      const [id, conversation, chosen] = [newId('msg'), newId('conv'), `their-${newId('id')}`]
      const wanted: Remembered = {
        sure: [id],
        ids: [id, chosen],
        texts: [sentence],
        ties: [conversation, 'room-number-17'],
      }
      await memory.put(['people', 'erika'], 'from', { source: id })
      await memory.put(['people'], conversation, { text: `Noted: ${sentence}` })
      await memory.put(['rooms', 'room-number-17'], 'words', { text: `Noted: ${sentence}` })
      await memory.put(['people', 'erika'], 'within', { text: `Noted: ${sentence}`, of: conversation })
      await memory.put(['people', 'erika'], 'chosen', { source: chosen, of: conversation })
      const others = ['words', 'chosen', 'room', 'nothing']
      await memory.put(['others'], 'words', { text: `Noted: ${sentence}` })
      await memory.put(['others'], 'chosen', { source: chosen })
      await memory.put(['others'], 'room', { text: sentence, where: 'room-number-17' })
      await memory.put(['others'], 'nothing', { text: 'Noted: nothing.', of: conversation })
      const count = () => place.transaction((tx) => place.store.memories(wanted, tx))
      expect([await count(), await place.store.residue([], [wanted])]).toEqual([5, 5])
      expect(await place.transaction((tx) => place.store.forget([{ ...wanted, sure: [], ties: [] }], tx))).toBe(0)
      // Together they have the words and the tie, but neither search has both.
      const apart = [
        { ...wanted, sure: [], ids: [], ties: ['room-number-99'] },
        { ...wanted, sure: [], ids: [], texts: ['Another sentence that nobody wrote.'] },
      ]
      expect(await place.transaction((tx) => place.store.forget(apart, tx))).toBe(0)
      expect(await place.transaction((tx) => place.store.forget([...apart, wanted], tx))).toBe(5)
      expect([await count(), await place.store.residue([], [wanted])]).toEqual([0, 0])
      const left = await memory.search(['others'])
      expect(left.map(({ key }) => key).sort()).toEqual(others.sort())
    })

    test('forget deletes an item as it is when its owner is known, although the application changed it meanwhile', async () => {
      const id = newId('msg')
      const put = (key: string, text: string) => memory.put(['changing'], key, { text })
      await put('again', `Noted: ${id}.`)
      await put('without', `Noted: ${id}.`)
      const wanted: Remembered = {
        sure: [id],
        ids: [id],
        texts: [],
        ties: [],
        async mayErase({ key }) {
          await put(key, key === 'again' ? `Noted again: ${id}.` : 'Noted: nothing.')
          return true
        },
      }
      expect(await place.transaction((tx) => place.store.forget([wanted], tx))).toBe(1)
      expect((await memory.search(['changing'])).map(({ key }) => key)).toEqual(['without'])
    })

    describe('rows of other writers', () => {
      /** Inserts a row into the library's table directly. */
      const write = async (thread: string, channel: string, type: string, blob: Buffer, version = '1') =>
        sql(
          `INSERT INTO ${at('checkpoint_blobs')} (thread_id, channel, version, type, blob) VALUES ($1, $2, $3, $4, $5)`,
          [thread, channel, version, type, blob],
        )
      const json = (value: unknown) => Buffer.from(JSON.stringify(value))
      const human = {
        lc: 1,
        type: 'constructor',
        id: ['langchain_core', 'messages', 'HumanMessage'],
        kwargs: { id: 'h', content: sentence },
      }
      const wanted = { ids: [], texts: [sentence] }

      test.each([
        ['cut off', 'json', json([human]).subarray(0, 60)],
        ['not UTF-8', 'json', Buffer.concat([json('x').subarray(0, 2), Buffer.from([0xff, 0xfe])])],
        ['encrypted', 'json+aes', Buffer.from('0011223344')],
        ['MessagePack of a wrong length', 'msgpack', Buffer.concat([Buffer.from([0xd9, 0x50]), Buffer.from(sentence)])],
        ['nested too deeply', 'json', Buffer.from(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)],
      ])('rewrite rejects a row that is %s, names only the thread, and changes nothing', async (_, type, blob) => {
        const { thread } = await talked()
        await write(thread, 'foreign', type, blob)
        const before = await everything(thread)
        const refusal: unknown = await rewrite(thread, wanted).catch((error: unknown) => error)
        expect(refusal).toMatchObject({ code: 'conflict' })
        expect(String(refusal)).toContain(thread)
        expect(refusal).toMatchObject({ extensions: { thread } })
        expect(String(refusal)).not.toContain('Musterfrau')
        expect(await everything(thread)).toEqual(before)
        // Deleting the thread remains possible.
        expect(await place.transaction((tx) => place.store.drop(thread, tx))).toBe(before.length)
        expect(await everything(thread)).toEqual([])
      })

      test('rewrite keeps a row of Python without erased words, and an empty row', async () => {
        const { thread } = await talked()
        const bytes = Buffer.concat([Buffer.from([0xa5]), Buffer.from('other')])
        await write(thread, 'foreign', 'msgpack', bytes)
        await write(thread, 'nothing', 'empty', Buffer.alloc(0))
        await rewrite(thread, wanted)
        const [row] = await sql<{ blob: Buffer }>(
          `SELECT blob FROM ${at('checkpoint_blobs')} WHERE thread_id = $1 AND channel = 'foreign'`,
          [thread],
        )
        expect(row?.blob.equals(bytes)).toBe(true)
        expect(hits(await everything(thread), sentence)).toBe(0)
      })

      test('rewrite handles Python’s inline values, string versions and metadata, and empties only a later summary', async () => {
        const thread = newId('thread')
        const version = (n: number) => `${String(n).padStart(32, '0')}.0.5`
        const put = (id: string, n: number, summary: string, metadata: unknown) =>
          sql(
            `INSERT INTO ${at('checkpoints')} (thread_id, checkpoint_id, checkpoint, metadata) VALUES ($1, $2, $3, $4)`,
            [
              thread,
              id,
              JSON.stringify({
                v: 4,
                id,
                channel_values: { summary, turns: n },
                channel_versions: { messages: version(n), summary: version(n) },
              }),
              JSON.stringify(metadata),
            ],
          )
        await put('1', 1, 'Nothing was said yet.', { step: 0, source: 'input' })
        await write(thread, 'messages', 'json', json([{ type: 'human', content: 'before' }]), version(1))
        await put('2', 2, 'She is worried about a child.', {
          step: 1,
          source: 'loop',
          writes: { __start__: { messages: [{ type: 'human', content: sentence, id: 'h1' }] } },
        })
        await write(
          thread,
          'messages',
          'json',
          json([{ type: 'human', content: 'before' }, { role: 'user', content: sentence }, ['user', sentence]]),
          version(2),
        )
        await rewrite(thread, wanted)
        const rows = await sql<{ checkpoint: unknown; metadata: unknown }>(
          `SELECT checkpoint, metadata FROM ${at('checkpoints')} WHERE thread_id = $1 ORDER BY checkpoint_id`,
          [thread],
        )
        expect(rows).toMatchObject([
          { checkpoint: { channel_values: { summary: 'Nothing was said yet.', turns: 1 } }, metadata: { step: 0 } },
          {
            checkpoint: { channel_values: { summary: '', turns: 2 }, channel_versions: { summary: version(2) } },
            metadata: { step: 1, writes: { __start__: { messages: [] } } },
          },
        ])
        const [blob] = await sql<{ blob: Buffer }>(
          `SELECT blob FROM ${at('checkpoint_blobs')} WHERE thread_id = $1 AND version = $2`,
          [thread, version(2)],
        )
        expect(JSON.parse(blob?.blob.toString() ?? '')).toEqual([{ type: 'human', content: 'before' }])
      })

      test('rewrite keeps a class that only the application knows', async () => {
        const thread = newId('thread')
        const own = {
          lc: 1,
          type: 'constructor',
          id: ['their_app', 'Ticket'],
          kwargs: { note: `said: ${sentence}`, rank: 3 },
        }
        await write(thread, 'ticket', 'json', json({ own, by: human }))
        await rewrite(thread, wanted)
        const [row] = await sql<{ blob: Buffer }>(`SELECT blob FROM ${at('checkpoint_blobs')} WHERE thread_id = $1`, [
          thread,
        ])
        expect(JSON.parse(row?.blob.toString() ?? '')).toEqual({
          own: { ...own, kwargs: { note: 'said: [erased]', rank: 3 } },
          by: null,
        })
      })

      test('rewrite and drop return 0 rows for a missing thread, and accept an id with quotes', async () => {
        const odd = `o'neill "x" %_\\ ${newId('thread')}`
        expect(await rewrite(odd, wanted)).toMatchObject({ rows: 0, messages: 0 })
        expect(await place.transaction((tx) => place.store.drop(odd, tx))).toBe(0)
        await write(odd, 'messages', 'json', json([human]))
        expect(await place.transaction((tx) => place.store.present([odd, 'nobody'], tx))).toEqual([odd])
        expect(await rewrite(odd, wanted)).toMatchObject({ rows: 1, messages: 1 })
      })

      test('rewrite handles a thread of 10,000 messages and a blob of 20 MB', async () => {
        const thread = newId('thread')
        const messages = Array.from({ length: 10_000 }, (_, n) => ({
          ...human,
          kwargs: { id: `message-number-${n}`, content: `Number ${n} says something of its own.` },
        }))
        await write(thread, 'messages', 'json', json(messages))
        await write(thread, 'file', 'json', json({ text: 'x'.repeat(20 * 1024 * 1024), note: sentence }))
        expect(await rewrite(thread, { ids: ['message-number-5000'], texts: [sentence] })).toMatchObject({
          rows: 2,
          messages: 1,
        })
        const rows = await sql<{ channel: string; n: number }>(
          `SELECT channel, octet_length(blob) AS n FROM ${at('checkpoint_blobs')} WHERE thread_id = $1 ORDER BY 1`,
          [thread],
        )
        expect(rows.map(({ channel }) => channel)).toEqual(['file', 'messages'])
        expect(rows[0]?.n).toBeGreaterThan(20 * 1024 * 1024)
        const [blob] = await sql<{ blob: Buffer }>(
          `SELECT blob FROM ${at('checkpoint_blobs')} WHERE thread_id = $1 AND channel = 'messages'`,
          [thread],
        )
        expect(JSON.parse(blob?.blob.toString() ?? '[]')).toHaveLength(9_999)
        expect(await residue(thread, { ids: ['message-number-5000'], texts: [sentence] })).toBe(0)
        await place.transaction((tx) => place.store.drop(thread, tx))
      })
    })

    test('concurrent rewrites remove different messages of one thread', async () => {
      const { thread, first, second } = await talked()
      await Promise.all([
        rewrite(thread, { ids: [first], texts: [sentence] }),
        rewrite(thread, { ids: [second], texts: [] }),
      ])
      const left = await everything(thread)
      for (const id of [first, second]) expect(naming(left, id), id).toBe(0)
    })
  })
}
