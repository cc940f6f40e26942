import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ErasedRunMatch } from '#lib/kernel/data-source.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { withConnection } from '../postgres/connection.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import type { CheckpointStore, TextSearch, ThreadSearchTerms } from './checkpoints.ts'
import { ownCheckpoints } from './connected-checkpoints.ts'
import { unpack } from './msgpack.ts'

const sentence = 'Erika Musterfrau told us that "her son Max" is ill — since Ostern, grüß Gott.'
const State = z.object({
  next: z.array(z.string()),
  messages: z.array(z.tuple([z.string(), z.string(), z.string()])),
  kinds: z.array(z.string()),
  interrupts: z.array(z.string()),
  text: z.string(),
})
const nothing = z.null()

/** Finds runs of six words of a text like an erasure, without fingerprints. */
function wordsOf(texts: readonly string[], remaining: readonly string[] = []): TextSearch {
  const split = (text: string) => [...text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)]
  const runs = [
    ...texts.flatMap((text) => {
      const words = split(text).map(([word]) => word)
      return words.flatMap((_, at) => (at + 6 <= words.length ? [words.slice(at, at + 6).join(' ')] : []))
    }),
  ]
  return {
    runsIn(text): ErasedRunMatch[] {
      const words = split(text)
      return words.flatMap((word, at) => {
        const run = words.slice(at, at + 6)
        const last = run.at(-1)
        const known = runs.indexOf(run.map(([one]) => one).join(' '))
        return last && known >= 0 ? [{ run: known, start: word.index, end: last.index + last[0].length }] : []
      })
    },
    including: (more) => wordsOf([...texts, ...more], remaining),
    explained: async () => new Set(),
    remaining: async (ids) => new Set(ids.filter((id) => remaining.includes(id))),
  }
}

