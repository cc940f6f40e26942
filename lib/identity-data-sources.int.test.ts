import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { contributeUnit } from '#lib/domains/knowledge/contract.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import { countOf, type DataSource } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { sop, trace } from '#lib/testing/units.ts'
import { enqueueNotice } from './domains/accounts/writes.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app?.close())

const rows = async <R extends Record<string, unknown>>(sql: string, ...values: unknown[]): Promise<R[]> =>
  (await app.db.pool.query<R>(sql, values)).rows
function dataSource(name: string): DataSource {
  const found = app.app.dataSources.find((one) => one.name === name)
  if (!found) throw new Error(`no holder ${name}`)
  return found
}
const planOf = (name: string, subject: Subject) =>
  app.db.transaction((tx) => dataSource(name).plan({ subject }, tx, app.clock.now()))
const erase = async (name: string, subject: Subject, items: string[]) =>
  countOf(await app.db.transaction((tx) => dataSource(name).erase({ subject }, items, tx)))
const residueOf = (name: string, subject: Subject, items: string[]) =>
  dataSource(name).residue({ subject }, items, app.clock.now())

interface Somebody {
  person: Person
  agents: Issued[]
  subject: Subject
}
async function somebody(): Promise<Somebody> {
  const person = await signedIn(app)
  const agents = [
    await issuedAgent(app, ['read', 'write'], { owner: person }),
    await issuedAgent(app, ['read', 'write'], { owner: person }),
  ]
  return { person, agents, subject: { account: person.accountId, agents: agents.map(({ id }) => id) } }
}
const addressOf = async ({ person }: Somebody): Promise<string> =>
  (await app.db.transaction((tx) => app.app.accounts.contactOf(tx, person.accountId)))?.email ?? ''

/** Everything that these data sources store about a person, as text. Erasing another person must not change it. */
const stateOf = async ({ person, agents }: Somebody) =>
  JSON.stringify([
    await rows('SELECT * FROM accounts WHERE id = $1', person.accountId),
    await rows('SELECT * FROM organisations WHERE id = $1', person.organisationId),
    await rows('SELECT * FROM sessions WHERE account_id = $1 ORDER BY id', person.accountId),
    await rows('SELECT * FROM known_sign_ins WHERE account_id = $1 ORDER BY mark', person.accountId),
    await rows('SELECT * FROM agents WHERE owner_id = $1 ORDER BY id', person.accountId),
    await rows(
      'SELECT * FROM tokens WHERE agent_id = ANY($1) ORDER BY id',
      agents.map(({ id }) => id),
    ),
    await rows(
      'SELECT f.* FROM rate_limit_refusals f JOIN tokens t ON t.id = f.token_id WHERE t.agent_id = ANY($1) ORDER BY f.id',
      agents.map(({ id }) => id),
    ),
  ])
async function furnish({ person, agents }: Somebody): Promise<void> {
  const now = app.clock.now()
  await app.db.transaction(async (tx) => {
    await tx.knownSignIn.create({
      data: { mark: new Uint8Array(Buffer.from(newId('mark'))), accountId: person.accountId, lastAt: now },
    })
    for (const { tokenId } of agents)
      await tx.rateLimitRefusal.create({
        data: {
          id: newId('rlr'),
          tokenId,
          limitKey: tokenId,
          at: now,
          requestClass: 'read',
          limit: 1,
          consumed: 2,
          ip: '192.0.2.1',
        },
      })
  })
}

const identity = ['tokens', 'agents', 'accounts.sessions', 'accounts.sign-ins', 'accounts']
const all = ['mail.letters', 'queue.jobs', ...identity]

