import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import type { DataSource, ErasedWords } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import { operator } from '#lib/operator/operator.ts'
import type { CommitRow, PartIntent } from '#lib/stores/ledger/ledger.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { backupOf } from '#lib/testing/backup.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import { eraseFromRestoredStores } from './replay-report.ts'

/** The ledger is stored outside the data folder, as recommended to operators. */
let ledger: string
let before: TestApp
let restored: TestApp | undefined
beforeEach(async () => {
  ledger = mkdtempSync(join(tmpdir(), 'kp-ledger-'))
  before = await testApp({ KP_LEDGER_URL: ledger })
  restored = undefined
})
afterEach(async () => {
  await restored?.close()
  await before?.close()
  rmSync(ledger, { recursive: true, force: true })
})

const restore = async (): Promise<() => Promise<TestApp>> => {
  const backup = await backupOf({ ownerUrl: before.ownerUrl, env: before.app.env })
  return async () => {
    restored = await testApp({ KP_LEDGER_URL: ledger }, backup)
    return restored
  }
}
/** Runs `work` on the restored database without the ledger: with the ledger, requests are rejected until the replay. */
async function withoutLedger<T>(work: () => Promise<T>): Promise<T> {
  renameSync(ledger, `${ledger}-away`)
  try {
    return await work()
  } finally {
    rmSync(ledger, { recursive: true, force: true })
    renameSync(`${ledger}-away`, ledger)
  }
}
const replay = (app: TestApp) => operator(app.app).replayErasures()

interface TestSubject {
  person: Person
  agent: Issued
  unit: string
  subject: Subject
  email: string
}
const word = 'zanzibarology'
async function contribute(app: TestApp, { token }: { token: string }): Promise<string> {
  const { json } = await app.fetch('POST', '/v1/knowledge', {
    token,
    body: trace({ task: { objective: `Find out about ${word}` } }),
  })
  return json.data.id
}
async function somebody(app: TestApp): Promise<TestSubject> {
  const person = await signedIn(app)
  const agent = await issuedAgent(app, ['read', 'write'], { owner: person })
  const unit = await contribute(app, agent)
  const { email } = await app.db.prisma.account.findUniqueOrThrow({ where: { id: person.accountId } })
  return { person, agent, unit, email, subject: { account: person.accountId, agents: [] } }
}
const begin = (app: TestApp, subject: Subject) =>
  app.db.transaction((tx) =>
    app.app.subjectErasures.begin(tx, {
      requestId: null,
      subject,
      requestedBy: `user:${subject.account}`,
      reason: 'user_request',
      now: app.clock.now(),
    }),
  )
async function erased(app: TestApp, subject: Subject) {
  const begun = await begin(app, subject)
  await drain(app)
  return begun
}
const stateOf = async (app: TestApp, runId: string) => (await app.app.subjectErasures.run(runId))?.state
const hits = async (app: TestApp): Promise<number> => {
  const { token } = await issuedAgent(app, ['read'], { tier: 'enterprise' })
  return (await app.fetch('GET', `/v1/knowledge?q=${word}`, { token })).json.total
}
const isThere = async (app: TestApp, { person, agent, unit }: TestSubject) => [
  await app.db.prisma.account.count({ where: { id: person.accountId } }),
  await app.db.prisma.agent.count({ where: { id: agent.id } }),
  await app.db.prisma.unit.count({ where: { id: unit } }),
]
const nothing = { erased: 0, subjects: 0, reinstated: 0, damaged: 0, receipts: [], refused: [], unfinished: [] }

const receiptOf = async (app: TestApp, id: string) => (await app.fetch('GET', `/v1/receipts/${id}`)).json
const signedAgain = { reason: 'replay', signed_at: expect.any(String), jws: expect.any(String) }

