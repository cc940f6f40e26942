import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { trace } from '#lib/testing/units.ts'

let setting: PrivacyTest
let person: Person
let manager: Person
let auditor: Person
let stranger: Person
let agent: Issued
beforeAll(async () => {
  setting = await privacyTest()
  const { test } = setting
  person = await signedIn(test)
  manager = await signedIn(test, 'manager', person.organisationId)
  auditor = await signedIn(test, 'auditor')
  stranger = await signedIn(test, 'manager')
  agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner: person })
  await test.db.prisma.account.update({ where: { id: person.accountId }, data: { name: 'Wanda Finder' } })
  await test.db.prisma.agent.update({ where: { id: agent.id }, data: { name: 'Harbour pilot' } })
})
afterAll(() => setting?.close())

interface Hit {
  kind: string
  id: string
  title: string
  detail: string | null
  request_kinds: string[]
  is_own: boolean
}
const search = (q: string, { cookie }: Pick<Person, 'cookie'>) =>
  setting.test.fetch('GET', `/api/search?q=${encodeURIComponent(q)}`, { cookie })
const hits = async (q: string, who: Pick<Person, 'cookie'>): Promise<Hit[]> => {
  const response = await search(q, who)
  expect(response.status).toBe(200)
  return response.json.data
}
const found = async (q: string, who: Pick<Person, 'cookie'>) =>
  (await hits(q, who)).map(({ kind, id }) => `${kind} ${id}`).sort()
const everybody = () => ({ person, manager, auditor, stranger, admin: setting.admin })
/** The results of each person, by name. */
async function foundByAll(q: string): Promise<Record<string, string[]>> {
  const entries = Object.entries(everybody()).map(async ([name, who]) => [name, await found(q, who)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

describe('GET /api/search', () => {
  it('returns 401 without a session, 403 for a token and 422 without a text', async () => {
    expect((await setting.test.fetch('GET', '/api/search?q=a')).status).toBe(401)
    expect((await setting.test.fetch('GET', '/api/search?q=a', { token: agent.token })).status).toBe(403)
    for (const q of ['', '   ', 'x'.repeat(201)]) expect((await search(q, person)).status).toBe(422)
  })

  it('returns people by parts of their name to admins, to managers of their organization, and to nobody else', async () => {
    const wanda = [`person ${person.accountId}`]
    const expected = { person: [], manager: wanda, auditor: [], stranger: [], admin: wanda }
    for (const q of ['wanda', 'FIND', 'wa', 'anda fin']) expect(await foundByAll(q), q).toEqual(expected)
    const [hit] = await hits('wanda', setting.admin)
    expect(hit).toMatchObject({ title: 'Wanda Finder', detail: expect.stringContaining('@'), is_own: false })
    for (const q of ['%', '_', 'x%'])
      expect((await hits(q, setting.admin)).filter(({ kind }) => kind === 'person')).toEqual([])
  })

  it('returns agents by name and id to their owner and to admins only', async () => {
    const pilot = [`agent ${agent.id}`]
    const expected = { person: pilot, manager: [], auditor: [], stranger: [], admin: pilot }
    for (const q of ['harbour', agent.id]) expect(await foundByAll(q), q).toEqual(expected)
    expect((await hits('harbour', person))[0]).toMatchObject({ title: 'Harbour pilot', detail: agent.id, is_own: true })
  })

  it('returns requests by id to the requester and to admins, and by name to admins', async () => {
    const filed = await setting.file(person.cookie, { kinds: ['objection'], statement: 'I object.' })
    const { id } = filed.json.data
    const own = [`request ${id}`]
    expect(await foundByAll(id)).toEqual({ person: own, manager: [], auditor: [], stranger: [], admin: own })
    expect(await found('wanda', setting.admin)).toContain(`request ${id}`)
    expect(await found('wanda', manager)).not.toContain(`request ${id}`)
    expect((await hits(id, setting.admin))[0]).toMatchObject({
      title: 'Wanda Finder',
      detail: id,
      request_kinds: ['objection'],
    })
    expect((await hits(id, person))[0]).toMatchObject({ title: id, detail: null, is_own: true })
  })

  it('returns units by words and id to those who may see them', async () => {
    const store = async (visibility: string): Promise<string> => {
      const body = { ...trace({}, { visibility }), task: { objective: `Measure the turbidity (${visibility})` } }
      return (await setting.test.fetch('POST', '/v1/knowledge', { token: agent.token, body })).json.data.id
    }
    const [own, org] = [await store('private'), await store('org')]
    const both = [`unit ${own}`, `unit ${org}`].sort()
    expect(await foundByAll('turbidity')).toEqual({
      person: both,
      manager: [`unit ${org}`],
      auditor: [],
      stranger: [],
      admin: [`unit ${org}`],
    })
    expect(await foundByAll(own)).toMatchObject({ person: [`unit ${own}`], manager: [], auditor: [], stranger: [] })
  })

  it('returns a receipt by its id to everybody, and by the erased id to the former owner, admins and auditors', async () => {
    const body = trace({}, { visibility: 'private' })
    const unit = (await setting.test.fetch('POST', '/v1/knowledge', { token: agent.token, body })).json.data.id
    const erased = await setting.test.fetch('DELETE', `/v1/knowledge/${unit}`, { token: agent.token })
    const receipt = [`receipt ${erased.headers.get('x-deletion-receipt')}`]
    const all = { person: receipt, manager: receipt, auditor: receipt, stranger: receipt, admin: receipt }
    expect(await foundByAll(erased.headers.get('x-deletion-receipt') ?? '')).toEqual(all)
    expect(await foundByAll(unit)).toEqual({ ...all, manager: [], stranger: [] })
  })

  it('returns projects by name to members, and to managers of the organization and admins', async () => {
    const made = await setting.test.fetch('POST', '/api/projects', {
      cookie: person.cookie,
      body: { name: 'Lighthouse upkeep' },
    })
    const own = [`project ${made.json.data.id}`]
    expect(await foundByAll('lighthouse')).toEqual({
      person: own,
      manager: own,
      auditor: [],
      stranger: [],
      admin: own,
    })
  })

  it('writes an audit entry with the number of results and without the text', async () => {
    await hits('wanda', setting.admin)
    const entry = await setting.test.db.prisma.auditEntry.findFirstOrThrow({
      where: { resourceType: 'console_search' },
      orderBy: { at: 'desc' },
    })
    expect(entry).toMatchObject({ action: 'read', resourceId: 'query', details: { count: expect.any(Number) } })
    expect(JSON.stringify(entry.details).toLowerCase()).not.toContain('wanda')
  })
})