describe('the rows of a person', () => {
  let mine: Somebody
  let other: Somebody
  beforeEach(async () => {
    mine = await somebody()
    other = await somebody()
    await furnish(mine)
    await furnish(other)
  })

  test('are counted, planned by id, erased once and searched for, and another person’s rows remain', async () => {
    const before = await stateOf(other)
    const counts: Record<string, number> = {
      tokens: 2,
      agents: 2,
      'accounts.sessions': 1,
      'accounts.sign-ins': 1,
      accounts: 1,
    }
    const plans = new Map<string, string[]>()
    for (const name of identity) {
      const inventory = await dataSource(name).inventory(mine.subject, app.clock.now())
      expect(inventory.count, name).toBe(counts[name])
      expect(inventory.since, name).toEqual(app.clock.now())
      const { items, held } = await planOf(name, mine.subject)
      expect(held).toEqual({})
      expect(items, name).toHaveLength(counts[name] ?? 0)
      expect(items, name).toEqual([...new Set(items)].sort())
      expect(await residueOf(name, mine.subject, items), name).toBeGreaterThan(0)
      plans.set(name, items)
    }
    expect(plans.get('tokens')).toEqual(mine.agents.map(({ tokenId }) => tokenId).sort())
    expect(plans.get('agents')).toEqual(mine.agents.map(({ id }) => id).sort())
    expect(plans.get('accounts')).toEqual([mine.person.accountId])
    for (const name of identity) {
      const items = plans.get(name) ?? []
      // Page by page, like the engine.
      let erased = 0
      for (const item of items) erased += await erase(name, mine.subject, [item])
      expect(erased, name).toBe(counts[name])
      expect(await erase(name, mine.subject, items), name).toBe(0)
    }
    for (const name of identity) {
      expect(await residueOf(name, mine.subject, plans.get(name) ?? []), name).toBe(0)
      expect(await planOf(name, mine.subject), name).toEqual({ items: [], held: {} })
      expect((await dataSource(name).inventory(mine.subject, app.clock.now())).count, name).toBe(0)
    }
    expect(await rows('SELECT 1 FROM organisations WHERE id = $1', mine.person.organisationId)).toEqual([])
    expect(await rows('SELECT 1 FROM rate_limit_refusals WHERE token_id = ANY($1)', plans.get('tokens'))).toEqual([])
    expect(await stateOf(other)).toBe(before)
  })

  test('are not planned for the scope of a unit or skill', async () => {
    const before = await stateOf(mine)
    for (const name of all)
      for (const scope of [{ unit: 'kp:trace:none' }, { skill: 'kp:skill:none' }]) {
        expect(await app.db.transaction((tx) => dataSource(name).plan(scope, tx, app.clock.now())), name).toEqual({
          items: [],
          held: {},
        })
        expect(await app.db.transaction((tx) => dataSource(name).erase(scope, [], tx)), name).toBe(0)
        expect(await dataSource(name).residue(scope, [], app.clock.now()), name).toBe(0)
      }
    expect(await stateOf(mine)).toBe(before)
  })

  test('keep owner, siblings and organization when a single agent is erased', async () => {
    const [one, sibling] = mine.agents
    if (!one || !sibling) throw new Error('two agents')
    const subject: Subject = { account: null, agents: [one.id] }
    for (const name of identity) {
      const { items } = await planOf(name, subject)
      expect(items, name).toEqual(name === 'tokens' ? [one.tokenId] : name === 'agents' ? [one.id] : [])
      await erase(name, subject, items)
      expect(await residueOf(name, subject, items), name).toBe(0)
    }
    expect(await rows('SELECT id FROM agents WHERE owner_id = $1', mine.person.accountId)).toEqual([{ id: sibling.id }])
    expect(await rows('SELECT 1 FROM sessions WHERE account_id = $1', mine.person.accountId)).toHaveLength(1)
    expect(await rows('SELECT 1 FROM organisations WHERE id = $1', mine.person.organisationId)).toHaveLength(1)
  })

  test('keep an organization that has other members', async () => {
    const colleague = await signedIn(app, 'person', mine.person.organisationId)
    for (const name of identity) await erase(name, mine.subject, (await planOf(name, mine.subject)).items)
    expect(await rows('SELECT id FROM accounts WHERE organisation_id = $1', mine.person.organisationId)).toEqual([
      { id: colleague.accountId },
    ])
  })

  test('include the organization of an agent that registered itself and was its only member', async () => {
    const { id } = await app.agent(['read'], { agent_id: `alone-${newId('x')}` })
    const subject: Subject = { account: null, agents: [id] }
    expect(await rows('SELECT 1 FROM organisations WHERE name = $1', id)).toHaveLength(1)
    const { items } = await planOf('agents', subject)
    expect(await erase('agents', subject, items)).toBe(1)
    expect(await rows('SELECT 1 FROM organisations WHERE name = $1', id)).toEqual([])
    // A remaining organization is found.
    await app.db.transaction((tx) =>
      tx.organisation.create({ data: { id: newId('org'), name: id, createdAt: app.clock.now() } }),
    )
    expect(await residueOf('agents', subject, items)).toBe(1)
  })

  test('count as residue when they were missed or stored again after the erasure', async () => {
    const plans = new Map<string, string[]>()
    for (const name of identity) plans.set(name, (await planOf(name, mine.subject)).items)
    for (const name of identity) await erase(name, mine.subject, plans.get(name) ?? [])
    const { accountId, organisationId } = mine.person
    const now = app.clock.now()
    await app.db.transaction(async (tx) => {
      await tx.organisation.create({ data: { id: organisationId, name: 'Back', createdAt: now } })
      await tx.account.create({
        data: {
          id: accountId,
          organisationId,
          email: `${newId('mail')}@example.org`,
          name: 'Back',
          role: 'person',
          passwordHash: 'x',
          createdAt: now,
          updatedAt: now,
        },
      })
      await tx.session.create({
        data: { id: newId('ses'), accountId, createdAt: now, lastSeenAt: now, expiresAt: now },
      })
      await tx.knownSignIn.create({ data: { mark: new Uint8Array([1, 2, 3]), accountId, lastAt: now } })
      const [agentId = ''] = mine.subject.agents
      await tx.agent.create({
        data: {
          id: agentId,
          organisationId,
          ownerId: accountId,
          lawfulBasis: 'consent',
          noticeVersion: '1',
          createdAt: now,
        },
      })
      await app.app.tokens.issue(tx, { agentId, scopes: ['read'], name: null, expiresAt: null, now })
    })
    for (const name of identity)
      expect(await residueOf(name, mine.subject, plans.get(name) ?? []), name).toBeGreaterThan(0)
  })
})

