import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import { legalHoldCountsIn } from '#lib/domains/erasure/rules.ts'
import { erasurePageSize } from '#lib/domains/erasure/runs/run-rules.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { blockedBy } from '#lib/testing/blocked.ts'
import { drain } from '#lib/testing/jobs.ts'
import { createNotes, type NotesControl, noteDataSource, notesOf, writeNotes } from '#lib/testing/notes.ts'
import { type Issued, issuedAgent, type Person, releaseInPerson, signedIn } from '#lib/testing/people.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { trace } from '#lib/testing/units.ts'

let test: TestApp
const control: NotesControl = { erased: [] }
let crashAt: string | undefined
class Crash extends Error {}
const interrupt = (point: string) => {
  if (point === crashAt) {
    crashAt = undefined
    throw new Crash(point)
  }
}
beforeAll(async () => {
  test = await testApp({}, undefined, { interrupt, moreDataSources: (db) => [noteDataSource(control)(db)] })
  await createNotes(test.ownerUrl)
})
afterAll(() => test?.close())
beforeEach(() => {
  control.beforeErase = undefined
  control.forgets = new Set()
  control.erased = []
  crashAt = undefined
})

interface TestSubject {
  person: Person
  agents: Issued[]
  subject: Subject
  units: string[]
}
const contribute = async ({ token }: Issued, unit: unknown = trace()): Promise<string> => {
  const { json, status, text } = await test.fetch('POST', '/v1/knowledge', { token, body: unit })
  if (status !== 201) throw new Error(`${status} ${text}`)
  return json.data.id
}
/** Creates a person with agents, units and notes. */
async function somebody({ agents: count = 2, units: each = 2, notes = 3 } = {}): Promise<TestSubject> {
  const person = await signedIn(test)
  const agents: Issued[] = []
  const units: string[] = []
  for (let n = 0; n < count; n++) {
    const agent = await issuedAgent(test, ['read', 'write'], { owner: person, tier: 'enterprise' })
    agents.push(agent)
    for (let k = 0; k < each; k++) units.push(await contribute(agent))
    await writeNotes(test.db, agent.id, notes)
  }
  return { person, agents, units, subject: { account: person.accountId, agents: [] } }
}
const engine = () => test.app.subjectErasures
const begin = (subject: Subject) =>
  test.db.transaction((tx) =>
    engine().begin(tx, {
      requestId: null,
      subject,
      requestedBy: `user:${subject.account}`,
      reason: 'user_request',
      now: test.clock.now(),
    }),
  )
const view = async (runId: string) => {
  const run = await engine().run(runId)
  if (!run) throw new Error('no run')
  return run
}
const stepOf = async (runId: string, dataSource: string) => {
  const step = (await view(runId)).steps.find((one) => one.holder === dataSource)
  if (!step) throw new Error(`no step ${dataSource}`)
  return step
}
const erasedBy = async (runId: string) =>
  Object.fromEntries((await view(runId)).steps.filter(({ planned }) => planned > 0).map((s) => [s.holder, s.erased]))
const receiptOf = async (id: string) => (await test.fetch('GET', `/v1/receipts/${id}`)).json
const hold = async (kind: string, target_id: string, more = {}) => {
  const admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
  const { json, text, status } = await test.fetch('POST', '/v1/holds', {
    token: admin.token,
    body: { kind, target_id, reason: 'a court asked for it', ...more },
  })
  if (status !== 201) throw new Error(text)
  const id: string = json.data.id
  return { id, release: () => releaseInPerson(test, id) }
}
const isStored = async (unit: string) => (await test.db.prisma.unit.count({ where: { id: unit } })) > 0

/** Executes the other steps until these are due, which is when no other step gets on. */
async function executeOthers(runId: string, left: readonly string[]): Promise<void> {
  for (let before = ''; ; ) {
    const { steps } = await view(runId)
    const now = JSON.stringify(steps.map(({ holder, state, erased }) => [holder, state, erased]))
    if (now === before) return
    before = now
    for (const { holder, state } of steps)
      if (!left.includes(holder) && state !== 'done') await engine().step(runId, holder)
  }
}

