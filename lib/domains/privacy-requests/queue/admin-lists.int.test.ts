import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'
import { trace } from '#lib/testing/units.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest()
})
afterAll(() => kit.close())

const queue = (query = '', cookie = kit.admin.cookie, limit = 100) =>
  kit.test.fetch('GET', `/api/admin/privacy/requests?limit=${limit}${query}`, { cookie })
const open = async () => (await kit.test.fetch('GET', '/api/erasures', { cookie: kit.admin.cookie })).json.open
const hold = (kind: string, target_id: string) =>
  kit.test.fetch('POST', '/v1/holds', {
    cookie: kit.admin.cookie,
    body: { kind, target_id, reason: 'Case 7 O 12/26' },
  })
const idOfHold = async (kind: string, target: string): Promise<string> => (await hold(kind, target)).json.data.id

describe('names in requests', () => {
  it('are returned by the queue, and the address only by the single request', async () => {
    const person = await personWithPassword(kit.test, 'Ada Example')
    const made = await kit.file(person.cookie, { kinds: ['objection'], password: person.password, statement: 'No.' })
    const { id } = made.json.data
    await kit.asAdmin(id, 'assign', { account_id: kit.admin.accountId })
    const listed = await queue(`&q=${id}`)
    expect(listed.json.data).toMatchObject([{ id, subject_name: 'Ada Example', assigned_to: kit.admin.accountId }])
    expect(listed.json.data[0].assigned_name).toEqual(expect.any(String))
    expect(listed.text).not.toContain(person.email)
    expect(await kit.adminRead(id)).toMatchObject({
      subject_name: 'Ada Example',
      subject_email: person.email,
      holds: [],
    })
    // The subject sees neither the assigned admin nor internal data.
    expect(Object.keys(await kit.read(person.cookie, id))).not.toEqual(expect.arrayContaining(['assigned_name']))
  })

  it('the queue finds requests by a part of the name, by the address and by the id of the subject', async () => {
    const person = await personWithPassword(kit.test, 'Findable Example')
    const made = await kit.file(person.cookie, { kinds: ['objection'], password: person.password, statement: 'No.' })
    const { id } = made.json.data
    for (const q of ['findable', person.email.toUpperCase(), person.accountId, id.slice(0, 20)])
      expect([q, (await queue(`&q=${encodeURIComponent(q)}`)).json.data.map((row: { id: string }) => row.id)]).toEqual([
        q,
        [id],
      ])
    expect((await queue('&q=nobody%20has%20this')).json.data).toEqual([])
  })

  it('the timeline names the admin who acted, and the subject does not read the name', async () => {
    const person = await personWithPassword(kit.test, 'Tim Example')
    const made = await kit.file(person.cookie, { kinds: ['objection'], password: person.password, statement: 'No.' })
    const { id } = made.json.data
    await kit.asAdmin(id, 'assign', { account_id: kit.admin.accountId })
    const events = async () => (await kit.adminRead(id)).timeline as { event: string; by_name: string | null }[]
    expect((await events()).find(({ event }) => event === 'received')?.by_name).toBeNull()
    expect((await events()).find(({ event }) => event === 'assigned')?.by_name).toEqual(expect.any(String))
    expect(JSON.stringify(await kit.read(person.cookie, id))).not.toContain('by_name')
  })

  it('statistics counts open and closed requests and returns a median', async () => {
    const { open, unassigned, closed, median_days } = await kit.test.app.requests.statistics(kit.test.clock.now())
    expect(open).toBeGreaterThanOrEqual(unassigned)
    expect(closed === 0 ? median_days : typeof median_days).toBe(closed === 0 ? null : 'number')
  })

  it('are omitted from responses to POST, so that idempotency records contain no names after an erasure', async () => {
    const person = await personWithPassword(kit.test, 'Grace Example')
    const answers = async (id: string) =>
      (
        await kit.test.db.pool.query(
          'SELECT body::text AS body FROM idempotency_records WHERE body IS NOT NULL AND resource_id = $1',
          [id],
        )
      ).rows
    const asAdmin = (at: string, key: string, body: object) =>
      kit.test.fetch('POST', `/api/admin/privacy/requests${at}`, {
        cookie: kit.admin.cookie,
        body,
        headers: { 'Idempotency-Key': `named-${key}` },
      })
    const filed = await asAdmin('', 'file', {
      account_id: person.accountId,
      kinds: ['erasure'],
      grace: '24h',
      received_at: kit.test.clock.now(),
    })
    const { id } = filed.json.data
    expect([filed.status, filed.json.data.subject_name, filed.json.data.account_id]).toEqual([
      201,
      null,
      person.accountId,
    ])
    const assigned = await asAdmin(`/${id}/assign`, 'assign', { account_id: kit.admin.accountId })
    expect([assigned.json.data.assigned_to, assigned.json.data.assigned_name]).toEqual([kit.admin.accountId, null])
    expect(await kit.adminRead(id)).toMatchObject({ subject_name: 'Grace Example' })
    await asAdmin(`/${id}/verify`, 'verify', { note: 'They came in person.' })
    const reason = 'They asked for it.'
    expect((await asAdmin(`/${id}/expedite`, 'expedite', { reason })).json.code).toBe('wrong_state')
    const replies = await answers(id)
    kit.test.clock.advance(86_400_000)
    await kit.tick()
    expect((await kit.adminRead(id)).state).toBe('completed')
    expect(replies.length).toBeGreaterThan(0)
    expect(JSON.stringify([...replies, ...(await answers(id))])).not.toContain('Grace')
  })

  it("are the agent's name and the owner's address for an agent's request, or null for an agent without an owner", async () => {
    const owner = await personWithPassword(kit.test)
    const [owned, alone] = [
      await issuedAgent(kit.test, ['read', 'write'], { owner }),
      await issuedAgent(kit.test, ['read', 'write']),
    ]
    await kit.test.db.prisma.agent.update({ where: { id: owned.id }, data: { name: 'Reader' } })
    const read = async (agent_id: string) => {
      const body = { kinds: ['restriction'], agent_id, received_at: kit.test.clock.now() }
      const made = await kit.fileAsAdmin(body)
      return kit.adminRead(made.json.data.id)
    }
    expect(await read(owned.id)).toMatchObject({ subject_name: 'Reader', subject_email: owner.email })
    expect(await read(alone.id)).toMatchObject({ subject_name: null, subject_email: null })
  })
})

