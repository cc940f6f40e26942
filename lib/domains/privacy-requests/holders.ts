import type { DataHolder, Scope, Subject } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { subjectHash } from './requests.ts'
import { keptUntil } from './rules.ts'

const nobody: Subject = { account: null, agents: [] }
const subjectIn = (scope: Scope): Subject => ('subject' in scope ? scope.subject : nobody)
/** As the audit log names the person and the agents. */
const actorsOf = ({ account, agents }: Subject): string[] => [
  ...(account === null ? [] : [`user:${account}`]),
  ...agents,
]

/**
 * Requests are the proof that rights were answered: they stay for three years after closing, pseudonymous once the subject is erased:
 * kinds, states, times and counts, without names and words. The address of the one that is being carried out stays until its last
 * letter is handed over.
 */
export const requestHolder = (db: Database, subjectKey: () => Uint8Array): DataHolder => ({
  name: 'privacy.requests',
  store: 'postgresql',
  stage: 'account',
  what: 'names and words in privacy requests; their kinds, states and times stay, pseudonymous',
  purpose: 'to answer requests, and to show that they were answered',
  kept: '3 years after a request is closed',
  basis: 'legal obligation (GDPR art. 6(1)(c) with art. 5(2), 12)',
  tables: ['privacy_requests', 'privacy_request_parts', 'privacy_request_events', 'privacy_links'],

  async inventory({ account, agents }) {
    const [row] = await db.query<{ n: number; since: Date | null; closed: Date | null }>(
      'requests-inventory',
      `SELECT count(*)::int AS n, min(received_at) AS since, max(closed_at) AS closed FROM privacy_requests
       WHERE account_id = $1 OR agent_id = ANY($2::text[])`,
      [account, agents],
    )
    return { count: row?.n ?? 0, since: row?.since ?? null, until: row?.closed ? keptUntil(row.closed) : null }
  },

  async plan(scope, tx) {
    const { account, agents } = subjectIn(scope)
    const actors = actorsOf({ account, agents })
    const rows = await tx.$queryRaw<{ id: string }[]>`
      SELECT id FROM privacy_requests
      WHERE account_id = ${account} OR agent_id = ANY(${[...agents]}::text[]) OR filed_by = ANY(${actors}::text[]) OR assigned_to = ${account}
      ORDER BY id`
    return { items: rows.map(({ id }) => id), held: {} }
  },

  async erase(scope, items, tx) {
    const { account, agents } = subjectIn(scope)
    const ids = [...items]
    const actors = actorsOf({ account, agents })
    await tx.$queryRaw`SELECT 1 FROM privacy_requests WHERE id = ANY(${ids}::text[]) ORDER BY id FOR NO KEY UPDATE`
    // A request of somebody else's, which the subject filed or minded, loses the subject's name alone.
    const own = await tx.$queryRaw<{ id: string }[]>`
      SELECT id FROM privacy_requests
      WHERE id = ANY(${ids}::text[]) AND (account_id = ${account} OR agent_id = ANY(${[...agents]}::text[]))`
    const ownIds = own.map(({ id }) => id)
    await tx.$executeRaw`UPDATE privacy_request_events SET note = NULL WHERE request_id = ANY(${ownIds}::text[]) AND note IS NOT NULL`
    await tx.$executeRaw`UPDATE privacy_request_parts SET outcome = outcome - 'export' WHERE request_id = ANY(${ownIds}::text[]) AND outcome ? 'export'`
    await tx.privacyLink.deleteMany({ where: { requestId: { in: ownIds } } })
    await tx.$executeRaw`
      UPDATE privacy_requests SET account_id = NULL, agent_id = NULL, payload = NULL, version = version + 1,
        contact = CASE WHEN run_id IS NOT NULL AND closed_at IS NULL THEN contact END
      WHERE id = ANY(${ownIds}::text[])`
    await tx.$executeRaw`
      UPDATE privacy_requests SET filed_by = CASE WHEN filed_by = ANY(${actors}::text[]) THEN NULL ELSE filed_by END,
        assigned_to = nullif(assigned_to, ${account})
      WHERE id = ANY(${ids}::text[])`
    return ids.length
  },

  /** By the keyed hash of who they were about, and by the words that are left, and not by the columns that erase went by. */
  async residue(scope, items) {
    const { account, agents } = subjectIn(scope)
    const hashes = [
      ...(account === null ? [] : [subjectHash(subjectKey(), 'account', account)]),
      ...agents.map((id) => subjectHash(subjectKey(), 'agent', id)),
    ]
    const [row] = await db.query<{ n: number }>(
      'requests-residue',
      `SELECT ((SELECT count(*) FROM privacy_requests WHERE subject_key = ANY($1::text[])
           AND (account_id IS NOT NULL OR agent_id IS NOT NULL OR payload IS NOT NULL))
         + (SELECT count(*) FROM privacy_requests WHERE id = ANY($2::text[]) AND (filed_by = ANY($3::text[]) OR assigned_to = $4))
         + (SELECT count(*) FROM privacy_request_events e JOIN privacy_requests q ON q.id = e.request_id
            WHERE q.subject_key = ANY($1::text[]) AND e.note IS NOT NULL)
         + (SELECT count(*) FROM privacy_links l JOIN privacy_requests q ON q.id = l.request_id WHERE q.subject_key = ANY($1::text[])))::int AS n`,
      [hashes, items, actorsOf({ account, agents }), account],
    )
    return row?.n ?? 0
  },
})
