import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { commandFiles } from '#bin/kp/commands.ts'
import { placeVariables } from '#lib/config/env.ts'
import { agentDocumentKinds } from '#lib/domains/agents/life/rules.ts'
import { tierLimits } from '#lib/domains/tokens/rules.ts'
import type { Actor } from '#lib/kernel/context.ts'
import {
  doors,
  guardedEffects,
  isInPerson,
  isOpenToLent,
  laterJobs,
  needsOpenSession,
  withoutEffect,
} from '#lib/kernel/effects.ts'
import { newId } from '#lib/kernel/ids.ts'
import { operation } from '#lib/kernel/operation.ts'
import { batched, mutation, read, stream } from '#lib/kernel/use-case.ts'
import { emailContent } from '#lib/stores/mail/email-content.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { pathParameters } from '#lib/testing/path-parameters.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { dataOf, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { sop, trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

const all = Object.values(doors)
const operations = () => test.app.useCases.map(({ operation: { id } }) => id).sort()
const unique = (names: readonly string[]) => [...new Set(names)].sort()

describe('the table of effects', () => {
  it('names every address, folder and secret of the installation, in an effect or among those without one', () => {
    const named = all.flatMap(({ places = [] }) => places)
    expect(unique([...named, ...withoutEffect.places])).toEqual(unique(placeVariables))
    expect(withoutEffect.places.filter((name) => named.includes(name))).toEqual([])
  })

  it('names every operation, job and command, in an effect or among those without one', () => {
    const named = all.flatMap(({ inPerson = [], consulted = [], rows = [] }) => [...inPerson, ...consulted, ...rows])
    expect(unique([...named, ...withoutEffect.operations])).toEqual(operations())
    expect(withoutEffect.operations.filter((id) => named.includes(id))).toEqual([])
    const jobs = all.flatMap(({ jobs = [] }) => jobs)
    expect(unique([...jobs, ...withoutEffect.jobs])).toEqual(unique(test.app.jobs.map(({ name }) => name)))
    expect(withoutEffect.jobs.filter((name) => jobs.includes(name))).toEqual([])
    const commands = all.flatMap(({ commands = [] }) => commands)
    const known = commandFiles.flatMap(({ names }) => names)
    expect(unique([...commands, ...withoutEffect.commands])).toEqual(unique(known))
  })
})

it('every job with an effect states whether the right of who ordered it is asked again', () => {
  const named = Object.values(laterJobs).flat()
  expect(named.toSorted()).toEqual(unique(all.flatMap(({ jobs = [] }) => jobs)))
})

describe('an operation whose effect outlives the session of its caller', () => {
  it('is a mutation, which locks the session', () => {
    const never = () => Promise.reject(new Error('runs'))
    const listed = test.app.useCases.filter(({ operation: { id } }) => needsOpenSession(id))
    expect(listed.map(({ operation: { id } }) => id)).toEqual(expect.arrayContaining(['createToken', 'claimAgent']))
    for (const { operation: one } of listed)
      for (const make of [read, stream, batched])
        expect(() => make(one, never)).toThrow(`${one.id} outlives the session of its caller`)
  })
})

describe('commands of kp', () => {
  const folder = join(import.meta.dirname, '../bin/kp')
  /** The modules that a file of `kp` loads, without those that it needs only for types. */
  const loadedBy = (file: string) =>
    [
      ...readFileSync(join(folder, file), 'utf8').matchAll(/(?:^import (?!type\b)[^;]*?from |import\()'([^']+)'/gms),
    ].map(([, module]) => module ?? '')
  /** Whether the command can reach the database or files of the installation without calling an operation. */
  function reachesInstallation(file: string, seen = new Set<string>()): boolean {
    if (seen.has(file)) return false
    seen.add(file)
    return loadedBy(file).some((module) =>
      module.startsWith('./')
        ? reachesInstallation(module.slice(2), seen)
        : /^#lib\/(?:app|app-instance|operator\/|platform\/|stores\/postgres\/(?:database|connection))/.test(module),
    )
  }
  /** Commands that read the installation of this machine and return no content. */
  const reading = ['backup-key', 'doctor']

  it('call operations, except those that are listed with an effect on the server’s own machine', async () => {
    const source = readFileSync(join(folder, 'commands.ts'), 'utf8')
    const files = [...source.matchAll(/names: \[([^\]]+)\][^/]+import\('\.\/([\w.-]+)'\)/g)]
    expect(files).toHaveLength(commandFiles.length)
    const onMachine = files.flatMap(([, names = '', file = '']) =>
      reachesInstallation(file) ? [...names.matchAll(/'([\w-]+)'/g)].map(([, name]) => name ?? '') : [],
    )
    expect(unique([...all.flatMap(({ commands = [] }) => commands), ...reading])).toEqual(unique(onMachine))
  })
})

