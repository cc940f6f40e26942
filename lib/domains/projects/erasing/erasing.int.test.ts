import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type TestApp, type TestResponse, testApp } from '#lib/testing/app.ts'
import {
  checkpointEntryOf,
  addMessage as sayIn,
  type TestConversation,
  startConversation as talkIn,
} from '#lib/testing/conversations.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, type Person, passwordEntered, releaseInPerson, signedIn } from '#lib/testing/people.ts'
import { eraseWholeProject } from '#lib/testing/projects.ts'
import { sideStore, sideStoreDataSource } from '#lib/testing/side-store.ts'

let test: TestApp
const side = sideStore()
let crashAt: string | undefined
class Crash extends Error {}
const interrupt = (point: string) => {
  if (point !== crashAt) return
  crashAt = undefined
  throw new Crash(point)
}
beforeAll(async () => {
  test = await testApp({}, undefined, {
    interrupt,
    moreDataSources: (db) => [sideStoreDataSource(side)(db)],
  })
})
afterAll(() => test?.close())
beforeEach(() => {
  side.before = undefined
  crashAt = undefined
})
const isDown = (what: 'erase' | 'residue') => (asked: string) => {
  if (asked === what) throw new Problem('unavailable', 'the store does not answer')
}

const fails = (what: 'erase' | 'residue') => (asked: string) => {
  if (asked === what) throw new Error('the page is corrupt')
}

const talk = (more: Parameters<typeof talkIn>[1] = {}) => talkIn({ test, side }, more)
const say = (made: TestConversation, entries: number, author?: Person) => sayIn({ test, side }, made, entries, author)
const late = (made: TestConversation, message: string, author?: Person, id?: string) =>
  checkpointEntryOf(side, made, message, author, id)
const entriesOf = (message: string): number =>
  [...side.entries.values()].filter((entry) => entry.message === message).length
const first = ({ messages: [id] }: TestConversation): string => id ?? 'none'
const at = ({ project, conversation }: TestConversation, message: string): string =>
  `/api/projects/${project}/conversations/${conversation}/messages/${message}`
const erase = (
  made: TestConversation,
  message = first(made),
  { by = made.owner, body, query = '' }: { by?: Person; body?: unknown; query?: string } = {},
) => test.fetch('DELETE', at(made, message) + query, { cookie: by.cookie, ...(body !== undefined && { body }) })
const isStored = async (id: string): Promise<boolean> => (await test.db.prisma.message.count({ where: { id } })) > 0
const looked = (auditId: string, by: Person) => test.fetch('GET', `/api/erasures/${auditId}`, { cookie: by.cookie })
const runOf = async ({ json }: TestResponse) => {
  const run = await test.app.subjectErasures.byAudit(json.auditId)
  if (!run) throw new Error('no run')
  return run
}
const logged = (auditId: string) => test.db.prisma.deletionAuditEntry.findUnique({ where: { auditId } })

