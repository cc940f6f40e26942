// Every operation, called by everybody who must not read or change records of others: with the ids of somebody else in the path, and with
// those ids in bodies that the operation accepts. Triggers record every change of a row, so after each call the test knows what it changed.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { factorPolicySetting } from '#lib/domains/accounts/second-factors/requirement.ts'
import { agentDocumentKinds } from '#lib/domains/agents/life/rules.ts'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { type TokenScope, tierLimits } from '#lib/domains/tokens/rules.ts'
import { isInPerson } from '#lib/kernel/effects.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { seemingKeyring } from '#lib/testing/keyrings.ts'
import { pathParameters } from '#lib/testing/path-parameters.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { dataOf } from '#lib/testing/projects.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { madeSubject, openTestSession } from '#lib/testing/subjects.ts'
import { pattern, sop, trace } from '#lib/testing/units.ts'

/** Tables in which every call may leave rows, each with the reason. */
const unwatched: Record<string, string> = {
  audit_entries: 'records who did what',
  idempotency_records: 'copies of answers',
  rate_limit_windows: 'counts requests',
  rate_limit_refusals: 'counts requests',
  token_usage: 'counts requests',
  registration_networks: 'counts registrations',
  storage_counts: 'counts bytes',
  search_words: 'words of units, computed by jobs',
  search_news: 'ids of units whose words are computed next',
}
/** Columns that note when something was last used. */
const times = ['last_seen_at', 'last_used_at']

