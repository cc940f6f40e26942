// A restored database gets back what its lost erasures had from the ledger: their receipts, their second statements, and their place in the
// complete readings.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readingType } from '#lib/domains/erasure/receipts/receipt-rules.ts'
import { verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import { operator } from '#lib/operator/operator.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { backupOf } from '#lib/testing/backup.ts'
import { areStoresInstalled, type ConnectedTest, connectedTest } from '#lib/testing/connected-stores.ts'
import { signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  eraseWholeProject,
  type MadeConversation,
  type MadeProject,
  madeConversation,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'

const day = 86_400_000
let texts = 0
/** Sixteen words, of which no other text contains six in a row. */
const sentence = (): string => {
  const n = `p${++texts}`
  return `I have suffered${n} from cobalt${n} fever${n} since the house${n} in Rhabarberstrasse burned${n} down last${n} winter${n} with everything${n}.`
}
/** Seven words: fewer than a copy has. */
const remark = (): string => {
  const n = ++texts
  return `Nobody${n} told${n} the neighbors${n} about that diagnosis${n}`
}
const key = () => `app:answers:${crypto.randomUUID()}`

describe.skipIf(!(await areStoresInstalled()))('readings after a restore', () => {
  let connected: ConnectedTest
  let redis: ConnectedTest['redis']
  let ledger: string
  let settings: Record<string, string>
  /** Started on a backup from before the erasures, and replayed. */
  let restored: TestApp
  let project: MadeProject
  let conversation: MadeConversation
  /** One erasure with a second statement, and one that waited for it. */
  let [read, unread] = [
    { receiptId: '', text: '', first: {} as Record<string, unknown> },
    { receiptId: '', text: '' },
  ]
  /** The erasure of a sentence of which only seven words matter. */
  let short = { receiptId: '', text: '' }

  beforeAll(async () => {
    ledger = mkdtempSync(join(tmpdir(), 'kp-ledger-'))
    settings = { KP_LEDGER_URL: ledger, KP_POINTER_PREFIXES: 'app:answers:', KP_SWEEP_DAYS: '7' }
    connected = await connectedTest(settings)
    redis = connected.redis
    const { test, stores } = connected
    project = await madeProject(test)
    conversation = await madeConversation(test, project)
    const backup = await backupOf({ ownerUrl: test.ownerUrl, env: test.app.env })
    async function erased(text: string) {
      const message = await madeMessage(test, conversation, project.owner, { content: text })
      return { receiptId: await eraseWholeProject(test, message.path, project.owner), text }
    }
    const of = await erased(sentence())
    expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
    read = { ...of, first: (await test.fetch('GET', `/v1/receipts/${of.receiptId}`)).json }
    unread = await erased(sentence())
    short = await erased(remark())
    restored = await testApp({ ...stores.settings, ...settings }, backup)
    expect(await operator(restored.app).replayErasures()).toMatchObject({ reinstated: 3, unsearched: [] })
  })
  afterAll(async () => {
    await restored?.close()
    await connected?.close()
    rmSync(ledger, { recursive: true, force: true })
  })
  const readings = async (receiptId: string) =>
    (await restored.fetch('GET', `/v1/receipts/${receiptId}/readings`)).json.data
  const receipt = async (receiptId: string) => (await restored.fetch('GET', `/v1/receipts/${receiptId}`)).json
  const readAgain = () => restored.app.completeReadings.read({ rests: false })

  it('returns the second statement with the receipt, signed again, and says nothing more', async () => {
    const { complete_reading: again, ...first } = await receipt(read.receiptId)
    const { complete_reading: before, ...signed } = read.first
    const resigned = { signed_at: expect.any(String), jws: expect.any(String) }
    expect(first).toEqual({ ...signed, reason: 'replay', ...resigned })
    expect(again).toEqual({ ...(before as object), ...resigned })
    expect(await verifyReceipt(again, await restored.app.signer.keys(), readingType)).toHaveProperty('kid')
    expect((await readings(read.receiptId)).state).toBe('done')
    expect((await receipt(unread.receiptId)).complete_reading).toBeUndefined()
    expect((await readings(unread.receiptId)).state).toBe('waiting')
  })

  it('reads for an erasure without a second statement, and lists what others may have written since', async () => {
    const [name, later] = [key(), key()]
    await redis.rPush(name, [unread.text])
    await redis.set(later, `${short.text} indeed`)
    // The assistant wrote after the erased text, as the ledger says: its quotation does not explain the words.
    await madeMessage(restored, conversation, project.owner, { role: 'assistant', content: `You said: ${unread.text}` })
    expect(await readAgain()).toBe('completed')
    expect(await redis.exists(name)).toBe(0)
    expect(await redis.get(later)).toContain(short.text)
    const second = (await receipt(unread.receiptId)).complete_reading
    expect(await verifyReceipt(second, await restored.app.signer.keys(), readingType)).toHaveProperty('kid')
    const ofCache = (statement: { stores: { holder: string }[] }) =>
      statement.stores.find(({ holder }) => holder === 'cache.entries')
    expect(ofCache(second)).toMatchObject({ erased: 1, left: 0 })
    expect(ofCache((await receipt(short.receiptId)).complete_reading)).toMatchObject({ erased: 0, left: 1 })
    const admin = await signedIn(restored, 'admin')
    expect(await dataOf(restored, 'GET', `/api/readings/places?receipt_id=${short.receiptId}`, admin)).toMatchObject([
      { holder: 'cache.entries', reason: 'undated' },
    ])
  })

  it('erases in the next repetition what came back of an erasure that only the ledger had', async () => {
    const name = key()
    await redis.rPush(name, [read.text])
    restored.clock.advance(8 * day)
    expect(await readAgain()).toBe('completed')
    expect(await redis.exists(name)).toBe(0)
    expect((await readings(read.receiptId)).newest).toMatchObject({ erased: 1, left: 0, attestation: { erasures: 3 } })
  })

  it('also repeats for a receipt that an earlier version reinstated without its run', async () => {
    await restored.db.prisma.erasureRun.deleteMany({ where: { receiptId: read.receiptId } })
    const name = key()
    await redis.rPush(name, [read.text])
    restored.clock.advance(8 * day)
    expect(await readAgain()).toBe('completed')
    expect(await redis.exists(name)).toBe(0)
    expect((await readings(read.receiptId)).newest).toMatchObject({ erased: 1, left: 0 })
  })
})