describe('an erasure run', () => {
  it('erases a person with their agents in all data sources and signs a receipt that verifies', async () => {
    const { person, agents, units, subject } = await somebody()
    const bystander = await somebody({ agents: 1, units: 1 })
    const { runId, receiptId } = await begin(subject)
    expect((await view(runId)).state).toBe('planning')
    await drain(test)
    const run = await view(runId)
    expect([run.state, run.accountId, run.agents, run.requestedBy]).toEqual(['done', null, [], 'subject'])
    expect(await erasedBy(runId)).toMatchObject({ notes: 6, 'knowledge.units': 4, agents: 2, accounts: 1, tokens: 2 })
    for (const unit of units) expect(await isStored(unit)).toBe(false)
    expect(await test.db.prisma.account.count({ where: { id: person.accountId } })).toBe(0)
    expect(await test.db.prisma.agent.count({ where: { id: { in: agents.map(({ id }) => id) } } })).toBe(0)
    const receipt = await receiptOf(receiptId)
    expect(receipt).toMatchObject({
      receipt_id: receiptId,
      deleted_id: person.accountId,
      subject_kind: 'account',
      reason: 'user_request',
    })
    expect(receipt.stores.find(({ holder }: { holder: string }) => holder === 'notes')).toMatchObject({
      store: 'notebook',
      found: 6,
      deleted: 6,
      residue: 0,
    })
    expect(await verifyReceipt(receipt, await test.app.signer.keys())).toHaveProperty('kid')
    const log = await test.db.prisma.deletionAuditEntry.findMany({
      where: { scope: { path: ['subject'], equals: person.accountId } },
    })
    expect(log).toHaveLength(1)
    expect(log[0]).toMatchObject({
      requestedBy: `user:${person.accountId}`,
      results: { notes: 6, 'knowledge.units': 4 },
    })
    // The erased ids stay reserved. The fence is lowered, because nobody remains who could write.
    expect(await test.db.prisma.erasedId.count({ where: { id: { in: units } } })).toBe(4)
    expect(await test.db.prisma.writeFence.count({ where: { runId } })).toBe(0)
    // The item ids remain only for shared stores, which are searched again.
    const shared = test.app.dataSources.filter(({ isShared }) => isShared).map(({ name }) => name)
    expect(await test.db.prisma.erasurePage.count({ where: { runId, holder: { notIn: shared } } })).toBe(0)
    expect(await notesOf(test.db, bystander.agents[0]?.id ?? '')).toBe(3)
    expect(await isStored(bystander.units[0] ?? '')).toBe(true)
  })

  it('appends the intent with all ids to the ledger before the first deletion, and the commit with counts and the receipt after the last', async () => {
    const { subject, agents, units } = await somebody()
    let atFirstErase: string[] = []
    control.beforeErase = async () => {
      atFirstErase = (await Array.fromAsync(test.app.ledger.read())).flatMap((row) =>
        row.kind === 'items' && row.id === receiptId ? [...row.items] : [],
      )
    }
    const { runId, receiptId } = await begin(subject)
    await drain(test)
    expect(atFirstErase).toEqual(expect.arrayContaining(units))
    const rows = (await Array.fromAsync(test.app.ledger.read())).filter(({ id }) => id === receiptId)
    expect([rows[0]?.kind, ...rows.slice(-2).map(({ kind }) => kind)]).toEqual(['intent', 'commit', 'items'])
    expect(rows[0]).toMatchObject({
      scope: { subject: { account: subject.account, agents: agents.map(({ id }) => id).sort() } },
      heldBy: [],
    })
    expect(rows.at(-2)).toMatchObject({ erased: await erasedBy(runId) })
    expect(rows.at(-1)).toMatchObject({ holder: 'erasure.receipt' })
    expect(JSON.stringify(rows)).not.toMatch(/@example\.org/)
  })

  it('erases nothing when the same subject was erased before', async () => {
    const { subject } = await somebody()
    await begin(subject)
    await drain(test)
    const { runId } = await begin(subject)
    await drain(test)
    expect([(await view(runId)).state, await erasedBy(runId)]).toEqual(['done', {}])
  })

  it('keeps the owner and other agents when it erases a single agent', async () => {
    const { person, agents } = await somebody()
    const [one, other] = agents
    const { runId, receiptId } = await begin({ account: null, agents: [one?.id ?? ''] })
    await drain(test)
    expect((await view(runId)).state).toBe('done')
    expect(await test.db.prisma.agent.count({ where: { ownerId: person.accountId } })).toBe(1)
    expect(await notesOf(test.db, other?.id ?? '')).toBe(3)
    expect(await receiptOf(receiptId)).toMatchObject({ deleted_id: one?.id, subject_kind: 'agent' })
  })

  it('erases the items that a dry run lists, and the dry run changes nothing', async () => {
    const { subject, units } = await somebody()
    const planned = await engine().dryRun(subject, test.clock.now())
    const items = Object.fromEntries(planned.filter((one) => one.items > 0).map((one) => [one.holder, one.items]))
    expect(items).toMatchObject({ notes: 6, 'knowledge.units': units.length, agents: 2, accounts: 1 })
    expect(await test.db.prisma.writeFence.count({ where: { id: subject.account ?? '' } })).toBe(0)
    const { runId } = await begin(subject)
    await drain(test)
    expect(await erasedBy(runId)).toEqual(items)
  })
})

