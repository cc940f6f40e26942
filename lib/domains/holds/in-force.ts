import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/data-source.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

/**
 * Erasures take this lock shared, and changes of holds take it exclusively. Thus no erased record was under a hold, and
 * no held record is erased.
 */
export const lockAgainstErasing = (tx: Transaction) =>
  tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('legal_holds'))`

export interface InForce {
  /** The id of the hold on the person, which covers all agents of the person. */
  account: string | null
  /** Hold ids by agent id, including holds on the agents' owners. */
  agents: Map<string, string>
  /**
   * Fingerprint of all current holds and of the numbers of holds that were ever set and released. It also changes when
   * a hold was set and released meanwhile.
   */
  fingerprint: string
}

/** $1: the account, $2: the agents, $3: now. One statement, because each page of an erasure executes it. */
const inForce = `SELECT
  (SELECT md5(concat_ws(' ', count(*), count(released_at),
     string_agg(id, ',' ORDER BY id) FILTER (WHERE released_at IS NULL AND (expires_at IS NULL OR expires_at > $3::timestamptz))))
   FROM legal_holds) AS fingerprint,
  (SELECT coalesce(json_agg(h), '[]') FROM (
     SELECT kind, target, min(id) AS hold FROM (
       SELECT id, kind, target_id AS target, expires_at FROM holds_in_force
       WHERE (kind = 'account' AND target_id = $1) OR (kind = 'agent' AND target_id = ANY($2::text[]))
       UNION ALL
       SELECT h.id, 'agent', a.id, h.expires_at FROM agent_owners a JOIN holds_in_force h ON h.kind = 'account' AND h.target_id = a.owner_id
       WHERE a.id = ANY($2::text[])) AS all_holds
     WHERE expires_at IS NULL OR expires_at > $3::timestamptz
     GROUP BY kind, target) AS h) AS holds`

/** Legal holds for other domains. */
export const holdsInForce = {
  /** Prevents changes of holds until the end of the transaction, after waiting for a running change. */
  async lock(tx: Transaction): Promise<void> {
    await queryWithin(tx, 'holds-lock', `SELECT pg_advisory_xact_lock_shared(hashtext('legal_holds'))`, [])
  },

  async inForce(tx: Transaction, { account, agents }: Subject, now: Date): Promise<InForce> {
    type Found = { fingerprint: string; holds: { kind: string; target: string; hold: string }[] }
    const [found] = await tx.$queryRawUnsafe<Found[]>(inForce, account, [...agents], now)
    const { fingerprint = '', holds: rows = [] } = found ?? {}
    return {
      account: rows.find(({ kind }) => kind === 'account')?.hold ?? null,
      agents: new Map(rows.flatMap(({ kind, target, hold }) => (kind === 'agent' ? [[target, hold]] : []))),
      fingerprint,
    }
  },

  /** Hold ids by project id. */
  async projects(tx: Transaction, ids: readonly string[], now: Date): Promise<Map<string, string>> {
    const rows = await tx.$queryRaw<{ target: string; hold: string }[]>`
      SELECT target_id AS target, min(id) AS hold FROM holds_in_force
      WHERE kind = 'project' AND target_id = ANY(${[...ids]}::text[]) AND (expires_at IS NULL OR expires_at > ${now})
      GROUP BY target_id`
    return new Map(rows.map(({ target, hold }) => [target, hold]))
  },

  /** Returns those of the ids that exist, including ended holds. */
  async known(tx: Transaction, ids: readonly string[]): Promise<string[]> {
    const records = await tx.legalHold.findMany({ where: { id: { in: [...ids] } }, select: { id: true } })
    return records.map(({ id }) => id)
  },
}

/** Counts all legal holds, also released ones. */
export const countHolds = (tx: Transaction): Promise<number> => tx.legalHold.count()
