import { type APIRequestContext, request as requests } from '@playwright/test'
import { z } from 'zod'
import { hasNames, mayOpen, type PageEntry, type PageName, pages } from '#components/frame/pages.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { newId } from '#lib/kernel/ids.ts'
import { seemingEnvelope, seemingKeyring } from '#lib/testing/keyrings.ts'
import { type BrowserSession, browserInstallation, control, sessionOf } from './control.ts'

/** A demo person for each role. `stranger` belongs to the other organization. */
export const people = {
  person: 'ben@example.org',
  manager: 'mara@example.org',
  auditor: 'iris@example.org',
  admin: 'ada@example.org',
  stranger: 'pia@example.com',
} as const
export type Somebody = keyof typeof people | 'nobody'
export const everybody = ['nobody', ...Object.keys(people)] as readonly Somebody[]
export const accountRoleOf = (who: Somebody): Role | undefined =>
  who === 'nobody' ? undefined : who === 'stranger' ? 'person' : who

/** The session that can open the page: none, the person's, or the admin's for pages that the person may not open. */
export const areaOf = (page: PageEntry): PageEntry['area'] =>
  page.roles === undefined ? 'public' : mayOpen(page, 'person') ? 'you' : 'admin'

/** Sends requests like a console page. */
export const requestContext = (session?: BrowserSession): Promise<APIRequestContext> =>
  requests.newContext({
    baseURL: browserInstallation().origin,
    ...(session && {
      storageState: session,
      extraHTTPHeaders: { Origin: browserInstallation().origin, 'Sec-Fetch-Site': 'same-origin' },
    }),
  })

const Ids = z.object({ data: z.array(z.object({ id: z.string() })) })
/** An agent of the demo person. */
const agentOfPerson = 'build-helper'
const first = async (api: APIRequestContext, path: string): Promise<string> => {
  const response = await api.get(path)
  const [row] = Ids.parse(await response.json()).data
  if (!row) throw new Error(`${path} lists nothing`)
  return row.id
}
const Runs = z.object({ data: z.array(z.object({ run_id: z.string(), receipt_id: z.string().nullable() })) })
const Made = z.object({ data: z.object({ id: z.string() }) })
const Erased = z.object({ auditId: z.string() })
const Token = z.object({ data: z.object({ id: z.string(), api_key: z.string() }) })
/** The values of each `[name]` in an address, and the query. */
interface Named {
  query?: string
  names: Record<string, string>
}

/** Adds a participant to a project through an agent of the session’s person. Returns the participant’s id. */
export async function addParticipant(
  api: APIRequestContext,
  projectId: string,
  author: { external_id: string; name?: string; email?: string },
  said: readonly string[] = [],
): Promise<string> {
  const make = async (asker: APIRequestContext, path: string, data: object, headers = {}): Promise<unknown> => {
    const response = await asker.post(path, { data, headers })
    if (!response.ok()) throw new Error(`${path}: ${await response.text()}`)
    return response.json()
  }
  const issued = await make(api, '/v1/auth/tokens', { agent_id: agentOfPerson, scopes: ['read', 'write'] })
  const { data: token } = Token.parse(issued)
  const project = `/api/projects/${projectId}`
  await make(api, `${project}/members`, { kind: 'agent', member_id: agentOfPerson })
  const backend = await requestContext()
  const send = async (path: string, data: object) =>
    Made.parse(await make(backend, `${project}${path}`, data, { Authorization: `Bearer ${token.api_key}` })).data.id
  const id = await send('/participants', author)
  if (said.length > 0) {
    const conversation = await send('/conversations', { title: 'With a participant' })
    for (const content of said) await send(`/conversations/${conversation}/messages`, { role: 'user', content, author })
  }
  await api.delete(`/v1/auth/tokens/${token.id}`)
  await backend.dispose()
  return id
}

