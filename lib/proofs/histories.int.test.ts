// Random histories of three people in several projects, with assistants that quote, short lines, equal sentences and edits, written into every
// connected store through its own library. After each erasure and the complete reading that follows it, a checker that shares no code with
// the erasure searches a raw dump: no six erased words in a row that no living author wrote, and every word of living people.
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { TestApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  type ConnectedTest,
  connectedTest,
  writeThread,
} from '#lib/testing/connected-stores.ts'
import { entity, episode, fact } from '#lib/testing/graphs.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  type MadeConversation,
  type MadeProject,
  madeConversation,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'

const sample = 2
const histories = sampledRuns('histories in every connected store', 2_000, sample)
/** The sample is the same in each run: one history takes seconds, so that a changing sample would find little more. */
const seed = histories === sample ? 20_261_130 : sampleSeed
const people = 3

/** What people say: a sentence, a sentence that others may also say, a short line, or what another person said with words of their own. */
const says = ['own', 'own', 'shared', 'short', 'short', 'quote'] as const
const turnOf = fc.record({
  project: fc.nat(2),
  conversation: fc.nat(1),
  author: fc.nat(people - 1),
  says: fc.constantFrom(...says),
  which: fc.nat(20),
  /** An assistant answers, and repeats an earlier message. */
  answers: fc.constantFrom('no', 'no', 'quotes', 'speaks'),
  /** The author replaces the text later. */
  isEdited: fc.constantFrom(false, false, false, true),
})
const places = [
  'string',
  'list',
  'hash',
  'stream',
  'object',
  'json',
  'thread',
  'notes',
  'memory',
  'episode',
  'fact',
] as const
type PlaceKind = (typeof places)[number]
const derivedOf = fc.record({
  place: fc.constantFrom(...places),
  /** What its name contains. */
  names: fc.constantFrom('project', 'conversation', 'person', 'nobody'),
  first: fc.nat(20),
  more: fc.array(fc.nat(20), { maxLength: 3 }),
  /** Messages of every project, as a memory of a whole company has. */
  isAcross: fc.constantFrom(false, false, true),
  /** With the name of the author before each line, as in a transcript. */
  hasSpeakers: fc.boolean(),
  isReported: fc.boolean(),
})
const erasureOf = fc.record({
  of: fc.constantFrom('message', 'message', 'conversation', 'person', 'person', 'project'),
  which: fc.nat(20),
})
const historyOf = fc.record({
  /** Determines the words. */
  words: fc.nat(2 ** 31 - 1),
  projects: fc.constantFrom(2, 3),
  /** Whether each person has an account, or the application reports them as participants. */
  haveAccounts: fc.array(fc.boolean(), { minLength: people, maxLength: people }),
  turns: fc.array(turnOf, { minLength: 3, maxLength: 14 }),
  derived: fc.array(derivedOf, { minLength: 2, maxLength: 12 }),
  erasures: fc.array(erasureOf, { minLength: 1, maxLength: 2 }),
})
type History = typeof historyOf extends fc.Arbitrary<infer H> ? H : never

interface Said {
  id: string
  project: number
  conversation: number
  author: number
  /** The newest last. */
  texts: string[]
}
interface Answer {
  id: string
  project: number
  conversation: number
  /** Words of the assistant only. */
  own: string
}
interface Written {
  place: PlaceKind
  /** Occurs in its dump. */
  name: string
  /** The id that its name or its graph contains. */
  named: string
  /** The project that it names, if any. */
  home: number | undefined
  sources: Said[]
}

const vocabulary =
  'river lantern copper garden window harbor winter silver kitchen letter doctor market morning ladder carpet engine pocket basket summer mirror bridge forest tunnel saddle pillow candle hammer button orange planet rocket ticket violin walnut anchor barrel cattle dinner ember falcon glacier hollow island jacket kettle lemon meadow needle oyster pepper quarry ribbon spider temple urchin valley weasel yonder zephyr almond beacon cinder dragon'.split(
    ' ',
  )