describe('an agent whose record is under legal hold', () => {
  test('remains without its owner while the hold covers its record, and is erased once the record is deleted', async () => {
    const admin = await issuedAgent(app, ['admin'])
    const mine = await somebody()
    const [author, sibling] = mine.agents
    if (!author || !sibling) throw new Error('two agents')
    const made = await app.fetch('POST', '/v1/knowledge', { token: author.token, body: trace() })
    const { id } = contributeUnit.output.parse(made.json).data
    const body = { kind: 'unit', target_id: id, reason: 'A claim is pending.' }
    const hold = await app.fetch('POST', '/v1/holds', { token: admin.token, body })
    expect(hold.status, hold.text).toBe(201)

    const planned = await planOf('agents', mine.subject)
    expect(planned).toEqual({ items: [sibling.id], held: { [hold.json.data.id]: 1 } })
    for (const name of identity) await erase(name, mine.subject, (await planOf(name, mine.subject)).items)
    // A plan from before the hold also keeps the author of an existing record.
    expect(await erase('agents', mine.subject, [author.id, sibling.id])).toBe(0)
    expect(await rows('SELECT id, owner_id FROM agents WHERE id = ANY($1)', mine.subject.agents)).toEqual([
      { id: author.id, owner_id: null },
    ])
    expect(await rows('SELECT 1 FROM accounts WHERE id = $1', mine.person.accountId)).toEqual([])
    for (const name of identity)
      expect(await residueOf(name, mine.subject, name === 'agents' ? [sibling.id] : []), name).toBe(0)

    // It has no owner and its token was never used, but the purge of unused agents also keeps it.
    await rows('UPDATE agents SET first_used_at = NULL WHERE id = $1', author.id)
    app.clock.advance(25 * 3_600_000)
    const purge = app.app.jobs.find(({ name }) => name === 'agents.purge-unused')
    await purge?.execute(app.app.pipeline, {})
    expect(await rows('SELECT 1 FROM agents WHERE id = $1', author.id)).toHaveLength(1)

    await app.fetch('DELETE', `/v1/holds/${hold.json.data.id}`, { token: admin.token })
    await rows('DELETE FROM units WHERE id = $1', id)
    expect(await residueOf('agents', mine.subject, [])).toBe(1)
    expect(await planOf('agents', mine.subject)).toEqual({ items: [author.id], held: {} })
    expect(await erase('agents', mine.subject, [author.id])).toBe(1)
    expect(await rows('SELECT 1 FROM organisations WHERE id = $1', mine.person.organisationId)).toEqual([])
  })
})

