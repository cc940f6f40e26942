import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Assistant,
  approveTool,
  assistant,
  historyOf,
  writeMessage,
} from '#lib/stores/checkpoints/suite/written-thread.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { signedIn } from '#lib/testing/people.ts'
import { eraseWholeProject, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { sampled } from '#lib/testing/sampling.ts'

const sentence = 'Erika Musterfrau told us that her son Max is ill since Easter.'
const theirs = 'What a colleague had to say about something else entirely.'

let test: TestApp
let saver: PostgresSaver
let app: Assistant
let url: string
beforeAll(async () => {
  const database = await testDatabase()
  url = database.ownerUrl
  saver = PostgresSaver.fromConnString(url, { schema: 'langgraph' })
  test = await testApp({}, database)
  app = assistant(saver)
})
afterAll(async () => {
  await saver?.end()
  await test?.close()
})

/** All rows of a thread, as stored. */
const rowsOf = (thread: string): Promise<string[]> =>
  withConnection(url, async (client) => {
    const rows: string[] = []
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes']) {
      const found = await client.query(`SELECT * FROM langgraph.${table} WHERE thread_id = $1`, [thread])
      for (const row of found.rows)
        rows.push(
          Object.values(row)
            .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)))
            .join('\n'),
        )
    }
    return rows.sort()
  })
const write = (thread: string, blob: Buffer) =>
  withConnection(url, (client) =>
    client.query(
      `INSERT INTO langgraph.checkpoint_blobs (thread_id, channel, version, type, blob) VALUES ($1, 'foreign', '1', 'msgpack', $2)`,
      [thread, blob],
    ),
  )
async function talked(text: string) {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const first = await madeMessage(test, conversation, project.owner, { content: text })
  await writeMessage(app, conversation.id, first.id, text)
  await approveTool(app, conversation.id)
  const other = await madeMessage(test, conversation, project.agent, { content: theirs })
  await writeMessage(app, conversation.id, other.id, theirs)
  return { project, conversation, first, other }
}
const messagesIn = async (thread: string) =>
  (await historyOf(app, thread)).map(({ values }) =>
    (values.messages ?? []).map(({ id, content }: { id: string; content: unknown }) => [id, content]),
  )

const text = Buffer.from(sentence)
/** MessagePack: a string of up to 255 bytes. */
const packed = Buffer.concat([Buffer.of(0xd9, text.length), text])
describe('a thread with a malformed MessagePack row', () => {
  it.each<[string, Buffer]>([
    ['ends in the middle of a string', packed.subarray(0, -9)],
    ['declares more bytes than it has', Buffer.concat([Buffer.of(0xdb, 0x7f, 0xff, 0xff, 0xff), text])],
    ['is nested deeper than Python reads', Buffer.concat([Buffer.alloc(5_000, 0x91), packed])],
    ['has words in an unknown extension type', Buffer.concat([Buffer.of(0xc7, text.length, 99), text])],
    ['has bytes after its value', Buffer.concat([packed, packed])],
  ])('that %s waits for a decision, and no row of any thread changes', async (_, blob) => {
    const { project, conversation, first } = await talked(sentence)
    const untouched = await talked('Nothing of this has to do with anybody else in the house.')
    await write(conversation.id, blob)
    const before = await rowsOf(conversation.id)
    const others = await rowsOf(untouched.conversation.id)
    const response = await test.fetch('DELETE', first.path, { cookie: project.owner.cookie, body: {} })
    await drain(test, { mayFail: true })
    const { data } = (await test.fetch('GET', `/api/erasures/${response.json.auditId}`, await signedIn(test, 'admin')))
      .json
    const open = data.steps.filter(({ state }: { state: string }) => state !== 'done')
    expect(open).toEqual([
      expect.objectContaining({ holder: 'checkpoints.threads', fault: `conflict:${conversation.id}` }),
    ])
    expect(data.success).toBe(false)
    expect(await rowsOf(conversation.id)).toEqual(before)
    expect(await rowsOf(untouched.conversation.id)).toEqual(others)
  })

  it('that is nested a thousand levels deep is rewritten', async () => {
    const { project, conversation, first } = await talked(sentence)
    await write(conversation.id, Buffer.concat([Buffer.alloc(1_000, 0x91), packed]))
    await eraseWholeProject(test, first.path, project.owner)
    expect((await rowsOf(conversation.id)).filter((row) => row.includes('Musterfrau'))).toEqual([])
  })
})

const texts: [string, string][] = [
  ['a URL', 'https://app.example.org/patients/4711?name=erika-musterfrau&room=seventy&since=easter#illness'],
  ['code', 'const patient = await load({ id: 4711, "name": \'Erika\' })\n\tif (!patient?.isIll) return `none`'],
  ['emoji between words', 'Erika 🤒 told 👩‍👦 us 🏥 her 👍🏽 son 😷 is 🤧 very 🥵 ill 🛏️ since 🐣 Easter'],
  ['Chinese', '艾丽卡昨天告诉我们她的儿子从复活节开始就一直生病住在医院七十七号房间里没有人知道'],
  ['Thai', 'เอริกาบอกเราว่าลูกชายของเธอป่วยมาตั้งแต่เทศกาลอีสเตอร์และนอนอยู่ในห้องเจ็ดสิบเจ็ด'],
  ['Arabic', 'أخبرتنا إريكا أن ابنها مريض منذ عيد الفصح ويرقد في الغرفة سبعة وسبعين'],
]
describe('DELETE of a message', () => {
  it.each(sampled('unusual texts in LangGraph threads', texts, 2))(
    'of %s erases the message from every row, and keeps the other author’s text unchanged',
    async (_, content) => {
      const { project, conversation, first, other } = await talked(content)
      const thread = conversation.id
      const forms = [content, JSON.stringify(content).slice(1, -1)].map((one) => Buffer.from(one).toString('latin1'))
      const isIn = (row: string) => forms.some((form) => row.includes(form))
      expect((await rowsOf(thread)).filter(isIn).length).toBeGreaterThan(5)
      await eraseWholeProject(test, first.path, project.owner)
      expect((await rowsOf(thread)).filter(isIn)).toEqual([])
      const [state = []] = await messagesIn(thread)
      expect(state).toContainEqual([other.id, theirs])
      await approveTool(app, thread)
    },
  )

  // A tool's answer that contains only this word is not a run, so it remains.
  it('of one word erases the message by its id from every checkpoint', async () => {
    const { project, conversation, first, other } = await talked('Leukaemia')
    await eraseWholeProject(test, first.path, project.owner)
    for (const state of await messagesIn(conversation.id))
      for (const [id = '', content] of state) {
        expect(id).not.toBe(first.id)
        expect(content).not.toBe('Leukaemia')
      }
    const [state = []] = await messagesIn(conversation.id)
    expect(state).toContainEqual([other.id, theirs])
  })

  it('keeps the same text of another author unchanged, and the receipt lists it', async () => {
    const { project, conversation, first } = await talked(sentence)
    const same = await madeMessage(test, conversation, project.agent, { content: sentence })
    await approveTool(app, conversation.id)
    await writeMessage(app, conversation.id, same.id, sentence)
    const receiptId = await eraseWholeProject(test, first.path, project.owner)
    const [state = []] = await messagesIn(conversation.id)
    expect(state).toContainEqual([same.id, sentence])
    expect(state.map(([id]: [string]) => id)).not.toContain(first.id)
    const receipt = (await test.fetch('GET', `/v1/receipts/${receiptId}`)).json
    expect(receipt.remaining_mentions).toContainEqual(expect.objectContaining({ store: 'checkpoints' }))
  })
})
