// Complete readings over real stores: words in places that nobody reported are erased, and the receipt gets a second signed statement.
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readingType } from '#lib/domains/erasure/receipts/receipt-rules.ts'
import { verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { writeThread } from '#lib/testing/connected-stores.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import {
  eraseWholeProject,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'

const hour = 3_600_000
let sentences = 0
/** A sentence of words that no other sentence of this file contains. */
const sentence = (): string => {
  const n = ++sentences
  return `I have suffered${n} from cobalt${n} fever${n} since the house${n} in Rhabarberstrasse burned${n} down.`
}

class Crash extends Error {}
let crashAt: string | undefined
let test: TestApp
let threads: TestDatabase
let saver: PostgresSaver
beforeAll(async () => {
  threads = await testDatabase()
  saver = PostgresSaver.fromConnString(threads.ownerUrl)
  await saver.setup()
  test = await testApp({ KP_CHECKPOINTS_URL: threads.ownerUrl }, undefined, {
    interrupt(point) {
      if (point !== crashAt) return
      crashAt = undefined
      throw new Crash(point)
    },
  })
})
afterAll(async () => {
  await test?.close()
  await saver?.end()
  await threads?.drop()
})

/** Writes messages to a thread with the JavaScript library. Messages without ids get none, as in an application that sets none. */
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
const receiptOf = async (id: string) => (await test.fetch('GET', `/v1/receipts/${id}`)).json
const lineOf = (receipt: Awaited<ReturnType<typeof receiptOf>>, dataSource: string) =>
  receipt.complete_reading.stores.find((one: { holder: string }) => one.holder === dataSource)
const read = () => test.app.completeReadings.read({ rests: false })

interface Said {
  project: MadeProject
  conversation: Awaited<ReturnType<typeof madeConversation>>
  text: string
  path: string
}
async function say(project?: MadeProject): Promise<Said> {
  const own = project ?? (await madeProject(test))
  const conversation = await madeConversation(test, own)
  const text = sentence()
  const message = await madeMessage(test, conversation, own.owner, { content: text })
  return { project: own, conversation, text, path: message.path }
}
const erase = ({ path, project }: Said) => eraseWholeProject(test, path, project.owner)

describe('a complete reading of checkpoints', () => {
  it.each([
    ['a suffix to the id of the conversation', ({ conversation }: Said) => `${conversation.id}:researcher`],
    ['a name with the id of the project', ({ project }: Said) => `support/${project.id}/1`],
    ['a UUID', () => crypto.randomUUID()],
  ])('erases messages without ids in a thread that the application named with %s', async (_, nameOf) => {
    const said = await say()
    const thread = nameOf(said)
    const others = sentence()
    const receiptId = await erase(said)
    // A late write: the erasure itself searches the threads that exist.
    await write(thread, [
      new HumanMessage(said.text),
      new AIMessage(`You said: ${said.text}`),
      new HumanMessage(others),
    ])
    expect((await receiptOf(receiptId)).complete_reading).toBeUndefined()
    expect(await dumpOf(thread)).toContain('Rhabarberstrasse burned')

    expect(await read()).toBe('completed')
    const [dump, receipt] = [await dumpOf(thread), await receiptOf(receiptId)]
    expect(dump).not.toContain(said.text.slice(0, 40))
    expect(dump).toContain(others)
    const line = lineOf(receipt, 'checkpoints.messages')
    expect(line).toMatchObject({ left: 0, explained: 0 })
    expect(line.erased).toBeGreaterThan(0)
    expect(line.found).toBe(line.erased)
  })

  it('signs a second statement that verifies apart from the receipt', async () => {
    const said = await say()
    const receiptId = await erase(said)
    const before = await receiptOf(receiptId)
    await read()
    const receipt = await receiptOf(receiptId)
    const { keys } = (await test.fetch('GET', '/.well-known/jwks.json')).json
    expect(receipt.jws).toBe(before.jws)
    expect(await verifyReceipt(receipt, keys)).toHaveProperty('kid')
    expect(await verifyReceipt(receipt.complete_reading, keys, readingType)).toHaveProperty('kid')
    // A statement never passes as a receipt.
    expect(await verifyReceipt(receipt.complete_reading, keys)).toHaveProperty('fault')
    const changed = { ...receipt.complete_reading, stores: [] }
    expect(await verifyReceipt(changed, keys, readingType)).toHaveProperty('fault')
    expect(receipt.complete_reading.receipt_id).toBe(receiptId)
  })

  it('leaves a run that two remaining statements of persons contain only together, and does not count it as left', async () => {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const [first, second] = [sentence(), sentence()]
    const message = await madeMessage(test, conversation, project.owner, { content: `${first} ${second}` })
    for (const content of [first, second])
      await madeMessage(test, conversation, await madeMember(test, project), { content })
    const receiptId = await eraseWholeProject(test, message.path, project.owner)
    const thread = crypto.randomUUID()
    await write(thread, [new AIMessage(`${first} ${second}`)])
    expect(await read()).toBe('completed')
    expect(await dumpOf(thread)).toContain(`${first} ${second}`)
    const line = lineOf(await receiptOf(receiptId), 'checkpoints.messages')
    expect(line).toMatchObject({ left: 0, erased: 0 })
    expect(line.explained).toBeGreaterThan(0)
  })

  it('leaves words that a living author of another project also wrote', async () => {
    const [said, other] = [await say(), await madeProject(test)]
    const conversation = await madeConversation(test, other)
    await madeMessage(test, conversation, other.owner, { content: said.text })
    const thread = crypto.randomUUID()
    await write(thread, [new HumanMessage(said.text)])
    const receiptId = await erase(said)
    await read()
    expect(await dumpOf(thread)).toContain(said.text)
    expect(lineOf(await receiptOf(receiptId), 'checkpoints.messages')).toMatchObject({ erased: 0, left: 0 })
    expect(lineOf(await receiptOf(receiptId), 'checkpoints.messages').explained).toBeGreaterThan(0)
  })

  it('leaves the email address of an erased person in the words of a living author', async () => {
    const [said, other] = [await say(), await madeProject(test)]
    // An organization ends with its last member, and claims nothing afterwards.
    await madeMember(test, said.project)
    const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: said.project.owner.accountId } })
    const request = `Please send the minutes to ${email} before the meeting.`
    await madeMessage(test, await madeConversation(test, other), other.owner, { content: request })
    const [theirs, nobodys] = [crypto.randomUUID(), crypto.randomUUID()]
    await write(theirs, [new HumanMessage(request)])
    const { runId, receiptId } = await test.db.transaction((tx) =>
      test.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: said.project.owner.accountId, agents: [] },
        requestedBy: `user:${said.project.owner.accountId}`,
        reason: 'user_request',
        now: test.clock.now(),
      }),
    )
    await drain(test)
    expect((await test.app.subjectErasures.run(runId))?.state).toBe('done')
    await write(nobodys, [new AIMessage(said.text)])
    await read()
    expect(await dumpOf(theirs)).toContain(email)
    expect(await dumpOf(nobodys)).not.toContain(said.text.slice(0, 40))
    const line = lineOf(await receiptOf(receiptId), 'checkpoints.messages')
    expect(line.left).toBe(0)
    expect(line.explained).toBeGreaterThan(0)
  })

  it.each(['read.page', 'read.noted', 'read.checkpoints.messages.inside', 'read.advanced'])(
    'continues at the same page after a crash at %s',
    async (point) => {
      const said = await say()
      const thread = crypto.randomUUID()
      const receiptId = await erase(said)
      await write(thread, [new HumanMessage(said.text)])
      crashAt = point
      await read().catch((error: unknown) => {
        if (!(error instanceof Crash)) throw error
      })
      expect(crashAt).toBeUndefined()
      for (let state = await read(); state !== 'completed'; state = await read()) expect(state).toBe('waiting')
      expect(await dumpOf(thread)).not.toContain(said.text.slice(0, 40))
      const { erased, left } = lineOf(await receiptOf(receiptId), 'checkpoints.messages')
      expect(erased).toBeGreaterThan(0)
      expect(left).toBe(0)
      expect(await test.db.prisma.readingPage.count()).toBe(0)
    },
  )

  it('keeps the words of an erasure until every store was read for it', async () => {
    const said = await say()
    await erase(said)
    const words = () => test.db.prisma.erasedWords.count()
    test.clock.advance(25 * hour)
    await test.app.subjectErasures.recheckAll()
    expect(await words()).toBeGreaterThan(0)
  })
})
