// The name of an erased person alone, in places that nobody reported: written by real clients into every store, as people write it, beside
// the words and names of others.
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  type ConnectedTest,
  connectedTest,
  writeThread,
} from '#lib/testing/connected-stores.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { dataOf, type MadeProject, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { sampled } from '#lib/testing/sampling.ts'

const day = 86_400_000
let made = 0
const syllables = ['ba', 'ko', 'lu', 'mi', 'ra', 'se', 'to', 'vu', 'za', 'ne', 'pi', 'do']
/** A name that nobody else in this file has. */
function freshName(): { name: string; first: string; last: string } {
  const n = ++made
  const word = (seed: number) => {
    const letters = [0, 1, 2].map((at) => syllables[Math.floor(seed / 12 ** at) % 12] ?? '').join('')
    return `${letters[0]?.toUpperCase()}${letters.slice(1)}n`
  }
  const [first, last] = [word(n * 7 + 5), word(n * 31 + 640)]
  return { name: `${first} ${last}`, first, last }
}
let sentences = 0
/** Words of others that no name occurs in. */
const theirs = () => `The committee${++sentences} meets on the second Tuesday about the harbor library`

/** How people and programs write a name. */
const forms: Record<string, (of: ReturnType<typeof freshName>) => string> = {
  plain: ({ name }) => name,
  reverse: ({ first, last }) => `${last}, ${first}`,
  possessive: ({ name }) => `${name}'s`,
  loud: ({ name }) => name.toUpperCase(),
  markup: ({ first, last }) => `<b>${first}</b>&nbsp;<i>${last}</i>`,
  percent: ({ first, last }) => `https://example.org/find?who=${first}%20${last}`,
  base64: ({ name }) => Buffer.from(`Call ${name} about the plan for tomorrow`).toString('base64'),
  fields: ({ first, last }) => `{"first_name":"${first}","last_name":"${last}"}`,
}