describe('replay on a backup from before the erasure', () => {
  it('erases a restored person again, and restores the receipt, erased ids and suppression', async () => {
    const known = await somebody(before)
    const bystander = await somebody(before)
    const fromBackup = await restore()
    const { receiptId } = await erased(before, known.subject)
    const first = await receiptOf(before, receiptId)
    const app = await fromBackup()
    expect(await isThere(app, known)).toEqual([1, 1, 1])
    expect(await withoutLedger(() => hits(app))).toBe(2)

    const report = await replay(app)
    expect(report).toMatchObject({
      committed: 1,
      erased: 0,
      subjects: 1,
      reinstated: 1,
      damaged: 0,
      refused: [],
      unfinished: [],
    })
    expect([await isThere(app, known), await hits(app)]).toEqual([[0, 0, 0], 1])
    expect(await isThere(app, bystander)).toEqual([1, 1, 1])
    // The receipt that the person has is restored, and verifies.
    const receipt = (await app.fetch('GET', `/v1/receipts/${receiptId}`)).json
    expect(receipt).toMatchObject({ deleted_id: known.person.accountId, subject_kind: 'account' })
    expect(receipt.stores).toContainEqual(expect.objectContaining({ holder: 'knowledge.units', deleted: 1 }))
    expect(receipt).toEqual({ ...first, ...signedAgain })
    expect(await verifyReceipt(receipt, await app.app.signer.keys())).toHaveProperty('kid')
    expect((await app.fetch('GET', `/v1/receipts/${report.receipts[0]}`)).json.deleted_id).toBe(known.person.accountId)
    // The ids cannot be used again.
    expect(
      (await app.fetch('POST', '/v1/auth/register', { body: { agent_id: known.agent.id, scopes: ['read'] } })).json
        .code,
    ).toBe('id_in_use')
    expect(await app.db.prisma.erasedId.count({ where: { id: known.unit, wasPublic: true } })).toBe(1)
    const audited = await app.app.audit.query(
      { resource_type: 'account', resource_id: known.person.accountId },
      app.clock.now(),
    )
    expect(audited.map(({ agentId }) => agentId)).toContain('system:admin.replay')

    expect(await replay(app)).toMatchObject({ ...nothing, committed: 2 })
  })

  it('restores the receipt, erased ids and suppression when the backup does not contain the person', async () => {
    const fromBackup = await restore()
    const known = await somebody(before)
    const { receiptId } = await erased(before, known.subject)
    const app = await fromBackup()
    expect(await replay(app)).toMatchObject({ ...nothing, committed: 1, reinstated: 1, keys: 1 })
    expect((await app.fetch('GET', `/v1/receipts/${receiptId}`)).status).toBe(200)
    expect(
      (await app.fetch('POST', '/v1/auth/register', { body: { agent_id: known.agent.id, scopes: ['read'] } })).json
        .code,
    ).toBe('id_in_use')
    const writer = await issuedAgent(app, ['read', 'write'])
    const again = await app.fetch('POST', '/v1/knowledge', { token: writer.token, body: trace({ id: known.unit }) })
    expect([again.status, again.json.code]).toEqual([410, 'erased'])
    expect(await replay(app)).toMatchObject({ ...nothing, committed: 1 })
  })

  it('lists the id of an admin who made changes on the receipt that it signs again', async () => {
    const { person, subject } = await somebody(before)
    await before.db.prisma.account.update({ where: { id: person.accountId }, data: { role: 'admin' } })
    await passwordEntered(before, person)
    const changed = await before.fetch('PATCH', '/v1/settings', { ...person, body: { anonymous_reading: true } })
    expect(changed.status, changed.text).toBe(200)
    const fromBackup = await restore()
    const { receiptId } = await erased(before, subject)
    const app = await fromBackup()
    await replay(app)
    const { retained } = (await app.fetch('GET', `/v1/receipts/${receiptId}`)).json
    expect(retained.map(({ what }: { what: string }) => what)).toContain(receiptText('retained', 'adminActs'))
  })

  it('keeps a newer agent of the person, without an owner, and its units', async () => {
    const known = await somebody(before)
    const fromBackup = await restore()
    await erased(before, known.subject)
    const app = await fromBackup()
    app.clock.advance(60_000)
    const late = await issuedAgent(app, ['read', 'write'], { owner: known.person })
    const unit = await withoutLedger(() => contribute(app, late))
    expect(await replay(app)).toMatchObject({ subjects: 1, reinstated: 1 })
    expect(await isThere(app, known)).toEqual([0, 0, 0])
    expect(await app.db.prisma.agent.findUniqueOrThrow({ where: { id: late.id } })).toMatchObject({ ownerId: null })
    expect((await app.fetch('GET', `/v1/knowledge/${unit}`, { token: late.token })).status).toBe(200)
  })

  it('keeps an agent that was later registered under the id of an erased agent', async () => {
    const fromBackup = await restore()
    const known = await somebody(before)
    await erased(before, known.subject)
    const app = await fromBackup()
    app.clock.advance(60_000)
    const { token } = await withoutLedger(() => app.agent(['read', 'write'], { agent_id: known.agent.id }))
    const unit = await withoutLedger(() => contribute(app, { token }))
    expect(await replay(app)).toMatchObject({ ...nothing, committed: 1, reinstated: 1 })
    expect((await app.fetch('GET', `/v1/knowledge/${unit}`, { token })).status).toBe(200)
  })

  it('erases the agents of a person again whose erasure was written back into an older ledger', async () => {
    const known = await somebody(before)
    const later = await somebody(before)
    // The first erasure marks the folder as that of this installation.
    await erased(before, (await somebody(before)).subject)
    const older = mkdtempSync(join(tmpdir(), 'kp-older-ledger-'))
    cpSync(ledger, older, { recursive: true })
    const fromBackup = await restore()
    const { receiptId } = await erased(before, known.subject)
    const first = await receiptOf(before, receiptId)
    rmSync(ledger, { recursive: true })
    renameSync(older, ledger)
    const present = await testApp(
      { KP_LEDGER_URL: ledger },
      await backupOf({ ownerUrl: before.ownerUrl, env: before.app.env }),
    )
    expect(await present.app.writeMissingRows()).toBeGreaterThan(0)
    await present.close()
    const app = await fromBackup()
    await app.db.prisma.agent.update({ where: { id: later.agent.id }, data: { ownerId: known.person.accountId } })
    expect(await replay(app)).toMatchObject({ subjects: 1, reinstated: 1 })
    expect(await isThere(app, known)).toEqual([0, 0, 0])
    expect(await receiptOf(app, receiptId)).toEqual({ ...first, ...signedAgain })
    // The account owned this agent in the backup, but it was not erased with the account.
    expect(await app.db.prisma.agent.count({ where: { id: later.agent.id } })).toBe(1)
  })

  it('ignores intents without a commit', async () => {
    const known = await somebody(before)
    const fromBackup = await restore()
    const { runId } = await begin(before, known.subject)
    await before.app.subjectErasures.start(runId)
    expect(await stateOf(before, runId)).toBe('erasing')
    const app = await fromBackup()
    expect(await replay(app)).toMatchObject({ ...nothing, committed: 0 })
    expect(await isThere(app, known)).toEqual([1, 1, 1])
  })
})