describe('operations that only people may call', () => {
  it('return 403 for a token with every scope, whatever the input', async () => {
    const { token } = await issuedAgent(test, ['read', 'write', 'privacy', 'admin'], { tier: 'enterprise' })
    const inPerson = test.app.useCases.filter(({ operation: { id } }) => isInPerson(id))
    expect(inPerson.length).toBeGreaterThan(20)
    for (const { operation: one } of inPerson) {
      const path = one.path.replaceAll(/\{\w+\}/g, 'x')
      const { status, json } = await test.fetch(one.method.toUpperCase(), path, {
        token,
        ...(one.method !== 'get' && one.method !== 'delete' && { body: {} }),
      })
      expect([one.id, status, json.code]).toEqual([one.id, 403, 'forbidden'])
    }
  })

  it('need a recently entered password, except for those that only organize or continue the work of admins', async () => {
    const without = test.app.useCases.filter(
      ({ operation: { id, needsRecentPassword } }) => isInPerson(id) && !needsRecentPassword,
    )
    expect(without.map(({ operation: { id } }) => id).sort()).toEqual([
      'assignPrivacyRequest',
      // Each of its actions needs what its operation for one request needs.
      'bulkPrivacyRequests',
      'commentPrivacyRequest',
      'resumePrivacyRequest',
      'retryPrivacyRequest',
    ])
    const admin = await signedIn(test, 'admin')
    test.clock.advance(11 * 60_000)
    const bulk = async (body: object) => {
      const { status, json } = await test.fetch('POST', '/api/admin/privacy/bulk', {
        ...admin,
        body: { ids: ['preq_0000000000000000000000'], ...body },
      })
      return [status, json.code]
    }
    for (const action of ['expedite', 'pause'])
      expect(await bulk({ action, reason: 'A reason.' })).toEqual([403, 'step_up_required'])
    expect(await bulk({ action: 'resume' })).toEqual([200, undefined])
  })

  it('need a recently entered password where they publish, claim shared keys or reset a password', async () => {
    const admin = await signedIn(test, 'admin')
    test.clock.advance(11 * 60_000)
    for (const [method, path, body] of [
      ['PATCH', '/v1/settings', { anonymous_reading: true }],
      ['PUT', `/api/admin/organisations/${admin.organisationId}/namespaces`, { namespaces: ['*'] }],
      ['POST', `/api/admin/users/${admin.accountId}/reset`, undefined],
    ] as const) {
      const { status, json } = await test.fetch(method, path, { ...admin, ...(body && { body }) })
      expect([path, status, json.code]).toEqual([path, 403, 'step_up_required'])
    }
  })
})