describe('DELETE of a message', () => {
  it('notes every item in the ledger when a step has more pages than one transaction reads', async () => {
    const made = await talk()
    const message = first(made)
    for (let n = 0; n < 50; n++) late(made, message)
    const entries = [...side.entries].flatMap(([id, entry]) => (entry.message === message ? [id] : []))
    const response = await erase(made, message)
    const { receiptId } = await runOf(response)
    const noted: string[] = []
    for await (const row of test.app.ledger.read())
      if (row.kind === 'items' && row.id === receiptId && row.holder === 'side.entries') noted.push(...row.items)
    expect([response.status, entries.length >= 50]).toEqual([200, true])
    expect(noted.sort()).toEqual([...entries, `about:${message}`].sort())
  })

  it('erases derived data and returns 200, with a receipt and a deletion log entry under the returned id', async () => {
    const made = await talk()
    const [message = '', other = ''] = made.messages
    const response = await erase(made, message, { body: { messageId: message, reason: 'gdpr_erasure' } })
    expect([response.status, response.text]).toEqual([200, expect.stringContaining('"success":true')])
    expect(Object.keys(response.json).sort()).toEqual(['auditId', 'deletedFrom', 'success'])
    expect(response.json.deletedFrom).toMatchObject({
      postgresql: true,
      checkpoints: { threads: 0, messages: 0 },
      objects: 0,
    })
    expect([await isStored(message), entriesOf(message)]).toEqual([false, 0])
    expect([await isStored(other), entriesOf(other)]).toEqual([true, 3])
    const entry = await logged(response.json.auditId)
    expect(entry).toMatchObject({
      reason: 'gdpr_erasure',
      requestedBy: `user:${made.owner.accountId}`,
      scope: { projectId: made.project, conversationId: made.conversation, messageId: message },
    })
    expect(entry?.results).toMatchObject({ 'side.entries': 3, entriesDeleted: 3, messagesDeleted: 1 })
    const run = await runOf(response)
    const receipt = (await test.fetch('GET', `/v1/receipts/${run.receiptId}`)).json
    expect(receipt).toMatchObject({ deleted_id: message, part_kind: 'message', reason: 'gdpr_erasure' })
    expect(receipt.subject_kind).toBeUndefined()
    expect((await test.fetch('GET', `/v1/receipts/${run.receiptId}/pdf`)).status).toBe(200)
    const { json } = await looked(response.json.auditId, made.owner)
    expect(json.data).toMatchObject({
      audit_id: response.json.auditId,
      success: true,
      state: 'done',
      late_found: 0,
      part: { kind: 'message', id: message },
      deleted_from: response.json.deletedFrom,
    })
    // The other message of the conversation contains the same sentence.
    expect(json.data.remaining_mentions).toHaveLength(4)
    expect(receipt.remaining_mentions).toContainEqual({
      store: 'postgresql',
      kind: 'message',
      field: 'content',
      count: 1,
    })
    expect(JSON.stringify([receipt, entry, json])).not.toContain('a sentence of theirs')
  })

  it('erases once when requests are concurrent, and returns the receipt to later requests', async () => {
    const made = await talk()
    const answers = await Promise.all([1, 2, 3, 4].map(() => erase(made)))
    expect(
      [...new Set(answers.map(({ status }) => status))].filter((status) => ![200, 202, 410].includes(status)),
    ).toEqual([])
    expect(new Set(answers.flatMap(({ json }) => json.auditId ?? [])).size).toBe(1)
    expect(await test.db.prisma.erasureRun.count({ where: { partId: first(made) } })).toBe(1)
    await drain(test)
    const again = await erase(made)
    const run = await test.db.prisma.erasureRun.findFirstOrThrow({ where: { partId: first(made) } })
    expect([again.status, again.json.receipt_id]).toEqual([410, run.receiptId])
    expect(await test.db.prisma.erasure.count({ where: { deletedId: first(made) } })).toBe(1)
  })

  it('returns 404 and keeps the message for another project, conversation or organization, and for anonymous callers', async () => {
    const made = await talk()
    const other = await talk({ owner: made.owner })
    const stranger = await signedIn(test)
    const admin = await signedIn(test, 'admin')
    const colleague = await signedIn(test, 'person', made.owner.organisationId)
    const asked = [
      erase({ ...made, project: other.project }, first(made)),
      erase({ ...made, conversation: other.conversation }, first(made)),
      erase(other, first(made)),
      erase(made, 'msg_nobody'),
      erase(made, first(made), { by: stranger }),
      erase(made, first(made), { by: admin }),
      erase(made, first(made), { by: colleague }),
    ]
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(asked.map(() => 404))
    expect([await isStored(first(made)), entriesOf(first(made))]).toEqual([true, 3])
    expect(await test.db.prisma.erasureRun.count({ where: { partId: first(made) } })).toBe(0)
    expect((await test.fetch('DELETE', at(made, first(made)))).status).toBe(401)
  })

  it('by an owner erases messages of others; by a member, only their own', async () => {
    const made = await talk()
    const member = await signedIn(test, 'person', made.owner.organisationId)
    await test.db.prisma.projectMember.create({
      data: {
        projectId: made.project,
        kind: 'account',
        memberId: member.accountId,
        role: 'member',
        addedBy: `user:${made.owner.accountId}`,
        addedAt: test.clock.now(),
      },
    })
    const [theirs, alsoTheirs] = [await say(made, 1, member), await say(made, 1, member)]
    expect((await erase(made, first(made), { by: member })).status).toBe(403)
    const own = await erase(made, theirs, { by: member })
    expect(own.status).toBe(200)
    const byOwner = await erase(made, alsoTheirs)
    expect([byOwner.status, (await looked(byOwner.json.auditId, made.owner)).status]).toEqual([200, 200])
    expect((await looked(own.json.auditId, made.owner)).status).toBe(200)
    expect((await looked(byOwner.json.auditId, member)).status).toBe(404)
    expect((await looked(byOwner.json.auditId, await signedIn(test, 'auditor'))).status).toBe(200)
    expect((await looked(byOwner.json.auditId, await signedIn(test))).status).toBe(404)
  })

  it('by its author works directly and through an agent, also after they left, and reveals nothing about the project', async () => {
    const made = await talk()
    const former = await signedIn(test, 'person', made.owner.organisationId)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: former })
    const [message, byAgent] = [await say(made, 3, former), await say(made, 1)]
    await test.db.prisma.message.update({
      where: { id: byAgent },
      data: { authorKind: 'agent', authorId: agent.id },
    })
    const stranger = await signedIn(test, 'person', made.owner.organisationId)
    const tries = async (by: Person, more: Partial<Parameters<typeof erase>[2]> = {}) =>
      (await erase(made, message, { by, ...more })).status
    expect([await tries(stranger), await tries(stranger, { query: '?dry_run=true' })]).toEqual([404, 404])
    // A former member may not see the plan or redact names, because both concern texts of others.
    for (const query of ['?dry_run=true', '?redact=true']) expect(await tries(former, { query })).toBe(403)
    expect((await erase(made, first(made), { by: former })).status).toBe(404)
    expect((await erase({ ...made, conversation: 'conv_other' }, message, { by: former })).status).toBe(404)
    await test.db.prisma.conversation.update({
      where: { id: made.conversation },
      data: { createdBy: `user:${former.accountId}` },
    })
    const conversation = `/api/projects/${made.project}/conversations/${made.conversation}`
    expect((await test.fetch('DELETE', conversation, { cookie: former.cookie })).status).toBe(404)
    expect([await isStored(message), await isStored(byAgent), await isStored(first(made))]).toEqual([true, true, true])

    await eraseWholeProject(test, at(made, message), former)
    await eraseWholeProject(test, at(made, byAgent), agent)
    expect([await isStored(message), entriesOf(message), await isStored(byAgent)]).toEqual([false, 0, false])
    const { auditId } = await test.db.prisma.erasureRun.findFirstOrThrow({ where: { partId: message } })
    expect((await looked(auditId ?? '', former)).json.data.success).toBe(true)
    for (const path of [`/api/projects/${made.project}`, conversation, at(made, first(made))])
      expect((await test.fetch('GET', path, { cookie: former.cookie })).status).toBe(404)
    expect([await isStored(first(made)), await tries(former)]).toEqual([true, 404])
  })

  it('returns 422 when the body names another message or an unknown reason', async () => {
    const made = await talk()
    const bodies = [{ messageId: 'msg_other' }, { reason: 'because' }, { reason: 'admin_request' }, { more: 1 }]
    for (const body of bodies) {
      const response = await erase(made, first(made), { body })
      expect([response.status, response.json.code]).toEqual([422, 'invalid'])
    }
    expect((await erase(made, first(made), { query: '?dry_run=perhaps' })).status).toBe(422)
    expect(await isStored(first(made))).toBe(true)
  })

  it('withdraws the author’s prepared export, and keeps the export of another person', async () => {
    const made = await talk()
    const member = await signedIn(test)
    const prepared = async (accountId: string) => {
      const at = test.clock.now()
      const row = {
        accountId,
        basis: 'all',
        state: 'ready' as const,
        attempt: newId('try'),
        createdAt: at,
        readyAt: at,
      }
      const { id } = await test.db.prisma.preparedExport.create({ data: { id: newId('exp'), ...row } })
      return id
    }
    const [own, other] = [await prepared(made.owner.accountId), await prepared(member.accountId)]
    const response = await erase(made)
    expect(response.status).toBe(200)
    const stateOf = async (id: string) => (await test.db.prisma.preparedExport.findUnique({ where: { id } }))?.state
    expect([await stateOf(own), await stateOf(other)]).toEqual(['expired', 'ready'])
  })

  it('writes, marks and erases nothing with dry_run', async () => {
    const made = await talk()
    const before = await test.db.prisma.erasureRun.count()
    const response = await erase(made, first(made), { query: '?dry_run=true' })
    expect(response.status).toBe(200)
    expect(response.json.data.counts).toMatchObject({ deleted: expect.any(Number) })
    expect(response.json.data.planned).toContainEqual(
      expect.objectContaining({ holder: 'side.entries', items: 3, held: 0 }),
    )
    expect(response.json.data.verdicts).toContainEqual(
      expect.objectContaining({ store: 'side', verdict: 'deleted', found: 'pointer' }),
    )
    expect([await isStored(first(made)), entriesOf(first(made))]).toEqual([true, 3])
    expect(await test.db.prisma.erasureRun.count()).toBe(before)
    expect((await test.db.prisma.message.findUniqueOrThrow({ where: { id: first(made) } })).erasingSince).toBeNull()
  })
})

