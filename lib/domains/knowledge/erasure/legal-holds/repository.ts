import { statement } from '#lib/stores/postgres/statement.ts'

/** Prevents changes of holds until the end of the transaction, after waiting for a running change. */
export const lockHoldsShared = statement('knowledge.lock-holds-shared', {
  takes: {},
  returns: 'count',
  sql: "SELECT pg_advisory_xact_lock_shared(hashtext('legal_holds'))",
})
/** A legal hold on the record, one of the agents or the account of one of them. */
export const holdOfRecord = statement('knowledge.hold-of-record', {
  takes: { kind: 'text', id: 'text', agents: 'text[]', now: 'timestamptz' },
  returns: { id: 'text' },
  sql: `SELECT id FROM holds_in_force
    WHERE ((kind = $kind AND target_id = $id) OR (kind IN ('agent', 'account') AND target_id = ANY($agents))
        OR (kind = 'account' AND target_id IN (SELECT owner_id FROM agent_owners WHERE id = ANY($agents))))
      AND (expires_at IS NULL OR expires_at > $now) ORDER BY id LIMIT 1`,
})
/** Experts named in any version of an SOP. */
export const expertsOfVersions = statement('knowledge.experts-of-versions', {
  takes: { unit: 'text' },
  returns: { expert: 'text' },
  sql: `SELECT DISTINCT document->'source'->>'expert_id' AS expert
    FROM sop_versions WHERE unit_id = $unit AND document->'source'->>'expert_id' IS NOT NULL`,
})