let test: TestApp
let owner: pg.Client
let victim: Victim
let theirs: World
const limits = structuredClone(tierLimits)
beforeAll(async () => {
  // One caller sends more requests than a minute allows.
  for (const tier of Object.values(tierLimits)) Object.assign(tier, { reads: 1_000_000, writes: 1_000_000 })
  // Each call comes from its own address, so that no limit of an address hides that a call is allowed.
  test = await testApp({ KP_TRUSTED_PROXIES: '127.0.0.1' })
  owner = new pg.Client({ connectionString: test.ownerUrl })
  await owner.connect()
  ;[victim, theirs] = await added(madeVictim)
  await drain(test, { mayFail: true })
  await owner.query(`CREATE SCHEMA watched;
    CREATE TABLE watched.changes (n bigserial, "table" text, old jsonb, new jsonb);
    CREATE FUNCTION watched.record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$ BEGIN
      INSERT INTO watched.changes ("table", old, new) VALUES (TG_TABLE_NAME,
        CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END, CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END);
      RETURN NULL;
    END $$`)
  const { rows } = await owner.query<{ table: string }>(
    `SELECT relname AS "table" FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
  )
  for (const { table } of rows)
    if (!(table in unwatched))
      await owner.query(
        `CREATE TRIGGER zz_watched AFTER INSERT OR UPDATE OR DELETE ON "${table}" FOR EACH ROW EXECUTE FUNCTION watched.record()`,
      )
}, 300_000)
afterAll(async () => {
  for (const [name, { reads, writes }] of Object.entries(limits))
    Object.assign(tierLimits[name as keyof typeof tierLimits], { reads, writes })
  await owner?.end()
  await test?.close()
})

interface Change {
  table: string
  old: string | undefined
  new: string | undefined
}
/** The rows that changed since the last call of this function, in order. */
async function changes(): Promise<Change[]> {
  const { rows } = await owner.query<{ table: string; old: object | null; new: object | null }>(
    `WITH gone AS (DELETE FROM watched.changes RETURNING *)
     SELECT "table", old - $1::text[] AS old, new - $1::text[] AS new FROM gone
     WHERE (old - $1::text[]) IS DISTINCT FROM (new - $1::text[]) ORDER BY n`,
    [times],
  )
  const text = (row: object | null) => (row === null ? undefined : JSON.stringify(row))
  return rows.map(({ table, old, new: now }) => ({ table, old: text(old), new: text(now) }))
}

type Values = Record<string, unknown>
/** Records that somebody has: the path parameters that lead to them, and the ids in these. */
interface World {
  places: Readonly<Record<string, readonly Values[]>>
  ids: readonly string[]
}
/** Runs the function and returns what it returned, with the records that it added. */
async function added<T>(make: () => Promise<T>): Promise<[T, World]> {
  const before = new Set(
    Object.values(await pathParameters(test, 5_000))
      .flat()
      .map((set) => JSON.stringify(set)),
  )
  const made = await make()
  const places = Object.fromEntries(
    Object.entries(await pathParameters(test, 5_000)).map(([start, sets]) => [
      start,
      sets.filter((set) => !before.has(JSON.stringify(set))),
    ]),
  )
  const ids = Object.values(places).flatMap((sets) => sets.flatMap((set) => Object.values(set).map(String)))
  // Numbers of versions and kinds of emails are no ids.
  return [made, { places, ids: [...new Set(ids)].filter((id) => id.length > 12) }]
}

/** Somebody with records of every kind, among them requests, a participant, a hold and an invited colleague. */
async function madeVictim() {
  const subject = await madeSubject(test, { units: 1 })
  const [agent] = subject.agents
  if (!agent) throw new Error('a subject has an agent at least')
  const person = { cookie: await openTestSession(test, subject.accountId) }
  const project = `/api/projects/${subject.projects.own}`
  /** Occurs only in what nobody outside of the project may read. */
  const secret = `word${newId('w').slice(-18).toLowerCase()}`
  const participant = await dataOf(test, 'POST', `${project}/participants`, agent, {
    body: { external_id: 'customer-7', name: `Mx ${secret}`, email: `${newId('mail').toLowerCase()}@example.org` },
  })
  const requests = `${project}/participants/${participant.id}/requests`
  await dataOf(test, 'POST', requests, person, { body: { kinds: ['access'] } })
  const request = await dataOf(test, 'POST', '/api/privacy/requests', person, {
    body: { kinds: ['access'], statement: `About ${secret}.` },
  })
  const conversation = await dataOf(test, 'POST', `${project}/conversations`, person, {
    body: { title: `On ${secret}` },
  })
  await dataOf(test, 'POST', `${project}/conversations/${conversation.id}/messages`, person, {
    body: { role: 'user', content: `I say ${secret}.` },
  })
  await dataOf(test, 'POST', `${project}/documents?name=${secret}.md&kind=document`, person, {
    body: `# ${secret}\n`,
    headers: { 'Content-Type': 'text/markdown' },
  })
  for (const body of [
    pattern({ description: secret }, { visibility: 'private' }),
    sop({ name: secret }, { visibility: 'private' }),
  ])
    await dataOf(test, 'POST', '/v1/knowledge', agent, { body })
  await dataOf(test, 'POST', '/v1/skills', agent, {
    body: { skill_md: skillMd(`s-${secret.slice(-8)}`, { body: secret }), visibility: 'private' },
  })
  const own = `/v1/agents/${agent.id}`
  await dataOf(test, 'POST', `${own}/documents`, agent, {
    body: { kind: agentDocumentKinds[0], title: secret, body: secret },
  })
  await dataOf(test, 'POST', `${own}/grimoire`, agent, {
    body: { scope: 'clade', kind: 'insight', content: { seen: secret }, confidence: 0.7, tags: [] },
  })
  await dataOf(test, 'POST', `${own}/chain-references`, agent, {
    body: { chain: 'cosmos:cosmoshub-4', kind: 'address', reference: secret },
  })
  await dataOf(test, 'POST', '/v1/llm-log', agent, {
    body: { model: 'model-1', messages: [{ role: 'user', content: secret }] },
  })
  const shared = trace({}, { visibility: 'org' })
  await dataOf(test, 'POST', '/v1/knowledge', agent, { body: shared })
  const admin = await signedIn(test, 'admin')
  await dataOf(test, 'POST', '/v1/holds', admin, {
    body: { kind: 'unit', target_id: subject.units[0], reason: 'A dispute about this unit.' },
  })
  const { prefix } = await test.db.prisma.token.findUniqueOrThrow({ where: { id: agent.tokenId } })
  return { ...subject, agent, secret, participant: String(participant.id), request: String(request.id), prefix }
}
type Victim = Awaited<ReturnType<typeof madeVictim>>

