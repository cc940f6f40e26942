import { randomBytes, randomInt } from 'node:crypto'
import { encode } from 'next-auth/jwt'
import { sessionSecret } from '#lib/access/sessions.ts'
import { deriveKey, seal, sealedPurposes } from '#lib/config/secret.ts'
import { createAccount } from '#lib/domains/accounts/service.ts'
import { createOrganisation, enqueueNotice } from '#lib/domains/accounts/writes.ts'
import { joinClade } from '#lib/domains/clades/writes.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { TestApp } from './app.ts'
import { storedInThread } from './checkpoints.ts'
import { storedInGraph } from './graph-rows.ts'
import { drain } from './jobs.ts'
import { seemingEnvelope, seemingKeyring } from './keyrings.ts'
import { type Issued, issuedAgent, type Person, setTestPassword, signedIn } from './people.ts'
import {
  dataOf,
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMessage,
  madeProject,
  reported,
} from './projects.ts'
import { skillMd } from './skills.ts'
import { pattern, sop, trace } from './units.ts'

const day = 86_400_000

export interface MadePerson extends Person {
  email: string
  password: string
}

/** Like {@link signedIn}, with a known address and password, in the given or a new organization. */
export async function personWithPassword(test: TestApp, name = 'Somebody', of?: string): Promise<MadePerson> {
  const { app, clock } = test
  const now = clock.now()
  const [email, password] = [`${newId('mail').toLowerCase()}@example.org`, newId('password')]
  const made = await app.db.transaction(async (tx) => {
    const organisationId = of ?? (await createOrganisation(tx, 'Test', now))
    const accountId = await createAccount(tx, {
      organisationId,
      email,
      name,
      role: 'person',
      mustChangePassword: false,
      now,
    })
    await setTestPassword(tx, accountId, password)
    return { organisationId, accountId }
  })
  return { ...made, email, password, cookie: await openTestSession(test, made.accountId) }
}

/** Opens a session of the account. Returns the cookie. */
export async function openTestSession({ app, clock }: TestApp, accountId: string): Promise<string> {
  const now = clock.now()
  const id = newId('ses')
  const expiresAt = new Date(now.getTime() + 365 * day)
  await app.db.prisma.session.create({
    data: { id, accountId, createdAt: now, lastSeenAt: now, passwordAt: now, expiresAt },
  })
  const secret = sessionSecret(app.env.KP_SECRET ?? '')
  return `next-auth.session-token=${await encode({ token: { sid: id }, secret, maxAge: 3600 })}`
}

/** Another person with records next to the subject. These must be kept. */
export interface Neighbour {
  person: Person
  agent: Issued
  /** Units on which the subject's agents vote, which they report, or in which they are named. */
  units: { voted: string; reported: string; validated: string; sop: string }
  skill: string
}
export interface MadeSubject extends MadePerson {
  agents: Issued[]
  units: string[]
  skills: string[]
  /** Occurs in everything that the subject wrote, and nowhere else. */
  marker: string
  neighbour: Neighbour
  projects: MadeProjects
}
/** The subject's own project, and a neighbour's project in which both wrote. */
export interface MadeProjects {
  own: string
  shared: string
  /** Other people also wrote in it. */
  sharedConversation: string
  /** Records of others, which must be kept. */
  others: { messages: string[]; documents: string[] }
}

type TestRequestOptions = Parameters<TestApp['fetch']>[2]

/** Sends a request and returns `data` of the response. @throws for a status other than 2xx */
export async function notifiedOf(
  test: TestApp,
  method: string,
  path: string,
  ask: TestRequestOptions = {},
): Promise<{ id: string }> {
  const { status, json, text } = await test.fetch(method, path, ask)
  if (status < 200 || status > 299) throw new Error(`${method} ${path} answered ${status}: ${text}`)
  return json?.data ?? { id: '' }
}

