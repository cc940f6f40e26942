import { setTimeout as delay } from 'node:timers/promises'
import { newId } from '#lib/kernel/ids.ts'
import type { TestApp } from './app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from './people.ts'

/** The actor: a session or a token. */
export type ProjectClient = { cookie: string } | { token: string }
type Sent = Parameters<TestApp['fetch']>[2]

/** Sends a request and returns `data` of the response. @throws for a status other than 2xx */
export async function dataOf(
  test: TestApp,
  method: string,
  path: string,
  asker: ProjectClient,
  more: Sent = {},
): Promise<ReturnType<typeof JSON.parse>> {
  const { status, json, text } = await test.fetch(method, path, { ...asker, ...more })
  if (status < 200 || status > 299) throw new Error(`${method} ${path} answered ${status}: ${text}`)
  return json?.data
}

export interface MadeProject {
  id: string
  groupId: string
  path: string
  owner: Person
  /** An agent of the owner, a member of the project. */
  agent: Issued
}
/** Allows an organization every graph group and thread, like an admin who assigns the namespace `*`. */
export const allowAnyClaim = (test: TestApp, organisationId: string) =>
  test.db.prisma.organisation.update({ where: { id: organisationId }, data: { storeNamespaces: ['*'] } })

/** Creates a project through the API, with an agent of its owner as a member. Its organization may claim every group and thread. */
export async function madeProject(
  test: TestApp,
  {
    owner,
    agent,
    ...body
  }: { owner?: Person; agent?: Issued; name?: string; group_id?: string; entity_kinds?: object } = {},
): Promise<MadeProject> {
  const person = owner ?? (await signedIn(test))
  await allowAnyClaim(test, person.organisationId)
  const made = await dataOf(test, 'POST', '/api/projects', person, { body: { name: 'A project', ...body } })
  const path = `/api/projects/${made.id}`
  const issued = agent ?? (await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner: person }))
  await dataOf(test, 'POST', `${path}/members`, person, { body: { kind: 'agent', member_id: issued.id } })
  return { id: made.id, groupId: made.group_id, path, owner: person, agent: issued }
}

/** Erases a part of a project and waits for the end, because on a busy machine the request does not. Returns the receipt id. */
export async function eraseWholeProject(test: TestApp, path: string, asker: ProjectClient): Promise<string> {
  const { status, json, text } = await test.fetch('DELETE', path, asker)
  if (status !== 200 && status !== 202) throw new Error(`DELETE ${path} answered ${status}: ${text}`)
  for (const deadline = performance.now() + 120_000; ; await delay(100)) {
    const run = await test.app.subjectErasures.byAudit(json.auditId)
    if (run?.state === 'done') return run.receiptId
    if (performance.now() > deadline) throw new Error(`its erasure is ${run?.state}`)
  }
}

/** Another person of the project's organization, as a member. */
export async function madeMember(
  test: TestApp,
  project: MadeProject,
  role: 'owner' | 'member' = 'member',
): Promise<Person> {
  const person = await signedIn(test, 'person', project.owner.organisationId)
  await dataOf(test, 'POST', `${project.path}/members`, project.owner, {
    body: { kind: 'account', member_id: person.accountId, role },
  })
  return person
}

export interface MadeConversation {
  id: string
  path: string
}
export async function madeConversation(
  test: TestApp,
  project: MadeProject,
  body: { id?: string; title?: string; threads?: string[] } = {},
  asker: ProjectClient = project.owner,
): Promise<MadeConversation> {
  const { id } = await dataOf(test, 'POST', `${project.path}/conversations`, asker, {
    body: { title: 'A conversation', ...body },
  })
  return { id, path: `${project.path}/conversations/${id}` }
}

export interface MadeMessage {
  id: string
  path: string
}
/** A message by the actor. */
export async function madeMessage(
  test: TestApp,
  conversation: MadeConversation,
  asker: ProjectClient,
  { content = 'Something was said.', role = 'user', ...more }: Record<string, unknown> = {},
): Promise<MadeMessage> {
  const { id } = await dataOf(test, 'POST', `${conversation.path}/messages`, asker, {
    body: { content, role, ...more },
  })
  return { id, path: `${conversation.path}/messages/${id}` }
}

/** A file of a message, uploaded by its author. */
export const madeAttachment = (
  test: TestApp,
  message: MadeMessage,
  asker: ProjectClient,
  {
    name = 'notes.txt',
    type = 'text/plain',
    bytes = 'Some bytes.',
  }: { name?: string; type?: string; bytes?: string | Uint8Array } = {},
): Promise<{ id: string; name: string; bytes: number }> =>
  dataOf(test, 'POST', `${message.path}/attachments?name=${encodeURIComponent(name)}`, asker, {
    body: bytes,
    headers: { 'Content-Type': type },
  })

/** A document or an artifact. */
export const madeDocument = (
  test: TestApp,
  project: MadeProject,
  asker: ProjectClient,
  {
    name = 'report.md',
    kind = 'document',
    type = 'text/markdown',
    bytes = '# A report\n\nNothing to report.\n',
    id,
  }: { name?: string; kind?: 'document' | 'artifact'; type?: string; bytes?: string | Uint8Array; id?: string } = {},
): Promise<{ id: string; chunks: number }> =>
  dataOf(
    test,
    'POST',
    `${project.path}/documents?name=${encodeURIComponent(name)}&kind=${kind}${id === undefined ? '' : `&id=${encodeURIComponent(id)}`}`,
    asker,
    { body: bytes, headers: { 'Content-Type': type } },
  )

/** Reports pointers as the actor. */
export const reported = (
  test: TestApp,
  project: MadeProject,
  asker: ProjectClient,
  entries: readonly Record<string, unknown>[],
) => dataOf(test, 'POST', `${project.path}/provenance`, asker, { body: { entries } })

/**
 * Inserts many messages of one author with their default provenance directly into the tables, for tests of quantity.
 * Returns their ids, sorted.
 */
export async function manyMessages(
  { app, clock }: TestApp,
  {
    projectId,
    conversations,
    author,
    each,
    words = 'Something was said.',
  }: {
    projectId: string
    conversations: readonly string[]
    author: { kind: 'account' | 'agent'; id: string }
    each: number
    words?: string
  },
): Promise<string[]> {
  const run = newId('run')
  const rows = await app.db.query<{ id: string }>(
    undefined,
    `INSERT INTO messages (id, project_id, conversation_id, role, author_kind, author_id, content, created_at, updated_at)
     SELECT 'msg_' || $1 || ':' || c.n || ':' || lpad(m::text, 6, '0'), $2, c.id, 'user', $4, $5, $6 || ' (' || c.n || ', ' || m || ')', $7::timestamptz, $7::timestamptz
     FROM unnest($3::text[]) WITH ORDINALITY AS c(id, n) CROSS JOIN generate_series(1, $8::int) AS m RETURNING id`,
    [run, projectId, conversations, author.kind, author.id, words, clock.now(), each],
  )
  await app.db.query(
    undefined,
    `INSERT INTO provenance (id, project_id, source_kind, source_id, store, ref, told_by, at)
     SELECT 'prov_' || id, $1, 'message', id, 'checkpoints', id, CASE $2::text WHEN 'account' THEN 'user:' || $3 ELSE $3 END, $4::timestamptz FROM unnest($5::text[]) AS id`,
    [projectId, author.kind, author.id, clock.now(), rows.map(({ id }) => id)],
  )
  return rows.map(({ id }) => id).sort()
}