/** For every operation with a body: one that its schema accepts, and that would change something of the victim. */
function bodiesOf(victim: Victim): Record<string, unknown> {
  const { agent, accountId, email, participant } = victim
  const guess = 'a guessed password'
  const note = { note: 'Looks right to me.' }
  const reason = { reason: 'Looks right to me.' }
  const unguessable = 'x'.repeat(43)
  const [from, until] = ['2026-01-01T00:00:00Z', '2026-06-30T00:00:00Z']
  const insight = { kind: 'insight', content: { claim: 'changed' }, confidence: 0.1 }
  const about = { agent_id: agent.id }
  const skill = { skill_md: skillMd(`s-${newId('s').slice(-8).toLowerCase()}`, { front: `author: ${agent.id}` }) }
  return {
    unlinkIdentity: { password: guess },
    changePassword: { current_password: guess, new_password: 'quite another password 7' },
    confirmPassword: { password: guess },
    addAuthenticatorApp: { name: 'Phone' },
    confirmAuthenticatorApp: { code: '000000' },
    addPasskey: { name: 'Phone', response: {} },
    changeSecondFactorRequirement: { required_of: 'everybody' },
    chooseEmail: { delivery: 'never' },
    askForPasswordReset: { email },
    usePasswordLink: { code: unguessable, new_password: 'quite another password 7' },
    inviteUser: {
      email: `${newId('m').toLowerCase()}@example.org`,
      name: 'A friend',
      role: 'person',
      organisation_id: victim.organisationId,
    },
    changeUserRole: { role: 'auditor' },
    inviteMember: { email, name: 'A friend', role: 'person' },
    assignStoreNamespaces: { namespaces: ['*'] },
    setTelemetry: { enabled: false },
    setRestriction: { restricted: true, ...about },
    registerAgent: { agent_id: agent.id, scopes: ['read', 'write'] },
    giveConsent: { policy_version: noticeVersion, ...about },
    createInvite: { scopes: ['read'] },
    claimAgent: { token: `${victim.prefix}${unguessable}` },
    createOwnAgent: { agent_id: agent.id, consent: { policy_version: noticeVersion }, ancestor: agent.id },
    setAgentStatus: { status: 'dead', confirm: agent.id },
    setAgentSettings: { grimoire_days: 30 },
    addAgentDocument: { kind: agentDocumentKinds[0], title: 'Changed', body: 'Changed' },
    editAgentDocument: { revision: 1, title: 'Changed', body: 'Changed' },
    addHeartbeat: { state: 'idle' },
    addChainReference: { chain: 'cosmos:cosmoshub-4', kind: 'address', reference: 'changed' },
    editAgent: { tier: 'free' },
    createToken: { ...about, scopes: ['read', 'write'] },
    rotateToken: { overlap: '0s' },
    revokeByPrefix: { key_prefix: victim.prefix },
    setStorageQuota: { bytes: 1, rows: 1 },
    editSettings: { anonymous_reading: true },
    propose: { operation: 'deactivateUser', params: { id: accountId } },
    decideProposal: { decision: 'approve' },
    changeApprovalSetting: { is_on: true },
    contributeUnit: trace({}, { agent_id: agent.id }),
    contributeBatch: { units: [trace({}, { agent_id: agent.id })] },
    checkUnit: trace(),
    rectifyUnit: { visibility: 'network' },
    validateUnit: { valid: false },
    reportUnit: reason,
    reviewQuarantined: { decision: 'keep' },
    contributeSkill: skill,
    validateSkill: skill,
    correctSkill: { visibility: 'network' },
    decideReferences: { decision: 'rename', records: [victim.units[0]] },
    contributeSop: sop(),
    reviseSop: sop({ name: 'Changed' }),
    approveSop: {},
    exportSopAsSkill: { publish: true },
    createProject: { name: 'Mine', group_id: `${victim.organisationId}_group` },
    editProject: { name: 'Changed' },
    addProjectMember: { kind: 'agent', member_id: agent.id },
    registerParticipant: { external_id: 'somebody', email },
    editParticipant: { account_id: accountId },
    createConversation: { title: 'Mine', threads: [victim.projects.sharedConversation] },
    editConversation: { title: 'Changed', threads: [victim.projects.sharedConversation] },
    createMessage: { role: 'user', content: 'Not mine.', author: { external_id: participant } },
    editMessage: { content: 'Changed.' },
    reportProvenance: {
      entries: [{ store: 'checkpoints', ref: newId('ref'), source_id: victim.projects.others.messages[0] }],
    },
    closeProject: {},
    deleteProject: {},
    decideErasureThread: { decision: 'delete' },
    eraseMessage: {},
    eraseConversation: {},
    eraseDocument: {},
    saveAuditSearch: { name: 'Mine', query: 'action=read' },
    decideRemainingPlace: { decision: 'erase' },
    prepareExport: {},
    editRetention: { network_days: 30 },
    dryRunRetention: { network_days: 30 },
    createHold: { kind: 'agent', target_id: agent.id, ...reason },
    filePrivacyRequest: { kinds: ['erasure'], grace: 'now', ...about },
    verifyPrivacyRequest: { password: guess },
    expeditePrivacyRequest: { password: guess },
    filePrivacyRequestForParticipant: { kinds: ['erasure'], grace: 'now', identity: 'document' },
    usePrivacyLink: { token: unguessable, purpose: 'verify' },
    sendRequestForm: { email, kind: 'access', locale: 'en' },
    confirmRequestForm: { token: unguessable },
    sendRequestFormStatusLinks: { email },
    readRequestFormStatus: { token: unguessable },
    withdrawRequestForm: { token: unguessable },
    downloadRequestFormCopy: { token: unguessable },
    connectPrivacyRequest: { account_id: accountId },
    answerPrivacyRequest: note,
    filePrivacyRequestForSubject: { kinds: ['erasure'], account_id: accountId, received_at: from },
    assignPrivacyRequest: { account_id: accountId },
    verifyPrivacyRequestByAdmin: note,
    refusePrivacyRequest: { ground: 'unfounded', ...reason },
    extendPrivacyRequest: { days: 30, ...reason },
    pausePrivacyRequest: reason,
    expeditePrivacyRequestByAdmin: reason,
    retryPrivacyRequest: {},
    completePrivacyRequestPart: { kind: 'rectification', ...note },
    commentPrivacyRequest: note,
    bulkPrivacyRequests: { action: 'comment', ids: [victim.request], ...note },
    storeKeyring: { keyring: seemingKeyring(), replace: true },
    addGrimoireEntry: { scope: 'clade', ...insight },
    editGrimoireEntry: { scope: 'clade', revision: 1, content: { claim: 'changed' }, confidence: 0.1 },
    setCladeSharing: { on: false },
    previewCladeShare: { entry: insight },
    addCladeShare: { entry: insight },
    acknowledgeCladeDeltas: { through: 1_000 },
    publishPerformanceCard: { from, until, returns: 0.5, sharpe: 1, drawdown: 0.1 },
    logLlmExchange: { messages: [{ role: 'user', content: 'Changed.' }] },
    readNotifications: { ids: [`assigned:${victim.request}`] },
    scanText: { text: 'Some text.' },
    retireStore: { statement: 'This store was switched off for good.' },
    searchStores: { names: [victim.marker] },
  }
}
/** What operations that take a file are sent, and queries. */
const uploads: Record<string, string> = {
  importProjectHistory: '{"kind":"conversation","id":"conv_imported","title":"Imported"}\n',
  importDocument: JSON.stringify(trace()),
}
const queries = ({ agent }: Victim): Record<string, string> => ({
  withdrawConsent: `?agent_id=${encodeURIComponent(agent.id)}`,
  attachFile: '?name=changed.json',
  addDocument: '?name=changed.json&kind=document',
})