describe('the write fence', () => {
  const started = async (subject: Subject) => {
    const begun = await begin(subject)
    await engine().start(begun.runId)
    return begun
  }

  it('rejects later writes through the API and directly in the database', async () => {
    const { subject, agents, person } = await somebody({ agents: 1 })
    const [agent] = agents
    if (!agent) throw new Error('no agent')
    await started(subject)
    const response = await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    expect([401, 409]).toContain(response.status)
    await expect(
      test.db.transaction((tx) =>
        test.app.agents.issueAgent(tx, {
          agentId: 'a-late-one',
          name: null,
          ownerId: person.accountId,
          organisationId: person.organisationId,
          tier: 'free',
          isConsentExplicit: false,
          now: test.clock.now(),
        }),
      ),
    ).rejects.toMatchObject({ code: 'fenced' })
    await expect(
      test.db.transaction((tx) =>
        test.app.tokens.issue(tx, {
          agentId: agent.id,
          scopes: ['read'],
          name: null,
          expiresAt: null,
          now: test.clock.now(),
        }),
      ),
    ).rejects.toMatchObject({ code: 'fenced' })
    expect(await test.db.prisma.session.count({ where: { accountId: person.accountId, revokedAt: null } })).toBe(0)
    await drain(test)
  })

  it('waits for a running transaction, whose write is then erased', async () => {
    const { subject, agents } = await somebody({ agents: 1, units: 0, notes: 0 })
    const agentId = agents[0]?.id ?? ''
    const { organisationId } = await test.db.prisma.agent.findUniqueOrThrow({ where: { id: agentId } })
    const { runId } = await begin(subject)
    let isFenced = false
    const writing = Promise.withResolvers<void>()
    const drained = writing.promise.then(() => drain(test))
    await test.db.transaction(async (tx) => {
      await tx.unit.create({
        data: {
          id: 'kp:trace:under-way',
          type: 'ReasoningTrace',
          agentId,
          organisationId,
          visibility: 'private',
          document: { id: 'kp:trace:under-way' },
          qualityScore: 0,
          domain: 'code',
          createdAt: test.clock.now(),
          updatedAt: test.clock.now(),
        },
      })
      writing.resolve()
      // The fence waits in the database until this transaction ends.
      for (let tries = 0; ; tries++) {
        const [waiting] = await tx.$queryRaw<{ n: number }[]>`
          SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')`
        if ((waiting?.n ?? 0) > 0) break
        if (tries > 5_000) throw new Error('nobody waits')
      }
      isFenced = (await tx.writeFence.count({ where: { runId } })) > 0
    })
    await drained
    expect(isFenced).toBe(false)
    expect((await view(runId)).state).toBe('done')
    expect(await isStored('kp:trace:under-way')).toBe(false)
  })
})

