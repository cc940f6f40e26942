// Random histories of several people in several projects who say the same sentences. After the erasure of one person, a checker that
// shares no code with the erasure compares a raw dump of every store: data of others is as before, and no run of erased words remains
// outside of what others wrote.
import { createClient } from '@redis/client'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operator } from '#lib/operator/operator.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { versionedBucket } from '#lib/testing/connected-stores.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  eraseWholeProject,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'
import { sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { s3Server } from '#lib/testing/services/shared.ts'

const histories = sampledRuns('histories of several people with shared sentences', 2_000, 4)
const isReady = (await isRedisInstalled()) && isInstalled('s3')

let redis: TestRedis
let threads: TestDatabase
let bucket: Awaited<ReturnType<typeof versionedBucket>>
let client: ReturnType<typeof opened>
let test: TestApp
/** Where the next erasure stops once. */
let stopsAt: string | undefined
const opened = (url: string) => createClient({ url })
beforeAll(async () => {
  if (!isReady) return
  const started = await startRedis()
  if (!started) throw new Error('no Redis')
  redis = started
  threads = await testDatabase()
  bucket = await versionedBucket((await s3Server()).endpoint)
  client = opened(redis.url)
  await client.connect()
  const checkpoints = new URL(threads.ownerUrl)
  checkpoints.searchParams.set('schema', 'langgraph')
  test = await testApp(
    {
      KP_REDIS_URL: redis.url,
      KP_OBJECTS_URL: bucket.url,
      KP_CHECKPOINTS_URL: checkpoints.href,
      KP_POINTER_PREFIXES: 'app:answers:,app-uploads/',
    },
    undefined,
    {
      interrupt(point) {
        if (point !== stopsAt) return
        stopsAt = undefined
        throw new Error('stopped')
      },
    },
  )
})
afterAll(async () => {
  await test?.close()
  client?.destroy()
  bucket?.close()
  await redis?.stop()
  await threads?.drop()
})

const people = 3
const projects = 2
/** Whom the name of derived data names. */
const names = ['project', 'person', 'message', 'nobody'] as const
const saidOf = fc.record({
  project: fc.nat(projects - 1),
  author: fc.nat(people - 1),
  /** Below 4: a sentence that others may also say. */
  sentence: fc.nat(12),
  /** An assistant repeats it in its next message. */
  isQuoted: fc.boolean(),
})
const derivedOf = fc.record({
  store: fc.constantFrom('cache', 'objects'),
  names: fc.constantFrom(...names),
  form: fc.constantFrom('text', 'json'),
  /** Of the messages of one project, which ones the data contains. */
  first: fc.nat(20),
  more: fc.array(fc.nat(20), { maxLength: 2 }),
  isReported: fc.boolean(),
})
const historyOf = fc.record({
  said: fc.array(saidOf, { minLength: 3, maxLength: 14 }),
  derived: fc.array(derivedOf, { minLength: 1, maxLength: 10 }),
  erased: fc.nat(people - 1),
})
type History = typeof historyOf extends fc.Arbitrary<infer H> ? H : never

interface Statement {
  id: string
  project: number
  author: number
  text: string
}
interface Derived {
  store: 'cache' | 'objects'
  key: string
  sources: Statement[]
  content: string
}

let sentences = 0
const sentence = (n: string): string => Array.from({ length: 9 }, (_, at) => `w${n}x${at}`).join(' ')

async function planted({ said, derived }: History) {
  const world = ++sentences
  const owner = await signedIn(test)
  const all: Person[] = []
  while (all.length < people) all.push(await signedIn(test, 'person', owner.organisationId))
  const agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner })
  const made: { project: MadeProject; conversation: Awaited<ReturnType<typeof madeConversation>> }[] = []
  for (let at = 0; at < projects; at++) {
    const project = await madeProject(test, { owner, agent })
    for (const { accountId } of all)
      await dataOf(test, 'POST', `${project.path}/members`, owner, {
        body: { kind: 'account', member_id: accountId, role: 'member' },
      })
    made.push({ project, conversation: await madeConversation(test, project) })
  }
  const at = (n: number) => {
    const found = made[n]
    if (!found) throw new Error(`no project ${n}`)
    return found
  }
  const statements: Statement[] = []
  const quotations: { id: string; text: string; rest: string; of: Statement }[] = []
  for (const { project, author, sentence: which, isQuoted } of said) {
    const { conversation } = at(project)
    const text = sentence(which < 4 ? `${world}s${which}` : `${world}n${++sentences}`)
    const { id } = await madeMessage(test, conversation, all[author] ?? owner, { content: text })
    const statement = { id, project, author, text }
    statements.push(statement)
    if (!isQuoted) continue
    const rest = sentence(`${world}r${++sentences}`)
    const content = `You said: ${text}. ${rest}`
    const quotation = await madeMessage(test, conversation, agent, { content, role: 'assistant' })
    quotations.push({ id: quotation.id, text: content, rest, of: statement })
  }
  const written: Derived[] = []
  for (const [n, one] of derived.entries()) {
    const first = statements[one.first % statements.length]
    if (!first) continue
    const near = statements.filter(({ project }) => project === first.project)
    const sources = [...new Set([first, ...one.more.flatMap((which) => near[which % near.length] ?? [])])]
    const { project } = at(first.project)
    const named = {
      project: project.id,
      person: all[first.author]?.accountId ?? '',
      message: first.id,
      nobody: `anything${n}`,
    }[one.names]
    const key = `${one.store === 'cache' ? 'app:answers:' : 'app-uploads/'}${named}${one.store === 'cache' ? ':' : '/'}${world}-${n}`
    const texts = sources.map(({ author, text }) => `person ${author}: ${text}`)
    const content = one.form === 'text' ? texts.join('\n') : JSON.stringify({ turns: texts, n })
    if (one.store === 'cache') await client.set(key, content)
    else await bucket.put(key, content)
    if (one.isReported && one.names !== 'nobody' && one.names !== 'person')
      await dataOf(test, 'POST', `${project.path}/provenance`, owner, {
        body: { entries: sources.map(({ id }) => ({ source_id: id, store: one.store, ref: key })) },
      })
    written.push({ store: one.store, key, sources, content })
  }
  for (const [n, { conversation }] of made.entries())
    await storedInThread(
      test,
      conversation.id,
      statements.filter(({ project }) => project === n).map(({ id, text }) => ({ id, text })),
    )
  return { all, owner, made, statements, quotations, written }
}