describe('a credential that an admin makes for somebody else', () => {
  const secret = 'quartzwhistle'
  const scopes = ['read', 'write']
  /** Agents of others, with private content of every kind that is not sealed. */
  async function victims() {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project, { title: `About ${secret}` }, project.agent)
    await madeMessage(test, conversation, project.agent, { content: `A ${secret} was heard.` })
    const unclaimed = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    for (const agent of [project.agent, unclaimed]) {
      await dataOf(test, 'POST', '/v1/knowledge', agent, {
        body: trace({ task: { objective: `Build a ${secret}.` } }, { visibility: 'private' }),
      })
      const body = { skill_md: skillMd(`s-${newId('s').slice(-8).toLowerCase()}`, { body: `A ${secret}.` }) }
      await dataOf(test, 'POST', '/v1/skills', agent, { body: { ...body, visibility: 'private' } })
      await dataOf(test, 'POST', `/v1/agents/${agent.id}/documents`, agent, {
        body: { kind: agentDocumentKinds[0], title: 'Notes', body: `On the ${secret}.` },
      })
    }
    return { claimed: { ...project.agent, owner: project.owner }, unclaimed }
  }
  /** The operations that return the secret, each with its path, for every existing record or by a search for it. */
  async function revealing(credential: { token: string } | { cookie: string }): Promise<string[]> {
    const parameters = await pathParameters(test)
    const found = new Set<string>()
    for (const { operation: one } of test.app.useCases) {
      if (one.method !== 'get' || one.path.endsWith('/events')) continue
      const sets = one.path.includes('{')
        ? Object.entries(parameters).flatMap(([start, some]) => (one.path.startsWith(start) ? some : []))
        : [{}]
      for (const values of sets) {
        const path = one.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
          encodeURIComponent(String(Object.hasOwn(values, name) ? values[name] : 'x')),
        )
        const isSearch = one.id === 'listUnits' || one.id === 'listSkills'
        const { status, text: reported } = await test.fetch(
          'GET',
          `${path}${isSearch ? `?q=${secret}` : ''}`,
          credential,
        )
        expect(status, one.id).not.toBe(500)
        if (reported.includes(secret)) found.add(`${one.id} ${path}`)
      }
    }
    return [...found].sort()
  }
  const rotate = (tokenId: string, credential: object) =>
    test.fetch('POST', `/v1/auth/tokens/${tokenId}/rotate`, { ...credential, body: {} })
  const create = (agentId: string, credential: object, wanted: readonly string[] = scopes) =>
    test.fetch('POST', '/v1/auth/tokens', { ...credential, body: { agent_id: agentId, scopes: wanted } })
  const madeKey = (response: Awaited<ReturnType<typeof create>>): string => {
    expect(response.status, response.text).toBe(201)
    return response.json.data.api_key
  }

  it('reads nothing that the admin cannot read, until the owner or the agent rotates it', async () => {
    const { claimed, unclaimed } = await victims()
    const admin = await signedIn(test, 'admin')
    const own = await issuedAgent(test, ['read', 'write', 'admin'], { owner: admin, tier: 'enterprise' })
    const reachable = new Set([...(await revealing(admin)), ...(await revealing(own))])
    for (const { token } of [claimed, unclaimed]) {
      const full = (await revealing({ token })).map((one) => one.split(' ')[0])
      for (const operation of ['readUnit', 'listUnits', 'readSkill', 'exportAgent', 'readAgentDocument'])
        expect(full).toContain(operation)
    }
    const lent: string[] = []
    for (const agent of [claimed, unclaimed])
      for (const by of [admin, own]) {
        const made = await create(agent.id, by)
        lent.push(madeKey(made), madeKey(await rotate(made.json.data.id, by)))
      }
    lent.push(madeKey(await create(claimed.id, admin, ['read', 'write', 'admin'])))
    let used = 0
    for (const token of lent) {
      // Those that were rotated have ended.
      if ((await test.fetch('GET', '/v1/auth/me', { token })).status !== 200) continue
      used++
      expect((await revealing({ token })).filter((one) => !reachable.has(one))).toEqual([])
    }
    expect(used).toBe(5)
    // The owner, or the agent itself, gives it the rights.
    for (const [agent, by] of [
      [claimed, claimed.owner],
      [unclaimed, { token: unclaimed.token }],
    ] as const) {
      const made = await create(agent.id, admin)
      const token = madeKey(await rotate(made.json.data.id, by))
      expect((await revealing({ token })).some((one) => one.startsWith('exportAgent '))).toBe(true)
    }
  }, 300_000)

  it('may call only what is open to it, and does not prove that its bearer is the agent', async () => {
    const { claimed, unclaimed } = await victims()
    const admin = await signedIn(test, 'admin')
    for (const agent of [claimed, unclaimed]) {
      const token = madeKey(await create(agent.id, admin, ['read', 'write', 'privacy']))
      for (const { operation: one } of test.app.useCases) {
        const verb = one.permission.slice(one.permission.lastIndexOf(':') + 1)
        if (isOpenToLent(one.id) || one.id === 'registerAgent') continue
        const path = one.path.replaceAll(/\{\w+\}/g, agent.id)
        const hasBody = one.method !== 'get' && one.method !== 'delete'
        const response = await fetch(`${test.url}${path}`, {
          method: one.method.toUpperCase(),
          headers: {
            Authorization: `Bearer ${token}`,
            ...(hasBody && { 'Content-Type': one.upload?.[0] ?? 'application/json' }),
          },
          ...(hasBody && { body: '{}' }),
        })
        const { code } = await response.json()
        const isOfAdmins = verb === 'admin' || verb === 'audit'
        expect([one.id, response.status, code]).toEqual([
          one.id,
          403,
          isOfAdmins ? expect.stringMatching(/^(forbidden|scope_too_small)$/) : 'forbidden',
        ])
      }
      const further = await test.fetch('POST', '/v1/auth/register', { token, body: { agent_id: agent.id } })
      expect([further.status, further.json.code]).toEqual([403, 'forbidden'])
      const claim = await test.fetch('POST', '/api/agents/claim', { ...admin, body: { token } })
      expect([claim.status, claim.json.code]).toEqual([404, 'not_found'])
      const contributed = await test.fetch('POST', '/v1/knowledge', { token, body: trace() })
      expect(contributed.status, contributed.text).toBe(201)
    }
  }, 300_000)

  const known: Record<string, string> = {
    createToken: 'lent for agents of others',
    rotateToken: 'lent for agents of others',
    registerAgent: 'a new agent without data, or a further token of the agent that asks',
    createOwnAgent: 'a new agent of the caller',
    createInvite: 'a new agent without data; never with the scope admin',
    linkSnapshot: 'sealed with a key of the owner; only for the caller’s own agents',
    addAuthenticatorApp: 'the caller’s own factor',
    confirmAuthenticatorApp: 'the caller’s own codes',
    addPasskey: 'the caller’s own codes',
    renewRecoveryCodes: 'the caller’s own codes',
    filePrivacyRequest: 'cancels the caller’s own request',
  }

  it('is returned only by operations that are known to give their caller nothing', () => {
    const returned = ['api_key', 'code', 'url', 'secret', 'recovery_codes', 'cancel_token']
    const found = test.app.useCases.filter(({ operation: { secrets = [] } }) =>
      secrets.some((one) => returned.includes(one)),
    )
    expect(Object.fromEntries(found.map(({ operation: { id } }) => [id, id in known ? known[id] : 'unknown']))).toEqual(
      known,
    )
  })

  it('is no invitation of an agent with the scope admin', async () => {
    for (const by of [await signedIn(test, 'admin'), await issuedAgent(test, ['read', 'admin'])]) {
      const { status, json } = await test.fetch('POST', '/v1/invites', { ...by, body: { scopes: ['read', 'admin'] } })
      expect([status, json.code]).toEqual([422, 'invalid'])
    }
  })

  it.each(['person', 'manager', 'auditor'] as const)('is refused for somebody with the role %s', async (role) => {
    const { claimed } = await victims()
    for (const by of [await signedIn(test, role), await signedIn(test, role, claimed.owner.organisationId)]) {
      expect((await create(claimed.id, by)).status).toBe(404)
      expect((await rotate(claimed.tokenId, by)).status).toBe(404)
    }
  })
})

