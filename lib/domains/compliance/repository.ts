import { statement } from '#lib/stores/postgres/statement.ts'

/**
 * Deletions in the audit log without a row in the deletion log, by kind. A deletion by an operation needs a row with its time, resource
 * and count. A deletion by a job needs a row with its time, by the job or about the resource. `excluded` is a pattern for the erasures
 * among the jobs: their rows have the requester's id, and another check compares them. Tokens are excluded because they have no content.
 */
export const unloggedDeletions = statement('compliance.unlogged-deletions', {
  takes: { operations: 'text[]', counts: 'text[]', excluded: 'text', from: 'timestamptz' },
  returns: { kind: 'text', deletions: 'int4', missing: 'int4' },
  sql: `SELECT d.kind, count(*)::int AS deletions, count(*) FILTER (WHERE NOT d.is_logged)::int AS missing FROM (
    SELECT k.operation AS kind, EXISTS (SELECT FROM deletion_records l WHERE l."timestamp" = a.at
      AND l.scope->>a.resource_type = a.resource_id AND l.results ? k.counts) AS is_logged
    FROM audited_deletions a JOIN unnest($operations, $counts) AS k(operation, counts) ON a.details->>'operation' = k.operation
    WHERE a.at >= $from AND coalesce(a.details->>'count', '1') <> '0'
    UNION ALL
    SELECT a.agent_id || ' ' || a.resource_type, EXISTS (SELECT FROM deletion_records l WHERE l."timestamp" = a.at
      AND (l.requested_by = a.agent_id OR EXISTS (SELECT FROM jsonb_each_text(l.scope) AS s WHERE s.value = a.resource_id)))
    FROM audited_deletions a
    WHERE a.at >= $from AND starts_with(a.agent_id, 'system:') AND a.agent_id !~ $excluded AND a.resource_type <> 'token'
  ) AS d GROUP BY d.kind`,
})

/** Tables of all schemas, without those of PostgreSQL and of extensions. Tables outside \`public\` have their schema as prefix. */
export const allTables = statement('compliance.tables', {
  takes: {},
  returns: { name: 'text' },
  sql: `SELECT CASE n.nspname WHEN 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm', 'f') AND NOT c.relispartition
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`,
})

/** Replication and foreign servers, which could copy rows out of this database. */
export const outgoingConnections = statement('compliance.outgoing', {
  takes: {},
  returns: { publications: 'int4', subscriptions: 'int4', foreign_servers: 'int4' },
  sql: `SELECT (SELECT count(*)::int FROM pg_publication) AS publications,
    (SELECT count(oid)::int FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())) AS subscriptions,
    (SELECT count(*)::int FROM pg_foreign_server) AS foreign_servers`,
})
