-- A domain reads another domain's rows only through these views (see lib/domains/tables.test.ts). They contain the columns that other
-- domains need in one statement with their own tables.

-- Agents: owner, limits, status, restriction, and membership.
CREATE VIEW agent_states AS
  SELECT id, organisation_id, owner_id, tier, reads_per_minute, writes_per_minute, status, restricted_at, suspended_at, region, clade_id,
    grimoire_days, network, shares_window, created_at
  FROM agents;

-- Accounts and organisations.
CREATE VIEW account_states AS SELECT id, organisation_id, restricted_at, suspended_at, created_at FROM accounts;
CREATE VIEW organisation_names AS SELECT id, name FROM organisations;
CREATE VIEW organisation_quotas AS SELECT id, quota_bytes, quota_rows FROM organisations;

CREATE VIEW project_organisations AS SELECT id, organisation_id FROM projects;
CREATE VIEW agent_keyrings AS SELECT agent_id, key_id FROM keyrings;

-- Erasures: ids that must not be used again, the runs with their scope, and the log of deletions.
CREATE VIEW erased_records AS SELECT id, receipt_id FROM erased_ids;
CREATE VIEW erasure_scopes AS
  SELECT id, part_kind, part_id, project_id, conversation_id, state, receipt_id, audit_id, created_at FROM erasure_runs;

-- security_invoker: both tables are append-only, and a view with its owner's rights could be used to change them.
CREATE VIEW deletion_records WITH (security_invoker = true) AS
  SELECT "timestamp", requested_by, scope, results FROM deletion_audit_log;
CREATE VIEW audited_deletions WITH (security_invoker = true) AS
  SELECT at, agent_id, resource_type, resource_id, details FROM audit_entries WHERE action = 'delete';

-- The same rows as before, read through the views of agents and accounts.
CREATE OR REPLACE VIEW name_bearers AS
  SELECT b.kind, b.id, b.organisation_id, b.registered_at, f.raised_at AS fenced_at FROM (
      SELECT 'agent' AS kind, id, organisation_id, created_at AS registered_at FROM agent_states
      UNION ALL SELECT 'account', id, organisation_id, created_at FROM account_states) AS b
    LEFT JOIN write_fences f ON f.kind = b.kind AND f.id = b.id
  UNION ALL SELECT f.kind, f.id, f.organisation_id, f.registered_at, f.raised_at FROM write_fences f
    WHERE f.registered_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM agent_states a WHERE f.kind = 'agent' AND a.id = f.id)
      AND NOT EXISTS (SELECT FROM account_states a WHERE f.kind = 'account' AND a.id = f.id);
CREATE OR REPLACE VIEW restricted_participants AS
  SELECT p.id, p.project_id FROM project_participants p LEFT JOIN account_states a ON a.id = p.account_id
  WHERE p.restricted_at IS NOT NULL OR a.restricted_at IS NOT NULL;