it('replay keeps a person who registered again with the same address after the erasure', async () => {
  const known = await somebody(before)
  await erased(before, known.subject)
  before.clock.advance(60_000)
  const anew = await signedIn(before)
  await before.db.prisma.account.update({ where: { id: anew.accountId }, data: { email: known.email } })
  const agent = await issuedAgent(before, ['read', 'write'], { owner: anew })
  const unit = await contribute(before, agent)
  expect(await replay(before)).toMatchObject({ ...nothing, committed: 1 })
  expect(await isThere(before, { ...known, person: anew, agent, unit })).toEqual([1, 1, 1])
})

it('replay finishes an erasure that was running at the time of the backup, under its original receipt', async () => {
  const known = await somebody(before)
  const { runId, receiptId } = await begin(before, known.subject)
  await before.app.subjectErasures.start(runId)
  await before.app.subjectErasures.step(runId, 'knowledge.words')
  const fromBackup = await restore()
  await drain(before)
  const app = await fromBackup()
  expect(await replay(app)).toMatchObject({ subjects: 1, reinstated: 0, receipts: [receiptId] })
  expect([await isThere(app, known), await stateOf(app, runId)]).toEqual([[0, 0, 0], 'done'])
  expect((await app.fetch('GET', `/v1/receipts/${receiptId}`)).status).toBe(200)
})

describe('replay after the clock was set back', () => {
  it('erases records that seem newer than their erasure', async () => {
    const known = await somebody(before)
    const single = await somebody(before)
    const fromBackup = await restore()
    before.clock.advance(-3_600_000)
    await erased(before, known.subject)
    const { token } = single.agent
    expect((await before.fetch('DELETE', `/v1/knowledge/${single.unit}`, { token })).status).toBe(204)
    const app = await fromBackup()
    expect(await replay(app)).toMatchObject({ committed: 2, subjects: 1, erased: 1, unfinished: [] })
    expect([await isThere(app, known), await isThere(app, single)]).toEqual([
      [0, 0, 0],
      [1, 1, 0],
    ])
  })
})

