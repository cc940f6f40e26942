import type { DataSource, Subject } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/**
 * Matches jobs that contain the subject. Payloads are flat objects of ids and counts ({@link enqueue}). An agent's id occurs only as
 * `agentId`, never in a key: agents choose their ids, which may equal those of jobs, runs, requests or accounts. An account's id may
 * occur anywhere, also as `user:<account>`.
 */
const naming = `EXISTS (SELECT FROM json_each_text(CASE json_typeof(j.payload) WHEN 'object' THEN j.payload ELSE '{}' END) AS p
    WHERE CASE p.key WHEN 'agentId' THEN p.value = ANY($1::text[]) ELSE p.value IN ($2, 'user:' || $2) END)
  OR $2 = ANY(string_to_array(j.key, ':'))`
const valuesOf = ({ account, agents }: Subject): [string[], string | null] => [[...agents], account]

/**
 * The data source of jobs that are waiting, retried or failed and contain the subject. Running jobs are also deleted: the write fence
 * rejects what they write, and their completion finds no row, which the queue tolerates.
 */
export const queueDataSource = (db: Database): DataSource => ({
  name: 'queue.jobs',
  store: 'postgresql',
  stage: 'derived',
  what: 'jobs in the queue that name the subject, letters still to be written among them',
  purpose: 'to do later, and again after a failure, what was asked for',
  kept: 'until done; one that failed for good for 7 days',
  tables: ['graphile_worker._private_jobs'],
  async inventory(subject) {
    const [row] = await db.query<{ n: number; since: Date | null }>(
      'queue-inventory',
      `SELECT count(*)::int AS n, min(created_at) AS since FROM graphile_worker._private_jobs j WHERE ${naming}`,
      valuesOf(subject),
    )
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const found = await tx.$queryRawUnsafe<{ id: string }[]>(
      `SELECT id::text FROM graphile_worker._private_jobs j WHERE ${naming}`,
      ...valuesOf(scope.subject),
    )
    return { items: found.map(({ id }) => id).sort(), held: {} }
  },
  erase: (_scope, items, tx) =>
    tx.$executeRaw`DELETE FROM graphile_worker._private_jobs WHERE id = ANY(${[...items]}::text[]::bigint[])`,
  /** Searches members at any depth of the payload, and any part of the key. */
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const [row] = await db.query<{ n: number }>(
      'queue-residue',
      `SELECT count(*)::int AS n FROM graphile_worker._private_jobs j
       WHERE j.id = ANY($3::text[]::bigint[]) OR position(':' || $2 || ':' IN ':' || j.key || ':') > 0
         OR EXISTS (SELECT FROM jsonb_path_query(j.payload::jsonb, '$.** ? (@.type() == "object").keyvalue()') AS m
           WHERE CASE m->>'key' WHEN 'agentId' THEN m->>'value' = ANY($1::text[]) ELSE m->>'value' IN ($2, 'user:' || $2) END)`,
      [...valuesOf(scope.subject), items],
    )
    return row?.n ?? 0
  },
})
