import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'
import type { ProposalStatus } from './rules.ts'

const returns = {
  id: 'text',
  operation: 'text',
  status: typed<ProposalStatus>('text'),
  account_id: 'text',
  /** The accounts and agents that the action concerns. */
  subject_ids: 'text[]!',
  decided_by: 'text?',
  content: 'bytea?',
  created_at: 'timestamptz',
  expires_at: 'timestamptz',
  decided_at: 'timestamptz?',
  carried_out_at: 'timestamptz?',
} as const
const columns =
  'id, operation, status, account_id, subject_ids, decided_by, content, created_at, expires_at, decided_at, carried_out_at'
/** SQL condition: the proposal can still be decided, carried out or withdrawn. */
const isOpen = "(status IN ('waiting', 'approved') AND expires_at > $now)"

/** Open proposals first, then the newest. */
export const recentProposals = statement('approvals.recent', {
  takes: { now: 'timestamptz', limit: 'int4' },
  returns,
  sql: `SELECT ${columns} FROM approval_proposals ORDER BY ${isOpen} DESC, created_at DESC, id DESC LIMIT $limit`,
})
export type ProposalRow = Awaited<ReturnType<typeof recentProposals>>[number]

/** The number of proposals of others that the admin can approve. */
export const countWaitingFor = statement('approvals.waiting-for', {
  takes: { account: 'text', now: 'timestamptz' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM approval_proposals
    WHERE status = 'waiting' AND expires_at > $now AND account_id <> $account AND NOT $account = ANY(subject_ids)`,
})

/** The proposals of others that the admin can approve, oldest first. */
export const waitingFor = statement('approvals.listed-for', {
  takes: { account: 'text', now: 'timestamptz', limit: 'int4' },
  returns: { id: 'text', created_at: 'timestamptz' },
  sql: `SELECT id, created_at FROM approval_proposals
    WHERE status = 'waiting' AND expires_at > $now AND account_id <> $account AND NOT $account = ANY(subject_ids)
    ORDER BY created_at, id LIMIT $limit`,
})

/** A proposal, locked until the end of the transaction. */
export const lockedProposal = statement('approvals.locked', {
  takes: { id: 'text' },
  returns,
  sql: `SELECT ${columns} FROM approval_proposals WHERE id = $id FOR UPDATE`,
})

/** The open proposals of an admin for an operation, or for all operations, locked: each approval is used up once. */
export const lockedOpenProposals = statement('approvals.locked-open', {
  takes: { account: 'text', operation: 'text?', now: 'timestamptz' },
  returns,
  sql: `SELECT ${columns} FROM approval_proposals WHERE account_id = $account
    AND ($operation::text IS NULL OR operation = $operation) AND ${isOpen} ORDER BY id FOR UPDATE`,
})

/** Serializes the proposals of one admin, so that concurrent ones cannot exceed the limits. */
export const lockProposer = statement('approvals.lock-proposer', {
  takes: { account: 'text' },
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('proposals:' || $account))::text AS lock`,
})
export const countProposed = statement('approvals.proposed', {
  takes: { account: 'text', since: 'timestamptz' },
  returns: { n: 'int4' },
  sql: 'SELECT count(*)::int AS n FROM approval_proposals WHERE account_id = $account AND created_at > $since',
})

/** Closes an open proposal without a decision, and deletes its content. */
export const closeProposal = statement('approvals.close', {
  takes: { id: 'text', status: 'text', now: 'timestamptz' },
  returns: 'count',
  sql: `UPDATE approval_proposals SET status = $status, content = NULL,
      carried_out_at = CASE WHEN $status = 'carried_out' THEN $now ELSE carried_out_at END
    WHERE id = $id AND status IN ('waiting', 'approved')`,
})
export const storeApproval = statement('approvals.approve', {
  takes: { id: 'text', by: 'text', now: 'timestamptz' },
  returns: 'count',
  sql: `UPDATE approval_proposals SET status = 'approved', decided_by = $by, decided_at = $now
    WHERE id = $id AND status = 'waiting'`,
})
export const storeRejection = statement('approvals.reject', {
  takes: { id: 'text', by: 'text', now: 'timestamptz' },
  returns: 'count',
  sql: `UPDATE approval_proposals SET status = 'rejected', content = NULL, decided_by = $by, decided_at = $now
    WHERE id = $id AND status = 'waiting'`,
})

/** Closes proposals that have expired, deletes their content and returns them. */
export const expireProposals = statement('approvals.expire', {
  takes: { now: 'timestamptz' },
  returns: { id: 'text', operation: 'text' },
  sql: `UPDATE approval_proposals SET status = 'expired', content = NULL
    WHERE status IN ('waiting', 'approved') AND expires_at <= $now RETURNING id, operation`,
})
// Personal data

/** SQL condition: the account proposed or decided it, or it is about the account or one of the agents. */
const concerns = '($account IN (account_id, decided_by) OR subject_ids && ($agents || $account))'
export const proposalInventory = statement('approvals.inventory', {
  takes: { account: 'text?', agents: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?', until: 'timestamptz?' },
  sql: `SELECT count(*)::int AS n, min(created_at) AS since, max(expires_at) AS until FROM approval_proposals WHERE ${concerns}`,
})
export const proposalIdsOf = statement('approvals.ids-of', {
  takes: { account: 'text?', agents: 'text[]' },
  returns: { id: 'text' },
  sql: `SELECT id FROM approval_proposals WHERE ${concerns} ORDER BY id`,
})
export const deleteProposals = statement('approvals.delete', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: 'DELETE FROM approval_proposals WHERE id = ANY($ids)',
})
/** Searches each column separately, and by id. */
export const proposalResidue = statement('approvals.residue', {
  takes: { account: 'text?', agents: 'text[]', ids: 'text[]' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM approval_proposals p
    WHERE p.account_id = $account OR p.decided_by = $account OR p.id = ANY($ids)
      OR EXISTS (SELECT FROM unnest(p.subject_ids) AS s(id) WHERE s.id = $account OR s.id = ANY($agents))`,
})

export const sealedProposals: SealedColumn = {
  table: 'approval_proposals',
  id: 'id',
  column: 'content',
  purpose: sealedPurposes.proposals,
}
