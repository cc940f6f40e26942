import { projectHoldsSql, scopeSubject, writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureOptions, ErasureScope, Mention, Subject } from '#lib/kernel/data-source.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { mayBeTakenOut, namePattern } from './name-rules.ts'
import { noChange } from './rules.ts'

/** The names and email addresses of an account; empty after its erasure. */
export type NamesOf = (tx: Transaction, accountId: string) => Promise<string[]>

/** Maximum number of rows listed for each kind and project. */
const mostListed = 200

const byThem = '(SELECT w.kind, w.id FROM unnest($1::text[], $2::text[]) AS w (kind, id))'
const theirs = `WITH ${projectHoldsSql('$3')} SELECT p.group_id AS group FROM projects p
  WHERE p.id IN (SELECT project_id FROM project_members WHERE (kind, member_id) IN ${byThem}
      UNION SELECT project_id FROM messages WHERE (author_kind, author_id) IN ${byThem}
      UNION SELECT project_id FROM documents WHERE (author_kind, author_id) IN ${byThem})
    AND p.status <> 'closed' AND NOT EXISTS (SELECT FROM held_projects h WHERE h.id = p.id) ORDER BY 1`

/** Groups of the projects in which a person participates or wrote. Projects under legal hold are left out. */
export async function groupsOfPerson(scope: ErasureScope, tx: Transaction, now: Date): Promise<string[]> {
  const subject = scopeSubject(scope)
  if (!subject || (subject.account === null && (subject.participants ?? []).length === 0)) return []
  const { kinds, ids } = writersOf(subject)
  const rows = await queryWithin<{ group: string }>(tx, 'graph-groups-of-person', theirs, [kinds, ids, now])
  return rows.map(({ group }) => group)
}

/** Texts of other authors in a project that match a name; `$1`: its group, `$2`: the pattern, `$3` and `$4`: the erased authors. */
const inRows = (() => {
  const ofOthers = (x: string) =>
    `(${x}.author_kind, ${x}.author_id) NOT IN (SELECT w.kind, w.id FROM unnest($3::text[], $4::text[]) AS w (kind, id))`
  const some = (kind: string, field: string, from: string, id: string, text: string, where = 'true') =>
    `(SELECT DISTINCT '${kind}' AS kind, ${id} AS id, '${field}' AS field FROM ${from}
       WHERE p.group_id = $1 AND ${text} ~* $2 AND ${where} LIMIT ${mostListed})`
  const messages = 'projects p JOIN messages m ON m.project_id = p.id'
  const documents = 'projects p JOIN documents d ON d.project_id = p.id'
  return [
    some('message', 'content', messages, 'm.id', 'm.content', ofOthers('m')),
    some(
      'message',
      'edits',
      `${messages} JOIN message_edits e ON e.message_id = m.id`,
      'm.id',
      'e.content',
      ofOthers('m'),
    ),
    some('document', 'name', documents, 'd.id', 'd.name', ofOthers('d')),
    some(
      'document',
      'text',
      `${documents} JOIN document_chunks k ON k.document_id = d.id`,
      'd.id',
      'k.content',
      ofOthers('d'),
    ),
    some('conversation', 'title', 'projects p JOIN conversations c ON c.project_id = p.id', 'c.id', 'c.title'),
  ].join(' UNION ALL ')
})()

/** Names and email addresses that applications reported for the participants of a subject. */
async function reportedNames(tx: Transaction, { participants = [] }: Subject): Promise<string[]> {
  if (participants.length === 0) return []
  const rows = await tx.projectParticipant.findMany({
    where: { id: { in: [...participants] } },
    select: { name: true, email: true },
  })
  return rows.flatMap(({ name, email }) => [name ?? [], email ?? []].flat())
}

/** Names of a subject from the account and from applications; empty after their erasure. */
export async function namesOfSubject(namesOf: NamesOf, subject: Subject, tx: Transaction): Promise<string[]> {
  const ofAccount = subject.account === null ? [] : await namesOf(tx, subject.account)
  const names = new Set([...ofAccount, ...(await reportedNames(tx, subject))])
  return [...names].filter((name) => name.trim().length > 1)
}

/**
 * Places where a person's name occurs in texts of other authors in a project. In the graph, names are redacted if the erasure requests it.
 * Messages and documents of other authors are listed and not changed. Empty after the person's erasure.
 */
export async function remainingNames(
  { graph, namesOf }: { graph: GraphStore; namesOf: NamesOf },
  scope: ErasureScope,
  group: string,
  tx: Transaction,
  { key, redacts }: ErasureOptions,
): Promise<Mention[]> {
  const subject = scopeSubject(scope)
  if (!subject) return []
  const names = await namesOfSubject(namesOf, subject, tx)
  const found = new Map<string, Mention>()
  const keep = (mention: Mention) =>
    found.set(JSON.stringify([mention.store, mention.kind, mention.id, mention.field]), mention)
  // Names that remain are processed last: a text that still contains one name must not be reported as redacted.
  for (const isTaken of [true, false]) {
    const some = names.filter((name) => (redacts && mayBeTakenOut(name)) === isTaken)
    if (some.length === 0) continue
    const change = { ...noChange(), names: some, redact: isTaken }
    const { mentions } = await graph.change(
      group,
      [],
      `${key}:${group}:${isTaken ? 'taken' : 'left'}`,
      () => change,
      tx,
    )
    for (const location of mentions) keep({ store: 'graph', ...location, isRedacted: isTaken })
  }
  const { kinds, ids } = writersOf(subject)
  for (const name of names) {
    const rows = await queryWithin<Pick<Mention, 'kind' | 'id' | 'field'>>(tx, 'names-in-rows', inRows, [
      group,
      namePattern(name),
      kinds,
      ids,
    ])
    for (const place of rows) keep({ store: 'postgresql', ...place, isRedacted: false })
  }
  return [...found.values()]
}
