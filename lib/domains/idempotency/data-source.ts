import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureScope, ItemId, Subject } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import { erasedStatus, replyRetention, withdrawnStatus } from './records.ts'

/** The stored responses that an erasure selects: those of a subject, and those that name a single unit or skill. */
interface SelectedResponses {
  agents: readonly string[]
  accounts: readonly string[]
  records: readonly string[]
}
const accountsOf = ({ account }: Subject): string[] => (account === null ? [] : [account])
function selectedResponses(scope: ErasureScope): SelectedResponses {
  if ('subject' in scope) return { agents: scope.subject.agents, accounts: accountsOf(scope.subject), records: [] }
  const record = 'unit' in scope ? scope.unit : 'skill' in scope ? scope.skill : undefined
  return { agents: [], accounts: [], records: record === undefined ? [] : [record] }
}
const isOfSubject = ({ agents, accounts }: SelectedResponses): boolean => agents.length + accounts.length > 0
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

/** Responses that name single records. One lookup per id: the index is fast for a single id, but compares each with each for an array. */
const naming = `SELECT r.scope || ':' || r.key AS id FROM unnest($1::text[]) AS i(id)
  JOIN idempotency_records r ON r.ids @> ARRAY[i.id] WHERE r.status <> ${erasedStatus}
  UNION SELECT r.scope || ':' || r.key FROM idempotency_records r WHERE r.resource_id = ANY($1::text[]) AND r.status <> ${erasedStatus}`

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
 * Deletes the subject's own responses. Others' responses lose their content but stay as markers for the 24 hours, so that a late retry
 * does not repeat the operation. A requester of something else whose response named the record is not told of its erasure.
 */
async function erase(selected: SelectedResponses, items: readonly ItemId[], tx: Transaction): Promise<number> {
  const { agents, accounts, records } = selected
  const [scopes, keys] = pairsOf(items)
  const own = isOwn.replaceAll('$1', '$3').replaceAll('$2', '$4')
  const deleted = isOfSubject(selected)
    ? await queryWithin(
        tx,
        'erase-own-answers',
        `DELETE FROM idempotency_records r USING ${picked} WHERE r.scope = i.scope AND r.key = i.key AND ${own} RETURNING 1`,
        [scopes, keys, agents, accounts],
      )
    : []
  const withdrawn = await queryWithin(
    tx,
    'withdraw-answers-about',
    `UPDATE idempotency_records r SET body = NULL, headers = '{}', ids = '{}',
       status = CASE WHEN r.resource_id = ANY($4::text[])
           OR EXISTS (SELECT FROM agent_records m WHERE m.id = r.resource_id AND m.agent_id = ANY($3::text[]))
         THEN ${erasedStatus} ELSE ${withdrawnStatus} END
     FROM ${picked} WHERE r.scope = i.scope AND r.key = i.key AND r.status <> ${erasedStatus} RETURNING 1`,
    [scopes, keys, agents, records],
  )
  return deleted.length + withdrawn.length
}

/** Counts planned items that still have content, and responses to the subject's requests that no plan listed. */
const countOfItems = `SELECT count(*)::int AS n FROM ${picked} CROSS JOIN LATERAL (
  SELECT body, headers, ids FROM idempotency_records r WHERE r.scope = i.scope AND r.key = i.key LIMIT 1) AS r
  WHERE r.body IS NOT NULL OR r.ids <> '{}' OR r.headers <> '{}'`
const countOwn = `SELECT count(*)::int AS n FROM idempotency_records r WHERE ${isOwn}`

/** Searches the content of responses, not the columns that `erase` uses. */
const countContaining =
  'SELECT count(*)::int AS n FROM idempotency_records WHERE ids_in_answer(body, headers) @> ARRAY[$1]'

const residueOf = (db: Database, selected: SelectedResponses, items: readonly ItemId[]): Promise<number> =>
  snapshot(db, { enable_seqscan: 'off', jit: 'off' }, async (ask) => {
    let n = 0
    const add = async (text: string, values: readonly unknown[]) => {
      n += (await ask<{ n: number }>(text, values))[0]?.n ?? 0
    }
    if (isOfSubject(selected)) await add(countOwn, [selected.agents, selected.accounts])
    if (items.length > 0) await add(countOfItems, pairsOf(items))
    for (const record of selected.records) await add(countContaining, [record])
    return n
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
    const selected = selectedResponses(scope)
    const items: ItemId[] = []
    if (isOfSubject(selected)) {
      // An earlier data source may have disabled sequential scans.
      await queryWithin(tx, 'all-answers', "SELECT set_config('enable_seqscan', 'on', true)", [])
      const values = [selected.agents, selected.accounts]
      items.push(...(await queryWithin<{ id: string }>(tx, 'plan-answers', planned, values)).map(({ id }) => id))
    }
    if (selected.records.length > 0) {
      const rows = await queryWithin<{ id: string }>(tx, 'plan-answers-naming', naming, [selected.records])
      items.push(...rows.map(({ id }) => id))
    }
    return { items: items.sort(), held: {} }
  },
  erase: (scope, items, tx) => erase(selectedResponses(scope), items, tx),
  async residue(scope, items) {
    const selected = selectedResponses(scope)
    if (!isOfSubject(selected) && selected.records.length + items.length === 0) return 0
    return residueOf(db, selected, items)
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