/** Operations that end records or the rights of their caller come last. */
const isEnding = (id: string) =>
  /^(?:claim|close|deactivate|delete|drop|end|erase|expedite|file|retire|revoke|rotate|setAgentStatus|withdraw)/.test(
    id,
  )

type Credential = { token?: string; cookie?: string }
/** Somebody who calls the operations. */
interface Caller {
  credential: Credential
  /** Ids of the caller: a row that contained one before may change. */
  ids: readonly string[]
  /** Records of the caller, which the operations are also called for, with ids of the victim in the body. */
  world?: World
}

interface Call {
  operation: OperationShape
  values: Values
}
/** The calls of every operation for all records of the world that its path can name. */
const callsFor = ({ places }: World): Call[] =>
  test.app.useCases.flatMap(({ operation }) => {
    if (operation.path.endsWith('/events')) return []
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name))
    if (names.length === 0) return [{ operation, values: {} }]
    return Object.entries(places).flatMap(([start, some]) =>
      operation.path.startsWith(start)
        ? some.filter((set) => names.every((name) => Object.hasOwn(set, name))).map((values) => ({ operation, values }))
        : [],
    )
  })

let sent = 0
/** Sends the call from an address of its own. */
async function called({ operation: { id, method, path, upload } }: Call, values: Values, credential: Credential) {
  const body = upload ? (uploads[id] ?? '{}') : bodiesOf(victim)[id]
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])))
  sent++
  const answer = await test.fetch(method.toUpperCase(), `${filled}${queries(victim)[id] ?? ''}`, {
    ...credential,
    ...(body !== undefined && { body }),
    headers: {
      'X-Forwarded-For': `11.${(sent >> 8) & 255}.${sent & 255}.7`,
      ...(upload && { 'Content-Type': upload[0] ?? '' }),
    },
  })
  expect(answer.status, `${id}: ${answer.text}`).not.toBe(500)
  return answer
}