describe('replay under a legal hold', () => {
  const hold = async (app: TestApp, target_id: string) => {
    const admin = await issuedAgent(app, ['admin', 'read', 'write'])
    const { json } = await app.fetch('POST', '/v1/holds', {
      token: admin.token,
      body: { kind: 'unit', target_id, reason: 'a court asked for it' },
    })
    const id: string = json.data.id
    return id
  }

  it('keeps held records on each replay when the backup contains the hold', async () => {
    const known = await somebody(before)
    const other = await contribute(before, known.agent)
    await hold(before, other)
    const fromBackup = await restore()
    const { receiptId } = await erased(before, known.subject)
    const first = await receiptOf(before, receiptId)
    expect(first.held).toBeGreaterThan(0)
    const app = await fromBackup()
    expect(await replay(app)).toMatchObject({ subjects: 1, reinstated: 1 })
    expect(await receiptOf(app, receiptId)).toEqual({ ...first, ...signedAgain })
    expect(await isThere(app, known)).toEqual([0, 1, 0])
    expect(await app.db.prisma.unit.count({ where: { id: other } })).toBe(1)
    expect(await app.db.prisma.erasedId.count({ where: { id: other } })).toBe(0)
    const runs = await app.db.prisma.erasureRun.count()
    expect(await replay(app)).toMatchObject({ subjects: 0, reinstated: 0 })
    expect(await app.db.prisma.erasureRun.count()).toBe(runs)
  })

  it('says on a receipt of which the ledger has only counts that its other statements are not known', async () => {
    const known = await somebody(before)
    const id = await hold(before, await contribute(before, known.agent))
    const fromBackup = await restore()
    const { receiptId } = await erased(before, known.subject)
    await before.app.ledger.forgetItems(new Date(before.clock.now().getTime() + 400 * 86_400_000))
    const app = await fromBackup()
    expect(await replay(app)).toMatchObject({ subjects: 1, reinstated: 1 })
    const receipt = await receiptOf(app, receiptId)
    const what = (lines: { what: string }[]) => lines.map((line) => line.what)
    expect(what(receipt.retained)).toContain(receiptText('retained', 'heldUncounted', { hold: id }))
    expect(what(receipt.not_searched)).toContain(receiptText('notSearched', 'firstReceipt'))
    expect(await verifyReceipt(receipt, await app.app.signer.keys())).toHaveProperty('kid')
  })

  it('refuses to erase the person again when the backup lacks the hold', async () => {
    const known = await somebody(before)
    const fromBackup = await restore()
    const id = await hold(before, known.unit)
    const { receiptId } = await erased(before, known.subject)
    const app = await fromBackup()
    expect(await replay(app)).toMatchObject({
      ...nothing,
      committed: 1,
      refused: [{ receipt: receiptId, holds: [id] }],
    })
    expect(await isThere(app, known)).toEqual([1, 1, 1])
  })
})

describe('the search of restored stores', () => {
  /** A store of its own kind: it remembers with which projects its items were erased. */
  function storeWith(left: Set<string>) {
    const erased = new Map<string, readonly string[]>()
    const source: DataSource = {
      name: 'test.store',
      store: 'test',
      isShared: true,
      stage: 'derived',
      what: 'records of a test',
      purpose: 'a test',
      kept: 'until its end',
      tables: [],
      inventory: async () => ({ count: 0, since: null, until: null }),
      plan: async () => ({ items: [], held: {} }),
      erase: async (_scope, items, _tx, options) => {
        for (const item of items) if (left.delete(item)) erased.set(item, options?.projects ?? [])
        return 0
      },
      residue: async (_scope, items) => items.filter((item) => left.has(item)).length,
      projectsIn: (items) => items.flatMap((item) => (item.startsWith('within:') ? [item.slice(7)] : [])),
    }
    return { source, erased }
  }
  const noWords: ErasedWords = { isEmpty: true, runsIn: () => [], namesIn: () => [] }

  it.each([
    ['in an earlier search', 0],
    ['in a later row', 1],
  ])('erases with all projects of an erasure that its rows name, also %s', async (_, named) => {
    const { ledger: rows, db, now } = { ...before.app, now: before.clock.now }
    const id = newId('rcpt')
    const at = now().toISOString()
    const scope = { part: { kind: 'project' as const, id: newId('prj'), project: newId('prj'), conversation: null } }
    const intent: PartIntent = { kind: 'intent', id, at, scope, heldBy: [] }
    const commit: CommitRow = { kind: 'commit', id, at }
    const many = ['within:prj_other', ...Array.from({ length: 2_000 }, (_, n) => `gone-${n}`)]
    const items = named === 0 ? [many, ['left']] : [['left'], many]
    await rows.append(intent)
    for (const page of items) await rows.append({ kind: 'items', id, holder: 'test.store', items: page })
    await rows.append(commit)
    const { source, erased } = storeWith(new Set(['left']))
    const found = await eraseFromRestoredStores(
      {
        db,
        ledger: rows,
        dataSources: [source],
        words: { read: () => noWords },
        audit: before.app.pipeline.auditWithin,
        now,
        isHeld: async () => false,
      },
      new Map([[id, { intent, commit, itemsRows: items.length }]]),
    )
    expect(found.unsearched).toEqual([])
    expect([...erased]).toEqual([['left', ['prj_other']]])
  })
})