test('an agent remains without its owner when its record is held because of the expert whom its SOP names', async () => {
  const admin = await issuedAgent(app, ['admin'])
  const mine = await somebody()
  const [author, sibling] = mine.agents
  const expert = await issuedAgent(app, ['read', 'write'])
  const document = sop({ source: { type: 'human_expert', expert_id: expert.id, credentials: [] } })
  const made = await app.fetch('POST', '/v1/knowledge', { token: author?.token, body: document })
  expect(made.status, made.text).toBe(201)
  expect((await planOf('agents', mine.subject)).items).toHaveLength(2)
  const body = { kind: 'agent', target_id: expert.id, reason: 'A claim is pending.' }
  const hold = await app.fetch('POST', '/v1/holds', { token: admin.token, body })
  expect(await planOf('agents', mine.subject)).toEqual({ items: [sibling?.id], held: { [hold.json.data.id]: 1 } })
  await rows('UPDATE legal_holds SET expires_at = $2 WHERE id = $1', hold.json.data.id, app.clock.now())
  expect((await planOf('agents', mine.subject)).items).toHaveLength(2)
})

describe('jobs in the queue', () => {
  const jobs = () => rows<{ id: string }>('SELECT id::text FROM graphile_worker._private_jobs j ORDER BY j.id')
  beforeEach(() => rows('DELETE FROM graphile_worker._private_jobs'))

  test('are deleted when they contain the subject’s id, whether running, failed or waiting; others remain', async () => {
    const mine = await somebody()
    const other = await somebody()
    const { accountId } = mine.person
    const [agentId = ''] = mine.subject.agents
    await app.db.transaction(async (tx) => {
      await enqueueNotice(tx, { kind: 'password-reset', accountId, at: app.clock.now() })
      await enqueue(tx, 'a.job', { requestedBy: `user:${accountId}`, count: 3 })
      await enqueue(tx, 'a.job', { agentId })
      await enqueue(tx, 'a.job', { count: 1 }, { key: `a.job:${accountId}` })
      await enqueueNotice(tx, {
        kind: 'password-reset',
        accountId: other.person.accountId,
        at: app.clock.now(),
      })
      // An id that contains another is a different id.
      await enqueue(tx, 'a.job', { agentId: `${agentId}x`, run: newId('run') })
    })
    await rows(
      "UPDATE graphile_worker._private_jobs SET locked_at = now(), locked_by = 'w' WHERE id = (SELECT min(id) FROM graphile_worker._private_jobs)",
    )
    const before = await jobs()
    expect((await dataSource('queue.jobs').inventory(mine.subject, app.clock.now())).count).toBe(4)
    const { items } = await planOf('queue.jobs', mine.subject)
    expect(items).toEqual(
      before
        .slice(0, 4)
        .map(({ id }) => id)
        .sort(),
    )
    expect(await residueOf('queue.jobs', mine.subject, items)).toBe(4)
    expect(await erase('queue.jobs', mine.subject, items)).toBe(4)
    expect(await erase('queue.jobs', mine.subject, items)).toBe(0)
    expect(await jobs()).toEqual(before.slice(4))
    expect(await residueOf('queue.jobs', mine.subject, items)).toBe(0)
    // A job that was enqueued in the meantime is found.
    await app.db.transaction((tx) => enqueue(tx, 'a.job', { deep: `${accountId}` }))
    expect(await residueOf('queue.jobs', mine.subject, items)).toBe(1)
  })

  test("jobs of others stay in the queue when an agent's id equals the id of a job, run, request or account", async () => {
    const mine = await somebody()
    const { accountId } = mine.person
    const run = newId('run')
    await app.db.transaction(async (tx) => {
      await enqueue(tx, 'erasure.start', { runId: run }, { key: `erasure.start:${run}` })
      await enqueue(tx, 'exports.prepare', { id: 'exp_1' }, { key: 'exports.prepare:exp_1' })
      await enqueueNotice(tx, { kind: 'password-reset', accountId, at: app.clock.now() })
      await enqueue(tx, 'a.job', { count: 1 }, { key: `a.job:${accountId}` })
      await enqueue(tx, 'a.job', { agentId: accountId })
    })
    const before = await jobs()
    const names = ['erasure.start', 'exports.prepare', 'exp_1', run, 'password-reset']
    const subject: Subject = { account: null, agents: [...names, accountId] }
    const { items } = await planOf('queue.jobs', subject)
    expect(items).toEqual(before.slice(4).map(({ id }) => id))
    expect(await residueOf('queue.jobs', subject, [])).toBe(1)
    // The deleted agent's job is not counted as the account's.
    expect((await planOf('queue.jobs', mine.subject)).items).toEqual(
      before
        .slice(2, 4)
        .map(({ id }) => id)
        .sort(),
    )
    expect(await residueOf('queue.jobs', mine.subject, [])).toBe(2)
  })
})