describe('a dry run', () => {
  const planned = async (made: TestConversation) =>
    (await erase(made, first(made), { query: '?dry_run=true' })).json.data
  const counted = (totals: { store: string; verdict: string; count: number }[], store: string) =>
    totals.filter((one) => one.store === store).reduce((sum, { count }) => sum + count, 0)

  it('counts all decisions and lists the first 5,000', async () => {
    const made = await talk({ messages: 1, entries: 5_003 })
    const { verdicts, omitted, counts, totals, unanswered } = await planned(made)
    expect([verdicts.length, omitted, unanswered]).toEqual([5_000, 4, []])
    expect([counts.deleted, counted(totals, 'side'), counted(totals, 'postgresql')]).toEqual([5_004, 5_003, 1])
    expect(totals).toContainEqual(expect.objectContaining({ store: 'side', kind: 'entry', verdict: 'deleted' }))
  })

  it('returns a plan although a store does not answer, and names that store', async () => {
    const made = await talk()
    side.slow = async (what) => {
      if (what === 'explain') isDown('erase')('erase')
    }
    const plan = await planned(made)
    side.slow = undefined
    expect(plan.unanswered).toEqual(['side'])
    expect(plan.verdicts).toEqual([expect.objectContaining({ store: 'postgresql', kind: 'message' })])
  })
})

