import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import {
  dataOf,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'

let stage: PrivacyTest
let test: PrivacyTest['test']
let project: MadeProject
let manager: Person
let member: Person
const ids: Record<string, string> = {}
beforeAll(async () => {
  stage = await privacyTest()
  test = stage.test
  project = await madeProject(test)
  manager = await signedIn(test, 'manager', project.owner.organisationId)
  member = await madeMember(test, project)
  const conversation = await madeConversation(test, project, {}, project.agent)
  for (const [n, name] of ['Ada Lovelace', 'Zoë 100%_real', 'Grace Hopper'].entries()) {
    const author = { external_id: `User-${n}`, name, email: `${n}@mail.example.org` }
    for (let said = 0; said < n; said++) await madeMessage(test, conversation, project.agent, { author })
    const { id } = await dataOf(test, 'POST', `${project.path}/participants`, project.agent, { body: author })
    ids[name] = id
    test.clock.advance(1_000)
  }
})
afterAll(() => stage?.close())

const list = async (asker: { cookie: string } | { token: string }, query: string) => {
  const { status, json } = await test.fetch('GET', `${project.path}/participants?${query}`, asker)
  expect(status).toBe(200)
  return json
}
const namesOf = (json: { data: { name: string }[] }) => json.data.map(({ name }) => name)

describe('GET /api/projects/{id}/participants', () => {
  it('counts the messages of each participant, and the project counts its participants', async () => {
    const { data } = await list(project.owner, '')
    expect(data.map(({ name, messages }: { name: string; messages: number }) => [name, messages])).toEqual([
      ['Grace Hopper', 2],
      ['Zoë 100%_real', 1],
      ['Ada Lovelace', 0],
    ])
    expect(await dataOf(test, 'GET', project.path, project.owner)).toMatchObject({ participants: 3 })
  })

  it.each([
    ['hOPPER', ['Grace Hopper']],
    ['user-1', ['Zoë 100%_real']],
    ['%_', ['Zoë 100%_real']],
    ['ZOË', ['Zoë 100%_real']],
    ['0@mail', ['Ada Lovelace']],
    ['  ', ['Grace Hopper', 'Zoë 100%_real', 'Ada Lovelace']],
    ['nobody', []],
  ])('returns the participants whose name, external_id or email contains %j to an owner', async (q, names) => {
    const json = await list(project.owner, `q=${encodeURIComponent(q)}`)
    expect(namesOf(json)).toEqual(names)
    expect(json.total).toBe(names.length)
  })

  it('does not search email addresses for members and agents, who do not see them', async () => {
    for (const asker of [member, project.agent]) {
      expect(namesOf(await list(asker, 'q=mail.example'))).toEqual([])
      expect(namesOf(await list(asker, 'q=hopper'))).toEqual(['Grace Hopper'])
    }
    expect(namesOf(await list(manager, 'q=mail.example'))).toHaveLength(3)
  })

  it('pages through the matches of a search', async () => {
    const first = await list(project.owner, 'q=mail.example&limit=2')
    const rest = await list(project.owner, `q=mail.example&limit=2&cursor=${first.next_cursor}`)
    expect([...namesOf(first), ...namesOf(rest)]).toEqual(['Grace Hopper', 'Zoë 100%_real', 'Ada Lovelace'])
    expect([first.total, rest.total, rest.next_cursor]).toEqual([3, 3, null])
  })
})

describe('GET /api/projects/{id}/participants/{id}', () => {
  it('returns the participant with the email only to those who act for participants; strangers get 404', async () => {
    const path = `${project.path}/participants/${ids['Grace Hopper']}`
    const emails: unknown[] = []
    for (const asker of [project.owner, manager, stage.admin, member])
      emails.push((await dataOf(test, 'GET', path, asker)).email)
    expect(emails).toEqual(['2@mail.example.org', '2@mail.example.org', '2@mail.example.org', null])
    expect(await dataOf(test, 'GET', path, project.owner)).toMatchObject({ messages: 2, restricted_at: null })
    expect((await test.fetch('GET', path, await signedIn(test))).status).toBe(404)
    const elsewhere = await madeProject(test)
    expect((await test.fetch('GET', path.replace(project.id, elsewhere.id), elsewhere.owner)).status).toBe(404)
  })
})

describe('GET /api/projects/{id}/participants/{id}/plan', () => {
  const planOf = (id: string | undefined, asker: object) =>
    test.fetch('GET', `${project.path}/participants/${id}/plan`, asker)

  it('counts what an erasure would delete, and deletes nothing', async () => {
    const id = ids['Grace Hopper']
    const { status, json } = await planOf(id, project.owner)
    expect(status).toBe(200)
    const counts = Object.fromEntries(
      json.data.holdings.map(({ holder, count }: { holder: string; count: number }) => [holder, count]),
    )
    expect(counts).toMatchObject({ 'projects.messages': 2, 'projects.participants': 1, accounts: 0 })
    expect(JSON.stringify(json)).not.toMatch(/Hopper|mail\.example/)
    expect(await test.db.prisma.message.count({ where: { authorId: id ?? '' } })).toBe(2)
    expect((await planOf(id, manager)).json.data.total).toBe(json.data.total)
  })

  it('returns 403 to members, 403 to agents and 404 to strangers', async () => {
    const id = ids['Grace Hopper']
    const statuses: number[] = []
    for (const asker of [member, project.agent, await signedIn(test)]) statuses.push((await planOf(id, asker)).status)
    expect(statuses).toEqual([403, 403, 404])
  })

  it('returns 409 after a person claimed the participation, because the plan would count the data of their account', async () => {
    const id = ids['Ada Lovelace']
    const claimed = await test.fetch('PATCH', `${project.path}/participants/${id}`, {
      ...project.owner,
      body: { account_id: member.accountId },
    })
    expect(claimed.status).toBe(200)
    const refused = await planOf(id, project.owner)
    expect([refused.status, refused.json.code]).toEqual([409, 'conflict'])
    expect(refused.text).not.toContain('holdings')
  })
})
