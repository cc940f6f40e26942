import { writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { PartKind, ProjectPart, Subject } from '#lib/kernel/data-source.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

const beginner = `CASE WHEN starts_with(created_by, 'user:') THEN 'account' ELSE 'agent' END AS kind,
  CASE WHEN starts_with(created_by, 'user:') THEN substr(created_by, 6) ELSE created_by END AS id`
const wrote = 'SELECT author_kind AS kind, author_id AS id FROM'

/** SQL: the people and agents with records in a part ($1): authors, authors of documents made from it, its creator, its participants. */
const ofPart: Record<PartKind, string> = {
  project: `${wrote} messages WHERE project_id = $1 UNION ${wrote} documents WHERE project_id = $1
    UNION SELECT ${beginner} FROM conversations WHERE project_id = $1 UNION SELECT kind, member_id FROM project_members WHERE project_id = $1`,
  conversation: `${wrote} messages WHERE conversation_id = $1
    UNION ${wrote} documents WHERE made_from IN (SELECT id FROM messages WHERE conversation_id = $1)
    UNION SELECT ${beginner} FROM conversations WHERE id = $1`,
  message: `${wrote} messages WHERE id = $1 UNION ${wrote} documents WHERE made_from = $1`,
  document: `${wrote} documents WHERE id = $1`,
}
const ofSubject = `${wrote} documents WHERE made_from IN (
  SELECT m.id FROM unnest($1::text[], $2::text[]) AS w(kind, id) JOIN messages m ON m.author_kind = w.kind AND m.author_id = w.id)`

/** SQL: the accounts that claimed the participants $1. */
const claimants =
  'SELECT DISTINCT account_id AS id FROM project_participants WHERE id = ANY($1::text[]) AND account_id IS NOT NULL'

/** People and agents with records in the erasure scope. Their existing exports may contain these records. */
export async function recordedOf(
  tx: Transaction,
  scope: { part: ProjectPart } | { subject: Subject },
): Promise<{ accounts: string[]; agents: string[] }> {
  const { kinds, ids } = 'subject' in scope ? writersOf(scope.subject) : { kinds: [], ids: [] }
  const rows =
    'part' in scope
      ? await queryWithin<{ kind: string; id: string }>(tx, `recorded-${scope.part.kind}`, ofPart[scope.part.kind], [
          scope.part.id,
        ])
      : await queryWithin<{ kind: string; id: string }>(tx, 'recorded-subject', ofSubject, [kinds, ids])
  const named = (wanted: string) => rows.flatMap(({ kind, id }) => (kind === wanted ? [id] : []))
  const claimed = await queryWithin<{ id: string }>(tx, 'recorded-participants', claimants, [
    [...named('participant'), ...('subject' in scope ? (scope.subject.participants ?? []) : [])],
  ])
  return { accounts: [...named('account'), ...claimed.map(({ id }) => id)], agents: named('agent') }
}