describe('a step', () => {
  it('repeats only the failed page and counts each item once', async () => {
    const { subject } = await somebody({ agents: 1, units: 0, notes: 10 * erasurePageSize })
    let calls = 0
    control.beforeErase = () => {
      if (++calls === 2) throw new Error('the notebook is shut')
    }
    const { runId } = await begin(subject)
    const { faults } = await drain(test, { mayFail: true })
    expect(faults.map(({ job }) => job)).toEqual(['erasure.step'])
    expect(await stepOf(runId, 'notes')).toMatchObject({
      planned: 10 * erasurePageSize,
      erased: 10 * erasurePageSize,
      attempts: 1,
      state: 'done',
      fault: null,
    })
    expect(control.erased.map((items) => items.length)).toEqual(Array.from({ length: 10 }, () => erasurePageSize))
    expect((await view(runId)).state).toBe('done')
  })

  it('a failing step is stuck after 8 attempts, blocks later steps, records a fault code, and continues after a retry', async () => {
    const { subject } = await somebody({ agents: 1 })
    control.beforeErase = () => {
      throw new Error('a secret of somebody')
    }
    const { runId } = await begin(subject)
    await drain(test, { mayFail: true })
    expect(await stepOf(runId, 'notes')).toMatchObject({ state: 'stuck', attempts: 8, fault: 'internal', erased: 0 })
    expect([(await view(runId)).state, (await stepOf(runId, 'agents')).state]).toEqual(['erasing', 'waiting'])
    control.beforeErase = undefined
    await engine().watch()
    await drain(test)
    expect((await stepOf(runId, 'notes')).state).toBe('stuck')
    const retry = () => test.db.transaction((tx) => engine().retry(tx, runId, 'notes', test.clock.now()))
    expect([await retry(), await retry()]).toEqual([true, false])
    await drain(test)
    expect((await view(runId)).state).toBe('done')
  })

  it('ends while another step of the run still waits for its slow store', async () => {
    const { subject } = await somebody({ agents: 1, units: 2, notes: 1 })
    const { runId } = await begin(subject)
    await engine().start(runId)
    const left = ['notes', 'knowledge.units']
    await executeOthers(runId, left)
    const [entered, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    control.beforeErase = () => {
      entered.resolve()
      return open.promise
    }
    const slow = engine().step(runId, 'notes')
    await entered.promise
    await engine().step(runId, 'knowledge.units')
    expect(await stepOf(runId, 'knowledge.units')).toMatchObject({ state: 'done', attempts: 0, fault: null })
    expect(await stepOf(runId, 'notes')).toMatchObject({ erased: 0 })
    open.resolve()
    await slow
    control.beforeErase = undefined
    await drain(test)
    expect((await view(runId)).state).toBe('done')
  })

  it('erases the pages of a newer plan when that plan was made between its last page and its end', async () => {
    const { subject, agents } = await somebody({ agents: 1, units: 2, notes: 1 })
    const agentId = agents[0]?.id ?? ''
    const { runId } = await begin(subject)
    await engine().start(runId)
    const left = ['notes', 'knowledge.units']
    await executeOthers(runId, left)
    const client = await test.db.pool.connect()
    // Its end ends its transaction, also after a failure: nothing must wait for the lock then.
    onTestFinished(() => client.release(true))
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`erasure step ends ${runId}`])
    const ending = engine().step(runId, 'notes')
    await blockedBy(client)
    await writeNotes(test.db, agentId, 1)
    const { release } = await hold('agent', (await issuedAgent(test, ['read'])).id)
    await engine().step(runId, 'knowledge.units')
    await engine().start(runId)
    await client.query('COMMIT')
    await ending
    expect(await stepOf(runId, 'notes')).toMatchObject({ state: 'waiting', planned: 2, erased: 1 })
    await release()
    await drain(test)
    expect([(await view(runId)).state, await notesOf(test.db, agentId)]).toEqual(['done', 0])
    expect(await erasedBy(runId)).toMatchObject({ notes: 2 })
    // It executes every step of a person's erasure several times, and a busy machine needs minutes for that.
  }, 600_000)

  it('erases and counts each item once when two workers execute it concurrently', async () => {
    const { subject } = await somebody({ agents: 2, units: 3, notes: 3_000 })
    const { runId } = await begin(subject)
    await engine().start(runId)
    while ((await view(runId)).state === 'erasing') {
      // Steps that are not due do nothing.
      const { steps } = await view(runId)
      await Promise.all(steps.flatMap(({ holder }) => [engine().step(runId, holder), engine().step(runId, holder)]))
    }
    await Promise.all([engine().verify(runId), engine().verify(runId), engine().verify(runId)])
    expect((await view(runId)).state).toBe('done')
    expect(await erasedBy(runId)).toMatchObject({ notes: 6_000, 'knowledge.units': 6, agents: 2, accounts: 1 })
    expect(control.erased.flat().sort()).toEqual([...new Set(control.erased.flat())].sort())
    expect(
      await test.db.prisma.deletionAuditEntry.count({
        where: { scope: { path: ['subject'], equals: subject.account ?? '' } },
      }),
    ).toBe(1)
  })

  it('several runs complete when two workers execute them concurrently', async () => {
    const people = await Promise.all(Array.from({ length: 4 }, () => somebody({ agents: 1, units: 1 })))
    const runs = await Promise.all(people.map(({ subject }) => begin(subject)))
    await Promise.all([drain(test), drain(test)])
    await drain(test)
    for (const { runId } of runs)
      expect([(await view(runId)).state, await erasedBy(runId)]).toMatchObject(['done', { notes: 3, accounts: 1 }])
  })
})

