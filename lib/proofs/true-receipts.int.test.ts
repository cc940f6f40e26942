// Random conversations whose words reach the graph, threads and the cache in every way that agents write them. After
// random erasures, a checker that shares no code with the erasure compares a raw dump with the planted texts.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { entity, episode, fact } from '#lib/testing/graphs.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { dataOf, type MadeProject, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'
import { sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { type TcpProxy, tcpProxy } from '#lib/testing/tcp-proxy.ts'

const histories = sampledRuns('random conversations with erasures', 2_000, 5)
const maxTurns = 30

class Crash extends Error {}
/** A fault in a run, after a number of interruption points. */
interface Fault {
  kind: 'crash' | 'no cache' | 'no threads'
  after: number
}
let fault: Fault | undefined
let redis: TestRedis
let threads: TestDatabase
const proxies = new Map<Fault['kind'], TcpProxy>()
let test: TestApp
beforeAll(async () => {
  const started = await startRedis()
  if (!started) throw new Error('no Redis')
  redis = started
  threads = await testDatabase()
  const [cache, database] = [await tcpProxy(redis.url), await tcpProxy(threads.ownerUrl)]
  proxies.set('no cache', cache)
  proxies.set('no threads', database)
  const settings = { KP_REDIS_URL: cache.url, KP_CHECKPOINTS_URL: `${database.url}?schema=langgraph` }
  test = await testApp(settings, undefined, {
    interrupt: (point) => {
      if (!fault || --fault.after > 0) return
      const { kind } = fault
      fault = undefined
      if (kind === 'crash') throw new Crash(point)
      proxies.get(kind)?.cut()
    },
  })
})
afterAll(async () => {
  await test?.close()
  for (const proxy of proxies.values()) proxy.close()
  await redis?.stop()
  await threads?.drop()
})

/** How one turn is written. Numbers are reduced to valid indices. */
const turnOf = fc.record({
  author: fc.nat(2),
  says: fc.constantFrom('own', 'own', 'own', 'own', 'quote', 'template', 'short', 'chinese', 'code'),
  /** Number of turns in an episode that begins here, unless an earlier episode contains this turn. */
  group: fc.constantFrom(1, 1, 2, 2, 4),
  reported: fc.constantFrom('all', 'none', 'half'),
  /** Number of earlier episodes that the model quotes. */
  window: fc.nat(3),
  isCached: fc.boolean(),
})
const erasureOf = fc.record({
  of: fc.constantFrom('message', 'message', 'message', 'conversation', 'person'),
  which: fc.nat(maxTurns),
  faults: fc.array(
    fc.record({
      kind: fc.constantFrom<Fault['kind']>('crash', 'crash', 'no cache', 'no threads'),
      after: fc.integer({ min: 1, max: 60 }),
    }),
    { maxLength: 2 },
  ),
})
const historyOf = fc.record({
  turns: fc.array(turnOf, { minLength: 2, maxLength: maxTurns }),
  erasures: fc.array(erasureOf, { minLength: 1, maxLength: 3 }),
})
type History = typeof historyOf extends fc.Arbitrary<infer H> ? H : never

interface ReceiptStatement {
  id: string
  author: number
  text: string
}
interface Written {
  uuid: string
  sources: ReceiptStatement[]
  content: string
}
interface World {
  project: MadeProject
  people: Person[]
  names: string[]
  conversation: string
  said: ReceiptStatement[]
  episodes: Written[]
  cached: string[]
}

const template = 'Thank you for writing to the help desk, we will answer you within two days.'
let sentences = 0
const sentence = (): string => {
  const n = ++sentences
  return Array.from({ length: 8 }, (_, at) => `word${n}x${at}`).join(' ')
}
const chinese = (): string =>
  Array.from({ length: 30 }, (_, at) => String.fromCharCode(0x4e00 + ((++sentences * 31 + at * 7) % 8_000))).join('')

function textOf(says: History['turns'][number]['says'], said: readonly ReceiptStatement[], author: number): string {
  const other = said.findLast((one) => one.author !== author)
  if (says === 'quote' && other) return `You wrote: "${other.text}" ${sentence()}`
  if (says === 'template') return `${template} ${sentence()}`
  if (says === 'short') return 'yes'
  if (says === 'chinese') return chinese()
  if (says === 'code') return `const value${++sentences} = compute(${sentence().split(' ').join(', ')})`
  return sentence()
}

async function planted({ turns }: History): Promise<World> {
  const owner = await signedIn(test)
  const project = await madeProject(test, { owner })
  const others = [
    await signedIn(test, 'person', owner.organisationId),
    await signedIn(test, 'person', owner.organisationId),
  ]
  for (const { accountId } of others)
    await dataOf(test, 'POST', `${project.path}/members`, owner, {
      body: { kind: 'account', member_id: accountId, role: 'member' },
    })
  const people = [owner, ...others]
  const names = people.map((_, at) => `Person${++sentences} Surname${at}${sentences}`)
  for (const [at, { accountId }] of people.entries())
    await test.db.prisma.account.update({ where: { id: accountId }, data: { name: names[at] ?? '' } })
  const conversation = await madeConversation(test, project)
  const world: World = { project, people, names, conversation: conversation.id, said: [], episodes: [], cached: [] }
  for (const { author, says } of turns) {
    const text = textOf(says, world.said, author)
    const { id } = await madeMessage(test, conversation, people[author] ?? owner, { content: text })
    world.said.push({ id, author, text })
  }
  await write(world, turns)
  await storedInThread(
    test,
    conversation.id,
    world.said.map(({ id, text }) => ({ id, text })),
  )
  return world
}

/** Writes what Graphiti and an application would write with a model that quotes. */
async function write(world: World, turns: History['turns']): Promise<void> {
  const { project, said, names } = world
  const group = project.groupId
  const entities = new Map(
    [...names, `Company ${group}`].map((name, at) => [
      name,
      entity(`${group}-n${at}`, name, [at < names.length ? 'Person' : 'Company'], { summary: '' }),
    ]),
  )
  const company = entities.get(`Company ${group}`)
  if (!company) throw new Error('no company')
  const facts: ReturnType<typeof fact>[] = []
  const mentions: { episode: string; entity: string }[] = []
  for (let at = 0; at < said.length; ) {
    const { group: size = 1, reported = 'none', window = 0, isCached = false } = turns[at] ?? {}
    const sources = said.slice(at, at + size)
    const content = sources.map(({ author, text }) => `${names[author]}: ${text}`).join('\n')
    const uuid = `${group}-e${world.episodes.length}`
    const before = world.episodes.slice(-window).flatMap((one) => (window === 0 ? [] : one.sources))
    const quoted = [...before, ...sources].map(({ text }) => text)
    world.episodes.push({ uuid, sources, content })
    company.summary = `${company.summary} ${quoted.at(0) ?? ''}`.trim()
    mentions.push({ episode: uuid, entity: company.uuid })
    for (const author of new Set(sources.map((one) => one.author))) {
      const person = entities.get(names[author] ?? '')
      if (!person) continue
      person.summary = `${person.summary} ${quoted.at(-1) ?? ''}`.trim()
      mentions.push({ episode: uuid, entity: person.uuid })
      facts.push(
        fact(`${uuid}-f${author}`, person.uuid, company.uuid, [uuid], {
          fact: `It was said that ${quoted[(at + author) % quoted.length]}`,
          attributes: {},
        }),
      )
    }
    const pointed = reported === 'all' ? sources : reported === 'half' ? sources.slice(0, 1) : []
    if (pointed.length > 0)
      await dataOf(test, 'POST', `${project.path}/provenance`, project.owner, {
        body: { entries: pointed.map(({ id }) => ({ source_id: id, store: 'graph', ref: uuid })) },
      })
    if (isCached) {
      const key = `turns:${project.id}:${uuid}`
      await test.app.stored.cache.set(key, content, { ttl: 80_000, about: sources.map(({ id }) => id) })
      world.cached.push(key)
    }
    at += size
  }
  const start = test.clock.now().getTime()
  await postgresPlanting(test.db).plant({
    group,
    entities: [...entities.values()],
    facts,
    mentions,
    communities: [],
    sagas: [],
    episodes: world.episodes.map(({ uuid, content }, n) =>
      episode(uuid, 0, { content, createdAt: new Date(start + n * 1_000), validAt: new Date(start + n * 1_000) }),
    ),
    next: world.episodes.slice(1).map(({ uuid }, n) => ({ from: world.episodes[n]?.uuid ?? '', to: uuid })),
  })
}

async function erase(world: World, { of, which, faults }: History['erasures'][number]): Promise<Receipt | undefined> {
  const { project, people, conversation } = world
  const left = await remaining(world)
  const message = left[which % Math.max(1, left.length)]
  if (!message) return undefined
  const engine = test.app.subjectErasures
  const part = { project: project.id, conversation }
  const { runId, receiptId } = await test.app.db.transaction((tx) =>
    engine.begin(tx, {
      requestId: null,
      requestedBy: 'test',
      reason: 'user_request',
      now: test.clock.now(),
      subject: { account: of === 'person' ? (people[message.author]?.accountId ?? null) : null, agents: [] },
      ...(of === 'message' && { part: { ...part, kind: 'message', id: message.id } }),
      ...(of === 'conversation' && { part: { ...part, kind: 'conversation', id: conversation } }),
    }),
  )
  for (const { kind, after } of faults) {
    fault = { kind, after }
    try {
      await engine.complete(runId)
    } catch (error) {
      if (!(error instanceof Crash)) throw error
    }
    fault = undefined
    await proxies.get(kind)?.restore()
  }
  await expect.poll(() => engine.complete(runId), { timeout: 120_000 }).toBe('done')
  // Signed in, because strangers may read fewer receipts per minute.
  const read = await test.fetch('GET', `/v1/receipts/${receiptId}`, { cookie: project.owner.cookie })
  expect(read.status, JSON.stringify(read.json)).toBe(200)
  return read.json
}

const remaining = async ({ project, said }: World): Promise<ReceiptStatement[]> => {
  const rows = await test.db.prisma.message.findMany({ where: { projectId: project.id }, select: { id: true } })
  return said.filter(({ id }) => rows.some((row) => row.id === id))
}

// The checker. The erasure uses none of it.

const folded = (text: string): string[] => text.toLowerCase().match(/[\p{sc=Han}]|[a-z0-9]+/gu) ?? []
const windows = (words: readonly string[], length: number): string[] =>
  words.slice(length - 1).map((_, at) => words.slice(at, at + length).join(' '))
/** Runs of six words or 24 Chinese characters. No planted run mixes both. */
function runsOf(text: string): string[] {
  const [chinese, words] = [/^\p{sc=Han}$/u, folded(text)]
  return [
    ...windows(
      words.filter((word) => !chinese.test(word)),
      6,
    ),
    ...windows(
      words.filter((word) => chinese.test(word)),
      24,
    ),
  ]
}
const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

/** Every text of the graph, the thread and the cache, with its place. */
async function dumped({
  project,
  conversation,
  cached,
  said,
}: World): Promise<{ place: string; id: string; text: string }[]> {
  const found: { place: string; id: string; text: string }[] = []
  for (const table of ['graph_episodes', 'graph_entities', 'graph_facts', 'graph_gatherings'])
    for (const { row } of await test.db.query<{ row: Record<string, unknown> }>(
      undefined,
      `SELECT to_jsonb(t) AS row FROM ${table} t WHERE group_id = $1`,
      [project.groupId],
    ))
      for (const text of textsOf(row)) found.push({ place: table, id: String(row.uuid), text })
  await withConnection(threads.ownerUrl, async (client) => {
    for (const table of ['checkpoint_blobs', 'checkpoint_writes']) {
      const { rows } = await client.query<{ text: string }>(
        `SELECT convert_from(blob, 'UTF8') AS text FROM langgraph.${table} WHERE thread_id = $1`,
        [conversation],
      )
      for (const { text } of rows)
        for (const one of textsOf(JSON.parse(text))) found.push({ place: table, id: conversation, text: one })
    }
    const { rows } = await client.query<{ key: string; value: unknown }>(
      'SELECT key, value FROM langgraph.store WHERE key = ANY($1::text[])',
      [said.map(({ id }) => `memory of ${id}`)],
    )
    for (const { key, value } of rows) for (const text of textsOf(value)) found.push({ place: 'store', id: key, text })
  })
  for (const key of cached) {
    const text = await test.app.stored.cache.get(key)
    if (text !== undefined) found.push({ place: 'cache', id: key, text })
  }
  return found
}

function decide(
  world: World,
  left: readonly ReceiptStatement[],
  texts: Awaited<ReturnType<typeof dumped>>,
  deleted: ReceiptStatement[],
): void {
  const own = new Set(left.flatMap(({ text }) => runsOf(text)))
  const erased = new Set(deleted.flatMap(({ text }) => runsOf(text)).filter((run) => !own.has(run)))
  for (const { place, id, text } of texts)
    for (const run of runsOf(text))
      if (erased.has(run)) throw new Error(`erased words remain in ${place} ${id}: ${run}`)
  const isLeft = new Set(left.map(({ id }) => id))
  for (const { uuid, sources, content } of world.episodes) {
    const now = texts.find(
      ({ place, id, text }) => place === 'graph_episodes' && id === uuid && text.includes(': '),
    )?.text
    if (sources.every(({ id }) => isLeft.has(id))) expect(now, 'an episode of authors who remain').toBe(content)
    else
      for (const { id, text } of sources)
        if (isLeft.has(id) && folded(text).length > 1) expect(now, `the words of ${id} in ${uuid}`).toContain(text)
  }
}

it.skipIf(!(await isRedisInstalled()))(
  'erasures leave no run of erased words outside texts of remaining authors after any writes, erasures and interruptions',
  async () => {
    await fc.assert(
      fc.asyncProperty(historyOf, async (history) => {
        const world = await planted(history)
        for (const erasure of history.erasures) {
          const before = await remaining(world)
          const receipt = await erase(world, erasure)
          const left = await remaining(world)
          const isLeft = new Set(left.map(({ id }) => id))
          const deleted = world.said.filter(({ id }) => !isLeft.has(id))
          decide(world, left, await dumped(world), deleted)
          if (!receipt) continue
          expect(receipt.stores.every(({ residue }) => residue === 0)).toBe(true)
          const now = new Set(before.filter(({ id }) => !isLeft.has(id)).flatMap(({ text }) => runsOf(text)))
          const quoting = left.filter(({ text }) => runsOf(text).some((run) => now.has(run))).length
          const listed = receipt.remaining_mentions?.find(
            ({ store, kind }) => store === 'postgresql' && kind === 'message',
          )
          expect(listed?.count ?? 0, 'remaining mentions in messages').toBe(quoting)
          for (const { text } of world.said)
            if (folded(text).length > 1) expect(JSON.stringify(receipt)).not.toContain(text)
        }
      }),
      { numRuns: histories, seed: sampleSeed, endOnFailure: true },
    )
  },
  14_400_000,
)
