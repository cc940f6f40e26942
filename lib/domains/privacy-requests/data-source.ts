import { closeAsObsolete } from '#lib/domains/privacy-requests/execution/erasure-start.ts'
import type { DataSource, ErasureScope, Subject } from '#lib/kernel/data-source.ts'
import type { PrivacyDeps } from './ports.ts'
import { lockedRequest, requestSubjectHash } from './requests.ts'
import { retainedUntil } from './rules.ts'
import { settle, systemWork } from './timeline.ts'

const nobody: Subject = { account: null, agents: [] }
const subjectIn = (scope: ErasureScope): Subject => ('subject' in scope ? scope.subject : nobody)
/** Returns the actor ids of the person and the agents as in the audit log. */
const actorsOf = ({ account, agents }: Subject): string[] => [
  ...(account === null ? [] : [`user:${account}`]),
  ...agents,
]

const hashesOf = (
  { subjectKey }: Pick<PrivacyDeps, 'subjectKey'>,
  { account, agents, participants = [] }: Subject,
): string[] => [
  ...(account === null ? [] : [requestSubjectHash(subjectKey(), 'account', account)]),
  ...agents.map((id) => requestSubjectHash(subjectKey(), 'agent', id)),
  ...participants.map((id) => requestSubjectHash(subjectKey(), 'participant', id)),
]

/** SQL condition: the request's own erasure is running, so its address is retained until the last email. */
const isBeingErased = 'run_id IS NOT NULL AND closed_at IS NULL'

/**
 * Privacy requests. They prove that rights were answered and are retained for some years after closing. When the
 * subject is erased they become pseudonymous: kinds, states, times and counts without names and texts.
 * Open requests of the subject are closed as moot, so that a restored backup cannot start them again. The request that
 * is being carried out keeps its address until its last email is sent.
 */