describe('data of others', () => {
  // A limit must not hide that a call is allowed.
  const { pro, enterprise } = tierLimits
  const limits = { pro: { ...pro }, enterprise: { ...enterprise } }
  beforeAll(() => {
    for (const tier of [pro, enterprise]) Object.assign(tier, { reads: 1_000_000, writes: 1_000_000 })
  })
  afterAll(() => {
    Object.assign(pro, limits.pro)
    Object.assign(enterprise, limits.enterprise)
  })
  /** What a request of somebody else must not change: content, its readers, its owner, its project, requests and restrictions. */
  const retained = `SELECT 'unit ' || id || ' ' || agent_id || ' ' || visibility || ' ' || md5(document::text) AS row FROM units
    UNION ALL SELECT 'skill ' || id || ' ' || agent_id || ' ' || visibility || ' ' || md5(document::text) FROM skills
    UNION ALL SELECT 'version ' || unit_id || ' ' || version FROM sop_versions
    UNION ALL SELECT 'document ' || id || ' ' || md5(d::text) FROM agent_documents d
    UNION ALL SELECT 'agent ' || id || ' ' || coalesce(owner_id, '') || ' ' || status || ' ' || coalesce(restricted_at::text, '') FROM agents
    UNION ALL SELECT 'account ' || id || ' ' || email || ' ' || role || ' ' || coalesce(deactivated_at::text, '') FROM accounts
    UNION ALL SELECT 'project ' || id || ' ' || status || ' ' || name FROM projects
    UNION ALL SELECT 'member ' || project_id || ' ' || member_id || ' ' || role FROM project_members
    UNION ALL SELECT 'conversation ' || id || ' ' || md5(c::text) FROM conversations c
    UNION ALL SELECT 'message ' || id || ' ' || md5(m::text) FROM messages m
    UNION ALL SELECT 'file ' || id || ' ' || md5(f::text) FROM documents f
    UNION ALL SELECT 'participant ' || id || ' ' || md5(p::text) FROM project_participants p
    UNION ALL SELECT 'request ' || id || ' ' || state FROM privacy_requests`
  const state = async () => {
    const rows = await test.app.db.query<{ row: string }>(undefined, retained)
    return new Map(rows.map(({ row }) => [row.split(' ').slice(0, 2).join(' '), row]))
  }
  /** Bodies that are valid in an operation and would change a record of somebody else. */
  const bodies = (agentId: string): Record<string, unknown> => ({
    rectifyUnit: { visibility: 'network' },
    correctSkill: { visibility: 'network' },
    reviseSop: sop({ name: 'Changed' }),
    editMessage: { content: 'Changed.' },
    editConversation: { title: 'Changed' },
    editProject: { name: 'Changed' },
    createMessage: { role: 'user', content: 'Not mine.' },
    createConversation: { title: 'Not mine' },
    addProjectMember: { kind: 'agent', member_id: agentId },
    registerParticipant: { external_id: 'somebody' },
    editParticipant: { name: 'Changed' },
    addAgentDocument: { kind: agentDocumentKinds[0], title: 'Changed', body: 'Changed' },
    editAgentDocument: { revision: 1, title: 'Changed', body: 'Changed' },
    setAgentSettings: { grimoire_days: 30 },
    setAgentStatus: { status: 'dead', confirm: agentId },
    setRestriction: { restricted: true, agent_id: agentId },
    setCladeSharing: { on: true },
    filePrivacyRequest: { kinds: ['erasure'], grace: 'now', agent_id: agentId },
    filePrivacyRequestForParticipant: { kinds: ['erasure'], grace: 'now' },
    decideErasureThread: { decision: 'delete' },
    reportProvenance: { entries: [] },
    exportSopAsSkill: { publish: false },
  })
  async function others() {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    await madeMessage(test, conversation, project.agent, { author: { external_id: 'a-customer' } })
    const at = `/api/projects/${project.id}/participants`
    const author = { body: { external_id: 'a-restricted-customer' } }
    const { id } = await dataOf(test, 'POST', at, project.agent, author)
    await dataOf(test, 'POST', `${at}/${id}/requests`, project.owner, { body: { kinds: ['restriction'] } })
    for (const visibility of ['private', 'org', 'network']) {
      for (const body of [trace({}, { visibility }), sop({}, { visibility })])
        await dataOf(test, 'POST', '/v1/knowledge', project.agent, { body })
      const skill_md = skillMd(`s-${newId('s').slice(-8).toLowerCase()}`)
      await dataOf(test, 'POST', '/v1/skills', project.agent, { body: { skill_md, visibility } })
    }
    const body = { kind: agentDocumentKinds[0], title: 'Notes', body: 'Mine.' }
    await dataOf(test, 'POST', `/v1/agents/${project.agent.id}/documents`, project.agent, { body })
    return project
  }
  /** Makes all tokens and sessions valid again. */
  async function restore(): Promise<void> {
    const { prisma } = test.db
    await prisma.token.updateMany({ data: { revokedAt: null, expiresAt: null } })
    await prisma.session.updateMany({ data: { revokedAt: null } })
    await prisma.agent.updateMany({ data: { suspendedAt: null } })
  }
  const isLost = (answer: { code?: string } | undefined): boolean =>
    ['token_invalid', 'token_revoked', 'token_expired', 'token_suspended', 'sign_in_needed', 'dead'].includes(
      answer?.code ?? '',
    )
  /** The operations that changed something of others, each called for every record, or for the agent of somebody else in its body. */
  async function changing(credential: { token: string } | { cookie: string }, own: readonly string[], agentId: string) {
    const valid = bodies(agentId)
    const parameters = await pathParameters(test)
    const found: string[] = []
    const invalid = new Set<string>()
    for (const { operation: one } of test.app.useCases) {
      if (one.method === 'get' || one.upload || isInPerson(one.id)) continue
      const before = await state()
      const sets = one.path.includes('{')
        ? Object.entries(parameters).flatMap(([start, some]) => (one.path.startsWith(start) ? some : []))
        : [{}]
      for (const values of sets) {
        const names = [...one.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name))
        if (names.some((name) => !Object.hasOwn(values, name) || own.includes(String(values[name])))) continue
        const path = one.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])))
        const call = () =>
          test.fetch(one.method.toUpperCase(), path, {
            ...credential,
            ...(one.method !== 'delete' && { body: valid[one.id] ?? {} }),
          })
        let { status, json } = await call()
        // An earlier call ended the credential, and all further calls would be refused whatever they do.
        if (isLost(json)) {
          await restore()
          ;({ status, json } = await call())
          expect([one.id, isLost(json)]).toEqual([one.id, false])
        }
        expect([429, 500], one.id).not.toContain(status)
        if (status === 422 && one.id in valid) invalid.add(one.id)
      }
      const after = await state()
      const isChanged = ([of, row]: [string, string]) => !own.includes(of.split(' ')[1] ?? '') && after.get(of) !== row
      if ([...before].some(isChanged)) found.push(one.id)
    }
    return { found, invalid: [...invalid] }
  }

  it('are changed by no operation that a token of scope admin may call', async () => {
    const { agent, owner } = await others()
    const within = { owner: await signedIn(test, 'admin', owner.organisationId), tier: 'enterprise' } as const
    for (const made of [
      await issuedAgent(test, ['read', 'write', 'admin'], { tier: 'enterprise' }),
      await issuedAgent(test, ['admin'], within),
    ])
      expect(await changing(made, [made.id, made.tokenId], agent.id)).toEqual({ found: [], invalid: [] })
  }, 300_000)

  it.each(['manager', 'person', 'auditor'] as const)(
    'are changed by no operation of a %s of the organization whose password was not entered recently',
    async (role) => {
      const { agent, owner } = await others()
      const colleague = await signedIn(test, role, owner.organisationId)
      test.clock.advance(11 * 60_000)
      const sessions = await test.db.prisma.session.findMany({ where: { accountId: colleague.accountId } })
      const own = [colleague.accountId, ...sessions.map(({ id }) => id)]
      expect((await changing(colleague, own, agent.id)).found).toEqual([])
    },
    300_000,
  )

  it('are changed by no operation of the owner of another project, or of the agent that owns it', async () => {
    const { agent, owner } = await others()
    const colleague = await signedIn(test, 'person', owner.organisationId)
    const theirs = await issuedAgent(test, ['read', 'write', 'privacy'], { owner: colleague, tier: 'enterprise' })
    const project = await madeProject(test, { owner: colleague, agent: theirs })
    for (const by of [colleague, theirs]) {
      const sessions = await test.db.prisma.session.findMany({ where: { accountId: colleague.accountId } })
      const own = [colleague.accountId, theirs.id, theirs.tokenId, project.id, ...sessions.map(({ id }) => id)]
      expect((await changing(by, own, agent.id)).found).toEqual([])
    }
  }, 300_000)

  it('are changed by no operation of an admin whose password was not entered recently', async () => {
    const { agent } = await others()
    const admin = await signedIn(test, 'admin')
    const sessions = await test.db.prisma.session.findMany({ where: { accountId: admin.accountId } })
    test.clock.advance(11 * 60_000)
    const own = [admin.accountId, admin.organisationId, ...sessions.map(({ id }) => id)]
    expect((await changing(admin, own, agent.id)).found).toEqual([])
  }, 300_000)
})