describe('verification', () => {
  it('sends residue back to be erased, and the receipt counts each item once', async () => {
    const { subject, agents } = await somebody({ agents: 1 })
    const notes = await writeNotes(test.db, agents[0]?.id ?? '', 2)
    control.forgets = new Set(notes)
    const { runId, receiptId } = await begin(subject)
    control.beforeErase = () => {
      if (control.erased.length === 1) control.forgets = new Set()
    }
    await drain(test)
    expect(await view(runId)).toMatchObject({ state: 'done' })
    expect(await notesOf(test.db, agents[0]?.id ?? '')).toBe(0)
    const { stores } = await receiptOf(receiptId)
    expect(stores.find(({ holder }: { holder: string }) => holder === 'notes')).toMatchObject({ found: 5, deleted: 5 })
  })

  it('sends a page back when the item is found only by its id', async () => {
    const { subject, agents } = await somebody({ agents: 1, notes: 0 })
    const [note = ''] = await writeNotes(test.db, agents[0]?.id ?? '', 1)
    control.forgets = new Set([note])
    control.beforeErase = async () => {
      if (control.erased.length > 0) control.forgets = new Set()
      await test.db.pool.query("UPDATE notes SET agent_id = 'somebody-else' WHERE id = $1", [note])
    }
    const { runId } = await begin(subject)
    await drain(test)
    expect([(await view(runId)).state, await notesOf(test.db, 'somebody-else')]).toEqual(['done', 0])
  })

  it('fails the run without a receipt when residue remains, and a retry completes it', async () => {
    const { subject, agents } = await somebody({ agents: 1 })
    control.forgets = new Set(await writeNotes(test.db, agents[0]?.id ?? '', 1))
    const { runId, receiptId } = await begin(subject)
    await drain(test)
    const failed = await view(runId)
    expect(failed).toMatchObject({ state: 'failed', fault: null })
    expect(failed.steps.filter(({ residue }) => residue).map(({ holder }) => holder)).toEqual(['notes'])
    expect((await test.fetch('GET', `/v1/receipts/${receiptId}`)).status).toBe(404)
    control.forgets = new Set()
    expect(await test.db.transaction((tx) => engine().retry(tx, runId, undefined, test.clock.now()))).toBe(true)
    await drain(test)
    expect((await view(runId)).state).toBe('done')
    expect((await receiptOf(receiptId)).receipt_id).toBe(receiptId)
  })
})