interface Found {
  /** Operations that changed a row of the victim or made one about the victim, with the tables. */
  changed: Record<string, string[]>
  /** Those that returned an error. */
  refused: Record<string, string[]>
  /** Operations whose response has words that the caller may not read. */
  read: string[]
  /** Operations with another status than the permissions of the caller require. */
  status: string[]
}
type Verdict = (operation: OperationShape) => readonly number[] | undefined
/** Calls the operations and returns what was wrong. `verdict`: the statuses that an operation must answer, or undefined for any. */
async function attacked(kind: string, makeCaller: Attack['make'], verdict: Verdict): Promise<Found> {
  const found = { changed: new Map<string, Set<string>>(), refused: new Map<string, Set<string>>() }
  const read = new Set<string>()
  const wrong = new Set<string>()
  let caller = await makeCaller()
  const seen = [caller]
  /** Erasures that the caller began. Rows of their steps have no other id. */
  const runs = new Set<string>()
  const isOwn = (row: string) =>
    seen.some(({ ids }) => ids.some((id) => row.includes(id))) || [...runs].some((id) => row.includes(id))
  const about = [...theirs.ids, victim.email]
  const isOfVictim = ({ old, new: now }: Change) =>
    old === undefined ? about.some((id) => now?.includes(id)) : !isOwn(old)
  const note = (into: Map<string, Set<string>>, id: string, { table, old }: Change) =>
    into.set(id, (into.get(id) ?? new Set()).add(old === undefined ? `${table} (new)` : table))
  await drain(test, { mayFail: true })
  await changes()
  const all = [...callsFor(theirs), ...(caller.world ? callsFor(caller.world) : [])]
  const chosen = sampled(`hostile calls of ${kind}`, all, 100)
  for (const call of chosen.toSorted(
    (one, two) => Number(isEnding(one.operation.id)) - Number(isEnding(two.operation.id)),
  )) {
    const { operation, values } = call
    let { status, text } = await called(call, values, caller.credential)
    if (status === 429) {
      // Guesses of a password are counted for the account.
      caller = { ...(await makeCaller(true)), ...(caller.world && { world: caller.world }) }
      seen.push(caller)
      await changes()
      ;({ status, text } = await called(call, values, caller.credential))
      expect(status, `${operation.id}: ${text}`).not.toBe(429)
    }
    const expected = verdict(operation)
    if (expected && !expected.includes(status)) wrong.add(`${operation.id}: ${status} instead of ${expected}`)
    if (text.includes(victim.secret)) read.add(operation.id)
    const made = await changes()
    for (const change of made)
      if (status < 400 && change.old === undefined && !isOfVictim(change))
        for (const [run] of change.new?.matchAll(/run_[A-Za-z0-9]+/g) ?? []) runs.add(run)
    for (const change of made) {
      const isOthers = isOfVictim(change)
      if (isOthers) note(found.changed, operation.id, change)
      if (isOthers && status >= 400) note(found.refused, operation.id, change)
    }
    if (!isEnding(operation.id) || (caller.credential.cookie ?? caller.credential.token) === undefined) continue
    // Perhaps it ended its own session or token.
    const path = caller.credential.cookie ? '/api/account' : '/v1/auth/me'
    if (verdict({ ...operation, permission: 'x:self' })?.includes(401)) continue
    if ((await test.fetch('GET', path, caller.credential)).status !== 401) continue
    const { world } = caller
    caller = { ...(await makeCaller()), ...(world && { world }) }
    seen.push(caller)
    await changes()
  }
  await drain(test, { mayFail: true })
  for (const change of await changes()) if (isOfVictim(change)) note(found.changed, 'jobs', change)
  const plain = (map: Map<string, Set<string>>) =>
    Object.fromEntries([...map].map(([id, tables]) => [id, [...tables].sort()]))
  return {
    changed: plain(found.changed),
    refused: plain(found.refused),
    read: [...read].sort(),
    status: [...wrong].sort(),
  }
}

