import type { ErasureScope, ProjectPart, Subject } from '#lib/kernel/erasure-scope.ts'

export const scopeSubject = (scope: ErasureScope): Subject | undefined =>
  'subject' in scope ? scope.subject : undefined
export const scopePart = (scope: ErasureScope): ProjectPart | undefined => ('part' in scope ? scope.part : undefined)

/** The possible authors among a subject's identities, as parallel arrays of kinds and ids. */
export const writersOf = ({ account, agents, participants = [] }: Subject): { kinds: string[]; ids: string[] } => ({
  kinds: [
    ...agents.map(() => 'agent'),
    ...(account === null ? [] : ['account']),
    ...participants.map(() => 'participant'),
  ],
  ids: [...agents, ...(account === null ? [] : [account]), ...participants],
})
/** The subject's identities as rows name actors: agents by id, a person as in the audit log. */
export const projectActorsOf = ({ account, agents }: Subject): string[] => [
  ...agents,
  ...(account === null ? [] : [`user:${account}`]),
]

/**
 * SQL: members of a WITH list for legal holds, read from the few holds in force: `held_projects (id, hold)`, and `held_writers (kind, id,
 * hold)` with held people and agents, including the agents and claimed participations of held people. `now` is a placeholder.
 */
export const projectHoldsSql = (now: string): string => `in_force AS MATERIALIZED (
    SELECT id, kind, target_id FROM holds_in_force WHERE kind IN ('project', 'agent', 'account') AND (expires_at IS NULL OR expires_at > ${now}::timestamptz)),
  held_projects AS MATERIALIZED (SELECT target_id AS id, min(id) AS hold FROM in_force WHERE kind = 'project' GROUP BY target_id),
  held_writers AS MATERIALIZED (
    SELECT kind, id, min(hold) AS hold FROM (
      SELECT kind, target_id AS id, id AS hold FROM in_force WHERE kind IN ('agent', 'account')
      UNION ALL SELECT 'agent', o.id, h.id FROM in_force h JOIN agent_owners o ON o.owner_id = h.target_id WHERE h.kind = 'account'
      UNION ALL SELECT 'participant', o.id, h.id FROM in_force h JOIN project_participants o ON o.account_id = h.target_id WHERE h.kind = 'account') AS g
    GROUP BY kind, id)`
/** SQL: the legal hold from {@link projectHoldsSql} on an authored row `alias`: on its project or its author. */
export const projectHoldSql = 'coalesce(hp.hold, hw.hold)'
export const joinProjectHolds = (alias: string): string =>
  `LEFT JOIN held_projects hp ON hp.id = ${alias}.project_id
   LEFT JOIN held_writers hw ON hw.kind = ${alias}.author_kind AND hw.id = ${alias}.author_id`

/** SQL: the legal hold on a conversation `c`: on its project, or on an author of a message in it. */
export const conversationHold = `coalesce((SELECT h.hold FROM held_projects h WHERE h.id = c.project_id),
    (SELECT min(h.hold) FROM held_writers h JOIN messages m ON m.author_kind = h.kind AND m.author_id = h.id WHERE m.conversation_id = c.id))`
/** SQL: the legal hold that retains the row of a project `p`: on the project, or on an author of a message or document in it. */
export const projectHold = `coalesce((SELECT h.hold FROM held_projects h WHERE h.id = p.id),
  (SELECT min(h.hold) FROM held_writers h JOIN messages m ON m.author_kind = h.kind AND m.author_id = h.id WHERE m.project_id = p.id),
  (SELECT min(h.hold) FROM held_writers h JOIN documents d ON d.author_kind = h.kind AND d.author_id = h.id WHERE d.project_id = p.id))`

/**
 * SQL: whether an authored row `alias` remains. It remains if it is under legal hold (needs {@link projectHoldsSql} and {@link joinProjectHolds}), or
 * if it is not marked as being erased, `marked` is false and its author is not being erased. Of two concurrent erasures, at least one sees
 * the other's mark or fence.
 */
export const staysSql = (alias: string, marked = 'false'): string =>
  `(${projectHoldSql} IS NOT NULL OR NOT (${alias}.erasing_since IS NOT NULL OR ${marked}
     OR EXISTS (SELECT FROM fenced f WHERE f.kind = ${alias}.author_kind AND f.id = ${alias}.author_id)))`

/** The tables with authored rows. */
export type AuthoredTable = 'messages' | 'documents'

/** A kind of scope and a table in which it covers rows. Each combination has its own SQL. */
export interface CoveredTable {
  scope: 'subject' | ProjectPart['kind']
  table: AuthoredTable
}
/** All combinations. A document covers no messages. */
export const coveredTables: readonly CoveredTable[] = [
  ...(['subject', 'project', 'conversation', 'message', 'document'] as const).map(
    (scope): CoveredTable => ({ scope, table: 'documents' }),
  ),
  ...(['subject', 'project', 'conversation', 'message'] as const).map(
    (scope): CoveredTable => ({ scope, table: 'messages' }),
  ),
]
/** The parameters of {@link coveredSql}. Each combination uses some of them. */
export const coveredParameters = { kinds: 'text[]', ids: 'text[]', part: 'text', project: 'text' } as const

/** SQL condition on `x` for the rows that a scope covers. Documents made from a message are erased with it. */
export function coveredSql({ scope, table }: CoveredTable): string {
  // Looks up each writer in the index of authors.
  const written = (alias: string) =>
    `(${alias}.author_kind, ${alias}.author_id) IN (SELECT w.kind, w.id FROM unnest($kinds, $ids) AS w(kind, id))`
  const isMessages = table === 'messages'
  switch (scope) {
    case 'subject':
      return isMessages
        ? written('x')
        : `x.id IN (SELECT d.id FROM documents d WHERE ${written('d')}
            UNION SELECT d.id FROM messages m JOIN documents d ON d.made_from = m.id WHERE ${written('m')})`
    case 'project':
      return 'x.project_id = $part'
    case 'conversation':
      return isMessages
        ? 'x.conversation_id = $part AND x.project_id = $project'
        : 'x.made_from IN (SELECT m.id FROM messages m WHERE m.conversation_id = $part AND m.project_id = $project)'
    case 'message':
      return `${isMessages ? 'x.id' : 'x.made_from'} = $part AND x.project_id = $project`
    case 'document':
      return 'x.id = $part AND x.project_id = $project'
  }
}

/** The combination and parameters for the rows of a table that a scope covers; undefined if it covers none. */
export function coveredRows(scope: ErasureScope, table: AuthoredTable) {
  const subject = scopeSubject(scope)
  const part = scopePart(scope)
  const { kinds, ids } = subject ? writersOf(subject) : { kinds: [], ids: [] }
  const kind = subject ? 'subject' : part?.kind
  const isCovered = coveredTables.some((one) => one.scope === kind && one.table === table)
  if (kind === undefined || !isCovered || (subject && ids.length === 0)) return undefined
  const which: CoveredTable = { scope: kind, table }
  return { which, values: { kinds, ids, part: part?.id ?? '', project: part?.project ?? '' } }
}

/** Retention period of project data, in words. A project ends when it is closed, so there is no fixed period. */
export const untilErased = 'until it is erased, or 30 days after its project is closed'