/** Creates a project with a conversation, a remaining message and an erased one. */
async function inProject(api: APIRequestContext): Promise<Partial<Record<PageName, Named>>> {
  const make = async (path: string, data: object): Promise<string> => {
    const response = await api.post(path, { data })
    if (response.status() !== 201) throw new Error(`${path}: ${await response.text()}`)
    return Made.parse(await response.json()).data.id
  }
  const id = await make('/api/projects', { name: 'Seen by everybody who may' })
  const conversationId = await make(`/api/projects/${id}/conversations`, { title: 'A conversation' })
  const messages = `/api/projects/${id}/conversations/${conversationId}/messages`
  const [stays, goes] = [
    await make(messages, { role: 'user', content: 'It stays.' }),
    await make(messages, { role: 'user', content: 'It goes.' }),
  ]
  const participantId = await addParticipant(api, id, { external_id: 'user-17', name: 'Pat Quill' }, ['A question.'])
  const { auditId } = Erased.parse(await (await api.delete(`${messages}/${goes}`)).json())
  return {
    project: { names: { id } },
    conversation: { names: { id, conversationId } },
    participant: { names: { id, participantId } },
    partErasing: { names: { id }, query: `?${new URLSearchParams({ conversation: conversationId, message: stays })}` },
    partErasure: { names: { id, auditId } },
  }
}
/** Creates one thing of each kind that an agent stores and shares. Existing ones are kept. */
async function inAgent(api: APIRequestContext, id: string): Promise<Partial<Record<PageName, Named>>> {
  const at = `/v1/agents/${id}`
  const put = async (method: 'POST' | 'PUT', path: string, data?: object): Promise<unknown> => {
    const response = await api.fetch(`${at}${path}`, { method, ...(data && { data }) })
    if (!response.ok()) throw new Error(`${method} ${path}: ${await response.text()}`)
    return response.json()
  }
  const known = Ids.parse(await (await api.get(`${at}/documents`)).json()).data
  const thesis = { kind: 'playbook', title: 'Quiet markets', body: '# Wait\n\nThen go.\n' }
  const documentId = known[0]?.id ?? Made.parse(await put('POST', '/documents', thesis)).data.id
  const ring = await api.get(`${at}/keyring`)
  if (!ring.ok()) {
    const keyring = seemingKeyring()
    await put('PUT', '/keyring', { keyring })
    const envelope = seemingEnvelope(keyring.key_id)
    await put('POST', '/grimoire', { scope: 'private', id: newId('ent'), kind: 'episode', envelope })
    await put('POST', '/grimoire', {
      scope: 'clade',
      kind: 'insight',
      content: 'Thin books punish haste.',
      confidence: 0.8,
    })
    const reference = `0x${'ab'.repeat(20)}`
    await put('POST', '/chain-references', { chain: 'eip155:1', kind: 'address', reference })
    await put('POST', '/snapshots')
    await control.work()
  }
  const named: Named = { names: { id } }
  return {
    agent: named,
    agentGrimoire: named,
    agentDocuments: named,
    agentSharing: named,
    agentSnapshots: named,
    agentRecords: named,
    agentDocument: { names: { id, documentId } },
  }
}
const Account = z.object({ data: z.object({ account_id: z.string() }) })

/** An address for each page of the list, with records of the demo person. */
export async function addresses(): Promise<Record<PageName, string>> {
  const [person, admin] = await Promise.all([sessionOf(people.person), sessionOf(people.admin)])
  const [own, office] = await Promise.all([requestContext(person), requestContext(admin)])
  try {
    const runs = Runs.parse(await (await office.get('/api/erasures')).json()).data
    const done = runs.find(({ receipt_id }) => receipt_id !== null)
    if (!done?.receipt_id) throw new Error('nothing is erased yet')
    // So that the tests of every page meet the form, not only the notice that it is off.
    await office.patch('/v1/settings', {
      data: { request_form: { is_on: true, origins: ['https://www.example.org'] } },
    })
    const { account_id } = Account.parse(await (await own.get('/api/account')).json()).data
    const named = (id: string): Named => ({ names: { id } })
    const known: Partial<Record<PageName, Named>> = {
      ...(await inProject(own)),
      ...(await inAgent(own, agentOfPerson)),
      referenceGroup: { names: { group: 'receipts' } },
      receipt: named(done.receipt_id),
      ownRequest: named(await first(own, '/api/privacy/requests')),
      unit: named(await first(own, '/v1/knowledge?visibility=private&agent_id=build-helper')),
      request: named(await first(office, '/api/admin/privacy/requests?open=true')),
      erasure: named(done.run_id),
      tieredAgent: named('build-helper'),
      user: named(account_id),
    }
    const addressOf = (page: PageEntry & { name: PageName }): [PageName, string] => {
      const of = known[page.name]
      if (hasNames(page) && of === undefined) throw new Error(`nobody knows what the page "${page.name}" is about`)
      const path = page.path.replace(/\[(\w+)\]/g, (_, name: string) => encodeURIComponent(of?.names[name] ?? ''))
      return [page.name, `${path}${of?.query ?? ''}`]
    }
    return Object.fromEntries(pages.map(addressOf)) as Record<PageName, string>
  } finally {
    await own.dispose()
    await office.dispose()
  }
}