describe('outside pointers of an erased message', () => {
  it('are listed in the plan and counted on the receipt by system, and are deleted', async () => {
    const made = await talk()
    const [message = '', other = ''] = made.messages
    const pointer = (source_id: string) => ({ source_id, store: 'outside', ref: `crm:${source_id}` })
    const places = ['crm.example.org', 'notes.example.org', 'notes of Ida']
    const entries = [pointer(message), pointer(other), ...places.map((place) => ({ ...pointer(message), place }))]
    const { cookie } = made.owner
    const response = await test.fetch('POST', `/api/projects/${made.project}/provenance`, { cookie, body: { entries } })
    expect(response.status).toBe(200)
    const plan = await erase(made, message, { query: '?dry_run=true' })
    expect(plan.json.data.verdicts).toContainEqual(
      expect.objectContaining({ store: 'outside', id: `crm:${message}`, verdict: 'untouched', reason: 'outside' }),
    )
    expect(plan.json.data.counts.untouched).toBe(4)
    const { receiptId } = await runOf(await erase(made, message))
    const receipt = await test.fetch('GET', `/v1/receipts/${receiptId}`)
    const line = { holder: 'projects.outside', found: 4, deleted: 4, residue: 0 }
    expect(receipt.json.stores).toContainEqual(expect.objectContaining(line))
    const remains = receipt.json.retained.flatMap(
      ({ what }: { what: string }) => /^external data (.+?) of/.exec(what)?.[1] ?? [],
    )
    expect(remains).toEqual([
      'in crm.example.org named by one pointer',
      'in notes.example.org named by one pointer',
      'named by 2 pointers',
    ])
    for (const content of ['crm:', 'Ida']) expect(receipt.text).not.toContain(content)
    expect(await test.db.prisma.provenance.findMany({ select: { sourceId: true } })).toEqual([{ sourceId: other }])
  })
})

describe('an erasure step that fails', () => {
  it('returns 202 without reporting success, is stuck, and ends after a retry', async () => {
    const made = await talk()
    side.before = fails('erase')
    const response = await erase(made)
    expect([response.status, response.json.success]).toEqual([202, false])
    expect(response.headers.get('location')).toBe(`/api/erasures/${response.json.auditId}`)
    expect((await test.db.prisma.message.findUniqueOrThrow({ where: { id: first(made) } })).erasingSince).not.toBeNull()
    await drain(test, { mayFail: true })
    const stuck = await looked(response.json.auditId, made.owner)
    expect([stuck.json.data.state, stuck.json.data.success]).toEqual(['erasing', false])
    expect(stuck.json.data.steps).toContainEqual(
      expect.objectContaining({ holder: 'side.entries', state: 'stuck', fault: 'internal', waiting_since: null }),
    )
    expect(await isStored(first(made))).toBe(true)
    const read = () => test.fetch('GET', at(made, first(made)), { cookie: made.owner.cookie })
    expect((await read()).json).toMatchObject({ status: 404, audit_id: response.json.auditId })
    expect((await read()).json.receipt_id).toBeUndefined()
    expect([(await erase(made)).json.auditId, (await erase(made)).status]).toEqual([response.json.auditId, 202])
    side.before = undefined
    const run = await runOf(response)
    await test.db.transaction((tx) => test.app.subjectErasures.retry(tx, run.id, undefined, test.clock.now()))
    await drain(test)
    const done = await looked(response.json.auditId, made.owner)
    expect([done.json.data.success, await isStored(first(made)), entriesOf(first(made))]).toEqual([true, false, 0])
    expect((await read()).json).toMatchObject({ status: 410, code: 'erased', receipt_id: run.receiptId })
    const elsewhere = await talk({ owner: made.owner })
    const { json } = await test.fetch('GET', at(elsewhere, first(made)), { cookie: made.owner.cookie })
    expect([json.code, json.audit_id, json.receipt_id]).toEqual(['not_found', undefined, undefined])
  })
})

