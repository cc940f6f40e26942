import type { DataHolder } from '#lib/kernel/holder.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Ledger, PartIntent, SubjectIntent } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { recordDeletion } from './deletion-log.ts'
import { type Committed, committedItems } from './ledger-history.ts'
import { keepReceipt } from './receipts.ts'
import { lingeringAfter, type RetentionFacts, retainedOfPart, retainedOfSubject } from './rules.ts'
import { namedInLog, namedOnReceipt } from './run-names.ts'
import type { Signer } from './signing.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import type { Suppressions } from './suppressions.ts'

export interface ReinstatementParts {
  db: Database
  ledger: Ledger
  signer: Signer
  holders: readonly DataHolder[]
  subjects: SubjectErasurePorts['subjects']
  lingering: SubjectErasurePorts['lingering']
  suppressions: Suppressions
  issuer: string
  facts: RetentionFacts
  now(): Date
}

export const requestedBy = 'system:admin.replay'
export const reason = 'replay'

export type RunIntent = SubjectIntent | PartIntent

/**
 * Restores from the ledger the data about erased subjects and project parts that a restored database lost: erased ids,
 * suppression list entries and receipts.
 * Call it only for erasures for which a search of all data sources has just found nothing. Idempotent.
 */
export function reinstatement({
  db,
  ledger,
  signer,
  holders,
  subjects,
  lingering,
  suppressions,
  issuer,
  facts,
  now,
}: ReinstatementParts) {
  async function giveBackReceipt({ intent, commit }: Committed<RunIntent>): Promise<void> {
    const { scope } = intent
    const at = new Date(intent.at)
    const erased = commit.erased ?? {}
    const isListed = ({ name }: DataHolder): boolean => !('part' in scope) || (erased[name] ?? 0) > 0
    const stores: Receipt['stores'] = holders.filter(isListed).map((holder) => {
      const count = erased[holder.name] ?? 0
      const { store, name, what } = holder
      return {
        store,
        holder: name,
        what,
        found: count,
        deleted: count,
        residue: 0,
        verified_at: now().toISOString(),
      }
    })
    const beyondReach = holders.flatMap(({ name, leftBehind }) => {
      const count = erased[name] ?? 0
      const left = count > 0 ? leftBehind?.(count) : undefined
      return left ? [left] : []
    })
    const emptied = new Set(holders.filter(({ name }) => (erased[name] ?? 0) > 0).map(({ store }) => store))
    const receipt = await signer.sign({
      receipt_id: intent.id,
      version: 1,
      issuer,
      ...namedOnReceipt(scope),
      deleted_at: at.toISOString(),
      reason,
      stores,
      retained:
        'part' in scope
          ? retainedOfPart(at, { held: [], beyondReach })
          : retainedOfSubject(at, {
              isOfRequest: false,
              requestsYears: facts.requestsYears,
              held: [],
              whileHeld: beyondReach,
            }),
      physical: lingeringAfter(at, facts, await lingering([...emptied])),
      signed_at: now().toISOString(),
    })
    const since = 'part' in scope ? [] : (await subjects.stored(db.prisma, scope.subject, at)).since.agents
    await db.transaction(async (tx) => {
      if ('hashes' in intent) await suppressions.store(tx, intent.hashes, { runId: intent.id, since: at })
      for (const agent of since) await suppressions.lift(tx, 'agent', agent)
      await keepReceipt(tx, receipt, {
        record: (results) =>
          recordDeletion(tx, {
            requestedBy,
            reason,
            scope: namedInLog(scope),
            results,
            now: at,
          }),
      })
    })
  }

  /** Writes the erased ids first and the receipt last: a stored receipt implies stored ids. */
  return async function reinstate(lost: ReadonlyMap<string, Committed<RunIntent>>): Promise<void> {
    for await (const row of committedItems(ledger, lost)) {
      const one = lost.get(row.id)
      const ids = Object.keys(row.identities ?? {})
      if (!one || ids.length === 0) continue
      const holder = holders.find(({ name }) => name === row.holder)
      await db.transaction(async (tx) => {
        // A record that exists now was under a hold or was created later: it stays and keeps its id.
        const stored = new Set((await holder?.identities?.(ids, tx))?.map(({ id }) => id))
        await tx.erasedId.createMany({
          data: Object.entries(row.identities ?? {})
            .filter(([id]) => !stored.has(id))
            .map(([id, wasPublic]) => ({
              id,
              wasPublic,
              receiptId: row.id,
              erasedAt: new Date(one.intent.at),
            })),
          skipDuplicates: true,
        })
      })
    }
    for (const one of lost.values()) await giveBackReceipt(one)
  }
}
