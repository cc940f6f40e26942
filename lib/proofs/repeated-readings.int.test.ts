// Complete readings repeat over the fingerprints of former erasures: they erase what came back, leave what others write anew, and sign an
// attestation.
import { HumanMessage } from '@langchain/core/messages'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { attestationType } from '#lib/domains/erasure/receipts/receipt-rules.ts'
import { verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { TestApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  type ConnectedTest,
  connectedTest,
  writeThread,
} from '#lib/testing/connected-stores.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  eraseWholeProject,
  type MadeConversation,
  type MadeProject,
  madeConversation,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { sampledRuns } from '#lib/testing/sampling.ts'

const day = 86_400_000
let texts = 0
/** Sixteen words, of which no other text of the tests that share the graph contains six in a row. */
const sentence = (): string => {
  const n = `r${++texts}`
  return `I have suffered${n} from cobalt${n} fever${n} since the house${n} in Rhabarberstrasse burned${n} down last${n} winter${n} with everything${n}.`
}
/** Seven words: two runs, fewer than a copy has. */
const remark = (): string => {
  const n = ++texts
  return `Nobody${n} told${n} the neighbors${n} about that diagnosis${n}`
}
const boilerplate =
  'This message and its attachments are confidential and intended only for the people to whom it is addressed, so please delete it if you received it in error.'

/** Messages of the project's owner, faster than the limits of the API allow. */
async function insertedMessages(
  { db, clock }: TestApp,
  { project, conversation, messages }: { project: MadeProject; conversation: MadeConversation; messages: string[] },
): Promise<void> {
  const now = clock.now()
  await db.prisma.message.createMany({
    data: messages.map((content) => ({
      id: newId('msg'),
      projectId: project.id,
      conversationId: conversation.id,
      role: 'user',
      authorKind: 'account',
      authorId: project.owner.accountId,
      content,
      createdAt: now,
      updatedAt: now,
    })),
  })
}

describe.skipIf(!(await areStoresInstalled()))('a repeated complete reading', () => {
  let connected: ConnectedTest
  let stores: ConnectedStores
  let test: TestApp
  let driver: ConnectedTest['driver']
  let redis: ConnectedTest['redis']
  let admin: Person
  beforeAll(async () => {
    connected = await connectedTest({ KP_POINTER_PREFIXES: 'app:answers:,uploads/', KP_SWEEP_DAYS: '7' })
    ;({ stores, test, driver, redis } = connected)
    admin = await signedIn(test, 'admin')
  })
  afterAll(() => connected?.close())

  const read = () => test.app.completeReadings.read({ rests: false })
  const readings = async (receiptId: string) =>
    (await test.fetch('GET', `/v1/receipts/${receiptId}/readings`)).json.data
  const newest = async () => {
    const [reading] = await dataOf(test, 'GET', '/api/readings?limit=1', admin)
    return reading
  }
  const places = (receiptId: string) => dataOf(test, 'GET', `/api/readings/places?receipt_id=${receiptId}`, admin)

  /** Erases a message that nobody reported, and reads every store completely. */
  async function erased(content: string) {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const message = await madeMessage(test, conversation, project.owner, { content })
    const receiptId = await eraseWholeProject(test, message.path, project.owner)
    expect((await readings(receiptId)).state).toBe('waiting')
    expect(await read()).toBe('completed')
    expect((await readings(receiptId)).state).toBe('done')
    return { project, receiptId }
  }
  /** Moves the clock to the next repetition. Sessions end meanwhile. */
  async function aWeekLater() {
    test.clock.advance(8 * day)
    admin = await signedIn(test, 'admin')
  }
  const key = () => `app:answers:${crypto.randomUUID()}`
  const writeText = (thread: string, text: string, at: Date) => {
    const messages = [new HumanMessage(text)]
    return writeThread(stores.saver, thread, { messages }, { at, writes: [['messages', messages]] })
  }
  const writeEpisode = (group: string, text: string, at: Date) =>
    driver.executeQuery(
      `CREATE (:Episodic {uuid: randomUUID(), group_id: $group, name: 'chat', source: 'message', source_description: 'chat',
         content: $text, entity_edges: [], created_at: datetime($at), valid_at: datetime($at)})`,
      { group, text, at: at.toISOString() },
    )
  const graphOf = async (group: string): Promise<string> => {
    const { records } = await driver.executeQuery('MATCH (n {group_id: $group}) RETURN properties(n) AS p', { group })
    return records.map((record) => JSON.stringify(record.get('p'))).join('\n')
  }
  const everything = async (): Promise<string> => [...(await stores.everything()).values()].join('\n')

  it('erases copies that came back and signs an attestation, when a week has passed', async () => {
    const text = sentence()
    const { receiptId } = await erased(text)
    const [name, object, group] = [key(), `uploads/${crypto.randomUUID()}.txt`, `company-${crypto.randomUUID()}`]
    await redis.rPush(name, [text])
    await stores.putObject(object, text)
    await writeText(crypto.randomUUID(), text, new Date())
    await writeEpisode(group, text, new Date())
    expect(await read()).toBe('idle')

    await aWeekLater()
    expect(await read()).toBe('completed')
    expect(await everything()).not.toContain(text.slice(0, 40))
    const state = await readings(receiptId)
    expect(state.newest).toMatchObject({ left: 0, explained: 0 })
    expect(state.newest.erased).toBeGreaterThanOrEqual(4)
    const { attestation } = state.newest
    const { keys } = (await test.fetch('GET', '/.well-known/jwks.json')).json
    expect(await verifyReceipt(attestation, keys, attestationType)).toHaveProperty('kid')
    expect(await verifyReceipt({ ...attestation, erasures_found: 0 }, keys, attestationType)).toHaveProperty('fault')
    expect(JSON.stringify(attestation)).not.toContain(receiptId)
    expect(attestation).toMatchObject({ is_repeated: true, erasures_found: 1 })
    expect(attestation.stores.map(({ holder }: { holder: string }) => holder)).toEqual([
      'cache.entries',
      'checkpoints.messages',
      'graph.episodes',
      'holds.versions',
      'objects.bytes',
      'projects.quotations',
    ])
    for (const { holder, erased: count } of attestation.stores)
      if (holder === 'holds.versions' || holder === 'projects.quotations') expect(count).toBe(0)
      else expect(count).toBeGreaterThan(0)
    // The statement of the first reading stays as it was signed.
    const { json } = await test.fetch('GET', `/v1/receipts/${receiptId}`)
    expect(json.complete_reading.stores.every(({ erased: count }: { erased: number }) => count === 0)).toBe(true)
    expect(await newest()).toMatchObject({ is_repeated: true, erasures_found: 1, attestation })
  })

  it('erases short texts that are older than the erasure, and lists those that are newer or have no time', async () => {
    const text = remark()
    const [old, late] = [new Date(test.clock.now().getTime() - 2 * day), crypto.randomUUID()]
    const { receiptId } = await erased(text)
    const [restored, group, name] = [crypto.randomUUID(), `company-${crypto.randomUUID()}`, key()]
    await writeText(restored, text, old)
    await writeEpisode(group, text, old)
    await redis.set(name, `${text} indeed`)
    await aWeekLater()
    await writeText(late, `Yesterday: ${text}, they say`, test.clock.now())
    expect(await read()).toBe('completed')
    expect(await graphOf(group)).not.toContain(text)
    const rest = await everything()
    expect(rest).toContain(`${text} indeed`)
    expect(rest).toContain(`Yesterday: ${text}`)
    const listed: { id: string; holder: string; reason: string; place: string }[] = await places(receiptId)
    expect(listed.map(({ holder, reason }) => `${holder} ${reason}`).sort()).toEqual([
      'cache.entries undated',
      'checkpoints.messages newer',
    ])
    expect(listed.some(({ place }) => place === `thread:${late}`)).toBe(true)
    // A thread counts once for each table that contains the words: here in the values of channels and in pending writes.
    expect((await readings(receiptId)).newest.left).toBe(3)

    // An admin decides: one is erased by the next reading, the other one stays.
    for (const { id, holder } of listed) {
      const decision = holder === 'cache.entries' ? 'erase' : 'keep'
      await dataOf(test, 'POST', `/api/readings/places/${id}`, admin, { body: { decision } })
    }
    await aWeekLater()
    expect(await read()).toBe('completed')
    expect(await redis.get(name)).toBeNull()
    expect(await everything()).toContain(`Yesterday: ${text}`)
    expect(await places(receiptId)).toMatchObject([{ place: `thread:${late}`, decision: 'keep' }])
  })

  it('does not repeat, and states nothing new, when the ledger no longer has the fingerprints', async () => {
    const text = sentence()
    const { receiptId } = await erased(text)
    const { newest: first } = await readings(receiptId)
    await test.app.ledger.forgetItems(new Date(test.clock.now().getTime() + 400 * day))
    const name = key()
    await redis.rPush(name, [text])
    await aWeekLater()
    expect(await read()).toBe('idle')
    expect((await readings(receiptId)).newest).toEqual(first)
    await redis.del(name)
  })

  it('erases no item of others and finds every planted return, a month after the erasures', async () => {
    const erasures: { shared: string; secret: string }[] = []
    for (let n = 0; n < 3; n++) {
      const [shared, secret] = [sentence(), sentence()]
      await erased(`${shared} ${secret} ${boilerplate}`)
      erasures.push({ shared, secret })
    }
    test.clock.advance(30 * day)
    admin = await signedIn(test, 'admin')
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const group = `company-${crypto.randomUUID()}`
    const theirs: (() => Promise<void>)[] = []
    const count = sampledRuns('new messages of others', 10_000, 30)
    const messages: string[] = []
    for (let n = 0; n < count; n++) {
      const { shared, secret } = erasures[n % erasures.length] ?? { shared: '', secret: '' }
      const own = `Item ${n}: ${sentence()}`
      // Boilerplate, the same sentence typed by another person, a name, and a part of a sentence.
      const content = [`${own} ${boilerplate}`, `${own} ${shared}`, `${own} Test person called.`, own][n % 4] ?? own
      messages.push(content)
      const kind = n % 5
      if (kind === 0) {
        const name = key()
        await redis.set(name, content)
        theirs.push(async () => expect(await redis.get(name)).toBe(content))
      } else if (kind === 1) {
        const object = `uploads/${crypto.randomUUID()}.txt`
        await stores.putObject(object, content)
      } else if (kind === 2) await writeText(crypto.randomUUID(), content, test.clock.now())
      else if (kind === 3) await writeEpisode(group, content, test.clock.now())
      else {
        // Nobody registered this text, and it shares eleven words with an erased one.
        const name = key()
        const words = `${own} ${secret.split(' ').slice(0, 11).join(' ')}`
        await redis.set(name, words)
        theirs.push(async () => expect(await redis.get(name)).toBe(words))
      }
    }
    await insertedMessages(test, { project, conversation, messages })
    const before = await everything()
    const returned: string[] = []
    for (const { secret } of erasures) {
      const own = `Planted ${sentence()}`
      returned.push(own)
      await redis.rPush(key(), [own, secret])
      await stores.putObject(`uploads/${crypto.randomUUID()}.txt`, `${own}\n${secret}`)
      await writeText(crypto.randomUUID(), `${own} ${secret}`, new Date())
      await writeEpisode(group, secret, new Date())
    }
    expect(await read()).toBe('completed')
    const after = await everything()
    for (const check of theirs) await check()
    const remaining = new Set(after.split('\n'))
    const lost = before.split('\n').filter((line) => /Item \d+:/.test(line) && !remaining.has(line))
    expect(lost).toEqual([])
    for (const { secret } of erasures) expect(after).not.toContain(secret.split(' ').slice(0, 12).join(' '))
    for (const own of returned) expect(after).toContain(own)
  }, 3_600_000)
})