describe('the queue by deadline', () => {
  it('lists requests without a deadline last, one per page', async () => {
    const person = await personWithPassword(kit.test)
    const file = async (kind: string): Promise<string> =>
      (await kit.file(person.cookie, { kinds: [kind], password: person.password, statement: 'No.' })).json.data.id
    const [refused, running, answered] = [
      await file('rectification'),
      await file('objection'),
      await file('restriction'),
    ]
    await kit.asAdmin(refused, 'refuse', { ground: 'excessive', reason: 'It repeats an earlier request.' })
    const found: { id: string; due: string }[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { json } = await queue(`&q=${person.accountId}${cursor && `&cursor=${cursor}`}`, kit.admin.cookie, 1)
      found.push(...json.data)
      cursor = json.next_cursor
    }
    expect(found.map(({ due }) => due)).toEqual(['ok', 'stopped', 'stopped'])
    expect(found[0]?.id).toBe(running)
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set([refused, running, answered]))
  })

  it('lists paused requests after those with a running deadline, by the time that remains', async () => {
    const person = await personWithPassword(kit.test)
    const file = async (body: object): Promise<string> => {
      const made = await kit.fileAsAdmin({ account_id: person.accountId, received_at: kit.test.clock.now(), ...body })
      return made.json.data.id
    }
    const early = new Date(kit.test.clock.now().getTime() - 20 * 86_400_000)
    const [soon, later, running] = [
      await file({ kinds: ['portability'], received_at: early }),
      await file({ kinds: ['restriction'] }),
      await file({ kinds: ['rectification'], statement: 'No.' }),
    ]
    for (const id of [later, soon]) expect((await kit.asAdmin(id, 'pause', { reason: 'Who asks?' })).status).toBe(200)
    const { data } = (await queue(`&q=${person.accountId}`)).json
    expect(data.map(({ id, due }: { id: string; due: string }) => [id, due])).toEqual([
      [running, 'ok'],
      [soon, 'paused'],
      [later, 'paused'],
    ])
  })

  it('statistics distinguishes the legal deadline from our own', async () => {
    const person = await personWithPassword(kit.test)
    await kit.file(person.cookie, { kinds: ['objection'], password: person.password, statement: 'No.' })
    const at = (days: number) => new Date(kit.test.clock.now().getTime() + days * 86_400_000)
    const numbers = (days: number) => kit.test.app.requests.statistics(at(days))
    const [today, later] = [await numbers(0), await numbers(6)]
    expect(later.overdue).toBeGreaterThan(today.overdue)
    expect(later.legally_overdue).toBe(today.legally_overdue)
    expect((await numbers(40)).legally_overdue).toBeGreaterThan(today.legally_overdue)
  })
})

