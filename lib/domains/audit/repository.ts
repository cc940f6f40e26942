import type { SqlRow, Statement, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { accountRows } from '#lib/stores/postgres/personal-tables.ts'
import { type Queryable, statement, statementRunner, typed, type ValuesOf } from '#lib/stores/postgres/statement.ts'

export const auditColumns = 'id, at, action, agent_id, resource_type, resource_id, ip, details'

/** Inserts a group of entries in one round trip. On the hot path of reads and writes. */
export const insertEntries = statement('audit.insert-entries', {
  takes: { entries: 'json' },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO audit_entries (${auditColumns})
    SELECT ${auditColumns} FROM json_to_recordset($entries)
    AS e(id uuid, at timestamptz, action text, agent_id text, resource_type text, resource_id text, ip text, details jsonb)`,
})

const texts = new Map<string, { withEntry: string; plain: string }>()
function textsOf({ name, ctes, values }: Statement) {
  const known = texts.get(name)
  if (known) return known
  const at = (offset: number) => `$${values.length + offset}`
  const made = {
    plain: `WITH ${ctes} SELECT * FROM done`,
    withEntry: `WITH ${ctes}, entry AS (INSERT INTO audit_entries (${auditColumns})
      SELECT ${at(1)}::uuid, ${at(2)}::timestamptz, ${at(3)}, ${at(4)}, ${at(5)}, done.resource_id, ${at(6)}, ${at(7)}::jsonb FROM done)
      SELECT * FROM done`,
  }
  texts.set(name, made)
  return made
}
/**
 * Runs the statement of another domain. `entry` has the values of an audit entry, in the order of the columns and without the resource
 * id, which the same round trip inserts if `done` returned a row. Without a transaction, the statement is prepared under its name.
 */
export async function runStatement(
  db: Database,
  tx: Transaction | undefined,
  given: Statement,
  entry: readonly unknown[] | undefined,
): Promise<SqlRow | undefined> {
  const { plain, withEntry } = textsOf(given)
  const { rows } = await statementRunner(tx ?? db)(
    tx ? undefined : given.name,
    entry ? withEntry : plain,
    entry ? [...given.values, ...entry] : given.values,
  )
  return rows[0]
}

/** Deletes entries before the time, and none that are younger than 90 days by the database clock. Returns how many it removed. */
export const purgeEntries = statement('audit.purge', {
  takes: { before: 'timestamptz' },
  returns: { removed: 'int4' },
  isPrepared: true,
  sql: 'SELECT audit_purge($before) AS removed',
})

/** Creates the daily partitions of the next days. */
export const createPartitions = statement('audit.create-partitions', {
  takes: { days: 'int4' },
  returns: {},
  isPrepared: true,
  sql: 'SELECT FROM audit_ensure_partitions($days)',
})

const searched = {
  from: 'timestamptz',
  before: 'timestamptz?',
  to: 'timestamptz?',
  own: 'text[]?',
  agent_id: 'text?',
  action: 'text?',
  resource_type: 'text?',
  resource_id: 'text?',
  q: 'text?',
  reads: 'bool?',
  cursor_at: 'timestamptz?',
  cursor_id: 'uuid?',
} as const
/**
 * What a search of the log compares; null: no condition. `before` is exclusive, `own` lists actors, `q` is text in the resource id or the
 * details, and the cursor selects the entries after this one in the order of the log.
 */
export type EntrySearch = ValuesOf<typeof searched>
const conditions = {
  before: 'at < $before',
  to: 'at <= $to',
  own: 'agent_id = ANY($own)',
  agent_id: 'agent_id = $agent_id',
  action: 'action = $action',
  resource_type: 'resource_type = $resource_type',
  resource_id: 'resource_id = $resource_id',
  q: '(strpos(lower(resource_id), lower($q)) > 0 OR strpos(lower(details::text), lower($q)) > 0)',
  reads: "($reads OR action <> 'read')",
  cursor_at: 'at <= $cursor_at AND (at, id) < ($cursor_at, $cursor_id)',
} as const
type Condition = keyof typeof conditions
const allConditions = Object.keys(conditions) as Condition[]
const conditionsOf = (search: EntrySearch): Condition[] => allConditions.filter((name) => search[name] !== null)
/** Only the conditions that apply, so that the planner chooses the best index for each combination. */
const matches = (given: readonly Condition[]): string =>
  ['at >= $from', ...given.map((name) => conditions[name])].join(' AND ')
const variants: readonly (readonly Condition[])[] = [[], ...allConditions.map((one) => [one]), allConditions]

/** A row of the log, with the transaction that wrote it. */
const entryRow = {
  id: 'uuid',
  at: 'timestamptz',
  action: 'text',
  agent_id: 'text',
  resource_type: 'text',
  resource_id: 'text',
  ip: 'text',
  details: typed<Record<string, unknown>>('jsonb'),
  transaction: 'text',
} as const

const searchEntries = statement('audit.search', {
  takes: { ...searched, limit: 'int4' },
  returns: entryRow,
  variants,
  sql: (given: readonly Condition[]) =>
    `SELECT ${auditColumns}, xmin::text AS transaction FROM audit_entries WHERE ${matches(given)} ORDER BY at DESC, id DESC LIMIT $limit`,
})
/** The newest matching entries. */
export const entriesOf = (on: Queryable, search: EntrySearch, limit: number) =>
  searchEntries(on, { ...search, limit }, conditionsOf(search))
export type EntryRow = Awaited<ReturnType<typeof entriesOf>>[number]

const kindsAt = statement('audit.kinds-at', {
  takes: searched,
  returns: { ...entryRow, count: 'int4' },
  variants,
  sql: (given: readonly Condition[]) => `SELECT ${auditColumns}, transaction, n AS count FROM (
      SELECT *, count(*) OVER (PARTITION BY kind)::int AS n, row_number() OVER (PARTITION BY kind ORDER BY id) AS nth
      FROM (SELECT ${auditColumns}, xmin::text AS transaction,
          concat_ws(' ', xmin, agent_id, action, resource_type, details->>'operation', details->>'event') AS kind
        FROM audit_entries WHERE ${matches(given)}) AS matching) AS counted
    WHERE nth = 1 ORDER BY id DESC LIMIT 100`,
})
/** The first matching entry of each kind, and how many there are. `search` names one moment. */
export const kindsOf = (on: Queryable, search: EntrySearch) => kindsAt(on, search, conditionsOf(search))

const countMatching = statement('audit.count', {
  takes: { ...searched, max: 'int4' },
  returns: { n: 'int4' },
  variants,
  sql: (given: readonly Condition[]) =>
    `SELECT count(*)::int AS n FROM (SELECT 1 FROM audit_entries WHERE ${matches(given)} LIMIT $max) AS c`,
})
/** The number of matching entries; counts at most `max`. */
export const countEntries = async (on: Queryable, search: EntrySearch, max: number): Promise<number> =>
  (await countMatching(on, { ...search, max }, conditionsOf(search)))[0]?.n ?? 0

const explainMatching = statement('audit.explain', {
  takes: searched,
  returns: { 'QUERY PLAN': typed<{ Plan: { 'Plan Rows': number } }[]>('json') },
  variants,
  sql: (given: readonly Condition[]) => `EXPLAIN (FORMAT JSON) SELECT FROM audit_entries WHERE ${matches(given)}`,
})
/** The planner's estimate of the number of matching entries, from the size of each partition and sampled columns. */
export async function estimateEntries(on: Queryable, search: EntrySearch): Promise<number | null> {
  const [row] = await explainMatching(on, search, conditionsOf(search))
  return row?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? null
}

/** Entries of these actors that a subject can still see. */
export const entriesOfActors = statement('audit.inventory', {
  takes: { actors: 'text[]', from: 'timestamptz' },
  returns: { count: 'int4', since: 'timestamptz?', last: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS count, min(at) AS since, max(at) AS last FROM audit_entries
    WHERE agent_id = ANY($actors) AND at >= $from`,
})

/** How often these operations succeeded among the newest entries, and the last time. Only success writes an entry. */
export const countUses = statement('audit.uses', {
  takes: { operations: 'text[]', from: 'timestamptz', max: 'int4' },
  returns: { uses: 'int4', last: 'timestamptz?' },
  sql: `SELECT count(*)::int AS uses, max(at) AS last
    FROM (SELECT at, details FROM audit_entries WHERE at >= $from ORDER BY at DESC, id DESC LIMIT $max) AS newest
    WHERE details->>'operation' = ANY($operations)`,
})

/** What the application's current role may do to the table and every daily partition. */
export const rightsToEntries = statement('audit.rights', {
  takes: {},
  returns: { tables: 'int4', writable: 'int4', readable: 'bool', owned: 'bool' },
  sql: `SELECT count(*)::int AS tables,
      count(*) FILTER (WHERE has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE') OR has_any_column_privilege(c.oid, 'UPDATE'))::int AS writable,
      has_table_privilege('audit_entries', 'INSERT') AND has_table_privilege('audit_entries', 'SELECT') AS readable,
      bool_or(pg_has_role(c.relowner, 'USAGE')) AS owned
    FROM pg_class c WHERE c.oid = 'audit_entries'::regclass
      OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'audit_entries'::regclass)`,
})

export const oldestEntry = statement('audit.oldest', {
  takes: {},
  returns: { oldest: 'timestamptz' },
  sql: 'SELECT at AS oldest FROM audit_entries ORDER BY at, id LIMIT 1',
})

/** The current names of people and agents by id, from the views of their domains. */
export const namesOfIds = statement('audit.names', {
  takes: { ids: 'text[]' },
  returns: { id: 'text', name: 'text' },
  sql: `SELECT id, name FROM account_names WHERE id = ANY($ids)
    UNION ALL SELECT id, name FROM agent_names WHERE id = ANY($ids) AND name IS NOT NULL`,
})

/** Agents whose name or id contains the text. `pattern` is for ILIKE. */
export const agentsMatching = statement('audit.agents-matching', {
  takes: { pattern: 'text', max: 'int4' },
  returns: { id: 'text', name: 'text?' },
  sql: `SELECT id, name FROM agent_names WHERE name ILIKE $pattern OR id ILIKE $pattern
    ORDER BY name NULLS LAST, id LIMIT $max`,
})

/** Who caused the events of a privacy request, while the log retains their entries. */
export const actorsOfRequest = statement('audit.actors-of-request', {
  takes: { id: 'text', from: 'timestamptz' },
  returns: { at: 'timestamptz', event: 'text', actor: 'text' },
  sql: `SELECT at, details->>'event' AS event, agent_id AS actor FROM audit_entries
    WHERE resource_id = $id AND resource_type = 'request' AND at >= $from AND details ? 'event'`,
})

/** Serializes changes of an account's searches until the end of the transaction. */
export const lockSearches = statement('audit.lock-searches', {
  takes: { account: 'text' },
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('saved-searches:' || $account))::text AS lock`,
})

export const savedSearchRows = accountRows({ table: 'saved_searches', id: 'id', at: 'created_at' })

/**
 * The newest entries of people. Leaves out reads, and sign-ins, sign-outs and confirmed passwords, which change only a session. Looks at
 * the newest `looked` entries only, because no index leaves out reads.
 */
export const newestActs = statement('audit.newest-acts', {
  takes: { from: 'timestamptz', looked: 'int4', limit: 'int4' },
  returns: entryRow,
  sql: `SELECT id, at, action, agent_id, resource_type, resource_id, ip, details, transaction
    FROM (SELECT id, at, action, agent_id, resource_type, resource_id, ip, details, xmin::text AS transaction FROM audit_entries WHERE at > $from
      ORDER BY at DESC, id DESC LIMIT $looked) AS e
    WHERE action NOT IN ('read', 'validate') AND starts_with(agent_id, 'user:')
      AND NOT (action = 'update' AND resource_type = 'session')
    ORDER BY at DESC, id DESC LIMIT $limit`,
})

/** Reads and exports of these resources by others, by actor and kind of resource. */
export const readersOf = statement('audit.readers-of', {
  takes: { resources: 'text[]', own: 'text[]', from: 'timestamptz', max: 'int4' },
  returns: { actor: 'text', action: 'text', type: 'text', count: 'int4', last: 'timestamptz' },
  sql: `SELECT agent_id AS actor, action, resource_type AS type, count(*)::int AS count, max(at) AS last FROM audit_entries
    WHERE resource_id = ANY($resources) AND at >= $from AND action IN ('read', 'export') AND NOT agent_id = ANY($own)
    GROUP BY 1, 2, 3 ORDER BY last DESC, 1, 2, 3 LIMIT $max`,
})

/** The newest changes of these resources, without those of reputation, which every vote causes. */
export const changesOf = statement('audit.changes-of', {
  takes: { resources: 'text[]', from: 'timestamptz', limit: 'int4' },
  returns: entryRow,
  sql: `SELECT ${auditColumns}, xmin::text AS transaction FROM audit_entries
    WHERE resource_id = ANY($resources) AND at >= $from AND action <> 'read' AND resource_type <> 'reputation' ORDER BY at DESC, id DESC LIMIT $limit`,
})
