import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/holder.ts'

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

/** What others ask of holds. */
export const holdsInForce = {
  /** From here to the transaction's end no hold is set or ended; one that is being set is waited for. */
  async lock(tx: Transaction): Promise<void> {
    await tx.$executeRaw`SELECT pg_advisory_xact_lock_shared(hashtext('legal_holds'))`
  },

  async inForce(tx: Transaction, { account, agents }: Subject, now: Date): Promise<InForce> {
    const rows = await tx.$queryRaw<{ kind: string; target: string; hold: string }[]>`
      SELECT kind, target, min(id) AS hold FROM (
        SELECT id, kind, target_id AS target, expires_at FROM holds_in_force
        WHERE (kind = 'account' AND target_id = ${account}) OR (kind = 'agent' AND target_id = ANY(${[...agents]}::text[]))
        UNION ALL
        SELECT h.id, 'agent', a.id, h.expires_at FROM agent_owners a JOIN holds_in_force h ON h.kind = 'account' AND h.target_id = a.owner_id
        WHERE a.id = ANY(${[...agents]}::text[])) AS h
      WHERE expires_at IS NULL OR expires_at > ${now}
      GROUP BY kind, target`
    const [all] = await tx.$queryRaw<{ fingerprint: string }[]>`
      SELECT md5(concat_ws(' ', count(*), count(released_at),
        string_agg(id, ',' ORDER BY id) FILTER (WHERE released_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})))) AS fingerprint
      FROM legal_holds`
    return {
      account: rows.find(({ kind }) => kind === 'account')?.hold ?? null,
      agents: new Map(rows.flatMap(({ kind, target, hold }) => (kind === 'agent' ? [[target, hold]] : []))),
      fingerprint: all?.fingerprint ?? '',
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
