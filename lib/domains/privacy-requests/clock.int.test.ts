import { afterAll, beforeAll, expect, it } from 'vitest'
import { issuedAgent } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest()
})
afterAll(() => kit.close())

const day = 86_400_000
const adminLetters = async () => {
  const { email } = await kit.test.db.prisma.account.findUniqueOrThrow({ where: { id: kit.admin.accountId } })
  return kit.lettersTo(email)
}

it('nearly due and overdue stand out, once each, and admins are told in counts', async () => {
  const person = await personWithPassword(kit.test)
  const { id } = (await kit.file(person.cookie, { kinds: ['objection'], password: person.password })).json.data
  await kit.tick()
  expect(await adminLetters()).toHaveLength(0)
  kit.test.clock.advance(2.5 * day)
  await kit.tick()
  await kit.tick()
  expect((await adminLetters()).map(({ subject }) => subject)).toEqual(['Privacy requests are nearly due'])
  kit.test.clock.advance(day)
  await kit.tick()
  await kit.tick()
  const [, overdue] = await adminLetters()
  expect([overdue?.subject, (await adminLetters()).length]).toEqual(['Privacy requests are overdue', 2])
  expect(overdue?.text).toContain('Overdue: 1.')
  expect(overdue?.text).not.toContain(id)
  const queue = await kit.test.fetch('GET', '/api/admin/privacy/requests?due=overdue', { cookie: kit.admin.cookie })
  expect(queue.json.data.map((row: { id: string; due: string }) => [row.id, row.due])).toEqual([[id, 'overdue']])
  const { timeline } = await kit.adminRead(id)
  expect(timeline.filter(({ event }: { event: string }) => event === 'overdue' || event === 'nearly_due')).toHaveLength(
    2,
  )
  // The subject is not told that somebody was reminded.
  expect((await kit.read(person.cookie, id)).timeline.some(({ event }: { event: string }) => event === 'overdue')).toBe(
    false,
  )
  await kit.asAdmin(id, 'complete', { kind: 'objection', note: 'Upheld.' })
})

it('a request that nobody confirms is closed when its month is over, and says so', async () => {
  const person = await personWithPassword(kit.test)
  const { id } = (await kit.file(person.cookie, { kinds: ['access'] })).json.data
  kit.test.clock.advance(32 * day)
  await kit.tick()
  const read = await kit.read(person.cookie, id)
  expect([read.state, read.timeline.at(-1).event, read.timeline.at(-1).by]).toEqual(['cancelled', 'expired', 'system'])
  expect(kit.lettersTo(person.email).at(-1)?.subject).toBe('Your privacy request has expired')
})

it('the address is forgotten with the last letter; when it cannot be handed over, after seven days', async () => {
  const contactOf = async (id: string) =>
    (await kit.test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })).contact
  const [one, other] = [await personWithPassword(kit.test), await personWithPassword(kit.test)]
  const file = async (person: typeof one) =>
    (await kit.file(person.cookie, { kinds: ['restriction'], password: person.password })).json.data.id
  const sent = await file(one)
  expect(await contactOf(sent)).not.toBeNull()
  await kit.work()
  expect(await contactOf(sent)).toBeNull()
  kit.post.refuse(true)
  const unsent = await file(other)
  await expect(kit.work()).rejects.toThrow('did not take the letter')
  expect(await contactOf(unsent)).not.toBeNull()
  kit.test.clock.advance(7 * day + 1)
  await kit.clockJob()
  expect(await contactOf(unsent)).toBeNull()
  kit.post.refuse(false)
  await kit.work()
  expect(kit.lettersTo(other.email)).toEqual([])
})

it('the sealed address is readable for its request alone, and never in clear', async () => {
  const person = await personWithPassword(kit.test)
  const { id } = (await kit.file(person.cookie, { kinds: ['access'] })).json.data
  const { rows } = await kit.test.db.pool.query(
    'SELECT privacy_requests::text AS text FROM privacy_requests WHERE id = $1',
    [id],
  )
  expect(rows[0].text).not.toContain(person.email)
  expect(rows[0].text).not.toContain(Buffer.from(person.email).toString('hex'))
})

it('letters are in the subject’s language, text beside HTML', async () => {
  const person = await personWithPassword(kit.test)
  await kit.test.db.prisma.account.update({ where: { id: person.accountId }, data: { locale: 'zh' } })
  const made = await kit.file(person.cookie, { kinds: ['erasure'], password: person.password })
  await kit.work()
  const [letter] = kit.lettersTo(person.email)
  expect(letter?.subject).toBe('您的数据将被删除')
  expect(letter?.text).toContain('请打开下面的页面并按下按钮')
  expect(letter?.html).toContain('lang="zh"')
  expect((await kit.use(kit.linkTo(person.email, 'cancel'), 'cancel')).json.data.state).toBe('cancelled')
  await kit.work()
  expect(kit.lettersTo(person.email).at(-1)?.text).toContain(made.json.data.id)
})

it('an agent’s own request under its owner’s erasure is moot, and tokens of an agent for which another erasure waits stay stopped', async () => {
  const owner = await personWithPassword(kit.test)
  const agent = await issuedAgent(kit.test, ['read', 'write'], { owner })
  const own = await kit.file(owner.cookie, {
    kinds: ['erasure'],
    agent_id: agent.id,
    grace: '14d',
    password: owner.password,
  })
  const all = await kit.file(owner.cookie, { kinds: ['erasure'], grace: '7d', password: owner.password })
  await kit.act(owner.cookie, all.json.data.id, 'cancel')
  expect((await kit.test.fetch('GET', '/v1/auth/me', { token: agent.token })).json.code).toBe('token_suspended')
  const again = await kit.file(owner.cookie, { kinds: ['erasure'], grace: 'now', password: owner.password })
  expect(again.json.data.state).toBe('running')
  expect((await kit.adminRead(own.json.data.id)).state).toBe('cancelled')
  await kit.work()
  expect((await kit.adminRead(again.json.data.id)).state).toBe('completed')
  expect(await kit.test.db.prisma.privacyRequest.count({ where: { agentId: agent.id } })).toBe(0)
})

it('three years after closing a request goes, with its timeline', async () => {
  const person = await personWithPassword(kit.test)
  const { id } = (await kit.file(person.cookie, { kinds: ['restriction'], password: person.password })).json.data
  kit.test.clock.advance(3 * 365 * day - 2 * day)
  await kit.clockJob()
  expect(await kit.test.db.prisma.privacyRequest.count({ where: { id } })).toBe(1)
  kit.test.clock.advance(4 * day)
  await kit.clockJob()
  expect(await kit.test.db.prisma.privacyRequest.count({ where: { id } })).toBe(0)
  expect(await kit.test.db.prisma.privacyRequestEvent.count({ where: { requestId: id } })).toBe(0)
})