describe('the erasure ledger', () => {
  it('a run erases nothing while the ledger is not writable, and completes later', async () => {
    const { subject, agents } = await somebody({ agents: 1 })
    const { append } = test.app.ledger
    test.app.ledger.append = async () => {
      throw new Error('the disk is full')
    }
    const { runId } = await begin(subject)
    try {
      const { faults } = await drain(test, { mayFail: true, until: async () => (await view(runId)).fencedAt !== null })
      expect(faults).toHaveLength(1)
    } finally {
      test.app.ledger.append = append
    }
    expect([(await view(runId)).state, control.erased, await notesOf(test.db, agents[0]?.id ?? '')]).toEqual([
      'planning',
      [],
      3,
    ])
    await drain(test)
    expect((await view(runId)).state).toBe('done')
  })

  it('a run stays unsigned while the ledger does not accept the commit', async () => {
    const { subject } = await somebody({ agents: 1 })
    const { append } = test.app.ledger
    test.app.ledger.append = async (row) => {
      if (row.kind === 'commit') throw new Error('the disk is full')
      return append(row)
    }
    const { runId, receiptId } = await begin(subject)
    try {
      await expect(engine().complete(runId)).rejects.toThrow('the disk is full')
    } finally {
      test.app.ledger.append = append
    }
    expect((await view(runId)).state).toBe('verifying')
    expect((await test.fetch('GET', `/v1/receipts/${receiptId}`)).status).toBe(404)
    await drain(test)
    expect((await view(runId)).state).toBe('done')
    expect((await receiptOf(receiptId)).receipt_id).toBe(receiptId)
  })
})

