import { type RowOf, statement } from '#lib/stores/postgres/statement.ts'
import { memberProjectsSql, readerTypes } from '../readable-rows.ts'

const { isAdmin: _, ...memberTypes } = readerTypes

/** The reader's projects that are closing, by closing time. */
export const closingProjects = statement('projects.closing', {
  takes: { ...memberTypes, limit: 'int4' },
  returns: { id: 'text', name: 'text', closesAt: 'timestamptz!' },
  isPrepared: true,
  sql: `SELECT p.id, p.name, p.closes_at AS "closesAt" FROM projects p
    WHERE p.status = 'closing' AND p.erasing_since IS NULL AND p.closes_at IS NOT NULL AND p.organisation_id = $organisation
      AND p.id IN ${memberProjectsSql}
    ORDER BY p.closes_at, p.id LIMIT $limit`,
})

/** Accounts that are members of the project, directly or through agents that they own, each once. */
export const peopleOfProject = statement('projects.people', {
  takes: { project: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM account_names WHERE organisation_id = (SELECT organisation_id FROM projects WHERE id = $project) AND id IN (
      SELECT member_id FROM project_members WHERE project_id = $project AND kind = 'account'
      UNION SELECT n.owner_id FROM project_members m JOIN agent_names n ON n.id = m.member_id
        WHERE m.project_id = $project AND m.kind = 'agent')
    ORDER BY id`,
})

const closingColumns = {
  id: 'text',
  closesAt: 'timestamptz!',
  lettersSent: 'int4',
  closingBy: 'text?',
  reason: 'text?',
  isHeld: 'bool',
} as const
export type ClosingRow = RowOf<typeof closingColumns>
/** The next closing project after an id, locked so that nobody reopens it. Skips projects locked by others until the next run. */
export const lockNextClosing = statement('projects.lock-next-closing', {
  takes: { after: 'text', now: 'timestamptz' },
  returns: closingColumns,
  sql: `SELECT id, closes_at AS "closesAt", letters_sent AS "lettersSent", closing_by AS "closingBy", closing_reason AS reason,
      EXISTS (SELECT FROM holds_in_force h
        WHERE h.kind = 'project' AND h.target_id = p.id AND (h.expires_at IS NULL OR h.expires_at > $now)) AS "isHeld"
    FROM projects p WHERE status = 'closing' AND erasing_since IS NULL AND closes_at IS NOT NULL AND id > $after
    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`,
})

/**
 * Whether an actor, as the audit log names it, is known and may no longer close the project: an account that is closed, or is neither an owner,
 * directly or through an agent, nor a manager of the project's organization nor an admin; or an agent that is no owner, is retired, or belongs
 * to a closed account. An actor that was erased is not known: it has a pseudonym.
 */
export const hasLostClosing = statement('projects.has-lost-closing', {
  takes: { project: 'text', by: 'text' },
  returns: { lost: 'bool!' },
  sql: `SELECT EXISTS (SELECT FROM projects p JOIN account_names a ON $by = 'user:' || a.id WHERE p.id = $project AND NOT (a.is_open
        AND (a.role = 'admin' OR (a.organisation_id = p.organisation_id AND (a.role = 'manager' OR EXISTS (SELECT FROM project_members m
          WHERE m.project_id = p.id AND m.role = 'owner' AND ((m.kind = 'account' AND m.member_id = a.id)
            OR (m.kind = 'agent' AND m.member_id IN (SELECT o.id FROM agent_owners o WHERE o.owner_id = a.id)))))))))
    OR EXISTS (SELECT FROM agent_states n WHERE n.id = $by AND (n.status = 'dead'
      OR EXISTS (SELECT FROM account_names a WHERE a.id = n.owner_id AND NOT a.is_open)
      OR NOT EXISTS (SELECT FROM project_members m
        WHERE m.project_id = $project AND m.role = 'owner' AND m.kind = 'agent' AND m.member_id = n.id))) AS lost`,
})
