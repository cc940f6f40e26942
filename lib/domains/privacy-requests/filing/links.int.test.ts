import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { issuedAgent, passwordEntered } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'
import { noteRequestLinksShown } from './links.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest()
})
afterAll(() => kit.close())

const hour = 3_600_000
const statusAndCode = ({ status, json }: { status: number; json: { code?: string } }) => [status, json?.code]

describe('a link that an admin saw in the outbox', () => {
  /** Every operation that the bearer of a link may call, and what it does with a link that an admin saw. */
  const operations = {
    usePrivacyLink: 'refuses it: see below',
    withdrawRequestForm: 'refuses it: see below',
    downloadRequestFormCopy: 'refuses it: see the tests of the outbox',
    readRequestFormStatus: 'shows the status',
    confirmRequestForm: 'accepts it: an admin forwards this link by an operation of its own',
    usePasswordLink: 'accepts it as no proof of the address: see the tests of the outbox',
  }
  const seen = (token: string) => noteRequestLinksShown(kit.test.db.prisma, [token], kit.test.clock.now())

  it('is considered by every operation that takes a link', () => {
    const taking = kit.test.app.useCases.filter(
      ({ operation: { permission, body } }) =>
        permission === 'public' && body instanceof z.ZodObject && ('token' in body.shape || 'code' in body.shape),
    )
    expect(taking.map(({ operation: { id } }) => id).sort()).toEqual(Object.keys(operations).sort())
  })

  it('verifies no request, cancels none and confirms no address', async () => {
    const person = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner: person })
    const changes = { email: 'moved@example.org' }
    const filed = {
      verify: (await kit.file(person.cookie, { kinds: ['access'] })).json.data,
      address: (await kit.file(person.cookie, { kinds: ['rectification'], changes, password: person.password })).json
        .data,
      cancel: (
        await kit.test.fetch('POST', '/api/privacy/requests', { token: agent.token, body: { kinds: ['erasure'] } })
      ).json.data,
    }
    await kit.work()
    for (const [purpose, { id, state }] of Object.entries(filed)) {
      const token = kit.linkTo(purpose === 'address' ? changes.email : person.email, purpose)
      await seen(token)
      expect([purpose, ...statusAndCode(await kit.use(token, purpose))]).toEqual([purpose, 410, 'link_spent'])
      expect([purpose, (await kit.read(person.cookie, id)).state]).toEqual([purpose, state])
    }
    expect(kit.emailsTo(person.email).length).toBeGreaterThan(0)
  })

  it('withdraws no request from the form, and its page offers no withdrawal', async () => {
    await passwordEntered(kit.test, kit.admin)
    const settings = { request_form: { is_on: true, origins: [] } }
    expect((await kit.test.fetch('PATCH', '/v1/settings', { ...kit.admin, body: settings })).status).toBe(200)
    const email = 'someone@example.net'
    const form = (at: string, body: object) => kit.test.fetch('POST', `/api/privacy/form${at}`, { body })
    const secretIn = (page: string) =>
      kit
        .emailsTo(email)
        .flatMap(({ text }) => [...text.matchAll(new RegExp(`/request/${page}#(\\w+)`, 'g'))])
        .at(-1)?.[1] ?? 'no link'
    await form('', { email, kind: 'erasure', locale: 'en' })
    await kit.work()
    expect((await form('/confirm', { token: secretIn('confirm') })).status).toBe(200)
    await kit.work()
    const token = secretIn('status')
    expect((await form('/status', { token })).json.data.can_withdraw).toBe(true)
    await seen(token)
    expect((await form('/status', { token })).json.data).toMatchObject({ stage: 'in_review', can_withdraw: false })
    const refused = await form('/withdraw', { token })
    expect(statusAndCode(refused)).toEqual([409, 'wrong_state'])
    expect(refused.json.detail).toContain('an admin of this installation saw it')
    expect((await form('/status', { token })).json.data.stage).toBe('in_review')
    // A link that nobody else saw still withdraws it.
    await form('/links', { email })
    await kit.work()
    expect((await form('/withdraw', { token: secretIn('status') })).json.data.stage).toBe('cancelled')
  })
})

