import type { Transaction } from '#lib/kernel/context.ts'
import type { LedgerHash } from '#lib/stores/ledger/ledger.ts'
import {
  insertSuppressions,
  suppressedHashes,
  suppressionsOfRun,
  suppressionsWithoutOrganisation,
} from './repository.ts'
import { memberKey, type SuppressedKind, type SuppressionHashes } from './suppression-keys.ts'

/**
 * The suppression list. Erased subjects are stored only as keyed hashes; imports of their content and registrations of
 * their ids are rejected.
 */
export function suppressions(hashes: SuppressionHashes) {
  const store = (tx: Transaction, rows: readonly LedgerHash[], { runId, since }: { runId: string; since: Date }) =>
    insertSuppressions(tx, { hashes: rows, since, runId })

  /** Returns those of the values that were erased. Uses only the connection of the transaction. */
  async function among(tx: Transaction, kind: SuppressedKind, values: readonly string[]): Promise<string[]> {
    const known = new Map<string, string>()
    for (const value of new Set(values))
      for (const hash of await hashes.every(kind, value, tx)) known.set(Buffer.from(hash).toString('hex'), value)
    if (known.size === 0) return []
    const records = await suppressedHashes(tx, { kind, hashes: [...known.keys()] })
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
    ofRun: (tx: Transaction, runId: string): Promise<LedgerHash[]> => suppressionsOfRun(tx, { runId }),
    among,
    /**
     * Returns those of the agents that were erased while they belonged to the organization. The list does not say this about agents that
     * earlier versions erased: these count for every organization. Uses only the connection of the transaction.
     */
    async amongMembers(tx: Transaction, organisationId: string, agents: readonly string[]): Promise<string[]> {
      const erased = await among(tx, 'agent', agents)
      if (erased.length === 0) return []
      const members = new Map(erased.map((agent) => [memberKey(organisationId, agent), agent]))
      const own = await among(tx, 'member', [...members.keys()])
      const unplaced: string[] = []
      for (const agent of erased) {
        const every = await hashes.every('agent', agent, tx)
        const found = await suppressionsWithoutOrganisation(tx, { hashes: every })
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
