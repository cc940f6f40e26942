import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureScope, ItemId, Subject } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import { erasedStatus, replyRetention, withdrawnStatus } from './records.ts'

const erasedOf = (scope: ErasureScope): string | undefined =>
  'unit' in scope ? scope.unit : 'skill' in scope ? scope.skill : undefined

const accountsOf = ({ account }: Subject): string[] => (account === null ? [] : [account])
/**
 * Whether the response is about an agent. The id is not enough: agents choose their ids, so it could match an ordinary word in other
 * responses.
 */
const isAboutAgent = "r.body->'data'->>'agent_id' = r.resource_id"
/**
 * Responses to the subject's own requests: with a token of its agents ($1), or signed in ($2); and responses that created one of its
 * agents, by any requester.
 */
const isOwn = `(r.scope = ANY(ARRAY(SELECT 'token:' || b.id FROM token_bearers b WHERE b.agent_id = ANY($1::text[])))
  OR r.scope = ANY(ARRAY(SELECT 'account:' || a FROM unnest($2::text[]) AS a)) 
  OR (r.resource_id = ANY($1::text[]) AND ${isAboutAgent})
  OR (r.resource_id = ANY($2::text[]) AND (${isAboutAgent}) IS NOT TRUE))`
/**
 * Also responses to others' requests about the subject's units and skills. Starts from the responses, which cover one day, however many
 * units exist.
 */
const planned = `WITH mine AS MATERIALIZED (SELECT id FROM agent_records WHERE agent_id = ANY($1::text[]))
  SELECT r.scope || ':' || r.key AS id FROM idempotency_records r WHERE ${isOwn}
  UNION SELECT r.scope || ':' || r.key FROM idempotency_records r CROSS JOIN LATERAL unnest(r.ids) AS named(id) JOIN mine m ON m.id = named.id
    WHERE r.status <> ${erasedStatus}
  UNION SELECT r.scope || ':' || r.key FROM idempotency_records r JOIN mine m ON m.id = r.resource_id WHERE r.status <> ${erasedStatus}`

/** Scopes and keys of items. A key is a hash and contains no colon. */
const pairsOf = (items: readonly ItemId[]): [string[], string[]] => {
  const cuts = items.map((item) => item.lastIndexOf(':'))
  return [
    items.map((item, index) => item.slice(0, cuts[index])),
    items.map((item, index) => item.slice((cuts[index] ?? 0) + 1)),
  ]
}
const picked = `unnest($1::text[], $2::text[]) AS i(scope, key)`

/**
 * Deletes the subject's own responses. Others' responses lose their content but stay as markers, so that a late retry does not repeat the
 * operation.
 */
async function eraseOf(subject: Subject, items: readonly ItemId[], tx: Transaction): Promise<number> {
  const [scopes, keys] = pairsOf(items)
  const own = isOwn.replaceAll('$1', '$3').replaceAll('$2', '$4')
  const values = [scopes, keys, subject.agents, accountsOf(subject)]
  const gone = await queryWithin(
    tx,
    'erase-own-answers',
    `DELETE FROM idempotency_records r USING ${picked} WHERE r.scope = i.scope AND r.key = i.key AND ${own} RETURNING 1`,
    values,
  )
  const withdrawn = await queryWithin(
    tx,
    'withdraw-answers-about',
    `UPDATE idempotency_records r SET body = NULL, headers = '{}', ids = '{}',
       status = CASE WHEN EXISTS (SELECT FROM agent_records m WHERE m.id = r.resource_id AND m.agent_id = ANY($3::text[]))
         THEN ${erasedStatus} ELSE ${withdrawnStatus} END
     FROM ${picked} WHERE r.scope = i.scope AND r.key = i.key AND r.status <> ${erasedStatus} RETURNING 1`,
    values.slice(0, 3),
  )
  return gone.length + withdrawn.length
}

/** Counts planned items that still have content, and responses to the subject's requests that no plan listed. */
const countOfItems = `SELECT count(*)::int AS n FROM ${picked} CROSS JOIN LATERAL (
  SELECT body, headers, ids FROM idempotency_records r WHERE r.scope = i.scope AND r.key = i.key LIMIT 1) AS r
  WHERE r.body IS NOT NULL OR r.ids <> '{}' OR r.headers <> '{}'`
const countOwn = `SELECT count(*)::int AS n FROM idempotency_records r WHERE ${isOwn}`