describe('emails in the folder', () => {
  const folder = () => join(app.dataDir, 'mail')
  const send = (to: string, about?: string) =>
    app.app.mail.send({ to, subject: 'x', text: 'x', html: '<p>x</p>', ...(about !== undefined && { about }) })

  test('are erased by address and mark, while emails to others and other files remain', async () => {
    const mine = await somebody()
    const other = await somebody()
    const [mineAt, otherAt] = [await addressOf(mine), await addressOf(other)]
    await send(mineAt)
    await send(mineAt.toUpperCase())
    // Sent to a former address: only the mark finds it.
    await send('formerly@example.org', mine.person.accountId)
    await send(otherAt, other.person.accountId)
    await send(`x${mineAt}`)
    mkdirSync(folder(), { recursive: true })
    writeFileSync(join(folder(), 'notes.eml'), `To: nobody@example.org\r\n\r\nTo: ${mineAt}\r\n`)
    writeFileSync(join(app.dataDir, 'kept.eml'), `To: ${mineAt}\r\n\r\n`)
    const before = readdirSync(folder())

    expect((await dataSource('mail.letters').inventory(mine.subject, app.clock.now())).count).toBe(3)
    const { items } = await planOf('mail.letters', mine.subject)
    expect(items).toHaveLength(3)
    expect(await residueOf('mail.letters', mine.subject, items)).toBe(3)
    expect(await erase('mail.letters', mine.subject, [...items, '../kept.eml', 'notes.eml', '.', ''])).toBe(3)
    expect(await erase('mail.letters', mine.subject, items)).toBe(0)
    expect(readdirSync(folder()).sort()).toEqual(before.filter((name) => !items.includes(name)).sort())
    expect(readdirSync(app.dataDir)).toContain('kept.eml')
    expect(await residueOf('mail.letters', mine.subject, items)).toBe(0)
  })

  test('written after the account was deleted are found by their mark', async () => {
    const mine = await somebody()
    await rows('DELETE FROM accounts WHERE id = $1', mine.person.accountId)
    await send('gone@example.org', mine.person.accountId)
    expect(await residueOf('mail.letters', mine.subject, [])).toBe(1)
    const { items } = await planOf('mail.letters', mine.subject)
    expect(await erase('mail.letters', mine.subject, items)).toBe(1)
    expect(await residueOf('mail.letters', mine.subject, [])).toBe(0)
  })

  test('are found by any spelling of the address, also in folded headers', async () => {
    const mine = await somebody()
    await rows('UPDATE accounts SET email = $2 WHERE id = $1', mine.person.accountId, 'ada@bücher.example')
    mkdirSync(folder(), { recursive: true })
    const name = (end: string) => join(folder(), `2026-01-01T00-00-00.000Z-${end}.eml`)
    writeFileSync(name('00000001'), 'Subject: x\r\nTo: Ada\r\n <ada@xn--bcher-kva.example>\r\n\r\nx')
    writeFileSync(name('00000002'), 'To: ADA@BÜCHER.EXAMPLE\r\n\r\nx')
    writeFileSync(name('00000003'), 'Subject: x\r\n\r\nTo: ada@bücher.example\r\n')
    expect((await planOf('mail.letters', mine.subject)).items.map((item) => item.slice(-12))).toEqual([
      '00000001.eml',
      '00000002.eml',
    ])
  })

  test('are not written to a person who is being erased', async () => {
    const mine = await somebody()
    const before = readdirSync(folder()).length
    const notify = app.app.jobs.find(({ name }) => name === 'accounts.notify')
    const notice = { kind: 'password-reset', accountId: mine.person.accountId, at: app.clock.now().toISOString() }
    await notify?.execute(app.app.pipeline, notice)
    expect(readdirSync(folder())).toHaveLength(before + 1)
    await app.db.transaction((tx) =>
      tx.writeFence.create({
        data: { kind: 'account', id: mine.person.accountId, runId: 'run_x', raisedAt: app.clock.now() },
      }),
    )
    await notify?.execute(app.app.pipeline, notice)
    expect(readdirSync(folder())).toHaveLength(before + 1)
  })
})
