import type { DataHolder, Subject } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** As payloads name the subject: its ids, and a person as the audit log calls them. */
const namesOf = ({ account, agents }: Subject): string[] => [
  ...agents,
  ...(account === null ? [] : [account, `user:${account}`]),
]

/** Jobs are enqueued with flat objects of ids and counts ({@link enqueue}); the parts of a key are set apart by colons. */
const naming = `EXISTS (SELECT FROM json_each_text(CASE json_typeof(j.payload) WHEN 'object' THEN j.payload ELSE '{}' END) AS p
    WHERE p.value = ANY($1::text[])) OR string_to_array(j.key, ':') && $1::text[]`

/**
 * Jobs that wait, are retried or failed, and name the subject. One that is being run goes from the table too: what it writes meets the
 * write fence, and its own completion then finds no row, which the queue takes well.
 */
export const queueHolder = (db: Database): DataHolder => ({
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
      [namesOf(subject)],
    )
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const found = await tx.$queryRawUnsafe<{ id: string }[]>(
      `SELECT id::text FROM graphile_worker._private_jobs j WHERE ${naming}`,
      namesOf(scope.subject),
    )
    return { items: found.map(({ id }) => id).sort(), held: {} }
  },
  erase: (_scope, items, tx) =>
    tx.$executeRaw`DELETE FROM graphile_worker._private_jobs WHERE id = ANY(${[...items]}::text[]::bigint[])`,
  /** By the text of payload and key, wherever in them an id stands by itself. */
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const [row] = await db.query<{ n: number }>(
      'queue-residue',
      `SELECT count(*)::int AS n FROM graphile_worker._private_jobs j
       WHERE j.id = ANY($2::text[]::bigint[]) OR EXISTS (SELECT FROM unnest($1::text[]) AS s(name)
         WHERE position('"' || s.name || '"' IN j.payload::text) > 0 OR position(':' || s.name || ':' IN ':' || j.key || ':') > 0)`,
      [namesOf(scope.subject), items],
    )
    return row?.n ?? 0
  },
})