describe('a store that does not answer', () => {
  it('prevents a signed receipt until it answers when it fails during verification', async () => {
    const made = await talk()
    side.before = isDown('residue')
    const response = await erase(made)
    expect([response.status, response.json.success]).toEqual([202, false])
    const { receiptId } = await runOf(response)
    expect(await test.db.prisma.erasure.count({ where: { receiptId } })).toBe(0)
    expect(await isStored(first(made))).toBe(false)
    const read = await test.fetch('GET', at(made, first(made)), { cookie: made.owner.cookie })
    expect([read.status, read.json.audit_id]).toEqual([404, response.json.auditId])
    side.before = undefined
    await drain(test)
    expect((await looked(response.json.auditId, made.owner)).json.data.success).toBe(true)
  })
})

describe('a slow store', () => {
  /** Blocks calls of the store until `go` is called. */
  function slow(what: 'plan' | 'explain' | 'erase') {
    const { promise, resolve } = Promise.withResolvers<void>()
    let [waiting, max] = [0, 0]
    side.slow = async (asked) => {
      if (asked !== what) return
      max = Math.max(max, ++waiting)
      await promise
      waiting--
    }
    return { go: resolve, max: () => max }
  }
  afterEach(() => {
    side.slow = undefined
  })
  const until = async (isSo: () => boolean | Promise<boolean>) => {
    for (const deadline = performance.now() + 100_000; !(await isSo()); await delay(20))
      if (performance.now() > deadline) throw new Error('it did not come to that')
  }
  const listed = async ({ owner }: TestConversation) =>
    (await test.fetch('GET', '/api/projects', { cookie: owner.cookie })).status

  it('gives one organization half of the slots and places for dry runs, and rejects more with 503 and Retry-After', async () => {
    const [made, other] = [await talk(), await talk()]
    const { go, max } = slow('explain')
    const refused: TestResponse[] = []
    const ask = (conversation: TestConversation) => {
      const response = erase(conversation, first(conversation), { query: '?dry_run=true' })
      void response.then((one) => {
        if (one.status === 503) refused.push(one)
      })
      return response
    }
    // One slot and two places in the queue.
    const own = Array.from({ length: 4 }, () => ask(made))
    await until(() => refused.length === 1 && max() === 1)
    expect(refused[0]?.headers.get('retry-after')).toBe('10')
    expect(await listed(made)).toBe(200)
    const others = Array.from({ length: 4 }, () => ask(other))
    await until(() => refused.length === 2 && max() === 2)
    go()
    const statuses = async (asked: Promise<TestResponse>[]) =>
      (await Promise.all(asked)).map(({ status }) => status).sort()
    expect([await statuses(own), await statuses(others)]).toEqual([
      [200, 200, 200, 503],
      [200, 200, 200, 503],
    ])
  })

  it('gives one organization two of three slots for erasures, and all erasures end', async () => {
    const [made, other] = [await talk({ messages: 4 }), await talk({ messages: 2 })]
    const { go, max } = slow('erase')
    const asked = made.messages.map((message) => erase(made, message))
    await until(() => max() === 2)
    expect(await listed(made)).toBe(200)
    asked.push(...other.messages.map((message) => erase(other, message)))
    await until(() => max() === 3)
    go()
    for (const { status } of await Promise.all(asked)) expect([200, 202]).toContain(status)
    // Erasures that were answered with 202 are also carried out.
    const messages = [...made.messages, ...other.messages]
    await until(async () => !(await Promise.all(messages.map(isStored))).includes(true))
    expect(max()).toBe(3)
  })

  it('does not block a legal hold during planning, and the plan is made again under the hold', async () => {
    const made = await talk()
    const { go, max } = slow('plan')
    const erasing = erase(made)
    await until(() => max() > 0)
    const admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
    const body = { kind: 'project', target_id: made.project, reason: 'a court asked for it' }
    expect((await test.fetch('POST', '/v1/holds', { token: admin.token, body })).status).toBe(201)
    go()
    const response = await erasing
    expect([response.status, response.json.success]).toEqual([202, false])
    await drain(test)
    expect([(await runOf(response)).state, await isStored(first(made)), entriesOf(first(made))]).toEqual([
      'held',
      true,
      3,
    ])
  })

  it('is searched again when a hold was set and released during planning, because the plan may lack records that were under the hold', async () => {
    const made = await talk()
    const admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
    const body = { kind: 'project', target_id: made.project, reason: 'a court asked for it' }
    // The plan is made in a transaction: the person who releases exists before it.
    const releasing = await signedIn(test, 'admin')
    await passwordEntered(test, releasing)
    let searched = 0
    side.slow = async (asked, scope) => {
      const isIt = 'part' in scope && scope.part.id === first(made)
      if (asked !== 'plan' || !isIt || ++searched > 1) return
      const { json } = await test.fetch('POST', '/v1/holds', { token: admin.token, body })
      const released = await test.fetch('POST', `/v1/holds/${json.data.id}/release`, releasing)
      expect(released.status).toBe(200)
    }
    await erase(made)
    await until(() => entriesOf(first(made)) === 0)
    expect(searched).toBe(2)
  })
})