describe.skipIf(!(await areStoresInstalled()))('names of an erased person in connected stores', () => {
  let connected: ConnectedTest
  let stores: ConnectedStores
  let test: TestApp
  let driver: ConnectedTest['driver']
  let redis: ConnectedTest['redis']
  let admin: Person
  beforeAll(async () => {
    connected = await connectedTest({ KP_POINTER_PREFIXES: 'app:,uploads/', KP_SWEEP_DAYS: '7' })
    ;({ stores, test, driver, redis } = connected)
    admin = await signedIn(test, 'admin')
  }, 240_000)
  afterAll(() => connected?.close())

  async function writes(project: MadeProject, name: string, content = `Something${++made} that only I would say.`) {
    const conversation = await madeConversation(test, project, {}, project.agent)
    const external = `u-${crypto.randomUUID()}`
    await madeMessage(test, conversation, project.agent, { content, author: { external_id: external, name } })
    const [participant] = await dataOf(
      test,
      'GET',
      `${project.path}/participants?external_id=${external}`,
      project.owner,
    )
    return { id: String(participant.id), conversation }
  }
  /** Erases a participant as their application does. Returns the receipt's id. */
  async function erased(project: MadeProject, id: string): Promise<string> {
    const body = { kinds: ['erasure'], grace: 'now' }
    const request = await dataOf(test, 'POST', `${project.path}/participants/${id}/requests`, project.owner, { body })
    await drain(test)
    const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: request.id } })
    expect(row.state).toBe('completed')
    return row.receiptId ?? ''
  }
  const read = () => test.app.completeReadings.read({ rests: false })
  const receiptOf = async (id: string) => (await test.fetch('GET', `/v1/receipts/${id}`)).json
  const listed = async (receiptId: string): Promise<string[]> =>
    (await dataOf(test, 'GET', `/api/readings/places?receipt_id=${receiptId}&limit=100`, admin))
      .map(({ holder, reason }: { holder: string; reason: string }) => `${holder} ${reason}`)
      .sort()
  async function aWeekLater() {
    test.clock.advance(8 * day)
    admin = await signedIn(test, 'admin')
  }

  /** Every record of every store; the columns of a row belong together. */
  const everything = async (): Promise<string[]> =>
    [
      ...Map.groupBy(await stores.everything(), ([place]) => /^threads\.\S+ \d+ /.exec(place)?.[0] ?? place).values(),
    ].map((columns) =>
      columns.map(([place, text]) => `${place.replace(/^(threads\.\S+) \d+ /, '$1 ')} ${text}`).join('\n'),
    )
  const contentOf = (all: readonly string[], mark: string): string =>
    all
      .filter((one) => one.includes(mark))
      .sort()
      .join('\n')

  const writeNoted = (thread: string, text: string, at: Date, more: Record<string, unknown> = {}) => {
    const messages = [new HumanMessage(text), new AIMessage(`Noted ${thread}`)]
    return writeThread(stores.saver, thread, { messages, ...more }, { at, writes: [['notes', text]] })
  }
  const writeGraph = (group: string | null, mark: string, text: string, at: Date) =>
    driver.executeQuery(
      `CREATE (e:Episodic {uuid: randomUUID(), mark: $mark, name: 'chat', source: 'message', source_description: 'chat', content: $text,
         entity_edges: [], created_at: datetime($at), valid_at: datetime($at)})
       SET e.group_id = $group`,
      { group, mark, text, at: at.toISOString() },
    )
  const graphTexts = async (mark: string): Promise<string> => {
    const { records } = await driver.executeQuery('MATCH (n) WHERE n.mark = $mark RETURN properties(n) AS p', { mark })
    return records.map((record) => JSON.stringify(record.get('p'))).join('\n')
  }

  it('removes it from every place at once, and no word of others', async () => {
    const project = await madeProject(test)
    const who = freshName()
    const { id } = await writes(project, who.name)
    const places: Record<string, (mark: string, text: string) => Promise<unknown>> = {
      thread: (mark, text) => writeNoted(mark, text, new Date(test.clock.now())),
      channel: (mark, text) => writeNoted(mark, theirs(), new Date(test.clock.now()), { notes: text }),
      episode: (mark, text) => writeGraph(project.groupId, mark, text, test.clock.now()),
      memory: (mark, text) => stores.remember(['memories', mark], 'one', { text, mark }),
      string: (mark, text) => redis.set(`app:${mark}`, `${mark} ${text}`),
      hash: (mark, text) => redis.hSet(`app:${mark}`, { text, mark }),
      list: (mark, text) => redis.rPush(`app:${mark}`, [text, mark]),
      object: (mark, text) => stores.putObject(`uploads/${mark}.txt`, text),
    }
    const all = Object.keys(places).flatMap((place) => Object.keys(forms).map((form) => ({ place, form })))
    const cases = sampled('places and forms of names', all, 16).map((one) => ({
      ...one,
      mark: `m${crypto.randomUUID()}`,
      other: theirs(),
    }))
    for (const { place, form, mark, other } of cases)
      await places[place]?.(mark, `${other}.\n${forms[form]?.(who)} \n${mark}`)
    const controls = Object.keys(places).map((place) => ({ place, mark: `c${crypto.randomUUID()}`, other: theirs() }))
    for (const { place, mark, other } of controls) await places[place]?.(mark, `${other}. ${freshName().name} ${mark}`)
    const before = await everything()
    const receiptId = await erased(project, id)
    const after = await everything()
    const left: string[] = []
    const lost: string[] = []
    for (const { place, form, mark, other } of cases) {
      const text = contentOf(after, mark)
      const plain = `${text}\n${text.replace(/[A-Za-z0-9+/]{24,}={0,2}/g, (one) => Buffer.from(one, 'base64').toString())}`
      if (plain.toLowerCase().includes(who.last.toLowerCase())) left.push(`${place} ${form}`)
      if (!text.includes(other)) lost.push(`${place} ${form}`)
    }
    for (const { place, mark } of controls)
      if (contentOf(after, mark) !== contentOf(before, mark)) lost.push(`control ${place}`)
    expect({ left, lost }).toEqual({ left: [], lost: [] })
    const { stores: lines } = await receiptOf(receiptId)
    expect(lines.every(({ residue }: { residue: number }) => residue === 0)).toBe(true)
    expect(await read()).toBe('completed')
  }, 240_000)

  it('removes it from names of properties and fields at once, and keeps every value', async () => {
    const project = await madeProject(test)
    const who = freshName()
    const { id } = await writes(project, who.name)
    const ascii = (text: string) =>
      text.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    /** Values of others under names of the person, which would be equal without it. */
    const made = (mark: string) => {
      const values = [theirs(), theirs(), theirs(), theirs()]
      const [first = '', second = '', third = '', fourth = ''] = values
      const record = {
        mark,
        [who.name]: `${first} ${mark}`,
        [who.name.toUpperCase()]: `${second} ${mark}`,
        [`Notes about ${who.name}`]: { [`${who.last}, ${who.first}`]: [`${third} ${mark}`] },
        note: `${fourth} für alle ${mark}`,
      }
      return { record, values }
    }
    type Made = ReturnType<typeof made>['record']
    const places: Record<string, (mark: string, record: Made) => Promise<unknown>> = {
      channel: (mark, notes) => writeNoted(mark, theirs(), test.clock.now(), { notes }),
      map: (mark, notes) => writeNoted(mark, theirs(), test.clock.now(), { notes: new Map(Object.entries(notes)) }),
      arguments: (mark, notes) => writeNoted(mark, theirs(), test.clock.now(), { call: JSON.stringify(notes) }),
      memory: (mark, value) => stores.remember(['memories', mark], 'one', { ...value, text: theirs() }),
      episode: (mark, record) => writeGraph(project.groupId, mark, JSON.stringify(record), test.clock.now()),
      python: (mark, record) => writeGraph(project.groupId, mark, ascii(JSON.stringify(record)), test.clock.now()),
      string: (mark, record) => redis.set(`app:${mark}`, JSON.stringify(record)),
      hash: (mark, record) =>
        redis.hSet(
          `app:${mark}`,
          Object.fromEntries(Object.entries(record).map(([field, value]) => [field, JSON.stringify(value)])),
        ),
      list: (mark, record) => redis.rPush(`app:${mark}`, [JSON.stringify(record), mark]),
      object: (mark, record) => stores.putObject(`uploads/${mark}.json`, JSON.stringify(record, null, 2)),
      lines: (mark, record) =>
        stores.putObject(`uploads/${mark}.jsonl`, `${JSON.stringify(record)}\n${JSON.stringify({ mark, n: 1 })}\n`),
    }
    const cases: { place: string; mark: string; values: string[] }[] = []
    for (const [place, write] of Object.entries(places)) {
      const mark = `m${crypto.randomUUID()}`
      const { record, values } = made(mark)
      await write(mark, record)
      cases.push({ place, mark, values })
    }
    const receiptId = await erased(project, id)
    const after = await everything()
    const left: string[] = []
    const lost: string[] = []
    for (const { place, mark, values } of cases) {
      const text = contentOf(after, mark)
      if (text.toLowerCase().includes(who.last.toLowerCase())) left.push(place)
      lost.push(...values.filter((value) => !text.includes(value)).map((value) => `${place}: ${value}`))
    }
    expect({ left, lost }).toEqual({ left: [], lost: [] })
    const { stores: lines } = await receiptOf(receiptId)
    expect(lines.every(({ residue }: { residue: number }) => residue === 0)).toBe(true)
  }, 240_000)

  it('is erased by a complete reading where it is older than the erasure, and listed elsewhere', async () => {
    const project = await madeProject(test)
    const who = freshName()
    const { id } = await writes(project, who.name)
    const old = new Date(test.clock.now().getTime() - 40 * day)
    const mark = `m${crypto.randomUUID()}`
    const marks = (name: string) => `${mark}-${name}`
    const other = theirs()
    const text = `${other}. Please call ${who.name} back.`
    // Older than the person's first message, in a group of the whole company, in no group.
    await writeNoted(marks('old'), text, old, { summary: `${other} as a summary` })
    await writeGraph(`company-${mark}`, marks('episode'), text, old)
    await writeGraph(null, marks('bare'), text, old)
    // No time, outside of the key space.
    await redis.set(`elsewhere:${marks('key')}`, text)
    // A name that may be somebody else's.
    await writeGraph(`company-${mark}`, marks('single'), `${other}. ${who.first} called.`, old)
    const receiptId = await erased(project, id)
    const late = new Date(test.clock.now().getTime() + 3_600_000)
    await writeNoted(marks('late'), text, late)
    await writeGraph(`company-${mark}`, marks('newer'), text, late)
    expect(await read()).toBe('completed')

    const all = await everything()
    for (const name of ['old', 'episode', 'bare']) {
      const now = contentOf(all, marks(name))
      expect(now, name).not.toContain(who.last)
      expect(now, name).toContain(other)
    }
    expect(contentOf(all, marks('old'))).toContain(`${other} as a summary`)
    for (const name of ['key', 'late', 'newer']) expect(contentOf(all, marks(name)), name).toContain(who.name)
    expect(await graphTexts(marks('single'))).toContain(who.first)
    expect(await listed(receiptId)).toEqual([
      'cache.entries undated',
      'checkpoints.messages newer',
      'graph.episodes newer',
      'graph.episodes uncertain',
    ])
    const { complete_reading: reading } = await receiptOf(receiptId)
    const names = Object.fromEntries(
      reading.stores.map((one: { holder: string; how: string[]; names: object }) => {
        expect(one.how).toContain('names')
        return [one.holder, one.names]
      }),
    )
    expect(names['graph.episodes']).toEqual({ found: 4, erased: 2, listed: 2 })
    expect(names['cache.entries']).toEqual({ found: 1, erased: 0, listed: 1 })
    expect(names['objects.bytes']).toEqual({ found: 0, erased: 0, listed: 0 })
    expect(names['checkpoints.messages'].erased).toBeGreaterThan(0)

    // A week later, an old copy is restored and others write about a namesake.
    await writeNoted(marks('restored'), text, old)
    await aWeekLater()
    await writeNoted(marks('anew'), text, test.clock.now())
    expect(await read()).toBe('completed')
    const again = await everything()
    expect(contentOf(again, marks('restored'))).not.toContain(who.last)
    expect(contentOf(again, marks('restored'))).toContain(other)
    for (const name of ['key', 'late', 'newer', 'anew']) expect(contentOf(again, marks(name)), name).toContain(who.name)
    await redis.del(`elsewhere:${marks('key')}`)
  }, 240_000)

  it('is sought in every store when no text of the person remains', async () => {
    const project = await madeProject(test)
    const old = new Date(test.clock.now().getTime() - 40 * day)
    const people: { name: string; id: string; isCertain: boolean }[] = []
    for (const [name, isCertain] of [
      [freshName().name, true],
      [freshName().first, false],
    ] as const) {
      const { id, conversation } = await writes(project, name)
      const messages = await test.db.prisma.message.findMany({ where: { conversationId: conversation.id } })
      for (const one of messages) await dataOf(test, 'DELETE', `${conversation.path}/messages/${one.id}`, project.owner)
      people.push({ name, id, isCertain })
    }
    for (const { name, id: of, isCertain } of people) {
      const mark = `m${crypto.randomUUID()}`
      const other = theirs()
      const text = `${other}. Please call ${name} back. ${mark}`
      await writeNoted(mark, text, old)
      await writeGraph(`company-${mark}`, mark, text, old)
      await redis.set(`app:profile:${mark}`, JSON.stringify({ name, mark }))
      await stores.putObject(`uploads/${mark}.txt`, text)
      const receiptId = await erased(project, of)
      expect(await read()).toBe('completed')
      const places = await listed(receiptId)
      const now = contentOf(await everything(), mark)
      expect(now, name).toContain(other)
      if (isCertain) {
        const { complete_reading: statement } = await receiptOf(receiptId)
        expect(statement, name).toBeDefined()
        expect(await graphTexts(mark), name).not.toContain(name)
        expect(places, name).toContain('cache.entries undated')
      } else {
        expect(now).toContain(name)
        expect(places).toEqual(expect.arrayContaining(['graph.episodes uncertain', 'cache.entries uncertain']))
      }
      await redis.del(`app:profile:${mark}`)
    }
  }, 240_000)

  it('stays where another person has the name, wrote it, or owns the place, and is listed', async () => {
    const [project, elsewhere] = [await madeProject(test), await madeProject(test)]
    const [twin, quoted, owned] = [freshName(), freshName(), freshName()]
    const old = new Date(test.clock.now().getTime() - 40 * day)
    const planted: { who: string; receipt: string; check: () => Promise<void>; reason: string }[] = []
    for (const [who, prepare, reason] of [
      // Two people of one name, in different projects.
      [twin, () => writes(elsewhere, twin.name), 'graph.episodes shared'],
      // A living author mentions the person.
      [quoted, () => writes(elsewhere, freshName().name, `I met ${quoted.name} today.`), 'graph.episodes shared'],
      // The group belongs to another project.
      [owned, async () => undefined, 'graph.episodes owned'],
    ] as const) {
      const { id } = await writes(project, who.name)
      await prepare()
      const mark = `m${crypto.randomUUID()}`
      const group = who === owned ? elsewhere.groupId : `company-${mark}`
      await writeGraph(group, mark, `${who.name} called.`, old)
      planted.push({
        who: who.name,
        receipt: await erased(project, id),
        check: async () => expect(await graphTexts(mark), who.name).toContain(`${who.name} called.`),
        reason,
      })
    }
    expect(await read()).toBe('completed')
    for (const { check, receipt, reason, who } of planted) {
      await check()
      expect(await listed(receipt), who).toContain(reason)
    }
  }, 240_000)
})
