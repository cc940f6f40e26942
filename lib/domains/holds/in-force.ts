import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/holder.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

/** Whoever erases takes it shared, whoever sets or ends a hold alone: what is erased was not held, what is held is not erased. */
export const lockAgainstErasing = (tx: Transaction) =>
  tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('legal_holds'))`

export interface InForce {
  /** The hold on the person; it covers every agent of theirs. */
  account: string | null
  /** The holds on agents, by agent; those on their owners count. */
  agents: Map<string, string>
  /** Of all holds in force, whomever they cover, and of how many were ever set and released: one that came and went meanwhile shows in it. */
  fingerprint: string
}

/** $1: the account, $2: the agents, $3: now. One statement, because each page of an erasure asks it. */
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

/** Holds as other domains see them. */
export const holdsInForce = {
  /** From here to the transaction's end no hold is set or ended; one that is being set is waited for. */
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

  /** The holds on projects, by project. */
  async projects(tx: Transaction, ids: readonly string[], now: Date): Promise<Map<string, string>> {
    const rows = await tx.$queryRaw<{ target: string; hold: string }[]>`
      SELECT target_id AS target, min(id) AS hold FROM holds_in_force
      WHERE kind = 'project' AND target_id = ANY(${[...ids]}::text[]) AND (expires_at IS NULL OR expires_at > ${now})
      GROUP BY target_id`
    return new Map(rows.map(({ target, hold }) => [target, hold]))
  },

  /** Those of the ids that there are, ended ones included. */
  async known(tx: Transaction, ids: readonly string[]): Promise<string[]> {
    const found = await tx.legalHold.findMany({ where: { id: { in: [...ids] } }, select: { id: true } })
    return found.map(({ id }) => id)
  },
}
