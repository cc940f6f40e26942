// Threads that the application named itself and nobody reported: the erasure searches them at once.
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ReadPage } from '#lib/kernel/data-source.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { writeThread } from '#lib/testing/connected-stores.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import {
  dataOf,
  eraseWholeProject,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'

const hour = 3_600_000
let sentences = 0
const sentence = (): string => {
  const n = ++sentences
  return `I have suffered${n} from cobalt${n} fever${n} since the house${n} in Rhabarberstrasse burned${n} down.`
}
let test: TestApp
let threads: TestDatabase
let saver: PostgresSaver
beforeAll(async () => {
  threads = await testDatabase()
  saver = PostgresSaver.fromConnString(threads.ownerUrl)
  await saver.setup()
  test = await testApp({ KP_CHECKPOINTS_URL: threads.ownerUrl })
})
afterAll(async () => {
  await test?.close()
  await saver?.end()
  await threads?.drop()
})

const write = (thread: string, messages: (HumanMessage | AIMessage)[]): Promise<void> =>
  writeThread(saver, thread, { messages }, { writes: [['messages', messages]] })
const dumpOf = (thread: string): Promise<string> =>
  withConnection(threads.ownerUrl, async (client) => {
    const texts: string[] = []
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes']) {
      const { rows } = await client.query(`SELECT * FROM ${table} WHERE thread_id = $1`, [thread])
      for (const value of rows.flatMap((row: object): unknown[] => Object.values(row)))
        texts.push(Buffer.isBuffer(value) ? value.toString('utf8') : JSON.stringify(value))
    }
    return texts.join('\n')
  })
