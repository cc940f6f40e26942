import type { Part, Scope, Subject } from '#lib/kernel/holder.ts'

export const subjectOf = (scope: Scope): Subject | undefined => ('subject' in scope ? scope.subject : undefined)
export const partOf = (scope: Scope): Part | undefined => ('part' in scope ? scope.part : undefined)

/** Kinds and ids of whoever of a subject may have written something, side by side. */
export const writersOf = ({ account, agents, participants = [] }: Subject): { kinds: string[]; ids: string[] } => ({
  kinds: [
    ...agents.map(() => 'agent'),
    ...(account === null ? [] : ['account']),
    ...participants.map(() => 'participant'),
  ],
  ids: [...agents, ...(account === null ? [] : [account]), ...participants],
})
/** As rows name who did something: agents by their ids, a person as the audit log does. */
export const doersOf = ({ account, agents }: Subject): string[] => [
  ...agents,
  ...(account === null ? [] : [`user:${account}`]),
]

/**
 * Members of a WITH list, read from the side of the holds, for few things are held: `held_projects (id, hold)` and
 * `held_writers (kind, id, hold)`, the people and agents that holds cover, agents and claimed participations of held people included. `now` is a placeholder.
 */
export const holdMembers = (now: string): string => `in_force AS MATERIALIZED (
    SELECT id, kind, target_id FROM holds_in_force WHERE kind IN ('project', 'agent', 'account') AND (expires_at IS NULL OR expires_at > ${now}::timestamptz)),
  held_projects AS MATERIALIZED (SELECT target_id AS id, min(id) AS hold FROM in_force WHERE kind = 'project' GROUP BY target_id),
  held_writers AS MATERIALIZED (
    SELECT kind, id, min(hold) AS hold FROM (
      SELECT kind, target_id AS id, id AS hold FROM in_force WHERE kind IN ('agent', 'account')
      UNION ALL SELECT 'agent', o.id, h.id FROM in_force h JOIN agent_owners o ON o.owner_id = h.target_id WHERE h.kind = 'account'
      UNION ALL SELECT 'participant', o.id, h.id FROM in_force h JOIN project_participants o ON o.account_id = h.target_id WHERE h.kind = 'account') AS g
    GROUP BY kind, id)`
/** The hold on something authored, `alias`, of {@link holdMembers}: its project's, or its writer's. */
export const holdOf = 'coalesce(hp.hold, hw.hold)'
export const joinHolds = (alias: string): string =>
  `LEFT JOIN held_projects hp ON hp.id = ${alias}.project_id
   LEFT JOIN held_writers hw ON hw.kind = ${alias}.author_kind AND hw.id = ${alias}.author_id`

/**
 * Whether something authored, `alias`, stays: it is not marked (nor is `marked`, another condition under which it goes), and nobody erases
 * its writer; or a hold, of {@link holdMembers} and {@link joinHolds}, keeps it. Of two who plan at once one at least sees the mark or fence of the other.
 */
export const staysSql = (alias: string, marked = 'false'): string =>
  `(${holdOf} IS NOT NULL OR NOT (${alias}.erasing_since IS NOT NULL OR ${marked}
     OR EXISTS (SELECT FROM fenced f WHERE f.kind = ${alias}.author_kind AND f.id = ${alias}.author_id)))`

/** The tables of what is authored. */
export type Authored = 'messages' | 'documents'
/** Ids of what a scope covers, with its condition on `x`; undefined where it covers none of this kind. */
export function covered(scope: Scope, kind: Authored): { where: string; values: unknown[] } | undefined {
  const subject = subjectOf(scope)
  if (subject) {
    const { kinds, ids } = writersOf(subject)
    if (ids.length === 0) return undefined
    // Each writer by the index of writers.
    const written = (of: string) =>
      `(${of}.author_kind, ${of}.author_id) IN (SELECT w.kind, w.id FROM unnest($1::text[], $2::text[]) AS w(kind, id))`
    const documents = `SELECT d.id FROM documents d WHERE ${written('d')}
      UNION SELECT d.id FROM messages m JOIN documents d ON d.made_from = m.id WHERE ${written('m')}`
    return { where: kind === 'messages' ? written('x') : `x.id IN (${documents})`, values: [kinds, ids] }
  }
  const part = partOf(scope)
  if (!part) return undefined
  const isOne = part.kind === (kind === 'messages' ? 'message' : 'document')
  if (isOne) return { where: 'x.id = $1 AND x.project_id = $2', values: [part.id, part.project] }
  if (part.kind === 'project')
    return { where: 'x.project_id = $1 AND $2::text IS NOT NULL', values: [part.id, part.project] }
  if (part.kind === 'conversation') {
    const inConversation = (of: string) => `${of}.conversation_id = $1 AND ${of}.project_id = $2`
    return {
      where:
        kind === 'messages'
          ? inConversation('x')
          : `x.made_from IN (SELECT m.id FROM messages m WHERE ${inConversation('m')})`,
      values: [part.id, part.project],
    }
  }
  // What was made from a message goes with it.
  if (part.kind === 'message')
    return { where: 'x.made_from = $1 AND x.project_id = $2', values: [part.id, part.project] }
  return undefined
}
/** What a scope covers, each with the hold on it; the present is `$3`. */
export const plannedSql = (kind: Authored, where: string): string => `WITH ${holdMembers('$3')}
  SELECT x.id, ${holdOf} AS hold FROM ${kind} x ${joinHolds('x')} WHERE ${where}`