const runsOf = (text: string): string[] => {
  const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return words.slice(5).map((_, at) => words.slice(at, at + 6).join(' '))
}

/** The current value of every key and object, and the texts of threads and messages. */
async function dumped(made: readonly { project: MadeProject; conversation: { id: string } }[]) {
  const values = new Map<string, string>()
  for await (const keys of client.scanIterator())
    for (const key of keys) if (key.startsWith('app:')) values.set(key, (await client.get(key)) ?? '')
  for (const text of (await bucket.contents()).values()) {
    const [key = '', ...rest] = text.split(' ')
    values.set(key, rest.join(' '))
  }
  const texts: string[] = []
  await withConnection(threads.ownerUrl, async (connection) => {
    for (const table of ['checkpoint_blobs', 'checkpoint_writes'])
      for (const { conversation } of made) {
        const { rows } = await connection.query<{ text: string }>(
          `SELECT convert_from(blob, 'UTF8') AS text FROM langgraph.${table} WHERE thread_id = $1`,
          [conversation.id],
        )
        texts.push(...rows.map(({ text }) => text))
      }
    const { rows } = await connection.query<{ text: string }>('SELECT value::text AS text FROM langgraph.store')
    texts.push(...rows.map(({ text }) => text))
  })
  const ids = made.map(({ project }) => project.id)
  const messages = await test.db.prisma.message.findMany({
    where: { projectId: { in: ids } },
    select: { id: true, content: true, role: true },
  })
  return { values, texts, messages }
}

it.skipIf(!isReady)(
  'the erasure of a person keeps all data of others and leaves no run outside of their texts after any history',
  async () => {
    await fc.assert(
      fc.asyncProperty(historyOf, async (history) => {
        const { all, made, statements, quotations, written } = await planted(history)
        const person = all[history.erased]
        if (!person) throw new Error('nobody to erase')
        const engine = test.app.subjectErasures
        const { runId } = await test.app.db.transaction((tx) =>
          engine.begin(tx, {
            requestId: null,
            requestedBy: 'test',
            reason: 'user_request',
            now: test.clock.now(),
            subject: { account: person.accountId, agents: [] },
          }),
        )
        await expect.poll(() => engine.complete(runId), { timeout: 120_000 }).toBe('done')
        const { values, texts, messages } = await dumped(made)
        const isErased = ({ author }: Statement) => author === history.erased
        const living = new Set(statements.filter((one) => !isErased(one)).flatMap(({ text }) => runsOf(text)))
        const erased = new Set(
          statements.filter(isErased).flatMap(({ text }) => runsOf(text).filter((run) => !living.has(run))),
        )
        for (const { id, text } of statements.filter((one) => !isErased(one)))
          expect(messages.find((one) => one.id === id)?.content, 'a message of another person').toBe(text)
        for (const { key, sources, content } of written) {
          const value = values.get(key)
          if (!sources.some(isErased)) expect(value, `${key}, of others`).toBe(content)
          // Data that names the erased message is deleted with it.
          else if (!sources.some((one) => isErased(one) && key.includes(one.id)))
            for (const source of sources)
              if (!isErased(source)) expect(value, `${key}, which others share`).toContain(source.text)
        }
        for (const { id, rest } of quotations)
          expect(messages.find((one) => one.id === id)?.content, 'words of an assistant').toContain(rest)
        const everything = [...values.values(), ...texts, ...messages.map(({ content }) => content)]
        for (const text of everything)
          for (const run of runsOf(text)) if (erased.has(run)) throw new Error(`erased words remain: ${text}`)
        for (const { text } of statements.filter((one) => !isErased(one)))
          expect(
            texts.some((one) => one.includes(text)),
            'a thread with words of others',
          ).toBe(true)
      }),
      { numRuns: histories, seed: sampleSeed, endOnFailure: true },
    )
  },
  14_400_000,
)