describe('a legal hold', () => {
  it('a hold on a unit keeps the unit and its agent, and its release completes the run under the same receipt', async () => {
    const { subject, agents, units, person } = await somebody()
    const retained = units[0] ?? ''
    const { id, release } = await hold('unit', retained)
    const { runId, receiptId } = await begin(subject)
    await drain(test)
    expect((await view(runId)).state).toBe('held')
    for (const unit of units) expect(await isStored(unit)).toBe(unit === retained)
    expect(await test.db.prisma.agent.count({ where: { id: { in: agents.map((one) => one.id) } } })).toBe(1)
    expect(await test.db.prisma.account.count({ where: { id: person.accountId } })).toBe(0)
    const first = await receiptOf(receiptId)
    expect(JSON.stringify(first.retained)).toContain(id)
    expect(first.held).toBeGreaterThan(0)
    // Old receipts state the number only in this sentence.
    expect(legalHoldCountsIn({ retained: first.retained })).toBe(first.held)
    expect(await test.db.prisma.writeFence.count({ where: { runId } })).toBeGreaterThan(0)
    // The end of an unrelated hold changes nothing.
    const other = await hold('agent', (await issuedAgent(test, ['read'])).id)
    await other.release()
    await drain(test)
    expect(await receiptOf(receiptId)).toEqual(first)
    await release()
    await drain(test)
    expect([(await view(runId)).state, await isStored(retained)]).toEqual(['done', false])
    const second = await receiptOf(receiptId)
    expect(JSON.stringify(second.retained)).not.toContain(id)
    expect([second.held, legalHoldCountsIn(second)]).toEqual([undefined, 0])
    expect(await verifyReceipt(second, await test.app.signer.keys())).toHaveProperty('kid')
    const log = await test.db.prisma.deletionAuditEntry.findMany({
      where: { scope: { path: ['subject'], equals: subject.account ?? '' } },
      orderBy: { auditId: 'asc' },
    })
    expect(log.map(({ results }) => results)).toMatchObject([
      { 'knowledge.units': 3 },
      { 'knowledge.units': 1, notes: 0 },
    ])
  })

  it.each(['agent', 'account'])('a hold on the %s keeps all its records', async (kind) => {
    const { subject, agents, units } = await somebody()
    const agentId = agents[0]?.id ?? ''
    const { release } = await hold(kind, kind === 'agent' ? agentId : (subject.account ?? ''))
    const planned = await engine().dryRun(subject, test.clock.now())
    expect(planned.find(({ holder }) => holder === 'notes')).toMatchObject(
      kind === 'agent' ? { items: 3, held: [{ count: 3 }] } : { items: 0, held: [{ count: 6 }] },
    )
    const { runId } = await begin(subject)
    await drain(test)
    expect((await view(runId)).state).toBe('held')
    expect(await notesOf(test.db, agentId)).toBe(3)
    expect(await isStored(units[0] ?? '')).toBe(true)
    expect(await test.db.prisma.account.count({ where: { id: subject.account ?? '' } })).toBe(kind === 'agent' ? 0 : 1)
    await release()
    await drain(test)
    expect([(await view(runId)).state, await notesOf(test.db, agentId), await isStored(units[0] ?? '')]).toEqual([
      'done',
      0,
      false,
    ])
  })

  it('a hold set between plan and step keeps the records that it covers', async () => {
    const { subject, agents, units } = await somebody()
    const { runId } = await begin(subject)
    await engine().start(runId)
    expect((await view(runId)).state).toBe('erasing')
    const { release } = await hold('agent', agents[1]?.id ?? '')
    await drain(test)
    expect((await view(runId)).state).toBe('held')
    expect([await notesOf(test.db, agents[0]?.id ?? ''), await notesOf(test.db, agents[1]?.id ?? '')]).toEqual([0, 3])
    expect(await Promise.all(units.map(isStored))).toEqual([false, false, true, true])
    await release()
    await drain(test)
    expect([(await view(runId)).state, await erasedBy(runId)]).toMatchObject([
      'done',
      { notes: 6, 'knowledge.units': 4 },
    ])
  })

  it('a hold set while a page is erased waits for that page and keeps the next one', async () => {
    const { subject, agents } = await somebody({ agents: 1, units: 0, notes: 2 * erasurePageSize })
    const agentId = agents[0]?.id ?? ''
    const page = Promise.withResolvers<void>()
    const set = page.promise.then(() => hold('agent', agentId))
    control.beforeErase = async () => {
      page.resolve()
      const isAwaited = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
      while (control.erased.length === 0 && (await test.db.pool.query(isAwaited)).rowCount === 0);
    }
    const { runId } = await begin(subject)
    await drain(test)
    expect([(await view(runId)).state, await notesOf(test.db, agentId)]).toEqual(['held', erasurePageSize])
    expect(await stepOf(runId, 'notes')).toMatchObject({
      planned: erasurePageSize,
      erased: erasurePageSize,
      held: [{ count: erasurePageSize }],
    })
    await (await set).release()
    await drain(test)
    expect([(await view(runId)).state, await notesOf(test.db, agentId)]).toEqual(['done', 0])
    expect(await erasedBy(runId)).toMatchObject({ notes: 2 * erasurePageSize })
  })

  it('a hold released during the verification lets the run erase the held records', async () => {
    const { subject, agents } = await somebody()
    const agentId = agents[1]?.id ?? ''
    const { release } = await hold('agent', agentId)
    const { append } = test.app.ledger
    let isReleased = false
    test.app.ledger.append = async (row) => {
      if (row.kind === 'commit' && !isReleased) {
        isReleased = true
        await release()
      }
      return append(row)
    }
    const { runId } = await begin(subject)
    try {
      await drain(test)
    } finally {
      test.app.ledger.append = append
    }
    expect(isReleased).toBe(true)
    expect([(await view(runId)).state, await notesOf(test.db, agentId)]).toEqual(['done', 0])
  })

  it('an expired hold lets the run continue', async () => {
    const { subject, units } = await somebody({ agents: 1, units: 1 })
    const until = new Date(test.clock.now().getTime() + 3_600_000)
    await hold('unit', units[0] ?? '', { expires_at: until.toISOString() })
    const { runId } = await begin(subject)
    await drain(test)
    await engine().watch()
    await drain(test)
    expect((await view(runId)).state).toBe('held')
    test.clock.advance(3_600_000)
    await engine().watch()
    await drain(test)
    expect([(await view(runId)).state, await isStored(units[0] ?? '')]).toEqual(['done', false])
  })
})