describe('residue found by verification', () => {
  it('is erased although planning restarts after a crash and the source rows no longer exist', async () => {
    const made = await talk()
    const message = first(made)
    const [entry = ''] = [...side.entries.keys()].filter((id) => side.entries.get(id)?.message === message)
    let isLate = false
    side.before = (asked) => {
      if (asked !== 'residue' || isLate) return
      isLate = true
      // The entry contains only the id and the watched name, not its project or author.
      side.entries.set(entry, { message, conversation: 'gone', project: 'gone', author: 'gone' })
      crashAt = 'start.intent'
    }
    const response = await erase(made)
    expect([isLate, crashAt]).toEqual([true, undefined])
    expect((await runOf(response)).fault).toBe('internal')
    expect((await test.app.subjectErasures.open()).stuck).toBeGreaterThan(0)
    await drain(test)
    const run = await runOf(response)
    expect([run.state, run.fault, run.rounds, entriesOf(message)]).toEqual(['done', null, 0, 0])
    expect(run.steps.find(({ holder }) => holder === 'side.entries')).toMatchObject({ planned: 3, erased: 3 })
  })
})

describe('a repeated request', () => {
  it('DELETE resumes an erasure that gave up', async () => {
    const made = await talk()
    side.before = fails('erase')
    const response = await erase(made)
    await drain(test, { mayFail: true })
    side.before = undefined
    const again = await erase(made)
    expect([again.status, again.json.success, again.json.auditId]).toEqual([200, true, response.json.auditId])
  })

  it('POST retry accepts owners of the project and admins, and returns 409 when nothing is stuck', async () => {
    const made = await talk()
    side.before = fails('erase')
    const { auditId } = (await erase(made)).json
    await drain(test, { mayFail: true })
    side.before = undefined
    const retried = async (by: Person, id = auditId) => {
      const { status, json } = await test.fetch('POST', `/api/erasures/${id}/retry`, { cookie: by.cookie })
      return [status, json.code ?? json.data?.audit_id]
    }
    const colleague = await signedIn(test, 'person', made.owner.organisationId)
    expect(await retried(colleague)).toEqual([404, 'not_found'])
    expect(await retried(made.owner, 'nobody')).toEqual([404, 'not_found'])
    expect(await retried(await signedIn(test, 'admin'))).toEqual([202, auditId])
    await drain(test)
    expect((await looked(auditId, made.owner)).json.data.success).toBe(true)
    expect(await retried(made.owner)).toEqual([409, 'not_stuck'])
  })

  it('DELETE starts a new erasure when other data with the same id was erased before', async () => {
    const made = await talk()
    const other = await talk()
    const [message, id] = [first(made), first(other)]
    const now = test.clock.now()
    await test.db.prisma.erasureRun.create({
      data: {
        id: newId('run'),
        receiptId: newId('rcpt'),
        auditId: newId('audit'),
        agents: [],
        state: 'done',
        partKind: 'document',
        partId: message,
        projectId: other.project,
        createdAt: now,
        requestedBy: `user:${other.owner.accountId}`,
        reason: 'user_request',
      },
    })
    expect((await erase(made)).json.success).toBe(true)
    expect([await isStored(message), entriesOf(message)]).toEqual([false, 0])
    // If a run is done but the row exists, another run erases it.
    await test.db.prisma.erasureRun.create({
      data: {
        id: newId('run'),
        receiptId: newId('rcpt'),
        auditId: newId('audit'),
        agents: [],
        state: 'done',
        partKind: 'message',
        partId: id,
        projectId: other.project,
        conversationId: other.conversation,
        requestedBy: `user:${other.owner.accountId}`,
        reason: 'user_request',
        createdAt: now,
      },
    })
    expect([(await erase(other)).json.success, await isStored(id)]).toEqual([true, false])
  })
})

describe('a crash', () => {
  for (const point of [
    'start.before',
    'start.fenced',
    'start.planned',
    'start.intent',
    'start.after',
    'step.side.entries.before',
    'step.side.entries.inside',
    'step.side.entries.after',
    'last-look.before',
    'verify.committed',
    'verify.signed',
    'verify.after',
  ])
    it(`at ${point} does not change the outcome`, async () => {
      const made = await talk()
      crashAt = point
      const response = await erase(made)
      expect(crashAt).toBeUndefined()
      await drain(test)
      const run = await runOf(response)
      expect([run.state, await isStored(first(made)), entriesOf(first(made))]).toEqual(['done', false, 0])
      // A page that a crash interrupted is counted once.
      expect(run.steps.find(({ holder }) => holder === 'side.entries')).toMatchObject({
        planned: 3,
        erased: 3,
        results: { entriesDeleted: 3 },
      })
      expect((await logged(response.json.auditId))?.results).toMatchObject({ entriesDeleted: 3 })
      expect(
        await test.db.prisma.deletionAuditEntry.count({
          where: { scope: { path: ['messageId'], equals: first(made) } },
        }),
      ).toBe(1)
    })
})

