import type { Transaction } from '#lib/kernel/context.ts'
import type { LedgerHash } from '#lib/stores/ledger/ledger.ts'
import { memberKey, type SuppressedKind, type SuppressionHashes } from './suppression-keys.ts'

/**
 * The suppression list. Erased subjects are stored only as keyed hashes; imports of their content and registrations of
 * their ids are rejected.
 */
export function suppressions(hashes: SuppressionHashes) {
  const store = (tx: Transaction, rows: readonly LedgerHash[], { runId, since }: { runId: string; since: Date }) =>
    tx.$executeRaw`
      INSERT INTO suppressions (hash, key_id, kind, since, run_id)
      SELECT decode(h.hash, 'hex'), h."keyId", h.kind, ${since}, ${runId}
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS h(hash text, "keyId" text, kind text)
      ON CONFLICT (hash) DO UPDATE SET run_id = excluded.run_id`

  /** Returns those of the values that were erased. Uses only the connection of the transaction. */
  async function among(tx: Transaction, kind: SuppressedKind, values: readonly string[]): Promise<string[]> {
    const known = new Map<string, string>()
    for (const value of new Set(values))
      for (const hash of await hashes.every(kind, value, tx)) known.set(Buffer.from(hash).toString('hex'), value)
    if (known.size === 0) return []
    const records = await tx.$queryRaw<{ hash: string }[]>`
      SELECT encode(hash, 'hex') AS hash FROM suppressions
      WHERE kind = ${kind} AND hash IN (SELECT decode(h, 'hex') FROM unnest(${[...known.keys()]}::text[]) AS h)`
    return [...new Set(records.flatMap(({ hash }) => known.get(hash) ?? []))].sort()
  }

  return {
    store,
    /** Adds the values of a run to the list. They must be normalised. */
    async add(
      tx: Transaction,
      values: readonly { kind: SuppressedKind; value: string }[],
      run: { runId: string; since: Date },
    ): Promise<void> {
      const rows: LedgerHash[] = []
      for (const { kind, value } of values) {
        const { hash, keyId } = await hashes.current(kind, value, tx)
        rows.push({ kind, hash: Buffer.from(hash).toString('hex'), keyId })
      }
      await store(tx, rows, run)
    },
    /** Removes the values of a run that erases nobody after all. */
    async forget(tx: Transaction, runId: string): Promise<void> {
      await tx.suppression.deleteMany({ where: { runId } })
    },
    /** Returns the values of a run in the form that the ledger stores. */
    async ofRun(tx: Transaction, runId: string): Promise<LedgerHash[]> {
      return tx.$queryRaw<LedgerHash[]>`
        SELECT kind, encode(hash, 'hex') AS hash, key_id AS "keyId" FROM suppressions WHERE run_id = ${runId} ORDER BY kind, hash`
    },
    among,
    /**
     * Returns those of the agents that were erased while they belonged to the organisation. The list does not say this about agents that
     * earlier versions erased: these count for every organisation. Uses only the connection of the transaction.
     */
    async amongMembers(tx: Transaction, organisationId: string, agents: readonly string[]): Promise<string[]> {
      const erased = await among(tx, 'agent', agents)
      if (erased.length === 0) return []
      const members = new Map(erased.map((agent) => [memberKey(organisationId, agent), agent]))
      const own = await among(tx, 'member', [...members.keys()])
      const unplaced: string[] = []
      for (const agent of erased) {
        const every = await hashes.every('agent', agent, tx)
        const found = await tx.$queryRaw<unknown[]>`
          SELECT 1 FROM suppressions s WHERE s.hash = ANY(${every}::bytea[])
            AND NOT EXISTS (SELECT FROM suppressions m WHERE m.run_id = s.run_id AND m.kind = 'member') LIMIT 1`
        if (found.length > 0) unplaced.push(agent)
      }
      return [...new Set([...own.flatMap((key) => members.get(key) ?? []), ...unplaced])].sort()
    },
    /** Removes a value after a new, verified consent. */
    async lift(tx: Transaction, kind: SuppressedKind, value: string): Promise<void> {
      const every = await hashes.every(kind, value, tx)
      await tx.suppression.deleteMany({ where: { kind, hash: { in: every } } })
    },
  }
}
export type Suppressions = ReturnType<typeof suppressions>