async function madeNeighbour(test: TestApp): Promise<Omit<Neighbour, 'units' | 'skill'>> {
  const person = await signedIn(test)
  return { person, agent: await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner: person }) }
}

/** A word of consonants that occurs in no text, and that search does not split or stem. */
const uncommonWord = (): string => Array.from({ length: 20 }, () => 'bcdfghjklmnpqrtvwxz'[randomInt(19)]).join('')

/**
 * A person with agents and records in every data source, next to others with as many records that name them: units,
 * skills and SOPs with earlier versions; votes, reports, rejected contributions, reputation; tokens with rejections;
 * sessions and sign-ins; idempotency records, exports, emails, jobs; and an earlier erasure with its receipt.
 */
export async function madeSubject(test: TestApp, { agents: count = 2, units: each = 2 } = {}): Promise<MadeSubject> {
  const { app, clock } = test
  const now = clock.now()
  const marker = uncommonWord()
  const person = await personWithPassword(test, `Name ${marker}`)
  const { accountId } = person
  const agents = await Promise.all(
    Array.from({ length: count }, () => issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner: person })),
  )
  const [first] = agents
  if (!first) throw new Error('a subject has an agent at least')
  const neighbour = await madeNeighbour(test)
  const theirs = async (path: string, body: unknown) =>
    (await notifiedOf(test, 'POST', path, { token: neighbour.agent.token, body })).id
  const units = {
    voted: await theirs('/v1/knowledge', trace()),
    reported: await theirs('/v1/knowledge', trace()),
    validated: await theirs('/v1/knowledge', pattern({}, { validated_by: [first.id, neighbour.agent.id] })),
    sop: await theirs(
      '/v1/sop',
      sop({ source: { type: 'human_expert', expert_id: first.id, credentials: ['on call since 2020'] } }),
    ),
  }
  const skill = await theirs('/v1/skills', { skill_md: skillMd('theirs', { front: `author: ${first.id}` }) })

  const ownUnits: string[] = []
  const ownSkills: string[] = []
  for (const [n, { id, token }] of agents.entries()) {
    const own = async (path: string, body: unknown) =>
      (await notifiedOf(test, 'POST', path, { token, body, headers: { 'Idempotency-Key': newId('key') } })).id
    const words = `${marker} number ${n}`
    for (let m = 0; m < each; m++)
      ownUnits.push(await own('/v1/knowledge', trace({ task: { objective: `${words} unit ${m}` } })))
    ownUnits.push(await own('/v1/knowledge', pattern({ description: words }, { visibility: 'private' })))
    const versions = (instruction: string) => sop({ name: words, decision_tree: [{ step: 1, instruction }] })
    const made = await own('/v1/sop', versions('Stop the writers.'))
    await notifiedOf(test, 'PUT', `/v1/sop/${made}`, { token, body: versions(`Stop them all, says ${marker}.`) })
    ownUnits.push(made)
    ownSkills.push(await own('/v1/skills', { skill_md: skillMd(`mine-${n}`, { body: `# Do it\n\n${words}\n` }) }))
    if (n === 0) {
      const body = { valid: true, feedback: `It held, says ${marker}.` }
      await notifiedOf(test, 'POST', `/v1/knowledge/${units.voted}/validate`, { token, body })
      await notifiedOf(test, 'POST', `/v1/knowledge/${units.reported}/report`, {
        token,
        body: { reason: `No, says ${marker}.` },
      })
      await notifiedOf(test, 'GET', `/v1/export/${id}`, { token })
      const deleted = await own('/v1/knowledge', trace({ task: { objective: words } }))
      await notifiedOf(test, 'DELETE', `/v1/knowledge/${deleted}`, { token })
    }
    const [unit] = ownUnits
    const { token: voter } = neighbour.agent
    if (unit !== undefined && n === 0)
      await notifiedOf(test, 'POST', `/v1/knowledge/${unit}/validate`, { token: voter, body: { valid: true } })
  }
  await rowsOf(test, { accountId, agents })
  for (const { id, token } of agents) await livedOf(test, id, { token, cookie: person.cookie, marker })
  await sharedAmong(test, agents, { accountId, marker })
  const projects = await projectsOf(test, { person, agents, marker })
  await notifiedOf(test, 'POST', '/api/privacy/exports', { cookie: person.cookie, body: {} })
  await drain(test)
  for (const job of app.jobs.filter(({ name }) => /^knowledge\.(index|gather)-words$/.test(name)))
    await job.execute(app.pipeline, {})
  for (const subject of ['Erste', 'Zweite'])
    await app.mail.send({ to: person.email, subject, text: marker, html: `<p>${marker}</p>`, about: accountId })
  await app.mail.send({ to: person.email.toUpperCase(), subject: 'Unmarked', text: marker, html: `<p>${marker}</p>` })
  await app.mail.send({ to: 'neighbour@example.org', subject: 'Theirs', text: 'theirs', html: '<p>theirs</p>' })
  // Jobs that never become due.
  await app.db.transaction(async (tx) => {
    await enqueueNotice(tx, { kind: 'password-reset', accountId, at: now })
    await enqueueNotice(tx, { kind: 'password-reset', accountId: neighbour.person.accountId, at: now })
    await enqueue(tx, 'knowledge.novelty', { agentId: first.id })
    await tx.$executeRaw`UPDATE graphile_worker._private_jobs SET run_at = '2100-01-01'`
  })
  return {
    ...person,
    agents,
    units: ownUnits,
    skills: ownSkills,
    marker,
    neighbour: { ...neighbour, units, skill },
    projects,
  }
}

