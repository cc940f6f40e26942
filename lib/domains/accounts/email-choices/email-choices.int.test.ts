import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Mailbox, mailbox } from '#lib/testing/mailbox.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { enqueueNotice } from '../writes.ts'

const origin = 'https://registry.example'
let test: TestApp
let mail: Mailbox
beforeAll(async () => {
  mail = await mailbox()
  test = await testApp({ KP_SMTP_URL: mail.url, KP_URL: origin })
})
afterAll(async () => {
  await test?.close()
  await mail?.close()
})
beforeEach(async () => {
  await test.db.pool.query('DELETE FROM erasure_waits')
  await test.db.pool.query("UPDATE accounts SET deactivated_at = now() WHERE role = 'admin'")
})

// With https, the cookie has the prefix of RFC 6265bis.
const secure = (person: Person) => ({ cookie: `__Host-${person.cookie}` })
const emailsTo = async ({ accountId }: Person) => {
  const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } })
  return mail.letters.filter(({ to }) => to === email)
}
const work = () => drain(test, { except: ['privacy.clock'] })
const choose = (person: Person, kind: string, delivery: string) =>
  test.fetch('PUT', `/api/account/emails/${kind}`, { ...secure(person), body: { delivery } })
const choicesOf = async (person: Person): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await test.fetch('GET', '/api/account/emails', secure(person))).json.data.map(
      ({ kind, delivery }: { kind: string; delivery: string }) => [kind, delivery],
    ),
  )
/** Sends the notice of an outage to an admin, as the erasure engine does. */
async function outage({ accountId }: Person): Promise<void> {
  const at = test.clock.now()
  await test.db.transaction((tx) =>
    enqueueNotice(tx, { kind: 'store-unavailable', accountId, store: 'graph', runs: 2, since: at, at }),
  )
  await work()
}
const warning = async ({ accountId }: Person): Promise<void> => {
  const at = test.clock.now()
  await test.db.transaction((tx) => enqueueNotice(tx, { kind: 'storage-warning', accountId, percent: 85, at }))
  await work()
}
const digest = async () => {
  await test.app.jobs.find(({ name }) => name === 'accounts.digest')?.execute(test.app.pipeline, {})
  await work()
}
const oneClickOf = (head: string) => /^List-Unsubscribe: <(\S+)>$/im.exec(head)?.[1] ?? ''
const unsubscribe = (address: string) =>
  test.fetch('POST', address.replace(origin, ''), {
    body: 'List-Unsubscribe=One-Click',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  })

describe('email choices', () => {
  it('lists the kinds of the role, with their usual delivery', async () => {
    const [person, admin] = [await signedIn(test), await signedIn(test, 'admin')]
    expect(await choicesOf(person)).toEqual({ storage: 'at_once' })
    expect(await choicesOf(admin)).toEqual({
      requests: 'at_once',
      outages: 'at_once',
      controls: 'never',
      safety: 'never',
      storage: 'at_once',
      approvals: 'at_once',
    })
  })

  it('rejects strangers, other roles, unknown kinds and deliveries that a kind does not have', async () => {
    const [person, admin] = [await signedIn(test), await signedIn(test, 'admin')]
    expect((await test.fetch('GET', '/api/account/emails')).status).toBe(401)
    expect((await choose(person, 'outages', 'never')).status).toBe(404)
    expect((await choose(person, 'security', 'never')).status).toBe(422)
    expect((await choose(admin, 'controls', 'at_once')).status).toBe(422)
    expect((await choose(admin, 'storage', 'daily')).status).toBe(422)
  })

  it('are respected by each sender', async () => {
    const person = await signedIn(test)
    await warning(person)
    expect(await emailsTo(person)).toHaveLength(1)
    expect((await choose(person, 'storage', 'never')).status).toBe(200)
    await warning(person)
    expect(await emailsTo(person)).toHaveLength(1)
    const [admin] = [await signedIn(test, 'admin'), await signedIn(test, 'admin')]
    await outage(admin)
    expect(await emailsTo(admin)).toHaveLength(1)
    for (const delivery of ['daily', 'never']) {
      expect((await choose(admin, 'outages', delivery)).status).toBe(200)
      await outage(admin)
      expect(await emailsTo(admin)).toHaveLength(1)
    }
  })

  it('keeps one receiver of outages, also when two admins turn them off at once', async () => {
    const admins = [await signedIn(test, 'admin'), await signedIn(test, 'admin')] as const
    const both = await Promise.all(admins.map((admin) => choose(admin, 'outages', 'never')))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    const last = admins[both.findIndex(({ status }) => status === 409)] ?? admins[0]
    await outage(last)
    const [email] = await emailsTo(last)
    expect(email?.head).not.toContain('List-Unsubscribe')
    expect(email?.text).toContain('You are the only admin who gets these emails')
  })

  it('sends outages to an admin who turned them off when no other receiver remains', async () => {
    const [off, on] = [await signedIn(test, 'admin'), await signedIn(test, 'admin')]
    expect((await choose(off, 'outages', 'never')).status).toBe(200)
    await outage(off)
    expect(await emailsTo(off)).toHaveLength(0)
    await test.db.prisma.account.update({ where: { id: on.accountId }, data: { role: 'person' } })
    await outage(off)
    expect(await emailsTo(off)).toHaveLength(1)
    // The former admin gets none.
    await outage(on)
    expect(await emailsTo(on)).toHaveLength(0)
  })

  it('are counted in the inventory of the account', async () => {
    const person = await signedIn(test)
    await choose(person, 'storage', 'never')
    const source = test.app.dataSources.find(({ name }) => name === 'accounts.email-choices')
    expect(await source?.inventory({ account: person.accountId, agents: [] }, test.clock.now())).toMatchObject({
      count: 1,
    })
  })
})

