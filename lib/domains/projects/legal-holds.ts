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