/**
 * A project with the subject as its only participant, and one of a colleague: conversations, messages with edits and
 * files, documents, pointers. In the colleague's project the subject started a conversation, added a participant and
 * reported pointers for the colleague's data.
 */
async function projectsOf(
  test: TestApp,
  { person, agents, marker }: { person: MadePerson; agents: readonly Issued[]; marker: string },
): Promise<MadeProjects> {
  const [first] = agents
  const at = { name: `${marker}.md`, bytes: `# ${marker}\n` }
  const own = await madeProject(test, { owner: person, name: `Alone ${marker}`, ...(first && { agent: first }) })
  const alone = await madeConversation(test, own, { title: `Alone ${marker}` })
  const said = await madeMessage(test, alone, person, { content: `I say ${marker}.` })
  await dataOf(test, 'PATCH', said.path, person, { body: { content: `I say ${marker} otherwise.` } })
  await madeAttachment(test, said, person, at)
  await storedInThread(test, alone.id, [{ id: said.id, text: `I say ${marker}.` }])
  await storedInGraph(test, { project: own, source: said.id, words: `I say ${marker}.`, reporter: person })
  await reported(test, own, person, [{ source_id: said.id, store: 'outside', ref: newId('ref') }])
  await madeDocument(test, own, own.agent, { ...at, kind: 'artifact' })

  const colleague = await signedIn(test, 'person', person.organisationId)
  const shared = await madeProject(test, { owner: colleague, name: 'Shared' })
  for (const member of [
    { kind: 'account', member_id: person.accountId, role: 'owner' },
    ...(first ? [{ kind: 'agent', member_id: first.id }] : []),
  ])
    await dataOf(test, 'POST', `${shared.path}/members`, colleague, { body: member })
  const third = await signedIn(test, 'person', person.organisationId)
  await dataOf(test, 'POST', `${shared.path}/members`, person, {
    body: { kind: 'account', member_id: third.accountId },
  })
  const together = await madeConversation(test, shared, { title: `Together ${marker}` }, person)
  await madeMessage(test, together, person, { content: `To you: ${marker}.` })
  if (first) await madeMessage(test, together, first, { content: `From an agent: ${marker}.`, role: 'assistant' })
  const theirs = await madeMessage(test, together, colleague, { content: 'A word of a colleague.' })
  await madeDocument(test, shared, person, at)
  const document = await madeDocument(test, shared, colleague)
  await reported(test, shared, first ?? person, [{ source_id: theirs.id, store: 'outside', ref: newId('ref') }])
  return {
    own: own.id,
    shared: shared.id,
    sharedConversation: together.id,
    others: { messages: [theirs.id], documents: [document.id] },
  }
}