it('GET /api/admin/privacy/minders lists all admins and returns 403 to other roles', async () => {
  const [auditor, person] = [await signedIn(kit.test, 'auditor'), await signedIn(kit.test)]
  const minders = (cookie?: string) =>
    kit.test.fetch('GET', '/api/admin/privacy/minders', cookie === undefined ? {} : { cookie })
  expect((await minders()).status).toBe(401)
  for (const { cookie } of [auditor, person]) expect((await minders(cookie)).status).toBe(403)
  const response = await minders(kit.admin.cookie)
  expect(response.json.data).toContainEqual({ account_id: kit.admin.accountId, name: expect.any(String) })
  expect(response.json.data.map(({ account_id }: { account_id: string }) => account_id)).not.toContain(
    auditor.accountId,
  )
  expect(response.text).not.toContain('@')
})

it('admins who cannot sign in are not listed as minders, and assigning a request to them returns 422', async () => {
  const [closed, invited, erased] = [
    await signedIn(kit.test, 'admin'),
    await signedIn(kit.test, 'admin'),
    await signedIn(kit.test, 'admin'),
  ]
  const set = (sql: string, id: string) => kit.test.db.pool.query(sql, [id])
  await set('UPDATE accounts SET deactivated_at = now() WHERE id = $1', closed.accountId)
  await set('UPDATE accounts SET password_hash = NULL WHERE id = $1', invited.accountId)
  await set(
    "INSERT INTO write_fences (kind, id, run_id, raised_at) VALUES ('account', $1, 'run_x', now())",
    erased.accountId,
  )
  const minders = await kit.test.fetch('GET', '/api/admin/privacy/minders', { cookie: kit.admin.cookie })
  const named = minders.json.data.map(({ account_id }: { account_id: string }) => account_id)
  expect(named).toContain(kit.admin.accountId)
  const person = await personWithPassword(kit.test)
  const made = await kit.file(person.cookie, { kinds: ['objection'], password: person.password, statement: 'No.' })
  for (const { accountId } of [closed, invited, erased]) {
    expect(named).not.toContain(accountId)
    const refused = await kit.asAdmin(made.json.data.id, 'assign', { account_id: accountId })
    expect([refused.status, refused.json.issues[0].path]).toEqual([422, ['account_id']])
  }
  await set('DELETE FROM write_fences WHERE id = $1', erased.accountId)
})

describe('requests under a legal hold', () => {
  it('are returned by the filter for the hold, contain its id, and count as held erasures until the release', async () => {
    const person = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner: person })
    const stored = await kit.test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const holdId = await idOfHold('unit', stored.json.data.id)
    const before = await open()
    const made = await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now', password: person.password })
    const { id } = made.json.data
    expect((await open()).planning).toBe(before.planning + 1)
    await kit.work()
    expect((await queue(`&hold=${holdId}`)).json.data).toMatchObject([{ id, state: 'partly_completed' }])
    expect(await open()).toEqual({ ...before, held: before.held + 1 })
    const read = await kit.adminRead(id)
    expect([read.holds, read.erasure.request_id]).toEqual([[holdId], id])
    await kit.test.fetch('POST', `/v1/holds/${holdId}/release`, { cookie: kit.admin.cookie })
    await kit.work()
    expect((await queue(`&hold=${holdId}`)).json.data).toEqual([])
    expect(await open()).toEqual(before)
  })

  it('contain the id of a hold on the person before the erasure begins, and are returned by its filter when nothing could be erased', async () => {
    const person = await personWithPassword(kit.test)
    const holdId = await idOfHold('account', person.accountId)
    const made = await kit.file(person.cookie, { kinds: ['erasure'], grace: '24h', password: person.password })
    const { id } = made.json.data
    expect((await kit.adminRead(id)).holds).toEqual([holdId])
    await kit.act(person.cookie, id, 'expedite', { password: person.password })
    await kit.work()
    expect((await queue(`&hold=${holdId}`)).json.data).toMatchObject([{ id, state: 'partly_completed' }])
  })

  it('the filter by hold returns 422 for a value that is not the id of a hold', async () => {
    expect((await queue('&hold=anything')).status).toBe(422)
  })
})