describe('a crash', () => {
  const points = [
    'start.before',
    'start.fenced',
    'start.planned',
    'start.intent',
    'start.after',
    'last-look.before',
    'verify.before',
    'verify.committed',
    'verify.signed',
    'verify.after',
  ]
  const steps = ['notes', 'knowledge.units', 'agents', 'accounts'].flatMap((dataSource) =>
    ['before', 'inside', 'after'].map((where) => `step.${dataSource}.${where}`),
  )
  it.each(sampled('crash points of an erasure in one process', [...points, ...steps], 4))(
    'a crash at %s does not change the outcome of the run',
    async (point) => {
      const { subject, units } = await somebody({ agents: 1 })
      const { runId, receiptId } = await begin(subject)
      crashAt = point
      const { faults } = await drain(test, { mayFail: true })
      expect(faults.map(({ error }) => error instanceof Crash)).toEqual([true])
      expect([(await view(runId)).state, await erasedBy(runId)]).toMatchObject([
        'done',
        { notes: 3, 'knowledge.units': 2, agents: 1, accounts: 1 },
      ])
      for (const unit of units) expect(await isStored(unit)).toBe(false)
      const rows = (await Array.fromAsync(test.app.ledger.read())).filter(({ id }) => id === receiptId)
      expect(
        new Set(rows.flatMap((row) => (row.kind === 'items' && row.holder === 'notes' ? row.items : []))).size,
      ).toBe(3)
      expect(
        await test.db.prisma.deletionAuditEntry.count({
          where: { scope: { path: ['subject'], equals: subject.account ?? '' } },
        }),
      ).toBe(1)
      expect(
        (await receiptOf(receiptId)).stores.find(({ holder }: { holder: string }) => holder === 'notes').deleted,
      ).toBe(3)
      const audited = await test.app.audit.query(
        { resource_type: 'account', resource_id: subject.account ?? '' },
        test.clock.now(),
      )
      expect(audited.filter(({ action }) => action === 'delete')).toHaveLength(1)
    },
  )

  it('watch enqueues the job of a run again when a crash lost it', async () => {
    const { subject } = await somebody({ agents: 1 })
    const { runId } = await begin(subject)
    const lose = () =>
      test.db.pool.query(
        "SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs WHERE key LIKE 'erasure.%'",
      )
    const isWaiting = async (job: string) =>
      (await test.db.pool.query('SELECT 1 FROM graphile_worker.jobs WHERE key LIKE $1', [`${job}:${runId}%`])).rowCount
    await lose()
    await engine().watch()
    expect(await isWaiting('erasure.start')).toBe(1)
    await engine().start(runId)
    await lose()
    await engine().watch()
    expect(await isWaiting('erasure.step')).toBeGreaterThan(0)
    for (let state = 'erasing'; state === 'erasing'; { state } = await view(runId))
      for (const { holder } of (await view(runId)).steps) await engine().step(runId, holder)
    await lose()
    await engine().watch()
    expect(await isWaiting('erasure.verify')).toBe(1)
    await drain(test)
    expect((await view(runId)).state).toBe('done')
  })
})