/** A finished snapshot with a link. */
async function snapshotOf(test: TestApp, id: string, token: string): Promise<void> {
  const { status, json, text } = await test.fetch('POST', `/v1/agents/${id}/snapshots`, { token })
  if (status !== 202) throw new Error(`a snapshot answered ${status}: ${text}`)
  const make = test.app.jobs.find(({ name }) => name === 'snapshots.make')
  await make?.execute(test.app.pipeline, { id: json.data.id })
  await notifiedOf(test, 'POST', `/v1/agents/${id}/snapshots/${json.data.id}/link`, { token })
}

/** An agent's own documents, heartbeats and chain references. */
async function livedOf(
  test: TestApp,
  id: string,
  { token, cookie, marker }: Record<'token' | 'cookie' | 'marker', string>,
): Promise<void> {
  const lived = (path: string, body: unknown) => notifiedOf(test, 'POST', `/v1/agents/${id}/${path}`, { token, body })
  await lived('documents', { kind: 'playbook', title: `Play ${marker}`, body: `# ${marker}\n` })
  await lived('heartbeats', { state: 'working', counts: { steps: 1 } })
  await lived('chain-references', { chain: 'cosmos:cosmoshub-4', kind: 'address', reference: marker })
  const keyring = seemingKeyring()
  await notifiedOf(test, 'PUT', `/v1/agents/${id}/keyring`, { cookie, body: { keyring } })
  const envelope = seemingEnvelope(keyring.key_id)
  await lived('grimoire', { scope: 'private', id: newId('ent'), kind: 'episode', envelope })
  await lived('grimoire', {
    scope: 'clade',
    kind: 'insight',
    content: { seen: marker },
    confidence: 0.7,
    tags: [marker],
  })
  await notifiedOf(test, 'PUT', `/v1/agents/${id}/state`, { token, body: { seen: marker } })
  await snapshotOf(test, id, token)
  await notifiedOf(test, 'POST', '/v1/llm-log', {
    token,
    body: { model: 'model-1', messages: [{ role: 'user', content: `What of ${marker}?` }] },
  })
}

/** Shares between siblings, and public cards. A single agent gets shares of earlier siblings. */
async function sharedAmong(
  test: TestApp,
  agents: readonly Issued[],
  { accountId, marker }: { accountId: string; marker: string },
): Promise<void> {
  const { app, clock } = test
  const now = clock.now()
  const [ancestor, ...others] = agents
  for (const { id: agentId } of others)
    await app.db.transaction((tx) =>
      joinClade(tx, { agentId, ancestorId: ancestor?.id ?? '', ownerId: accountId, now }),
    )
  for (const { id, token } of agents) {
    const card = { from: '2026-01-01T00:00:00Z', until: '2026-06-30T00:00:00Z', returns: 0.1, sharpe: 1, drawdown: 0.1 }
    await notifiedOf(test, 'PUT', `/v1/agents/${id}/card`, { token, body: card })
    if (others.length === 0) {
      const clade = await app.db.prisma.clade.create({ data: { id: newId('cld'), createdAt: now } })
      const share = {
        id: newId('shr'),
        cladeId: clade.id,
        agentId: id,
        entryId: newId('ent'),
        kind: 'insight' as const,
      }
      await app.db.prisma.cladeShare.create({
        data: { ...share, digest: new Uint8Array(32), manifest: '', sharedAt: now },
      })
      await app.db.prisma.cladeDelta.create({
        data: { shareId: newId('shr'), agentId: id, state: 'recalling', createdAt: now, expiresAt: now },
      })
      continue
    }
    await notifiedOf(test, 'PUT', `/v1/agents/${id}/clade/sharing`, { token, body: { on: true } })
    const entry = { kind: 'insight', content: { seen: marker }, confidence: 0.9 }
    await notifiedOf(test, 'POST', `/v1/agents/${id}/clade/shares`, { token, body: { entry } })
  }
}