describe('a legal hold on the project', () => {
  it('retains the message, which stays readable, and the message is erased when the hold ends', async () => {
    const made = await talk()
    const admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
    const set = await test.fetch('POST', '/v1/holds', {
      token: admin.token,
      body: { kind: 'project', target_id: made.project, reason: 'a court asked for it' },
    })
    expect(set.status).toBe(201)
    const response = await erase(made)
    expect([response.status, response.json.success]).toEqual([202, false])
    expect(response.json.held).toBeGreaterThan(0)
    expect((await runOf(response)).state).toBe('held')
    expect([await isStored(first(made)), entriesOf(first(made))]).toEqual([true, 3])
    expect((await test.db.prisma.message.findUniqueOrThrow({ where: { id: first(made) } })).erasingSince).toBeNull()
    // Repeated requests change nothing: the retained message stays readable.
    const again = await erase(made)
    expect([again.status, again.json.auditId, again.json.held]).toEqual([
      202,
      response.json.auditId,
      response.json.held,
    ])
    expect((await test.fetch('GET', at(made, first(made)), { cookie: made.owner.cookie })).status).toBe(200)
    await releaseInPerson(test, set.json.data.id)
    await drain(test)
    expect((await runOf(response)).state).toBe('done')
    expect([await isStored(first(made)), entriesOf(first(made))]).toEqual([false, 0])
  })

  it('is rejected for an unknown project', async () => {
    const admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
    const body = { kind: 'project', target_id: 'prj_nobody', reason: 'a court asked for it' }
    expect((await test.fetch('POST', '/v1/holds', { token: admin.token, body })).status).toBe(404)
  })
})

const hour = 3_600_000
describe('the second search, a day later', () => {
  const later = async (hours: number) => {
    test.clock.advance(hours * hour)
    await test.app.jobs.find(({ name }) => name === 'erasure.recheck')?.execute(test.app.pipeline, {})
    await drain(test, { mayFail: true })
  }
  it('finds a late write, erases and logs it, and is repeated until nothing is found', async () => {
    const made = await talk()
    const message = first(made)
    const [entry = ''] = [...side.entries.keys()].filter((id) => side.entries.get(id)?.message === message)
    const response = await erase(made)
    expect((await runOf(response)).recheckAt).toEqual(new Date(test.clock.now().getTime() + 24 * hour))
    const pages = async () =>
      test.db.prisma.erasurePage.groupBy({ by: ['holder'], where: { runId: (await runOf(response)).id } })
    const others = new Set(test.app.dataSources.filter(({ isShared }) => !isShared).map(({ name }) => name))
    expect((await pages()).map(({ holder }) => holder)).toContain('side.entries')
    expect((await pages()).filter(({ holder }) => others.has(holder))).toEqual([])
    late(made, message, made.owner, entry)
    await later(1)
    expect(entriesOf(message)).toBe(1)
    await later(24)
    expect([entriesOf(message), (await runOf(response)).lateFound]).toEqual([0, 1])
    expect((await runOf(response)).recheckAt?.getTime()).toBeGreaterThan(test.clock.now().getTime())
    const [log] = await test.db.prisma.deletionAuditEntry.findMany({
      where: { requestedBy: 'system:erasure.recheck', scope: { path: ['messageId'], equals: message } },
    })
    expect(log?.results).toMatchObject({ 'side.entries': 1, entriesDeleted: 1 })
    expect((await pages()).map(({ holder }) => holder)).toContain('side.entries')
    await later(25)
    const run = await runOf(response)
    expect([run.recheckAt, run.lateFound, await pages()]).toEqual([null, 1, []])
    expect(run.recheckedAt).toEqual(test.clock.now())
    expect(side.forgot).toContain(run.id)
    expect([...side.remembered.keys()].filter((key) => key.startsWith(run.id))).toEqual([])
  })

  it('finds a late write in a store where nothing was planned', async () => {
    const made = await talk({ entries: 0 })
    const message = first(made)
    const response = await erase(made)
    expect(response.json.success).toBe(true)
    const run = await runOf(response)
    expect(run.recheckAt).toEqual(new Date(test.clock.now().getTime() + 24 * hour))
    expect(run.steps.find(({ holder }) => holder === 'side.entries')).toMatchObject({ planned: 0, erased: 0 })
    const receipt = (await test.fetch('GET', `/v1/receipts/${run.receiptId}`)).json
    expect(receipt.stores.map(({ holder }: { holder: string }) => holder)).not.toContain('side.entries')
    late(made, message)
    await later(25)
    expect([entriesOf(message), (await runOf(response)).lateFound]).toEqual([0, 1])
    await later(25)
    expect((await runOf(response)).recheckAt).toBeNull()
  })

  it('waits while a legal hold covers the project, also for the erasure of a person', async () => {
    const made = await talk({ messages: 1 })
    const member = await signedIn(test)
    const theirs = await say(made, 1, member)
    const [entry = ''] = [...side.entries.keys()].filter((id) => side.entries.get(id)?.message === theirs)
    const { runId } = await test.db.transaction((tx) =>
      test.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: member.accountId, agents: [] },
        reason: 'user_request',
        requestedBy: `user:${member.accountId}`,
        now: test.clock.now(),
      }),
    )
    await drain(test)
    late(made, theirs, member, entry)
    const admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
    const set = await test.fetch('POST', '/v1/holds', {
      token: admin.token,
      body: { kind: 'project', target_id: made.project, reason: 'a court asked for it' },
    })
    expect(set.status).toBe(201)
    await later(25)
    expect([entriesOf(theirs), (await test.app.subjectErasures.run(runId))?.lateFound]).toEqual([1, 0])
    await releaseInPerson(test, set.json.data.id)
    await later(2)
    expect([entriesOf(theirs), (await test.app.subjectErasures.run(runId))?.lateFound]).toEqual([0, 1])
  })

  it('waits for a store that does not answer, reports it, and ends when the store returns', async () => {
    const made = await talk()
    const message = first(made)
    const [entry = ''] = [...side.entries.keys()].filter((id) => side.entries.get(id)?.message === message)
    const response = await erase(made)
    late(made, message, made.owner, entry)
    side.before = isDown('residue')
    await later(25)
    const { json } = await looked(response.json.auditId, made.owner)
    expect(json.data.steps).toContainEqual(expect.objectContaining({ holder: 'side.entries', fault: 'unavailable' }))
    expect([json.data.recheck_at === null, entriesOf(message)]).toEqual([false, 1])
    side.before = undefined
    crashAt = 'recheck.side.entries.inside'
    await later(1)
    expect([entriesOf(message), (await runOf(response)).lateFound]).toEqual([0, 1])
    expect((await looked(response.json.auditId, made.owner)).json.data.steps).toContainEqual(
      expect.objectContaining({ holder: 'side.entries', fault: null }),
    )
  })
})