const residueOf = (db: Database, subject: Subject, items: readonly ItemId[]): Promise<number> =>
  snapshot(db, { enable_seqscan: 'off', jit: 'off' }, async (ask) => {
    const [own] = await ask<{ n: number }>(countOwn, [subject.agents, accountsOf(subject)])
    const [left] = await ask<{ n: number }>(countOfItems, pairsOf(items))
    return (own?.n ?? 0) + (left?.n ?? 0)
  })

/**
 * Stored responses contain response content, such as a contributed unit or skill, and ids. A response that names erased data is not
 * retained.
 */
export const idempotencyDataSource = (db: Database): DataSource => ({
  name: 'idempotency.answers',
  store: 'postgresql',
  stage: 'derived',
  what: 'stored answers to repeated requests',
  purpose: 'answering a repeated request as the first one, so that nothing is done twice',
  kept: '24 hours',
  tables: ['idempotency_records'],
  async inventory(subject) {
    const [row] = await db.query<{ n: number; since: Date | null; until: Date | null }>(
      'answers-held',
      `SELECT count(*)::int AS n, min(r.created_at) AS since, max(r.created_at) + $3::float8 * interval '1 ms' AS until
       FROM idempotency_records r WHERE ${isOwn}`,
      [subject.agents, accountsOf(subject), replyRetention],
    )
    return { count: row?.n ?? 0, since: row?.since ?? null, until: row?.until ?? null }
  },
  async plan(scope, tx) {
    if ('subject' in scope) {
      const { agents } = scope.subject
      // An earlier data source may have disabled sequential scans.
      await queryWithin(tx, 'all-answers', "SELECT set_config('enable_seqscan', 'on', true)", [])
      const rows = await queryWithin<{ id: string }>(tx, 'plan-answers', planned, [agents, accountsOf(scope.subject)])
      return { items: rows.map(({ id }) => id).sort(), held: {} }
    }
    const id = erasedOf(scope)
    if (id === undefined) return { items: [], held: {} }
    const records = await tx.idempotencyRecord.findMany({
      where: { OR: [{ resourceId: id }, { ids: { has: id } }], status: { not: erasedStatus } },
      select: { scope: true, key: true },
    })
    return { items: records.map(({ scope: whose, key }) => `${whose}:${key}`).sort(), held: {} }
  },
  /**
   * Deletes content but keeps a marker for the 24 hours, so that a late retry does not store the content again. A requester of something
   * else whose response named the record is not told of its erasure.
   */
  async erase(scope, plan, tx) {
    if ('subject' in scope) return eraseOf(scope.subject, plan, tx)
    const id = erasedOf(scope)
    if (id === undefined) return 0
    return withdrawNaming(tx, [id])
  },
  /** Searches the content of responses, not the columns that erase uses. */
  async residue(scope, plan) {
    if ('subject' in scope) return residueOf(db, scope.subject, plan)
    const id = erasedOf(scope)
    if (id === undefined) return 0
    const [row] = await db.query<{ n: number }>(
      'idempotency-residue',
      'SELECT count(*)::int AS n FROM idempotency_records WHERE ids_in_answer(body, headers) @> ARRAY[$1]',
      [id],
    )
    return row?.n ?? 0
  },
})

/** One lookup per id: the index is fast for a single id, but compares each with each for an array. */
const withdrawing = `UPDATE idempotency_records r
  SET status = CASE WHEN r.resource_id = ANY($1::text[]) THEN ${erasedStatus} ELSE ${withdrawnStatus} END, body = NULL, headers = '{}', ids = '{}'
  FROM (SELECT DISTINCT found.scope, found.key FROM unnest($1::text[]) AS i(id) CROSS JOIN LATERAL (
      SELECT a.scope, a.key FROM idempotency_records a WHERE a.ids @> ARRAY[i.id]
      UNION ALL SELECT a.scope, a.key FROM idempotency_records a WHERE a.resource_id = i.id) AS found) AS f
  WHERE r.scope = f.scope AND r.key = f.key AND r.status <> ${erasedStatus} RETURNING 1`

/** Withdraws responses that name units or skills after their erasure. Returns the number of responses. */
export const withdrawNaming = async (tx: Transaction, ids: readonly string[]): Promise<number> =>
  (await queryWithin(tx, 'withdraw-naming', withdrawing, [ids])).length