/** Rows that otherwise need heavy traffic or a browser. */
async function rowsOf(
  { app, clock }: TestApp,
  { accountId, agents }: { accountId: string; agents: readonly Issued[] },
) {
  const at = clock.now()
  await app.db.prisma.knownSignIn.create({
    data: { mark: new Uint8Array(Buffer.from(newId('mark'))), accountId, lastAt: at },
  })
  await app.db.prisma.accountLink.create({
    data: {
      codeHash: new Uint8Array(Buffer.from(newId('code'))),
      accountId,
      purpose: 'reset',
      createdAt: at,
      expiresAt: new Date(at.getTime() + 3_600_000),
    },
  })
  await app.db.prisma.accountIdentity.create({
    data: { issuer: 'https://id.example.org', subject: newId('sub'), accountId, linkedAt: at },
  })
  await app.db.prisma.emailChoice.create({
    data: { id: newId('emc'), accountId, kind: 'requests', delivery: 'daily', updatedAt: at },
  })
  await app.db.prisma.approvalProposal.create({
    data: {
      id: newId('app'),
      operation: 'createHold',
      status: 'rejected',
      accountId,
      createdAt: at,
      expiresAt: at,
      subjectIds: [],
      decidedAt: at,
    },
  })
  await app.db.prisma.accountFactor.create({
    data: {
      id: newId('fct'),
      accountId,
      kind: 'passkey',
      name: 'Laptop',
      createdAt: at,
      confirmedAt: at,
      credentialId: new Uint8Array(Buffer.from(newId('credential'))),
      publicKey: new Uint8Array(Buffer.from(newId('key'))),
    },
  })
  await app.db.prisma.accountRecoveryCode.create({
    data: { codeHash: new Uint8Array(Buffer.from(newId('code'))), accountId, createdAt: at },
  })
  await app.db.prisma.readNotice.create({
    data: { id: newId('ntc'), accountId, notice: 'assigned:preq_0000000000000000000000', readAt: at },
  })
  await app.db.prisma.savedSearch.create({
    data: { id: newId('srch'), accountId, name: 'Mine', query: 'action=read', createdAt: at },
  })
  const telemetryKey = deriveKey(app.env.KP_SECRET ?? '', sealedPurposes.telemetryKeys)
  await app.db.prisma.telemetryKey.createMany({
    data: [{ kind: 'account', id: accountId }, ...agents.map(({ id }) => ({ kind: 'agent', id }))].map((one) => ({
      ...one,
      sealed: new Uint8Array(seal(telemetryKey, randomBytes(32), one.id)),
      createdAt: at,
      expiresAt: new Date(at.getTime() + 30 * day),
    })),
    // With telemetry on, these rows exist already.
    skipDuplicates: true,
  })
  for (const { id, tokenId } of agents) {
    const hour = new Date(Math.floor(at.getTime() / 3_600_000) * 3_600_000)
    // The application may write the row at the same time: it counts requests in batches.
    await app.db.prisma.tokenUsage.createMany({ data: [{ tokenId, hour, reads: 1 }], skipDuplicates: true })
    await app.db.prisma.contentRejection.create({ data: { id: newId('rej'), agentId: id, at, stage: 'injection' } })
    await app.db.prisma.rateLimitRefusal.create({
      data: { id: newId('ref'), tokenId, limitKey: tokenId, at, requestClass: 'write', limit: 1, consumed: 2, ip: '' },
    })
  }
}