describe('erasure of a conversation or a person', () => {
  it('erases a conversation with its messages', async () => {
    const made = await talk({ messages: 3 })
    const response = await test.fetch('DELETE', `/api/projects/${made.project}/conversations/${made.conversation}`, {
      cookie: made.owner.cookie,
    })
    expect([response.status, response.json.success]).toEqual([200, true])
    expect(await test.db.prisma.message.count({ where: { conversationId: made.conversation } })).toBe(0)
    expect(await test.db.prisma.conversation.count({ where: { id: made.conversation } })).toBe(0)
    expect(made.messages.map(entriesOf)).toEqual([0, 0, 0])
    expect((await logged(response.json.auditId))?.results).toMatchObject({
      messagesDeleted: 3,
      conversationsDeleted: 1,
      entriesDeleted: 9,
    })
  })

  it('erases a person’s messages in every project, and finds late entries that do not name the person', async () => {
    const made = await talk({ messages: 1 })
    const member = await signedIn(test)
    const theirs = await say(made, 2, member)
    const [entry = ''] = [...side.entries.keys()].filter((id) => side.entries.get(id)?.message === theirs)
    const { runId, receiptId } = await test.db.transaction((tx) =>
      test.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: member.accountId, agents: [] },
        reason: 'user_request',
        requestedBy: `user:${member.accountId}`,
        now: test.clock.now(),
      }),
    )
    await drain(test)
    const run = await test.app.subjectErasures.run(runId)
    expect([run?.state, run?.accountId, entriesOf(theirs), entriesOf(first(made))]).toEqual(['done', null, 0, 3])
    late(made, theirs, member, entry)
    test.clock.advance(25 * hour)
    await test.app.subjectErasures.recheck(runId)
    expect([entriesOf(theirs), entriesOf(first(made))]).toEqual([0, 3])
    const log = await test.db.prisma.deletionAuditEntry.findMany({
      where: { scope: { path: ['receipt'], equals: receiptId } },
    })
    expect(log.map(({ results }) => results)).toEqual([expect.objectContaining({ entriesDeleted: 1 })])
    expect(JSON.stringify(log)).not.toContain(member.accountId)
  })
})
