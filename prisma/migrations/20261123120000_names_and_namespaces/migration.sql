-- Ids of graph groups and threads that an admin lets an organisation claim: prefixes, or '*'.
ALTER TABLE "organisations" ADD COLUMN "store_namespaces" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[];

-- What an organisation may claim. Its own prefix, `<id>_`, is not listed. `is_any`: every id that is in no other organisation's namespace.
CREATE VIEW organisation_namespaces AS
  SELECT o.id, o.store_namespaces AS namespaces,
    '*' = ANY(o.store_namespaces)
      OR NOT EXISTS (SELECT FROM organisations x WHERE x.id <> o.id)
      OR (EXISTS (SELECT FROM accounts a WHERE a.organisation_id = o.id)
        AND NOT EXISTS (SELECT FROM accounts a WHERE a.organisation_id <> o.id)) AS is_any
  FROM organisations o;

-- The fence retains what decides which references mean its subject: verification needs it after the subject's row is deleted.
ALTER TABLE "write_fences" ADD COLUMN "organisation_id" TEXT, ADD COLUMN "registered_at" TIMESTAMPTZ(3);
UPDATE "write_fences" f SET organisation_id = a.organisation_id, registered_at = a.created_at FROM "agents" a WHERE f.kind = 'agent' AND a.id = f.id;
UPDATE "write_fences" f SET organisation_id = a.organisation_id, registered_at = a.created_at FROM "accounts" a WHERE f.kind = 'account' AND a.id = f.id;

-- Whom a name can mean: agents and accounts, with those that are being erased. What is written after the fence is not about the erased.
CREATE VIEW name_bearers AS
  SELECT b.kind, b.id, b.organisation_id, b.registered_at, f.raised_at AS fenced_at FROM (
      SELECT 'agent' AS kind, id, organisation_id, created_at AS registered_at FROM agents
      UNION ALL SELECT 'account', id, organisation_id, created_at FROM accounts) AS b
    LEFT JOIN write_fences f ON f.kind = b.kind AND f.id = b.id
  UNION ALL SELECT f.kind, f.id, f.organisation_id, f.registered_at, f.raised_at FROM write_fences f
    WHERE f.registered_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM agents a WHERE f.kind = 'agent' AND a.id = f.id)
      AND NOT EXISTS (SELECT FROM accounts a WHERE f.kind = 'account' AND a.id = f.id);

-- The compliance check compares deletions in the audit log with the deletion log.
CREATE INDEX audit_entries_deletions_idx ON audit_entries (at) WHERE action = 'delete';

-- Deletions that wrote only the audit log until now: the deletion log gets the rows that it lacks, as long as the audit log has them.
INSERT INTO deletion_audit_log (audit_id, "timestamp", requested_by, reason, scope, results)
  SELECT gen_random_uuid()::text, a.at, a.agent_id, CASE WHEN starts_with(a.agent_id, 'system:') THEN 'retention' ELSE 'user_request' END,
    jsonb_build_object(CASE WHEN k.operation = 'eraseSopVersion' THEN 'sop_version' ELSE a.resource_type END, a.resource_id)
      || CASE WHEN k.operation = 'eraseSopVersion' THEN jsonb_build_object('version', a.details->>'version') ELSE '{}' END,
    jsonb_build_object(k.counts, coalesce((a.details->>'count')::int, 1))
  FROM audit_entries a JOIN (VALUES
    ('deleteAgentDocument', 'agentDocumentsDeleted'), ('deleteChainReference', 'chainReferencesDeleted'),
    ('deleteGrimoireEntry', 'entriesDeleted'), ('deleteExport', 'exportsDeleted'), ('deleteAgentState', 'agentStatesDeleted'),
    ('eraseSopVersion', 'sopVersionsDeleted'), ('deleteSnapshot', 'snapshotsDeleted'), ('deleteLlmExchange', 'exchangesDeleted'), ('deleteAuditSearch', 'savedSearchesDeleted'),
    ('withdrawPerformanceCard', 'performanceCardsDeleted'), ('recallCladeShare', 'sharesRecalled'),
    ('system:snapshots.upkeep', 'snapshotsDeleted'), ('system:accounts.upkeep', 'accountsDeleted')
  ) AS k(operation, counts)
    ON coalesce(a.details->>'operation', CASE WHEN a.action = 'delete' THEN a.agent_id END) = k.operation
  WHERE coalesce(a.details->>'count', '1') <> '0';