export const requestDataSource = (
  deps: Pick<PrivacyDeps, 'db' | 'pipeline' | 'subjectKey' | 'requestsYears'>,
): DataSource => ({
  name: 'privacy.requests',
  store: 'postgresql',
  stage: 'account',
  what: 'names and words in privacy requests; their kinds, states and times stay, pseudonymous',
  held: 'privacy requests: what was asked for, each step, what was said, and the sealed address for letters',
  purpose: 'to answer requests, and to show that they were answered',
  kept: `${deps.requestsYears} ${deps.requestsYears === 1 ? 'year' : 'years'} after a request is closed`,
  basis: 'legal obligation (GDPR art. 6(1)(c) with art. 5(2), 12)',
  tables: ['privacy_requests', 'privacy_request_parts', 'privacy_request_events', 'privacy_links'],

  async inventory({ account, agents, participants = [] }) {
    const [row] = await deps.db.query<{ n: number; since: Date | null; closed: Date | null }>(
      'requests-inventory',
      `SELECT count(*)::int AS n, min(received_at) AS since, max(closed_at) AS closed FROM privacy_requests
       WHERE account_id = $1 OR agent_id = ANY($2::text[]) OR participant_id = ANY($3::text[])`,
      [account, agents, participants],
    )
    return {
      count: row?.n ?? 0,
      since: row?.since ?? null,
      until: row?.closed ? retainedUntil(row.closed, deps.requestsYears) : null,
    }
  },

  async plan(scope, tx) {
    const subject = subjectIn(scope)
    const { account, agents, participants = [] } = subject
    const actors = actorsOf(subject)
    const hashes = hashesOf(deps, subject)
    const rows = await tx.$queryRaw<{ id: string }[]>`
      SELECT id FROM privacy_requests
      WHERE account_id = ${account} OR agent_id = ANY(${[...agents]}::text[]) OR participant_id = ANY(${[...participants]}::text[])
        OR filed_by = ANY(${actors}::text[]) OR assigned_to = ${account}
        OR (subject_key = ANY(${hashes}::text[]) AND (contact IS NOT NULL OR closed_at IS NULL) AND NOT (run_id IS NOT NULL AND closed_at IS NULL))
      ORDER BY id`
    return { items: rows.map(({ id }) => id), held: {} }
  },

  async erase(scope, items, tx) {
    const subject = subjectIn(scope)
    const { account, agents, participants = [] } = subject
    const ids = [...items]
    const actors = actorsOf(subject)
    const hashes = hashesOf(deps, subject)
    await tx.$queryRaw`SELECT 1 FROM privacy_requests WHERE id = ANY(${ids}::text[]) ORDER BY id FOR NO KEY UPDATE`
    // Requests of others that the subject filed or was assigned to only lose the subject's name.
    const own = await tx.$queryRaw<{ id: string; isMoot: boolean }[]>`
      SELECT id, run_id IS NULL AND closed_at IS NULL AS "isMoot" FROM privacy_requests
      WHERE id = ANY(${ids}::text[])
        AND (account_id = ${account} OR agent_id = ANY(${[...agents]}::text[]) OR participant_id = ANY(${[...participants]}::text[])
          OR subject_key = ANY(${hashes}::text[]))`
    const ownIds = own.map(({ id }) => id)
    const work = systemWork(tx, deps.pipeline.clock.now(), 'erasure')
    for (const { id, isMoot } of own) {
      const open = isMoot ? await lockedRequest(tx, id) : undefined
      if (open) await closeAsObsolete(work, open)
    }
    // No emails about the closed requests: the emails about the erasure itself report the outcome.
    work.told.clear()
    await settle(deps, work)
    await tx.$executeRaw`UPDATE privacy_request_events SET note = NULL WHERE request_id = ANY(${ownIds}::text[]) AND note IS NOT NULL`
    await tx.$executeRaw`UPDATE privacy_request_parts SET outcome = outcome - 'export' WHERE request_id = ANY(${ownIds}::text[]) AND outcome ? 'export'`
    await tx.privacyLink.deleteMany({ where: { requestId: { in: ownIds } } })
    await tx.$executeRaw`
      UPDATE privacy_requests SET account_id = NULL, agent_id = NULL, participant_id = NULL, payload = NULL, version = version + 1,
        contact = CASE WHEN run_id IS NOT NULL AND closed_at IS NULL THEN contact END
      WHERE id = ANY(${ownIds}::text[])`
    await tx.$executeRaw`
      UPDATE privacy_requests SET filed_by = CASE WHEN filed_by = ANY(${actors}::text[]) THEN NULL ELSE filed_by END,
        assigned_to = nullif(assigned_to, ${account})
      WHERE id = ANY(${ids}::text[])`
    return ids.length
  },

  /** Searches by the subject's keyed hash and by remaining texts, not by the columns that `erase` uses. */
  async residue(scope, items) {
    const subject = subjectIn(scope)
    const hashes = hashesOf(deps, subject)
    const [row] = await deps.db.query<{ n: number }>(
      'requests-residue',
      `SELECT ((SELECT count(*) FROM privacy_requests WHERE subject_key = ANY($1::text[])
           AND (account_id IS NOT NULL OR agent_id IS NOT NULL OR participant_id IS NOT NULL OR payload IS NOT NULL
             OR (run_id IS NULL AND closed_at IS NULL) OR (contact IS NOT NULL AND NOT (${isBeingErased}))))
         + (SELECT count(*) FROM privacy_requests WHERE id = ANY($2::text[]) AND (filed_by = ANY($3::text[]) OR assigned_to = $4))
         + (SELECT count(*) FROM privacy_request_events e JOIN privacy_requests q ON q.id = e.request_id
            WHERE q.subject_key = ANY($1::text[]) AND e.note IS NOT NULL)
         + (SELECT count(*) FROM privacy_links l JOIN privacy_requests q ON q.id = l.request_id WHERE q.subject_key = ANY($1::text[])))::int AS n`,
      [hashes, items, actorsOf(subject), subject.account],
    )
    return row?.n ?? 0
  },

  /** Searches by the keyed hash, because the request no longer names the subject. */
  async whileHeld(subject) {
    const [row] = await deps.db.query<{ n: number }>(
      'requests-held',
      `SELECT count(*)::int AS n FROM privacy_requests WHERE subject_key = ANY($1::text[]) AND contact IS NOT NULL AND ${isBeingErased}`,
      [hashesOf(deps, subject)],
    )
    return (row?.n ?? 0) === 0
      ? []
      : [
          {
            what: 'the e-mail address to which letters about this erasure go, sealed; it goes with the last letter, once the hold has ended',
            ground: 'telling its subject how the erasure ends (GDPR art. 12(3), 12(4))',
          },
        ]
  },
})
