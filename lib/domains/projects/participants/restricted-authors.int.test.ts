// Restricted processing (GDPR art. 18): agents read nothing of a restricted author, whatever the author's kind and the operation.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { issuedAgent, type Person } from '#lib/testing/people.ts'
import {
  dataOf,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMember,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

type Asker = { cookie: string } | { token: string }
interface Written {
  on: MadeProject
  conversation: string
  message: string
  attachment: string
  document: string
}
const words = /Rhabarberstrasse/
const said = (what: string) => `The ${what} in Rhabarberstrasse burned down.`

/** The operations that return words of authors, with a path of each. */
const readers: Record<string, (of: Written) => string> = {
  listMessages: ({ conversation }) => `${conversation}/messages`,
  readMessage: ({ message }) => message,
  downloadAttachment: ({ message, attachment }) => `${message}/attachments/${attachment}`,
  listDocuments: ({ on }) => `${on.path}/documents`,
  readDocument: ({ on, document }) => `${on.path}/documents/${document}`,
  downloadDocument: ({ on, document }) => `${on.path}/documents/${document}/content`,
  exportProject: ({ on }) => `${on.path}/export`,
}
/** The operations of a project that return no words of messages and documents, or only to people and for the author. */
const others = [
  'exportParticipant',
  'listConversations',
  'listParticipants',
  'listPrivacyRequestsForParticipant',
  'listProjectMembers',
  'listProvenance',
  'planErasureForParticipant',
  'readConversation',
  'readParticipant',
  'readProject',
]

/** Everything that an author can write in a project. */
async function written(on: MadeProject, author: Asker, behalf: object = {}, query = ''): Promise<Written> {
  const thread = crypto.randomUUID()
  const conversation = await madeConversation(test, on, { threads: [thread] })
  const message = await madeMessage(test, conversation, author, { content: said('first text'), ...behalf })
  await dataOf(test, 'PATCH', message.path, author, { body: { content: said('house') } })
  const attachment = await madeAttachment(test, message, author, { name: 'Rhabarberstrasse.txt', bytes: said('file') })
  const document =
    query === ''
      ? await madeDocument(test, on, author, { name: 'Rhabarberstrasse.md', bytes: said('document') })
      : await dataOf(test, 'POST', `${on.path}/documents?name=Rhabarberstrasse.md${query}`, author, {
          body: said('document'),
          headers: { 'Content-Type': 'text/markdown' },
        })
  await storedInThread(test, thread, [{ id: message.id, text: said('thread') }])
  return {
    on,
    conversation: conversation.path,
    message: message.path,
    attachment: attachment.id,
    document: document.id,
  }
}
/** The operations whose answer contains the words. */
async function readingWords(of: Written, asker: Asker): Promise<string[]> {
  const found: string[] = []
  for (const [id, path] of Object.entries(readers)) {
    const { text } = await test.fetch('GET', path(of), asker)
    if (words.test(text)) found.push(id)
  }
  return found
}
const leftOut = async ({ on }: Written, asker: Asker): Promise<string[]> =>
  JSON.parse((await test.fetch('GET', `${on.path}/export`, asker)).text.split('\n')[0] ?? '').left_out ?? []

const restrict = (who: Asker, body: object) => dataOf(test, 'POST', '/api/privacy/restriction', who, { body })
const addAgent = async (on: MadeProject, owner: Person) => {
  const agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner })
  await dataOf(test, 'POST', `${on.path}/members`, on.owner, { body: { kind: 'agent', member_id: agent.id } })
  return agent
}

it('every operation that reads a project is listed, with the words it returns or among those without', () => {
  const all = test.app.useCases.flatMap(({ operation: { id, method, path } }) =>
    method === 'get' && path.startsWith('/api/projects/{projectId}') ? [id] : [],
  )
  expect([...Object.keys(readers), ...others].sort()).toEqual(all.sort())
})

describe('an agent reads in a project', () => {
  const all = Object.keys(readers)

  it('nothing of a person whose account is restricted, until the restriction ends', async () => {
    const on = await madeProject(test)
    const member = await madeMember(test, on)
    const given = await written(on, member)
    expect(await readingWords(given, on.agent)).toEqual(all)
    await restrict(member, { restricted: true })
    expect(await readingWords(given, on.agent)).toEqual([])
    expect(await leftOut(given, on.agent)).toContain('checkpoints')
    expect((await test.fetch('GET', given.message, on.agent)).json.code).toBe('restricted')
    // The person and the other people of the project read on: they handle what the person disputes.
    for (const person of [member, on.owner]) expect(await readingWords(given, person)).toEqual(all)
    expect(await leftOut(given, on.owner)).toEqual([])
    await restrict(member, { restricted: false })
    expect(await readingWords(given, on.agent)).toEqual(all)
  }, 60_000)

  it('nothing of another agent that is restricted, by itself or with its owner', async () => {
    const on = await madeProject(test)
    const owner = await madeMember(test, on)
    const agent = await addAgent(on, owner)
    const given = await written(on, agent)
    for (const body of [{ agent_id: agent.id }, {}]) {
      expect(await readingWords(given, on.agent)).toEqual(all)
      await restrict(owner, { restricted: true, ...body })
      expect(await readingWords(given, on.agent)).toEqual([])
      expect(await leftOut(given, on.agent)).toContain('checkpoints')
      // An agent still reads what it wrote itself.
      expect(await readingWords(given, agent)).toEqual(all)
      await restrict(owner, { restricted: false, ...body })
    }
    // An agent that its owner got after the restriction is restricted, too.
    await restrict(owner, { restricted: true })
    await test.db.prisma.agent.update({ where: { id: agent.id }, data: { restrictedAt: null, restrictedFor: [] } })
    expect(await readingWords(given, on.agent)).toEqual([])
  }, 60_000)

  it('nothing of a restricted participant, and everything of authors who are not restricted', async () => {
    const on = await madeProject(test)
    const given = await written(on, on.agent, { author: { external_id: 'p' } }, '&author=p')
    const other = await written(on, on.agent, { author: { external_id: 'q' } }, '&author=q')
    const [participant] = await dataOf(test, 'GET', `${on.path}/participants?q=p`, on.owner)
    await dataOf(test, 'POST', `${on.path}/participants/${participant.id}/requests`, on.owner, {
      body: { kinds: ['restriction'] },
    })
    expect(await readingWords(given, on.agent)).toEqual(['listDocuments', 'exportProject'])
    expect(await readingWords(other, on.agent)).toEqual(all)
  }, 60_000)
})