async function say(project?: MadeProject) {
  const own = project ?? (await madeProject(test))
  const conversation = await madeConversation(test, own)
  const text = sentence()
  const message = await madeMessage(test, conversation, own.owner, { content: text })
  return { ...message, project: own, conversation, text }
}
type Said = Awaited<ReturnType<typeof say>>
const erase = ({ path, project }: Said) => eraseWholeProject(test, path, project.owner)
const linesOf = async (receiptId: string) => {
  const { json } = await test.fetch('GET', `/v1/receipts/${receiptId}`)
  return json.stores.find(({ store }: { store: string }) => store === 'checkpoints')
}
const encodings: Record<string, (text: string) => string> = {
  plain: (text) => text,
  HTML: (text) => `<p>${text.replaceAll(' ', '<br>')}</p>`,
  'percent-encoding': (text) => `https://example.com/?q=${encodeURIComponent(text)}`,
  Base64: (text) => Buffer.from(text).toString('base64'),
  'nested JSON': (text) => JSON.stringify(JSON.stringify({ q: text })),
  entities: (text) => text.replace(/[ e]/g, (sign) => `&#${sign.charCodeAt(0)};`),
  'soft hyphens': (text) => text.replace(/(\p{L}{3})(?=\p{L}{2})/gu, '$1\u00ad'),
}
/** Reads a dump without any code of the erasure. */
const hasWords = (dump: string, text: string): boolean => {
  const plain = (some: string) => some.toLowerCase().replace(/[^a-z0-9]+/g, '')
  const piece = plain(text).slice(0, 40)
  const decoded = [
    dump,
    dump.replaceAll('<br>', ''),
    dump.replace(/%([0-9A-F]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
    dump.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
    dump.replace(/[A-Za-z0-9+/]{40,}={0,2}/g, (one) => Buffer.from(one, 'base64').toString()),
  ]
  return decoded.some((one) => plain(one).includes(piece))
}

describe('an erasure of a message', () => {
  const names: [string, (said: Said) => string][] = [
    ['a suffix to the id of the conversation', ({ conversation }) => `${conversation.id}:researcher`],
    ['a name with the id of the project', ({ project }) => `support/${project.id}/1`],
    ['a UUID', () => crypto.randomUUID()],
  ]
  it.each(names.flatMap(([name, nameOf]) => Object.keys(encodings).map((how) => [how, name, nameOf] as const)))(
    'finds words in %s at once in a thread that is named with %s',
    async (how, _, nameOf) => {
      const said = await say()
      const [thread, others] = [nameOf(said), sentence()]
      const written = encodings[how]?.(said.text) ?? ''
      await write(thread, [new HumanMessage(written), new AIMessage(`You said: ${written}`), new HumanMessage(others)])
      expect(hasWords(await dumpOf(thread), said.text)).toBe(true)
      const line = await linesOf(await erase(said))
      const dump = await dumpOf(thread)
      expect(hasWords(dump, said.text)).toBe(false)
      expect(dump).toContain(others)
      expect(line).toMatchObject({ residue: 0 })
      expect(line.deleted).toBeGreaterThan(0)
    },
  )

  it('finds the id that an application chose for an imported message in a thread that nobody linked', async () => {
    const said = await say()
    const [id, thread, others] = [crypto.randomUUID(), crypto.randomUUID(), sentence()]
    const content = sentence()
    const { path } = await madeMessage(test, said.conversation, said.project.owner, { id, content })
    await write(thread, [
      new HumanMessage({ id, content }),
      new HumanMessage({ id: crypto.randomUUID(), content: others }),
    ])
    const line = await linesOf(await erase({ ...said, path }))
    const dump = await dumpOf(thread)
    expect([dump.includes(content), dump.includes(others)]).toEqual([false, true])
    expect(line).toMatchObject({ residue: 0 })
  })

  it('lists only threads that name the project in the dry run, and counts the others', async () => {
    const said = await say()
    const [nobodys, named] = [crypto.randomUUID(), `${said.conversation.id}:researcher`]
    for (const thread of [nobodys, named]) await write(thread, [new HumanMessage(said.text)])
    const data = await dataOf(test, 'DELETE', `${said.path}?dry_run=true`, said.project.owner, { body: {} })
    const threads = data.verdicts.filter(({ kind }: { kind: string }) => kind === 'thread')
    expect(threads).toContainEqual(expect.objectContaining({ id: named, verdict: 'changed' }))
    expect(threads).toContainEqual(expect.objectContaining({ id: 'store', verdict: 'changed', evidence: ['items:1'] }))
    expect(JSON.stringify(data)).not.toContain(nobodys)
    expect(await dumpOf(nobodys)).toContain(said.text)
  })

  it('erases what only a file of the message says in threads that name its conversation, and in no other', async () => {
    const said = await say()
    const text = sentence()
    await madeAttachment(test, said, said.project.owner, { bytes: text })
    const [nobodys, named] = [crypto.randomUUID(), `${said.conversation.id}:researcher`]
    for (const thread of [nobodys, named]) await write(thread, [new HumanMessage(text)])
    const line = await linesOf(await erase(said))
    expect([(await dumpOf(nobodys)).includes(text), (await dumpOf(named)).includes(text)]).toEqual([true, false])
    expect(line).toMatchObject({ residue: 0 })
  })

  it('leaves a thread of another project, and words that a living author of another project wrote', async () => {
    const [said, other] = [await say(), await say()]
    const [shared, own] = [sentence(), sentence()]
    await madeMessage(test, other.conversation, other.project.owner, { content: shared })
    const more = await madeMessage(test, said.conversation, said.project.owner, { content: `${shared} ${own}` })
    const [theirs, nobodys, both] = [other.conversation.id, crypto.randomUUID(), crypto.randomUUID()]
    await write(theirs, [new HumanMessage(own)])
    await write(nobodys, [new HumanMessage(shared)])
    await write(both, [new HumanMessage(own), new HumanMessage(shared)])
    const line = await linesOf(await erase({ ...said, path: more.path }))
    expect(await dumpOf(theirs)).toContain(own)
    expect(await dumpOf(nobodys)).toContain(shared)
    expect(await dumpOf(both)).toContain(shared)
    expect(await dumpOf(both)).not.toContain(own.slice(0, 40))
    expect(line).toMatchObject({ deleted: 1, residue: 0 })
  })

  it('leaves threads of nobody that the organization may not claim, also with an id of the message in them', async () => {
    const said = await say()
    // The only organization with people may claim everything.
    await madeProject(test)
    const { organisationId } = said.project.owner
    await test.db.prisma.organisation.update({ where: { id: organisationId }, data: { storeNamespaces: ['acme-'] } })
    const message = said.path.split('/').at(-1) ?? ''
    const [words, id, claimed] = ['tenant-b-hr-4711', 'tenant-b-hr-4712', `acme-${crypto.randomUUID()}`]
    await write(words, [new HumanMessage(said.text)])
    await write(id, [new HumanMessage({ id: message, content: `Please remember ${message}.` })])
    await write(claimed, [new HumanMessage(said.text)])
    const before = await Promise.all([words, id].map(dumpOf))
    const data = await dataOf(test, 'DELETE', `${said.path}?dry_run=true`, said.project.owner, { body: {} })
    expect(JSON.stringify(data)).not.toContain('tenant-b')
    const line = await linesOf(await erase(said))
    expect(await Promise.all([words, id].map(dumpOf))).toEqual(before)
    expect(await dumpOf(claimed)).not.toContain(said.text)
    expect(line).toMatchObject({ residue: 0 })
    // The complete reading counts the words there as left.
    const source = test.app.dataSources.find(({ read, store }) => read && store === 'checkpoints')
    const found = new Map<string, [items: number, isOfOthers: boolean]>()
    for (let after: string | null = null; ; ) {
      const page: ReadPage | undefined = await source?.read?.(after, async ({ id: place, itemsOf, isOfOthers }) => {
        const of = await test.db.transaction(async (tx) => {
          const items = await itemsOf([said.project.id], tx)
          return [items.length, await isOfOthers([said.project.id], tx)] as [number, boolean]
        })
        found.set(place, of)
      })
      after = page?.next ?? null
      if (after === null) break
    }
    expect([words, id, claimed].map((thread) => found.get(`thread:${thread}`))).toEqual([
      [0, true],
      [0, true],
      [1, false],
    ])
    await test.db.prisma.organisation.update({ where: { id: organisationId }, data: { storeNamespaces: ['*'] } })
  })

  it('a complete reading knows a thread by the id of the erased conversation, on an installation with several organizations', async () => {
    const said = await say()
    const other = await say()
    for (const { project } of [said, other])
      await test.db.prisma.organisation.update({
        where: { id: project.owner.organisationId },
        data: { storeNamespaces: [] },
      })
    await eraseWholeProject(test, said.conversation.path, said.project.owner)
    // Its default name, and the id of a conversation that was not erased with it.
    const [own, theirs] = [said.conversation.id, `copy:${other.conversation.id}`]
    for (const thread of [own, theirs]) await write(thread, [new HumanMessage(said.text)])
    expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
    expect(hasWords(await dumpOf(own), said.text)).toBe(false)
    expect(hasWords(await dumpOf(theirs), said.text)).toBe(true)
  })

  it('finds a late write in such a thread at the second search', async () => {
    const said = await say()
    await erase(said)
    const thread = crypto.randomUUID()
    await write(thread, [new HumanMessage(said.text)])
    test.clock.advance(25 * hour)
    await test.app.jobs.find(({ name }) => name === 'erasure.recheck')?.execute(test.app.pipeline, {})
    await drain(test, { mayFail: true })
    expect(await dumpOf(thread)).not.toContain(said.text.slice(0, 40))
  })
})