describe('a page of another host that leads to this server', () => {
  it.each([
    ['POST', '/v1/auth/register', {}],
    ['POST', '/api/privacy/form', {}],
  ])('gets 421 for %s %s', async (method, path, body) => {
    const asked = async (headers: Record<string, string>) => {
      const request = http.request(`${test.url}${path}`, { method, agent: false })
      for (const [name, value] of Object.entries({ 'Content-Type': 'application/json', ...headers }))
        request.setHeader(name, value)
      request.end(JSON.stringify(body))
      const [response] = await once(request, 'response')
      return { status: response.statusCode, json: JSON.parse(await text(response)) }
    }
    const { status, json } = await asked({ Host: 'rebound.example', Origin: 'http://rebound.example' })
    expect([status, json.code]).toEqual([421, 'misdirected'])
    // Clients that are no browsers may use any name of this server, and browsers its addresses.
    for (const headers of [{ Host: 'internal.example' }, { Host: '127.0.0.1', Origin: 'http://127.0.0.1' }])
      expect((await asked(headers)).status).not.toBe(421)
  })
})

describe('two-person approval', () => {
  it('hides links of emails to other people, with which an admin could approve as another admin', async () => {
    const folder = await testApp()
    try {
      const admin = await signedIn(folder, 'admin')
      const other = await signedIn(folder, 'admin')
      const body = { name: 'New', role: 'admin', email: 'new@example.org' }
      const invited = await folder.fetch('POST', '/api/admin/users', { ...admin, body })
      const send = (about: string) =>
        folder.app.mail.send({
          to: 'x@example.org',
          about,
          ...emailContent('en', 'A link', [`${folder.url}/password/new#c`]),
        })
      await send(invited.json.data.account_id)
      const [email] = (await folder.fetch('GET', '/api/admin/outbox', admin)).json.data
      const shown = () => folder.fetch('GET', `/api/admin/outbox/${email.id}?links=show`, admin)
      expect((await shown()).status).toBe(200)
      const on = await folder.fetch('PUT', '/api/admin/approvals', { ...admin, body: { is_on: true } })
      expect(on.status, on.text).toBe(200)
      const hidden = await shown()
      expect([hidden.status, hidden.json.code]).toEqual([403, 'forbidden'])
      const reset = await folder.fetch('POST', `/api/admin/users/${other.accountId}/reset`, admin)
      expect([reset.status, reset.json.code]).toEqual([403, 'approval_required'])
    } finally {
      await folder.close()
    }
  })
})