it('GET /api/erasures counts an erasure with a stuck step as stuck until it is retried', async () => {
  const person = await personWithPassword(kit.test)
  const made = await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now', password: person.password })
  await kit.work(['erasure.step'])
  const { erasure } = await kit.adminRead(made.json.data.id)
  const before = await open()
  await kit.test.db.prisma.erasureStep.update({
    where: { runId_holder: { runId: erasure.run_id, holder: erasure.steps[0].holder } },
    data: { state: 'stuck', attempts: 8, fault: 'unavailable' },
  })
  expect(await open()).toEqual({ ...before, stuck: before.stuck + 1 })
  expect((await kit.asAdmin(made.json.data.id, 'retry', {})).status).toBe(200)
  await kit.work()
  expect((await kit.adminRead(made.json.data.id)).state).toBe('completed')
  expect((await open()).stuck).toBe(before.stuck)
})

it('GET /v1/holds finds holds by a prefix of their id or of their target', async () => {
  const agent = await issuedAgent(kit.test, ['read', 'write'])
  const id = await idOfHold('agent', agent.id)
  await idOfHold('agent', (await issuedAgent(kit.test, ['read'])).id)
  const found = (query: string) => kit.test.fetch('GET', `/v1/holds?${query}`, { cookie: kit.admin.cookie })
  for (const q of [id, agent.id, id.slice(0, 20)]) {
    const { json } = await found(`q=${q}`)
    expect([json.total, json.data.map((one: { id: string }) => one.id)]).toEqual([1, [id]])
  }
  expect((await found(`q=${id}&active=false`)).json.total).toBe(0)
  expect((await found('q=%25')).status).toBe(422)
})

describe('GET /api/erasures', () => {
  const list = async (query: string) =>
    (await kit.test.fetch('GET', `/api/erasures?limit=100&${query}`, { cookie: kit.admin.cookie })).json.data as {
      run_id: string
      erased: number
      held: number
    }[]
  const runOf = async (id: string) => (await kit.adminRead(id)).erasure

  it('finds an erasure by the name of its subject, and by its own id, that of its receipt and that of its request', async () => {
    const person = await personWithPassword(kit.test, 'Sought Example')
    const made = await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now', password: person.password })
    await kit.work(['erasure.step'])
    const { id, receipt_id } = made.json.data
    const { run_id } = await runOf(id)
    for (const q of ['sought', run_id, receipt_id.slice(0, 20), id])
      expect([q, (await list(`q=${q}`)).map((one) => one.run_id)]).toEqual([q, [run_id]])
    await kit.work()
    expect((await list(`q=${id}`)).map((one) => one.run_id)).toEqual([run_id])
    expect(await list('q=sought')).toEqual([])
  })

  it('lists stuck erasures, and counts retained records apart from deleted ones', async () => {
    const person = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner: person })
    const stored = await kit.test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const holdId = await idOfHold('unit', stored.json.data.id)
    const made = await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now', password: person.password })
    await kit.work()
    const { run_id, steps } = await runOf(made.json.data.id)
    const listed = (await list('state=held')).find((one) => one.run_id === run_id)
    const held: { count: number }[] = steps.flatMap((step: { held: { count: number }[] }) => step.held)
    expect(listed?.held).toBe(held.reduce((sum, { count }) => sum + count, 0))
    expect(listed?.held).toBeGreaterThan(0)
    expect((await list('state=stuck')).map((one) => one.run_id)).not.toContain(run_id)
    const where = { runId_holder: { runId: run_id, holder: steps[0].holder } }
    await kit.test.db.prisma.erasureStep.update({ where, data: { state: 'stuck' } })
    expect((await list('state=stuck')).map((one) => one.run_id)).toContain(run_id)
    await kit.test.db.prisma.erasureStep.update({ where, data: { state: 'done' } })
    await kit.test.fetch('POST', `/v1/holds/${holdId}/release`, { cookie: kit.admin.cookie })
    await kit.work()
  })
})