it.skipIf(!isReady)(
  'an erasure keeps the earlier text of a message that another person edited, in data that both share',
  async () => {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const [mine, theirs] = [sentence(`mine${++sentences}`), sentence(`theirs${sentences}`)]
    const member = await madeMember(test, project)
    const message = await madeMessage(test, conversation, await madeMember(test, project), { content: mine })
    const other = await madeMessage(test, conversation, member, { content: theirs })
    const [key, object] = [`app:answers:${conversation.id}:both`, `app-uploads/${conversation.id}/both`]
    await client.set(key, `${theirs}\n${mine}`)
    await bucket.put(object, `${theirs}\n${mine}`)
    await dataOf(test, 'PATCH', other.path, member, { body: { content: 'I withdraw that.' } })
    await eraseWholeProject(test, message.path, project.owner)
    const { values } = await dumped([{ project, conversation }])
    expect([values.get(key), values.get(object)]).toEqual([theirs, theirs])
  },
)

it.skipIf(!isReady)(
  'a repeated search keeps what others share: a later round, the search a day later, a replay of restored stores',
  async () => {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const person = await madeMember(test, project)
    const member = await madeMember(test, project)
    const [mine, theirs] = [sentence(`mine${++sentences}`), sentence(`theirs${sentences}`)]
    const unknown = 'What somebody wrote without a message.'
    const message = await madeMessage(test, conversation, person, { content: mine })
    await madeMessage(test, conversation, member, { content: theirs })
    const turn = `person 0: ${mine}\nperson 1: ${theirs}`
    const key = (store: 'cache' | 'objects', name: string) =>
      `${store === 'cache' ? `app:answers:${project.id}:` : `app-uploads/${project.id}/`}${name}`
    const put = (store: 'cache' | 'objects', name: string, text: string) =>
      store === 'cache' ? client.set(key(store, name), text) : bucket.put(key(store, name), text)
    const stores = ['cache', 'objects'] as const
    async function write() {
      for (const store of stores) {
        await put(store, 'reported', turn)
        await put(store, 'found', turn)
        await put(store, `of-${member.accountId}`, turn)
        await put(store, 'alone', mine)
      }
      await put('objects', 'versions', mine)
      await put('objects', 'versions', unknown)
      await put('objects', 'reported-versions', mine)
      await put('objects', 'reported-versions', `person 1: ${theirs}`)
    }
    await write()
    await reported(
      test,
      project,
      project.owner,
      [...stores.map((store) => [store, 'reported'] as const), ['objects', 'reported-versions'] as const].map(
        ([store, name]) => ({ source_id: message.id, store, ref: key(store, name) }),
      ),
    )
    async function left(): Promise<Record<string, string>> {
      const { values } = await dumped([{ project, conversation }])
      return Object.fromEntries([...values].filter(([name]) => name.includes(project.id)).sort())
    }
    const expected = Object.fromEntries(
      [
        ...stores.flatMap((store) =>
          ['reported', 'found', `of-${member.accountId}`].map((name) => [key(store, name), `person 1: ${theirs}`]),
        ),
        [key('objects', 'versions'), unknown],
        [key('objects', 'reported-versions'), `person 1: ${theirs}`],
      ].sort(),
    )
    const engine = test.app.subjectErasures
    const { runId } = await test.app.db.transaction((tx) =>
      engine.begin(tx, {
        requestId: null,
        requestedBy: 'test',
        reason: 'user_request',
        now: test.clock.now(),
        subject: { account: person.accountId, agents: [] },
      }),
    )
    stopsAt = 'verify.before'
    const completed = () => engine.complete(runId).catch(() => 'stopped')
    await expect.poll(completed, { timeout: 120_000 }).toBe('stopped')
    expect(await left()).toEqual(expected)
    for (const store of stores) await put(store, 'late', mine)
    await expect.poll(completed, { timeout: 120_000 }).toBe('done')
    expect(await left()).toEqual(expected)

    for (const store of stores) await put(store, 'later', mine)
    test.clock.advance(25 * 3_600_000)
    await engine.recheck(runId)
    expect(await left()).toEqual(expected)

    await write()
    expect(await operator(test.app).replayErasures()).toMatchObject({ unsearched: [] })
    expect(await left()).toEqual(expected)
  },
)