const ofToken = async (scopes: TokenScope[], more: Parameters<typeof issuedAgent>[2] = {}): Promise<Caller> => {
  const { id, token, tokenId } = await issuedAgent(test, scopes, { tier: 'enterprise', ...more })
  return { credential: { token }, ids: [id, tokenId] }
}
const idsOf = async (accountId: string) => {
  const sessions = await test.db.prisma.session.findMany({ where: { accountId } })
  return [accountId, ...sessions.map(({ id }) => id)]
}
const ofPerson = async (
  ...given: Parameters<typeof signedIn> extends [unknown, ...infer R] ? R : never
): Promise<Caller> => {
  const person = await signedIn(test, ...given)
  return { credential: { cookie: person.cookie }, ids: await idsOf(person.accountId) }
}
let other: [Victim, World] | undefined
/** Somebody with as many records as the victim. */
const equal = async (of: (one: Victim) => Credential, isNew = false): Promise<Caller> => {
  const isOpen = async ({ agent, cookie }: Victim) =>
    (await test.fetch('GET', '/v1/auth/me', agent)).status === 200 &&
    (await test.fetch('GET', '/api/account', { cookie })).status === 200
  if (isNew || (other && !(await isOpen(other[0])))) other = undefined
  other ??= await added(madeVictim)
  const [somebody, world] = other
  return { credential: of(somebody), ids: [somebody.accountId, somebody.organisationId, ...world.ids], world }
}
/** A token of the victim's agent, changed in the database. */
const ofVictim = async (scopes: TokenScope[], data: object): Promise<Caller> => {
  const { now } = test.clock
  const made = await test.db.transaction((tx) =>
    test.app.tokens.issue(tx, { agentId: victim.agent.id, scopes, name: null, expiresAt: null, now: now() }),
  )
  await test.db.prisma.token.update({ where: { id: made.id }, data })
  return { credential: { token: made.key }, ids: [] }
}
/** A session of somebody, changed in the database. */
const withSession = async (person: Person, data: object): Promise<Caller> => {
  await test.db.prisma.session.updateMany({ where: { accountId: person.accountId }, data })
  return { credential: { cookie: person.cookie }, ids: await idsOf(person.accountId) }
}

const verbOf = ({ permission }: OperationShape) => permission.slice(permission.lastIndexOf(':') + 1)
/** The statuses for a caller who is nobody, or whose credential is no longer valid. */
const unknown: Verdict = (operation) => (operation.permission === 'public' ? undefined : [401])
const invalidToken: Verdict = () => [401]
/** The statuses for a token or person who may only use the verbs. */
const only =
  (verbs: readonly string[], isToken: boolean): Verdict =>
  (operation) =>
    (isToken && isInPerson(operation.id)) || ![...verbs, 'public'].includes(verbOf(operation)) ? [403] : undefined