describe.skipIf(!isInstalled('python'))('threads of LangGraph in Python', () => {
  let python: PythonProgram
  let database: TestDatabase
  let db: Database
  let store: CheckpointStore
  let url: string
  beforeAll(async () => {
    database = await testDatabase()
    db = openDatabase(database.appUrl, { isGuarded: true })
    store = ownCheckpoints(db)
    const address = new URL(database.ownerUrl)
    address.searchParams.set('options', '-csearch_path=langgraph')
    url = address.href
    python = pythonProgram('langgraph_threads.py')
    await python.call('setup', { url }, nothing)
  })
  afterAll(async () => {
    await python?.close()
    await db?.close()
    await database?.drop()
  })

  const say = (thread: string, id: string, text: string) => python.call('say', { url, thread, id, text }, nothing)
  const resume = (thread: string) => python.call('resume', { url, thread }, z.array(z.string()))
  const history = (thread: string) => python.call('history', { url, thread }, z.array(State))
  const rewrite = (thread: string, wanted: ThreadSearchTerms) =>
    db.transaction((tx) => store.rewrite(thread, wanted, tx))
  interface Row {
    key: string
    type: string | null
    bytes: Buffer
  }
  /** Every row of the thread as stored. */
  const rows = (thread: string): Promise<Row[]> =>
    withConnection(database.ownerUrl, async (client) => {
      const found = await client.query<Row>(
        `SELECT 'checkpoint ' || checkpoint_ns || ' ' || checkpoint_id AS key, 'json' AS type, convert_to(checkpoint::text || metadata::text, 'UTF8') AS bytes
           FROM langgraph.checkpoints WHERE thread_id = $1
         UNION ALL SELECT 'blob ' || checkpoint_ns || ' ' || channel || ' ' || version, type, blob FROM langgraph.checkpoint_blobs WHERE thread_id = $1 AND blob IS NOT NULL
         UNION ALL SELECT 'write ' || checkpoint_ns || ' ' || checkpoint_id || ' ' || task_id || ' ' || idx || ' ' || channel, type, blob
           FROM langgraph.checkpoint_writes WHERE thread_id = $1 ORDER BY 1`,
        [thread],
      )
      return found.rows
    })
  /** Rows that contain a text: as UTF-8, in JSON escapes, or in numpy's UTF-32. */
  const hits = (all: readonly Row[], text: string): string[] => {
    const escaped = JSON.stringify(text).slice(1, -1)
    const wide = Buffer.concat([...text].map((one) => Buffer.from(Uint32Array.of(one.codePointAt(0) ?? 0).buffer)))
    const searchStrings = [
      Buffer.from(text),
      Buffer.from(escaped),
      Buffer.from(JSON.stringify(escaped).slice(1, -1)),
      wide,
    ]
    return all
      .filter(({ bytes }) => searchStrings.some((searchString) => bytes.includes(searchString)))
      .map(({ key }) => key)
  }
  /** Rows that contain the id as a separate id. */
  const naming = (all: readonly Row[], id: string): string[] =>
    all
      .filter(({ bytes }) => new RegExp(`(?<![\\w-])${id}(?![\\w-])`).test(bytes.toString('latin1')))
      .map(({ key }) => key)
  /** Two turns, the second waiting for approval, and a fork of the first. */
  async function talked(first = newId('msg'), text = sentence) {
    const [thread, second] = [newId('thread'), newId('msg')]
    await say(thread, first, text)
    await resume(thread)
    await say(thread, second, 'And now to something else entirely, please.')
    return { thread, first, second }
  }

  test('rewrite removes a message from every row, and the thread reads and resumes in Python', async () => {
    const { thread, first, second } = await talked()
    const other = await talked()
    await python.call('fork', { url, thread, text: 'forked' }, nothing)
    await say(thread, second, 'And now to something else entirely, please.')
    const others = await rows(other.thread)
    const [before, states] = [await rows(thread), await history(thread)]
    expect(before.filter(({ type }) => type === 'msgpack').length).toBeGreaterThan(20)
    for (const searchString of [sentence, 'Musterfrau']) expect(hits(before, searchString).length).toBeGreaterThan(15)
    expect(before.some(({ key }) => key.startsWith('checkpoint inner'))).toBe(true)
    expect(states[0]?.next).toEqual(['answer', 'minutes'])

    const wanted = { ids: [first], texts: [sentence], words: wordsOf([sentence]) }
    const made = await rewrite(thread, wanted)
    expect(made.rows).toBeGreaterThan(15)

    const after = await rows(thread)
    expect(after.map(({ key, type }) => [key, type])).toEqual(before.map(({ key, type }) => [key, type]))
    for (const searchString of [sentence, 'Musterfrau', 'Ostern'])
      expect(hits(after, searchString), searchString).toEqual([])
    expect(naming(after, first)).toEqual([])
    expect(await rows(other.thread)).toEqual(others)
    const erasedThreads = new Set([...hits(before, 'Musterfrau'), ...naming(before, first)])
    // Rows without any part of the message keep their bytes, except for summaries that may be derived from it.
    for (const [at, row] of before.entries())
      if (!erasedThreads.has(row.key) && !row.key.includes(' summary') && !row.bytes.includes('"summary"'))
        expect(after[at]?.bytes.equals(row.bytes), row.key).toBe(true)

    const read = await history(thread)
    expect(read.length).toBe(states.length)
    expect(read.map(({ next }) => next)).toEqual(states.map(({ next }) => next))
    expect(read[0]?.interrupts).toEqual(states[0]?.interrupts)
    for (const { text } of read) expect(text).not.toMatch(/Musterfrau|since Ostern/)
    // Python objects keep their classes.
    expect(read.map(({ kinds }) => kinds)).toEqual(states.map(({ kinds }) => kinds))
    expect(read[0]?.messages.map(([, id]) => id)).toContain(`call-for-${second}`)
    expect(read[0]?.text).toContain("Note(about='kept', rank=3)")
    const left = await resume(thread)
    expect(left).toContain(second)
    expect(left).not.toContain(first)
    const third = newId('msg')
    await say(thread, third, 'One more thing, if I may ask you for it.')
    expect(await resume(thread)).toEqual(expect.arrayContaining([second, third, `result-tool-of-${third}`]))
    expect(await rewrite(thread, wanted)).toMatchObject({ rows: 0, messages: 0 })
    // The database also finds ids in Python's rows, and only whole ids: `call-for-…` belongs to another message.
    const residue = (ids: string[]) => store.residue([{ thread, ids, texts: [] }], [])
    expect([await residue([first]), (await residue([second])) > 0]).toEqual([0, true])
    expect(await db.transaction((tx) => store.naming([first, second], tx))).toEqual([{ thread, id: second }])
  })

  test('a thread resumes after the only human message of its interrupt is erased', async () => {
    const [thread, only] = [newId('thread'), newId('msg')]
    await say(thread, only, sentence)
    await rewrite(thread, { ids: [only], texts: [sentence], words: wordsOf([sentence]) })
    expect(hits(await rows(thread), 'Musterfrau')).toEqual([])
    const [state] = await history(thread)
    expect(state?.next).toEqual(['answer', 'minutes'])
    expect(state?.messages.map(([type, , text]) => [type, text])).toContainEqual(['human', '[erased]'])
    expect(await resume(thread)).toHaveLength(5)
    expect((await history(thread))[0]?.next).toEqual([])
  })

  test('rewrite removes the thread’s own wording when it differs from the API’s text', async () => {
    const own = 'ERIKA Musterfrau said this to me in confidence: her son, Max, is very ill since last Easter.'
    const { thread, first } = await talked(newId('msg'), own)
    const wanted = { ids: [first], texts: [sentence], words: wordsOf([sentence]) }
    const made = await rewrite(thread, wanted)
    expect(made.removedTexts).toEqual([own])
    const after = await rows(thread)
    for (const searchString of ['Musterfrau', 'very ill since', 'confidence'])
      expect(hits(after, searchString), searchString).toEqual([])
    await history(thread)
    await resume(thread)
  })

  test('rewrite keeps a remaining author’s message with the same words byte for byte, and reports it', async () => {
    const { thread, first, second } = await talked()
    const theirs = newId('msg')
    await resume(thread)
    await say(thread, theirs, `She wrote: ${sentence} Is that so?`)
    const words = wordsOf([sentence], [theirs, second])
    const made = await rewrite(thread, { ids: [first], texts: [sentence], words })
    expect(made.mentions).toEqual([theirs])
    const [state] = await history(thread)
    expect(state?.messages).toContainEqual(['human', theirs, `She wrote: ${sentence} Is that so?`])
    // The remaining author explains what was derived from both.
    expect(await db.transaction((tx) => store.find(thread, { ids: [first], texts: [], words }, tx))).toMatchObject({
      hasWords: false,
    })
  })

  test('forget also searches a long-term store of Python in another schema', async () => {
    const [id, conversation] = [newId('msg'), newId('conv')]
    await withConnection(database.ownerUrl, (client) => client.query('CREATE SCHEMA python_memory'))
    const address = new URL(database.ownerUrl)
    address.searchParams.set('options', '-csearch_path=python_memory')
    const items = [
      [['people', 'erika'], 'from', { source: id }],
      [['rooms', conversation], 'words', { text: `Noted: ERIKA musterfrau told us, that her son Max is ill` }],
      [['rooms', conversation], 'other', { text: 'Noted: nothing.' }],
      [['others'], 'words', { text: sentence }],
    ]
    await python.call('remember', { url: address.href, items }, nothing)
    const role = new URL(database.appUrl).username
    await withConnection(database.ownerUrl, (client) =>
      client.query(
        `GRANT USAGE ON SCHEMA python_memory TO "${role}"; GRANT SELECT, DELETE ON ALL TABLES IN SCHEMA python_memory TO "${role}"`,
      ),
    )
    const wanted = { sure: [id], ids: [id], texts: [sentence], ties: [conversation], words: wordsOf([sentence]) }
    const count = () => db.transaction((tx) => store.memories(wanted, tx))
    expect([await count(), await store.residue([], [wanted])]).toEqual([2, 2])
    expect(await db.transaction((tx) => store.forget([wanted], tx))).toBe(2)
    expect([await count(), await store.residue([], [wanted])]).toEqual([0, 0])
    const left = (namespace: string[]) =>
      python.call('remembered', { url: address.href, namespace }, z.array(z.string()))
    expect([await left(['rooms']), await left(['others'])]).toEqual([['other'], ['words']])
  })

  test.each([
    '{"a": [1, -1, 127, 128, 255, 256, 65535, 65536, 2**32, 2**63, -32, -33, -2**15, -2**31, -2**63, 1.5, True, None]}',
    '["", "a" * 31, "a" * 32, "a" * 255, "a" * 256, "a" * 65536, "grüß 👍🏽 你好"]',
    '[[1] * 15, [1] * 16, [1] * 65536, {str(n): n for n in range(16)}, b"x" * 300]',
    '{(1, "a"): 1, None: 2, 2.5: 3, "x": {4: {}}}',
    '[HumanMessage("a", id="b"), {"m": AIMessage("c", id="d", tool_calls=[{"id": "e", "name": "f", "args": {}}])}]',
    '[Send("a", {"b": Note(about="c")}), Command(update={"messages": [HumanMessage("a")]}, goto=Send("d", 1), resume="e")]',
    '[numpy.arange(4), numpy.array(["a", "bc"]), numpy.zeros((2, 2), order="F"), numpy.array([b"x"])]',
    '[Case("a", ["b"]), Pair("a", 1), OldNote(about="x"), Tone.calm, UUID(int=1), Decimal("1"), Path("/a"), {1}, deque([1])]',
  ])('unpack keeps every byte of %s', async (value) => {
    const data = Buffer.from(await python.call('packed', { kind: value }, z.string()), 'hex')
    const { view, pack } = unpack(data)
    expect(pack(view, () => undefined).equals(data)).toBe(true)
    // Each container is encoded again, as if something in it had changed.
    const seen = new WeakMap<object, object>()
    const copy = (one: unknown): unknown => {
      if (Array.isArray(one)) return made(one, one.map(copy))
      if (typeof one !== 'object' || one === null || Object.getPrototypeOf(one) !== Object.prototype) return one
      return made(one, Object.fromEntries(Object.entries(one).map(([key, item]) => [key, copy(item)])))
    }
    const made = <T extends object>(before: object, after: T): T => {
      seen.set(after, before)
      return after
    }
    expect(pack(copy(view), (one) => seen.get(one)).equals(data)).toBe(true)
  })
})