describe('the daily digest', () => {
  it('has one email with the chosen topics, and none when nothing needs attention', async () => {
    const [daily, atOnce] = [await signedIn(test, 'admin'), await signedIn(test, 'admin')]
    for (const kind of ['outages', 'controls', 'safety']) expect((await choose(daily, kind, 'daily')).status).toBe(200)
    await digest()
    const before = (await emailsTo(daily)).length
    const email = (await emailsTo(daily)).at(-1)
    // The compliance report of a new installation has lines that need attention.
    expect(email?.text).toContain('/admin/compliance')
    expect(before).toBe(1)
    expect(await emailsTo(atOnce)).toHaveLength(0)
    await digest()
    expect(await emailsTo(daily)).toHaveLength(before + 1)
    for (const kind of ['controls', 'safety', 'outages']) await choose(daily, kind, 'never')
    await digest()
    expect(await emailsTo(daily)).toHaveLength(before + 1)
  })
})

describe('the link of an email', () => {
  it('turns the kind off with one click, without a session, and again without effect', async () => {
    const person = await signedIn(test)
    await warning(person)
    const [email] = await emailsTo(person)
    expect(email?.head).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click')
    const address = oneClickOf(email?.head ?? '')
    expect(address).toMatch(/^https:\/\/registry\.example\/api\/emails\/unsubscribe\?token=/)
    expect(email?.text).toContain(address.replace('/api/emails/unsubscribe?token=', '/emails/unsubscribe#'))
    // Programs that open links turn nothing off.
    const read = await test.fetch('GET', address.replace(origin, ''))
    expect(read.json).toEqual({ data: { kinds: ['storage'], is_off: false } })
    expect(await choicesOf(person)).toEqual({ storage: 'at_once' })
    for (let time = 0; time < 2; time++) {
      const off = await unsubscribe(address)
      expect(off.json, off.text).toEqual({ data: { kinds: ['storage'], is_off: true } })
    }
    expect(await choicesOf(person)).toEqual({ storage: 'never' })
    await warning(person)
    expect(await emailsTo(person)).toHaveLength(1)
    // The person turns it on again; the old link still works.
    await choose(person, 'storage', 'at_once')
    expect((await unsubscribe(address)).json.data.is_off).toBe(true)
  })

  it('is rejected when it was changed, and after the account was deleted', async () => {
    const person = await signedIn(test)
    await warning(person)
    const address = oneClickOf((await emailsTo(person))[0]?.head ?? '')
    const token = new URL(address).searchParams.get('token') ?? ''
    const [content = '', mac = ''] = token.split('.')
    const other = Buffer.from(`${(await signedIn(test)).accountId} storage`).toString('base64url')
    for (const forged of [`${other}.${mac}`, content, `${content}.`, `${token}.x`, 'x', `${content}.${mac.slice(1)}`])
      expect((await unsubscribe(`/api/emails/unsubscribe?token=${forged}`)).status).toBe(404)
    await test.db.prisma.account.delete({ where: { id: person.accountId } })
    expect((await unsubscribe(address)).status).toBe(404)
  })

  it('returns 409 when the admin has become the only receiver', async () => {
    const [admin, other] = [await signedIn(test, 'admin'), await signedIn(test, 'admin')]
    await outage(admin)
    const address = oneClickOf((await emailsTo(admin))[0]?.head ?? '')
    await choose(other, 'outages', 'never')
    expect((await unsubscribe(address)).status).toBe(409)
    expect(await choicesOf(admin)).toMatchObject({ outages: 'at_once' })
  })

  it('is missing in emails that are required', async () => {
    const person = await signedIn(test)
    const at = test.clock.now()
    await test.db.transaction((tx) => enqueueNotice(tx, { kind: 'password-set', accountId: person.accountId, at }))
    await work()
    const [email] = await emailsTo(person)
    expect(email?.head).not.toContain('List-Unsubscribe')
    expect(email?.text).not.toContain('/emails/unsubscribe')
  })
})