describe('links', () => {
  const filed = async (kinds = ['access']) => {
    const person = await personWithPassword(kit.test)
    const { id } = (await kit.file(person.cookie, { kinds })).json.data
    await kit.work()
    return { person, id, token: kit.linkTo(person.email, 'verify') }
  }
  it('work once, also when used eight times concurrently', async () => {
    const { token } = await filed(['restriction'])
    const responses = await Promise.all(Array.from({ length: 8 }, () => kit.use(token, 'verify')))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(new Set(responses.filter(({ status }) => status !== 200).map(({ json }) => json.code))).toEqual(
      new Set(['link_spent']),
    )
  })
  it('expire after ten minutes, and a newer link replaces an older one', async () => {
    const { person, id, token } = await filed()
    expect((await kit.act(person.cookie, id, 'link')).status).toBe(200)
    await kit.work()
    const newer = kit.linkTo(person.email, 'verify')
    expect(newer).not.toBe(token)
    expect((await kit.use(token, 'verify')).json.code).toBe('link_spent')
    kit.test.clock.advance(600_001)
    expect((await kit.use(newer, 'verify')).json.code).toBe('link_spent')
    expect((await kit.read(person.cookie, id)).state).toBe('received')
  })
  it('return the same error when unknown, used, expired, for another purpose, or of a closed request', async () => {
    const { person, id, token } = await filed()
    await kit.act(person.cookie, id, 'cancel')
    const answers = []
    for (const [secret, purpose] of [
      [token, 'verify'],
      [token, 'cancel'],
      ['0'.repeat(43), 'verify'],
      ['x', 'address'],
    ] as const) {
      const { status, json } = await kit.use(secret, purpose)
      answers.push(JSON.stringify([status, { ...json, instance: '' }]))
    }
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toContain('link_spent')
  })
  it('verify only their own request', async () => {
    const [one, other] = [await filed(['restriction']), await filed(['restriction'])]
    expect((await kit.use(one.token, 'verify')).status).toBe(200)
    expect((await kit.read(one.person.cookie, one.id)).state).toBe('completed')
    expect((await kit.read(other.person.cookie, other.id)).state).toBe('received')
  })
  it('are limited to three emails per hour for all requests of a subject', async () => {
    const person = await personWithPassword(kit.test)
    const { id } = (await kit.file(person.cookie, { kinds: ['access'] })).json.data
    expect((await kit.act(person.cookie, id, 'link')).status).toBe(200)
    await kit.act(person.cookie, id, 'cancel')
    expect((await kit.file(person.cookie, { kinds: ['access'] })).status).toBe(201)
    const fourth = await kit.file(person.cookie, { kinds: ['restriction'] })
    expect(statusAndCode(fourth)).toEqual([429, 'rate_limited'])
    expect(Number(fourth.headers.get('retry-after'))).toBeGreaterThan(3_000)
    await kit.work()
    expect(kit.emailsTo(person.email).filter(({ text }) => text.includes('#verify.')).length).toBeLessThanOrEqual(3)
    kit.test.clock.advance(hour + 1)
    expect((await kit.file(person.cookie, { kinds: ['restriction'] })).status).toBe(201)
  })
  it('are limited by attempts per network, including valid links', async () => {
    const { person, id, token } = await filed()
    const tries = await Promise.all(
      Array.from({ length: 40 }, (_, n) => kit.use(String(n).padStart(43, '0'), 'verify')),
    )
    expect(tries.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(20)
    expect((await kit.use(token, 'verify')).status).toBe(429)
    expect((await kit.read(person.cookie, id)).state).toBe('received')
  })
})