const plain = 'the and of in we had with for about from that they was before after under'.split(' ')
let drawn = 0
const draw = (below: number): number => {
  drawn = (Math.imul(drawn ^ (drawn >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
  let one = drawn
  one = Math.imul(one ^ (one >>> 16), 0x85ebca6b)
  one = Math.imul(one ^ (one >>> 13), 0xc2b2ae35)
  return ((one ^ (one >>> 16)) >>> 0) % below
}
const word = (of: readonly string[]): string => of[draw(of.length)] ?? ''
/** Ordinary words in random order: no other sentence contains six of them in a row, except by a chance of 10⁻⁹. */
const sentence = (): string => {
  const words = Array.from({ length: 8 + draw(6) }, (_, at) => word(at % 3 === 1 ? plain : vocabulary))
  return `${words.join(' ')}.`
}
const shortLine = (): string => Array.from({ length: 1 + draw(3) }, () => word(vocabulary)).join(' ')

// The checker.

const folded = (text: string): string =>
  text
    .replace(/\\+[nrt"]/g, ' ')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join(' ')
const windowsOf = (text: string): string[] => {
  const words = folded(text).split(' ')
  return words.slice(5).map((_, at) => words.slice(at, at + 6).join(' '))
}
/** The runs of texts, each alone and, for one author in one conversation, one after another. */
function allWindows(said: readonly Said[]): Set<string> {
  const found = new Set(said.flatMap(({ texts }) => texts.flatMap(windowsOf)))
  for (const own of Map.groupBy(
    said,
    ({ author, project, conversation }) => `${author} ${project} ${conversation}`,
  ).values())
    for (const version of [0, -1])
      for (const window of windowsOf(own.map(({ texts }) => texts.at(version)).join('\n'))) found.add(window)
  return found
}

describe.skipIf(!(await areStoresInstalled()))('histories in every connected store', () => {
  let connected: ConnectedTest
  let stores: ConnectedStores
  let test: TestApp
  let redis: ConnectedTest['redis']
  beforeAll(async () => {
    connected = await connectedTest({ KP_POINTER_PREFIXES: 'app:,uploads/' })
    ;({ stores, test, redis } = connected)
  }, 240_000)
  afterAll(() => connected?.close())

  interface World {
    tag: string
    owner: Person
    all: (Person | undefined)[]
    participants: (project: number, person: number) => Promise<string | undefined>
    made: { project: MadeProject; conversations: MadeConversation[] }[]
    said: Said[]
    answers: Answer[]
    written: Written[]
  }
  const nameOf = (tag: string, person: number) => `${tag}p${person}`

  async function planted(history: History): Promise<World> {
    const tag = newId('w')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, '')
    const owner = await signedIn(test)
    const agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner })
    const all: (Person | undefined)[] = []
    for (const hasAccount of history.haveAccounts)
      all.push(hasAccount ? await signedIn(test, 'person', owner.organisationId) : undefined)
    const made: World['made'] = []
    for (let n = 0; n < history.projects; n++) {
      const project = await madeProject(test, { owner, agent, group_id: newId('grp').toLowerCase() })
      for (const person of all)
        if (person)
          await dataOf(test, 'POST', `${project.path}/members`, owner, {
            body: { kind: 'account', member_id: person.accountId, role: 'member' },
          })
      made.push({
        project,
        conversations: [await madeConversation(test, project), await madeConversation(test, project)],
      })
    }
    const at = (project: number, conversation: number) => {
      const found = made[project]
      const of = found?.conversations[conversation]
      if (!found || !of) throw new Error(`no conversation ${project} ${conversation}`)
      return { project: found.project, conversation: of }
    }
    const shared = [sentence(), sentence(), sentence()]
    const [said, answers]: [Said[], Answer[]] = [[], []]
    const writers = new Map<string, { path: string; who: Person | { token: string } }>()
    for (const turn of history.turns) {
      const project = turn.project % history.projects
      const { conversation } = at(project, turn.conversation)
      const quoted = said[turn.which % Math.max(1, said.length)]?.texts.at(-1)
      const text =
        turn.says === 'shared'
          ? (shared[turn.which % shared.length] ?? '')
          : turn.says === 'short'
            ? shortLine()
            : turn.says === 'quote' && quoted !== undefined
              ? `${sentence()} They wrote: "${quoted}"`
              : sentence()
      test.clock.advance(1_000)
      const who = all[turn.author] ?? agent
      const message = await madeMessage(test, conversation, who, {
        content: text,
        ...(all[turn.author] ? {} : { author: { external_id: nameOf(tag, turn.author) } }),
      })
      said.push({ id: message.id, project, conversation: turn.conversation, author: turn.author, texts: [text] })
      writers.set(message.id, { path: message.path, who })
      if (turn.answers === 'no') continue
      const own = sentence()
      const repeated = said[(turn.which * 7) % said.length]?.texts.at(-1) ?? ''
      test.clock.advance(1_000)
      const content = turn.answers === 'quotes' ? `You said: ${repeated}\n${own}` : own
      const answer = await madeMessage(test, conversation, agent, { content, role: 'assistant' })
      answers.push({ id: answer.id, project, conversation: turn.conversation, own })
    }
    const world: World = {
      tag,
      owner,
      all,
      made,
      said,
      answers,
      written: [],
      async participants(project, person) {
        const found = await test.db.prisma.projectParticipant.findFirst({
          where: { projectId: made[project]?.project.id ?? '', externalId: nameOf(tag, person) },
        })
        return found?.id
      },
    }
    for (const [n, one] of history.derived.entries()) await write(world, one, `${tag}d${n}`)
    for (const [n, turn] of history.turns.entries()) {
      const one = said[n]
      const writer = one && writers.get(one.id)
      if (!turn.isEdited || !one || !writer) continue
      const text = sentence()
      const { status } = await test.fetch('PATCH', writer.path, { ...writer.who, body: { content: text } })
      if (status === 200) one.texts.push(text)
    }
    return world
  }

  async function write(world: World, one: History['derived'][number], name: string): Promise<void> {
    const { said, made, all, owner } = world
    const first = said[one.first % said.length]
    if (!first) return
    const near = one.isAcross ? said : said.filter(({ project }) => project === first.project)
    const sources = [...new Set([first, ...one.more.flatMap((which) => near[which % near.length] ?? [])])]
    const { project, conversations } = made[first.project] ?? {}
    if (!project) return
    const named =
      {
        project: project.id,
        conversation: conversations?.[first.conversation]?.id ?? '',
        person: all[first.author]?.accountId ?? '',
        nobody: '',
      }[one.names] || 'anything'
    const lines = sources.map(({ author, texts }) => `${one.hasSpeakers ? `speaker ${author}: ` : ''}${texts.at(-1)}`)
    const content = lines.join('\n')
    const key = `app:${named}:${name}`
    const object = `uploads/${named}/${name}.txt`
    const thread = `${named}/${name}`
    const time = { createdAt: test.clock.now(), validAt: test.clock.now() }
    const group = one.names === 'project' || one.names === 'conversation' ? project.groupId : `company-${name}`
    const bare = { group, episodes: [], entities: [], facts: [], mentions: [], communities: [], sagas: [], next: [] }
    const put = (values: Record<string, unknown>) =>
      writeThread(stores.saver, thread, values, { writes: Object.entries(values) })
    const pointer: Record<PlaceKind, { store: string; ref?: string; place?: string } | undefined> = {
      string: { store: 'cache', ref: key },
      list: { store: 'cache', ref: key },
      hash: { store: 'cache', ref: key },
      stream: { store: 'cache', ref: key },
      object: { store: 'objects', ref: object },
      json: { store: 'objects', ref: object },
      thread: { store: 'checkpoints', place: thread },
      notes: { store: 'checkpoints', place: thread },
      memory: undefined,
      episode: { store: 'graph', ref: name, ...(group === project.groupId ? {} : { place: group }) },
      fact: { store: 'graph', ref: `${name}-e`, ...(group === project.groupId ? {} : { place: group }) },
    }
    const writing: Record<PlaceKind, () => Promise<unknown>> = {
      string: () => redis.set(key, content),
      list: () => redis.rPush(key, lines),
      hash: () => redis.hSet(key, Object.fromEntries(lines.map((line, at) => [`turn${at}`, line]))),
      async stream() {
        for (const text of lines) await redis.xAdd(key, '*', { text })
      },
      object: () => stores.putObject(object, content),
      json: () => stores.putObject(object, JSON.stringify({ turns: lines, n: 1 })),
      thread: () =>
        put({ messages: lines.flatMap((line) => [new HumanMessage(line), new AIMessage(`You said: ${line}`)]) }),
      notes: () => put({ notes: content }),
      memory: () => stores.remember(['memories'], `${named}/${name}`, { text: content }),
      episode: () => stores.planting.plant({ ...bare, episodes: [episode(name, 1, { content, ...time })] }),
      fact: () =>
        stores.planting.plant({
          ...bare,
          episodes: [episode(`${name}-e`, 1, { content, ...time })],
          entities: [
            entity(`${name}-a`, 'Works', ['Company'], { summary: content }),
            entity(`${name}-b`, 'Bank', ['Company']),
          ],
          facts: [
            fact(`${name}-f`, `${name}-a`, `${name}-b`, [`${name}-e`], {
              fact: lines[0] ?? '',
              createdAt: time.createdAt,
            }),
          ],
          mentions: [{ episode: `${name}-e`, entity: `${name}-a` }],
        }),
    }
    await writing[one.place]()
    const to = pointer[one.place]
    if (one.isReported && to)
      for (const [n, some] of Map.groupBy(sources, (source) => source.project)) {
        const of = made[n]?.project
        if (!of) continue
        const entries = some.map(({ id }) => ({ source_id: id, ref: id, ...to }))
        // Another project may not claim the same place: then only one of them reports it.
        await test.fetch('POST', `${of.path}/provenance`, { ...owner, body: { entries } })
      }
    const isInGraph = one.place === 'episode' || one.place === 'fact'
    world.written.push({
      place: one.place,
      name,
      named: isInGraph ? group : named,
      home: one.names === 'project' || one.names === 'conversation' ? first.project : undefined,
      sources,
    })
  }

  /** Deletes what the history left in the stores, so that later ones are not slower. */
  async function cleared(world: World): Promise<void> {
    await redis.flushDb()
    await stores.emptied(world.tag)
  }

  async function erase(world: World, { of, which }: History['erasures'][number], left: readonly Said[]) {
    const one = left[which % Math.max(1, left.length)]
    if (!one) return undefined
    const { project, conversations } = world.made[one.project] ?? {}
    const conversation = conversations?.[one.conversation]
    if (!project || !conversation) return undefined
    const part = { project: project.id, conversation: conversation.id }
    const nobody: Subject = { account: null, agents: [] }
    let subject = nobody
    let isErased = ({ id }: Said) => id === one.id
    let containers: string[] = []
    let scope: { part?: Extract<ErasureScope, { part: unknown }>['part'] } = {}
    if (of === 'message') scope = { part: { ...part, kind: 'message', id: one.id } }
    else if (of === 'conversation') {
      scope = { part: { ...part, kind: 'conversation', id: conversation.id } }
      isErased = (other) => other.project === one.project && other.conversation === one.conversation
      containers = [conversation.id]
    } else if (of === 'project') {
      scope = { part: { project: project.id, conversation: null, kind: 'project', id: project.id } }
      isErased = (other) => other.project === one.project
      containers = [project.id, project.groupId, ...(conversations ?? []).map(({ id }) => id)]
    } else {
      const account = world.all[one.author]?.accountId
      const participant = account === undefined ? await world.participants(one.project, one.author) : undefined
      subject = account === undefined ? { ...nobody, participants: [participant ?? ''] } : { ...nobody, account }
      isErased = (other) => other.author === one.author && (account !== undefined || other.project === one.project)
    }
    const engine = test.app.subjectErasures
    const { runId, receiptId } = await test.app.db.transaction((tx) =>
      engine.begin(tx, {
        requestId: null,
        requestedBy: 'test',
        reason: 'user_request',
        now: test.clock.now(),
        subject,
        ...scope,
      }),
    )
    await expect.poll(() => engine.complete(runId), { timeout: 240_000 }).toBe('done')
    const { json }: { json: Receipt } = await test.fetch('GET', `/v1/receipts/${receiptId}`, world.owner)
    return { receipt: json, receiptId, isErased, containers }
  }

  async function checked(history: History): Promise<void> {
    drawn = history.words
    const world = await planted(history)
    let left: Said[] = world.said
    let answers = world.answers
    const gone: Said[] = []
    /** Ids of erased projects and conversations. What they name is erased as a whole. */
    const containers = new Set<string>()
    for (const erasure of history.erasures) {
      const before = await stores.everything(world.tag)
      const done = await erase(world, erasure, left)
      if (!done) break
      const { receipt, receiptId, isErased } = done
      for (const id of done.containers) containers.add(id)
      const erased = left.filter(isErased)
      gone.push(...erased)
      left = left.filter((one) => !isErased(one))
      if (erasure.of === 'conversation' || erasure.of === 'project')
        answers = answers.filter(
          ({ project, conversation }) =>
            !erased.some(
              (one) => one.project === project && (erasure.of === 'project' || one.conversation === conversation),
            ),
        )
      expect(
        receipt.stores.filter(({ residue }) => residue > 0),
        'residue',
      ).toEqual([])
      await decide(world, { erased: gone, left, answers, before, containers, isComplete: false })
      expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
      const { json }: { json: Receipt } = await test.fetch('GET', `/v1/receipts/${receiptId}`, world.owner)
      const counted = (json.complete_reading?.stores ?? []).reduce((sum, one) => sum + one.left, 0)
      await decide(world, { erased: gone, left, answers, before, containers, isComplete: counted === 0 })
    }
    await cleared(world)
  }

  async function decide(
    world: World,
    {
      erased,
      left,
      answers,
      before,
      containers,
      isComplete,
    }: {
      erased: readonly Said[]
      left: readonly Said[]
      answers: readonly Answer[]
      before: Map<string, string>
      containers: ReadonlySet<string>
      isComplete: boolean
    },
  ): Promise<void> {
    const living = allWindows(left)
    const windows = [...allWindows(erased)].filter((window) => !living.has(window))
    const after = await stores.everything(world.tag)
    const messages = await test.db.prisma.message.findMany({
      where: { projectId: { in: world.made.map(({ project }) => project.id) } },
      select: { id: true, content: true, role: true, projectId: true },
    })
    const contentOf = (id: string) => messages.find((one) => one.id === id)?.content
    for (const { id, texts } of left) expect(contentOf(id), 'a message of a living person').toBe(texts.at(-1))
    for (const { id, own } of answers) expect(contentOf(id), 'words of an assistant').toContain(own)
    // An assistant in another project may have said the same: a complete reading counts its message as left.
    const homes = new Set(erased.map(({ project }) => world.made[project]?.project.id))
    const isElsewhere = ({ role, projectId }: (typeof messages)[number]) =>
      role === 'assistant' && !homes.has(projectId)
    for (const message of messages)
      for (const window of isComplete || !isElsewhere(message) ? windows : [])
        if (folded(message.content).includes(window))
          throw new Error(`erased words in message ${message.id}: ${window}`)
    const ofPlace = (contents: Map<string, string>, name: string) => {
      const rows = new Set(
        [...contents].flatMap(([place, text]) =>
          text.includes(name) ? [/^threads\.\S+ \d+ /.exec(place)?.[0] ?? place] : [],
        ),
      )
      return [...contents]
        .filter(([place]) => rows.has(/^threads\.\S+ \d+ /.exec(place)?.[0] ?? place))
        .map(([, text]) => folded(text))
        .join('\n')
    }
    const isLiving = new Set(left.map(({ id }) => id))
    for (const { place, name, named, home, sources } of world.written) {
      const [was, now] = [ofPlace(before, name), ofPlace(after, name)]
      const found = windows.filter((window) => now.includes(window))
      // Before the complete reading, only what an id or a report leads to is searched.
      const isNear = home !== undefined && sources.every((one) => one.project === home)
      if ((isComplete || isNear) && found.length > 0)
        throw new Error(`erased words remain in ${place} ${name}: ${found[0]}\n${now}`)
      if (containers.has(named)) continue
      for (const { id, texts } of sources) {
        const text = folded(texts[0] ?? '')
        if (!isLiving.has(id) || !was.includes(text) || now.includes(text)) continue
        // A generated text is evaluated again as a whole.
        if (place === 'fact' && sources.some((one) => !isLiving.has(one.id))) continue
        throw new Error(`words of ${id} are lost in ${place} ${name}: ${text}\nbefore: ${was}\nafter: ${now}`)
      }
    }
  }

  it(
    'leaves no run of erased words that no living author wrote, and every word of living people',
    async () => {
      await fc.assert(fc.asyncProperty(historyOf, checked), { numRuns: histories, seed, endOnFailure: true })
    },
    histories === sample ? 600_000 : 86_400_000,
  )
})
