import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import {
  type MadeConversation,
  type MadeProject,
  madeConversation,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { sop } from '#lib/testing/units.ts'

let test: TestApp
let person: Person
let agent: Issued
let admin: Issued
let project: MadeProject
let conversation: MadeConversation
let message: { path: string }
let sopId: string
beforeAll(async () => {
  test = await testApp()
  person = await signedIn(test, 'admin')
  agent = await issuedAgent(test, ['read', 'write'], { owner: person })
  admin = await issuedAgent(test, ['read', 'write', 'admin'], { owner: person })
  project = await madeProject(test)
  conversation = await madeConversation(test, project)
  message = await madeMessage(test, conversation, project.owner)
  sopId = (await test.fetch('POST', '/v1/sop', { token: project.agent.token, body: sop() })).json.data.id
})
afterAll(() => test?.close())

/** Operations that need a prepared snapshot, a privacy request or an authenticator: their services return the same kinds of members. */
const untested = ['linkSnapshot', 'filePrivacyRequest', 'addPasskey', 'forwardUnconfirmedRequest']
const bytes = { headers: { 'Content-Type': 'text/plain' }, body: Buffer.from('a text') }

const cases: Record<string, () => Promise<[path: string, ask: TestRequest]> | [path: string, ask: TestRequest]> = {
  createProject: () => ['/api/projects', { cookie: person.cookie, body: { name: 'A project' } }],
  addProjectMember: async () => {
    const other = await signedIn(test, 'person', project.owner.organisationId)
    const body = { kind: 'account', member_id: other.accountId }
    return [`${project.path}/members`, { ...project.owner, body }]
  },
  registerParticipant: () => [
    `${project.path}/participants`,
    { token: project.agent.token, body: { external_id: 'u-1', name: 'Ada Example' } },
  ],
  createConversation: () => [`${project.path}/conversations`, { ...project.owner, body: { title: 'A title' } }],
  createMessage: () => [
    `${conversation.path}/messages`,
    { ...project.owner, body: { role: 'user', content: 'Words' } },
  ],
  attachFile: () => [`${message.path}/attachments?name=a.txt`, { ...project.owner, ...bytes }],
  addDocument: () => [`${project.path}/documents?name=b.txt`, { ...project.owner, ...bytes }],
  closeProject: async () => {
    const other = await madeProject(test)
    return [`${other.path}/close`, { ...other.owner, body: {} }]
  },
  reopenProject: async () => {
    const other = await madeProject(test)
    await test.fetch('POST', `${other.path}/close`, { ...other.owner, body: {} })
    return [`${other.path}/reopen`, { ...other.owner }]
  },
  approveSop: () => [`/v1/sop/${sopId}/approve`, { token: admin.token, body: {} }],
  exportSopAsSkill: () => [`/v1/sop/${sopId}/export-skill`, { token: admin.token, body: { publish: true } }],
  addChainReference: () => {
    const body = { chain: 'eip155:1', kind: 'transaction', reference: `0x${'a1'.repeat(32)}` }
    return [`/v1/agents/${agent.id}/chain-references`, { token: agent.token, body }]
  },
  registerAgent: () => ['/v1/auth/register', { body: { agent_id: 'repeated-one', scopes: ['read'] } }],
  createToken: () => ['/v1/auth/tokens', { token: agent.token, body: {} }],
  rotateToken: () => [`/v1/auth/tokens/${agent.tokenId}/rotate`, { token: agent.token, body: { overlap: '1h' } }],
  createInvite: () => ['/v1/invites', { token: admin.token, body: {} }],
  addAuthenticatorApp: () => ['/api/account/factors/totp', { cookie: person.cookie, body: { name: 'Phone' } }],
  confirmAuthenticatorApp: async () => {
    const who = await signedIn(test)
    const added = await test.fetch('POST', '/api/account/factors/totp', { ...who, body: { name: 'Phone' } })
    const totp = new TOTP({ secret: Secret.fromBase32(added.json.data.secret) })
    const code = totp.generate({ timestamp: test.clock.now().getTime() })
    return [`/api/account/factors/${added.json.data.factor_id}/confirm`, { ...who, body: { code } }]
  },
  renewRecoveryCodes: async () => {
    const who = await signedIn(test)
    const at = test.clock.now()
    await test.db.prisma.accountFactor.create({
      data: {
        id: newId('fct'),
        accountId: who.accountId,
        kind: 'passkey',
        name: 'Laptop',
        createdAt: at,
        confirmedAt: at,
        credentialId: new Uint8Array(Buffer.from(newId('credential'))),
        publicKey: new Uint8Array(Buffer.from(newId('key'))),
      },
    })
    return ['/api/account/recovery-codes', { ...who, body: {} }]
  },
  createOwnAgent: () => [
    '/api/agents',
    { cookie: person.cookie, body: { consent: { policy_version: noticeVersion } } },
  ],
}
const credentials = new Set(['api_key', 'code', 'url', 'cancel_token', 'secret', 'uri', 'recovery_codes'])
const withSecrets = () =>
  test.app.useCases.flatMap(({ operation }) => (operation.method === 'post' && operation.secrets ? [operation] : []))

it('every operation whose stored responses omit secrets is tested', () => {
  const tested = [...Object.keys(cases), ...untested].sort()
  expect(
    withSecrets()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(tested)
})

it.each(Object.keys(cases))(
  '%s returns a complete response without credentials when the request is repeated',
  async (id) => {
    const operation = withSecrets().find((one) => one.id === id)
    const [path, ask] = (await cases[id]?.()) ?? ['', {}]
    const headers = { ...ask.headers, 'Idempotency-Key': `repeat ${id}` }
    const first = await test.fetch('POST', path, { ...ask, headers })
    expect(first.status, first.text).toBeLessThan(300)
    const again = await test.fetch('POST', path, { ...ask, headers })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    const { data, ...rest } = first.json
    const shown = Object.fromEntries(Object.entries(data).filter(([name]) => !credentials.has(name)))
    expect([again.status, again.json]).toEqual([first.status, { ...rest, data: shown }])
    // The check of a typed client.
    expect(operation?.output.safeParse(again.json).error).toBeUndefined()
  },
)