/** The operations that return titles and names, with a path of each. Of all others in a project, only these name people. */
const namers: Record<string, (of: Written) => string> = {
  listConversations: ({ on }) => `${on.path}/conversations`,
  readConversation: ({ conversation }) => conversation,
  listProjectMembers: ({ on }) => `${on.path}/members`,
  listParticipants: ({ on }) => `${on.path}/participants`,
  exportProject: ({ on }) => `${on.path}/export`,
}
/** Which operations return the name, and which the title of the conversation. */
async function naming(of: Written, asker: Asker, { name, title }: { name: string; title: string }): Promise<string[]> {
  const found: string[] = []
  for (const [id, path] of Object.entries(namers)) {
    const { text } = await test.fetch('GET', path(of), asker)
    if (text.includes(name)) found.push(`${id}: name`)
    if (text.includes(title)) found.push(`${id}: title`)
  }
  return found
}
const titled = ['listConversations: title', 'readConversation: title', 'exportProject: title']

describe('names and titles for an agent', () => {
  it('of a member are left out while their account is restricted', async () => {
    const on = await madeProject(test)
    const member = await madeMember(test, on)
    const named = { name: 'Nora Rhabarber', title: 'The house of Nora' }
    await test.db.prisma.account.update({ where: { id: member.accountId }, data: { name: named.name } })
    const { path } = await madeConversation(test, on, { title: named.title }, member)
    const given = { on, conversation: path, message: '', attachment: '', document: '' }
    const all = [
      'listConversations: name',
      'listConversations: title',
      'readConversation: name',
      'readConversation: title',
      'listProjectMembers: name',
      'exportProject: name',
      'exportProject: title',
    ]
    expect(await naming(given, on.agent, named)).toEqual(all)
    await restrict(member, { restricted: true })
    expect(await naming(given, on.agent, named)).toEqual([])
    expect(await naming(given, on.owner, named)).toEqual(all)
    await restrict(member, { restricted: false })
    expect(await naming(given, on.agent, named)).toEqual(all)
  }, 60_000)

  it('of a participant are left out while restricted: also titles that others gave, the search and the count', async () => {
    const on = await madeProject(test)
    const named = { name: 'Nora Rhabarber', title: 'The house of Nora' }
    const conversation = await madeConversation(test, on, { title: named.title }, on.agent)
    const { path } = conversation
    await madeMessage(test, conversation, on.agent, {
      content: 'It burned down.',
      author: { external_id: 'p', name: named.name },
    })
    const given = { on, conversation: path, message: '', attachment: '', document: '' }
    const [participant] = await dataOf(test, 'GET', `${on.path}/participants?q=p`, on.owner)
    const one = `${on.path}/participants/${participant.id}`
    const all = [...titled, 'listParticipants: name', 'exportProject: name'].sort()
    expect((await naming(given, on.agent, named)).sort()).toEqual(all)
    await dataOf(test, 'POST', `${one}/requests`, on.owner, { body: { kinds: ['restriction'] } })
    expect(await naming(given, on.agent, named)).toEqual([])
    expect(await dataOf(test, 'GET', `${on.path}/participants?q=Rhabarber`, on.agent)).toEqual([])
    // The application still finds the participant by its own id, to file requests.
    expect(await dataOf(test, 'GET', `${on.path}/participants?external_id=p`, on.agent)).toMatchObject([
      { id: participant.id, name: null, email: null, messages: 0 },
    ])
    expect(await dataOf(test, 'GET', one, on.agent)).toMatchObject({ name: null, email: null, messages: 0 })
    expect(await dataOf(test, 'GET', path, on.agent)).toMatchObject({ title: '', messages: 0 })
    expect((await naming(given, on.owner, named)).sort()).toEqual(all)
  }, 60_000)
})

describe('a restriction while an agent reads', () => {
  it('lets a read that began before it end, and hides the words from each read that begins after it', async () => {
    const on = await madeProject(test)
    const member = await madeMember(test, on)
    const given = await written(on, member)
    for (let round = 0; round < 3; round++) {
      let isRestricted = false
      const late: string[] = []
      const read = async () => {
        for (let n = 0; n < 4; n++) {
          const wasRestricted = isRestricted
          const found = await readingWords(given, on.agent)
          if (wasRestricted) late.push(...found)
        }
      }
      const change = restrict(member, { restricted: true }).then(() => {
        isRestricted = true
      })
      await Promise.all([read(), read(), change])
      await read()
      expect(late).toEqual([])
      await restrict(member, { restricted: false })
    }
  }, 120_000)
})