describe('the pipeline', () => {
  const shape = { id: 'editParticipant', method: 'post', path: '/v1/test', summary: 'A test' } as const
  const rest = { permission: 'public', audit: { none: 'a test' }, limit: 'exempt', status: 200 } as const
  const forgetful = operation({ ...shape, ...rest, output: z.strictObject({}) })
  const raw = { params: {}, query: {}, headers: {}, body: undefined }

  it.each([
    ['mutation', mutation(forgetful, async () => ({ body: {}, resourceId: 'x' }))],
    ['read', read(forgetful, async () => ({ body: {}, resourceId: 'x' }))],
  ])('fails a %s that did not consult the guard of its effect', async (_, useCase) => {
    expect(guardedEffects('editParticipant')).toEqual(['take-over'])
    const { pipeline } = test.app
    const actor: Actor = {
      kind: 'system',
      id: 'system:test',
      organisationId: undefined,
      agents: [],
      isAdmin: false,
      scopes: [],
      isRestricted: false,
      quota: { unitBytes: 1, batch: 1, exportsPerDay: null },
      can: () => true,
    }
    const ctx = { actor, ip: '', requestId: 'req', pipeline, now: test.clock.now() }
    await expect(useCase.execute(ctx, raw)).rejects.toThrow('did not consult the guard of the effect take-over')
  })
})