type Changed = Readonly<Record<string, readonly string[]>>
const requestRows = ['privacy_links', 'privacy_request_events (new)', 'privacy_request_parts', 'privacy_requests']
/** Everybody may ask for a link to reset a password, which is sent to the address of the account. */
const anybodys: Changed = { jobs: ['account_links (new)', 'privacy_links (new)'] }
/** Everybody who reads a unit may report it. */
const readers: Changed = { ...anybodys, reportUnit: ['unit_reports (new)', 'units'] }
/** Everybody who writes may vote on shared units, and name an agent as the author of a text, which has no effect on that agent. */
const writers: Changed = {
  ...readers,
  validateUnit: ['unit_votes (new)', 'units', 'reputation_ledger (new)'],
  contributeSkill: ['skills (new)'],
  exportSopAsSkill: ['skills (new)'],
}
/** A manager invites anybody; the person decides with the link in the email. */
const managers: Changed = { ...writers, inviteMember: ['accounts (new)'] }
/** What admins manage: accounts, agents without their content, tokens that reach nothing, holds, approvals and the answers to requests. */
const admins: Changed = {
  ...managers,
  inviteUser: ['accounts (new)'],
  createToken: ['tokens (new)'],
  rotateToken: ['tokens', 'tokens (new)'],
  revokeToken: ['tokens'],
  revokeByPrefix: ['tokens'],
  createHold: ['legal_holds (new)'],
  // A mark that adds no readers: docs/adr/0094-effects-have-guards.md
  approveSop: ['sop_versions', 'units'],
}
/** Tables that admins in the console may change without entering the password again. None of these calls erases, exports or changes content. */
const adminsInPerson: Changed = {
  ...admins,
  assignPrivacyRequest: requestRows,
  resumePrivacyRequest: requestRows,
  commentPrivacyRequest: requestRows,
  bulkPrivacyRequests: requestRows,
  liftParticipantRestriction: ['project_participants'],
  jobs: ['account_links (new)', 'privacy_links (new)', 'privacy_requests'],
}
/** What an admin needs in order to answer a request: the names of participants, and what the person wrote. */
const readByAdmins = ['liftParticipantRestriction', 'listParticipants', 'readAnyPrivacyRequest', 'readParticipant']
interface Attack {
  /** `isNew`: with another account, because guesses of a password are counted. */
  make(isNew?: boolean): Promise<Caller>
  verdict: Verdict
  /** What the caller may change, with the tables: {@link anybodys} by default. */
  may?: Changed
  /** Operations that may return what somebody wrote to the admins. */
  reads?: string[]
}
const attacks: Record<string, Attack> = {
  'nobody who signed in': { make: async () => ({ credential: {}, ids: [] }), verdict: unknown },
  'an ended session of the person': {
    make: async () => {
      const { accountId } = victim
      const known = (await idsOf(accountId)).slice(1)
      const cookie = await openTestSession(test, accountId)
      await test.db.prisma.session.updateMany({
        where: { accountId, id: { notIn: known } },
        data: { revokedAt: test.clock.now() },
      })
      return { credential: { cookie }, ids: [] }
    },
    verdict: unknown,
  },
  'a deactivated colleague': {
    make: async () => {
      const person = await signedIn(test, 'manager', victim.organisationId)
      const { accountId: id } = person
      await test.db.prisma.account.update({ where: { id }, data: { deactivatedAt: test.clock.now() } })
      return withSession(person, {})
    },
    verdict: unknown,
  },
  'a revoked token of the agent': {
    make: () => ofVictim(['read', 'write', 'admin'], { revokedAt: test.clock.now(), revokedReason: 'owner' }),
    verdict: invalidToken,
  },
  'an expired token of the agent': {
    make: () => ofVictim(['read', 'write', 'privacy'], { expiresAt: new Date(test.clock.now().getTime() - 1) }),
    verdict: invalidToken,
  },
  'a read-only token': { make: () => ofToken(['read']), verdict: only(['read', 'self'], true), may: readers },
  'a token that only writes': {
    make: () => ofToken(['write']),
    verdict: only(['write', 'self'], true),
    may: writers,
  },
  'a token of another application with the scope privacy': {
    make: () => ofToken(['privacy']),
    verdict: only(['privacy', 'self'], true),
  },
  'a token of an agent that nobody owns': {
    make: () => ofToken(['read', 'write', 'privacy']),
    verdict: only(['read', 'write', 'privacy', 'self'], true),
    may: writers,
  },
  'a token of another organization': {
    make: (isNew) => equal(({ agent }) => ({ token: agent.token }), isNew),
    verdict: only(['read', 'write', 'self'], true),
    may: writers,
  },
  'a person of another organization': {
    make: (isNew) => equal(({ cookie }) => ({ cookie }), isNew),
    verdict: only(['read', 'write', 'privacy', 'self', 'person'], false),
    may: writers,
  },
  'a manager of another organization': {
    make: () => ofPerson('manager'),
    verdict: only(['read', 'write', 'privacy', 'self', 'person'], false),
    may: managers,
  },
  'an auditor': {
    make: () => ofPerson('auditor'),
    verdict: only(['read', 'privacy', 'self', 'person', 'audit'], false),
    may: readers,
  },
  'a colleague': {
    make: () => ofPerson('person', victim.organisationId),
    verdict: only(['read', 'write', 'privacy', 'self', 'person'], false),
    // The graph group of a project is in the namespace of their organization.
    may: { ...writers, createProject: ['projects (new)'] },
  },
  'a token of scope admin': {
    make: () => ofToken(['read', 'write', 'admin']),
    verdict: (operation) =>
      isInPerson(operation.id) || ['privacy', 'person'].includes(verbOf(operation)) ? [403] : undefined,
    may: admins,
    reads: readByAdmins,
  },
  'an admin whose password was not entered recently': {
    make: async () => withSession(await signedIn(test, 'admin'), { passwordAt: null }),
    verdict: () => undefined,
    may: adminsInPerson,
    reads: readByAdmins,
  },
  'an admin who lacks a required second factor': {
    make: async () => {
      const policy = { required_of: 'admins' as const, from: test.clock.now().toISOString() }
      await test.db.transaction((tx) =>
        factorPolicySetting(test.db).store(tx, policy, { now: test.clock.now(), by: 'user:test' }),
      )
      const admin = await ofPerson('admin')
      // The requirement is cached for a moment.
      await vi.waitFor(async () => {
        const { json } = await test.fetch('GET', '/api/admin/users', admin.credential)
        expect(json.code).toBe('second_factor_required')
      }, 60_000)
      return admin
    },
    verdict: (operation) =>
      operation.permission === 'public' || operation.isOpenWithoutSecondFactor ? undefined : [403],
  },
}

