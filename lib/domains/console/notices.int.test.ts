import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'

let setting: PrivacyTest
let request: string
beforeAll(async () => {
  setting = await privacyTest()
  const person = await signedIn(setting.test)
  const filed = await setting.test.fetch('POST', '/api/privacy/requests', {
    cookie: person.cookie,
    body: { kinds: ['objection'] },
  })
  request = filed.json.data.id
})
afterAll(() => setting?.close())

interface Listed {
  id: string
  kind: string
  resource_id: string
  name: string | null
  is_read: boolean
}
const get = (who: Pick<Person, 'cookie'>) => setting.test.fetch('GET', '/api/notifications', who)
const list = async (who: Pick<Person, 'cookie'> = setting.admin): Promise<Listed[]> => (await get(who)).json.data
const unread = async (who: Pick<Person, 'cookie'> = setting.admin): Promise<number> =>
  (await setting.test.fetch('GET', '/api/admin/waiting', who)).json.data.notices.unread
const read = (ids: string[], who: Pick<Person, 'cookie'> = setting.admin) =>
  setting.test.fetch('PUT', '/api/notifications/read', { cookie: who.cookie, body: { ids } })
const about = async (id: string, who?: Pick<Person, 'cookie'>) =>
  (await list(who)).find((one) => one.resource_id === id)
const stored = async (accountId: string) =>
  (await setting.test.db.prisma.readNotice.findMany({ where: { accountId } })).map(({ notice }) => notice)

describe('GET /api/notifications', () => {
  it('returns 403 to people and managers', async () => {
    for (const who of [await signedIn(setting.test), await signedIn(setting.test, 'manager')])
      expect([(await get(who)).status, (await read([], who)).status]).toEqual([403, 403])
  })

  it('lists an open request when it is assigned to the reader, and again as new when it fails', async () => {
    expect(await about(request)).toBeUndefined()
    await setting.test.db.prisma.privacyRequest.update({
      where: { id: request },
      data: { assignedTo: setting.admin.accountId },
    })
    expect(await about(request)).toMatchObject({ kind: 'assigned', name: expect.any(String), is_read: false })
    const other = await signedIn(setting.test, 'admin')
    expect(await about(request, other)).toBeUndefined()
    const before = await unread()
    expect((await read([`assigned:${request}`])).status).toBe(204)
    expect(await about(request)).toMatchObject({ is_read: true })
    expect(await unread()).toBe(before - 1)
    await setting.test.db.prisma.privacyRequest.update({ where: { id: request }, data: { state: 'failed' } })
    expect(await about(request)).toMatchObject({ kind: 'failed', is_read: false })
    expect((await list())[0]?.kind).toBe('failed')
    expect(await about(request, other)).toMatchObject({ kind: 'failed', is_read: false })
  })

  it('lists a request of nobody when its deadline is near and when it is over', async () => {
    const set = (days: number) =>
      setting.test.db.prisma.privacyRequest.update({
        where: { id: request },
        data: {
          state: 'verified',
          assignedTo: null,
          dueAt: null,
          receivedAt: new Date(setting.test.clock.now().getTime() - 28 * 86_400_000),
          legalDueAt: new Date(setting.test.clock.now().getTime() + days * 86_400_000),
        },
      })
    await set(20)
    expect(await about(request)).toBeUndefined()
    await set(2)
    expect(await about(request)).toMatchObject({ kind: 'due_soon' })
    await set(-1)
    expect(await about(request)).toMatchObject({ kind: 'overdue' })
  })

  it('names a stuck deletion, and its person only to admins', async () => {
    const auditor = await signedIn(setting.test, 'auditor')
    expect((await list(auditor)).every(({ kind, name }) => kind === 'stuck' && name === null)).toBe(true)
  })
})

describe('PUT /api/notifications/read', () => {
  it('stores only ids of notifications that exist, and forgets those that no longer do', async () => {
    const { accountId } = setting.admin
    await read([`overdue:${request}`, 'assigned:preq_0000000000000000000000', 'any words of a caller'])
    expect(await stored(accountId)).toEqual([`overdue:${request}`])
    await setting.test.db.prisma.privacyRequest.update({
      where: { id: request },
      data: { state: 'completed', closedAt: setting.test.clock.now() },
    })
    await read([])
    expect(await stored(accountId)).toEqual([])
  })

  it('has the same effect when it is repeated, also at the same time', async () => {
    await setting.test.db.prisma.privacyRequest.update({
      where: { id: request },
      data: { state: 'failed', closedAt: null },
    })
    const ids = [`failed:${request}`]
    const answers = await Promise.all([read(ids), read(ids), read(ids)])
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
    expect(await stored(setting.admin.accountId)).toEqual(ids)
  })

  it('rejects more than 400 ids', async () => {
    expect((await read(Array.from({ length: 401 }, (_, n) => `failed:${n}`))).status).toBe(422)
  })
})