describe('a call with ids of somebody else', () => {
  it('has a body that every operation accepts', () => {
    const bodies = bodiesOf(victim)
    const wrong = test.app.useCases.flatMap(({ operation: { id, body } }) => {
      if (!body) return []
      const parsed = id in bodies ? body.safeParse(bodies[id]) : undefined
      return parsed?.success ? [] : [`${id}: ${parsed ? JSON.stringify(parsed.error.issues) : 'no body'}`]
    })
    expect(wrong).toEqual([])
    const named = Object.keys(bodies).sort()
    expect(named).toEqual(test.app.useCases.flatMap(({ operation: { id, body } }) => (body ? [id] : [])).sort())
  })

  /** Callers who may change nothing of others. A full run also has all with rights of their own. */
  const always = Object.keys(attacks).filter((kind) => attacks[kind]?.may === undefined)
  const others = sampled(
    'callers with rights of their own',
    Object.keys(attacks).filter((kind) => !always.includes(kind)),
    1,
  )

  it.each(Object.entries(attacks).filter(([kind]) => [...always, ...others].includes(kind)))(
    'reads and changes nothing of that person when %s sends it',
    async (kind, { make, verdict, may = anybodys, reads = [] }) => {
      const { changed, refused, read, status } = await attacked(kind, make, verdict)
      const unexpected = Object.entries(changed).flatMap(([id, tables]) =>
        tables.filter((table) => !may[id]?.includes(table)).map((table) => `${id}: ${table}`),
      )
      expect({ unexpected, refused, status, read: read.filter((id) => !reads.includes(id)) }).toEqual({
        unexpected: [],
        refused: {},
        status: [],
        read: [],
      })
    },
    300_000,
  )
})
