import type { DataHolder } from '#lib/kernel/holder.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Ledger, SubjectIntent } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { recordDeletion } from './deletion-log.ts'
import { type Committed, committedItems } from './ledger-history.ts'
import { keepReceipt } from './receipts.ts'
import { lingeringAfter, type RetentionFacts, retainedOfSubject } from './rules.ts'
import type { Signer } from './signing.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import type { Suppressions } from './suppressions.ts'
import { kindOf, nameOf } from './verification.ts'

export interface ReinstatementParts {
  db: Database
  ledger: Ledger
  signer: Signer
  holders: readonly DataHolder[]
  subjects: SubjectErasurePorts['subjects']
  suppressions: Suppressions
  issuer: string
  facts: RetentionFacts
  now(): Date
}

export const requestedBy = 'system:admin.replay'
export const reason = 'replay'

/**
 * What the ledger has of erased subjects and a restored database lost: that their ids are taken, by what they are known again, their
 * receipts. Only for whom a search through every holder has just found nothing left. Safe to repeat.
 */
export function reinstatement({
  db,
  ledger,
  signer,
  holders,
  subjects,
  suppressions,
  issuer,
  facts,
  now,
}: ReinstatementParts) {
  async function giveBackReceipt({ intent, commit }: Committed<SubjectIntent>): Promise<void> {
    const { subject } = intent.scope
    const at = new Date(intent.at)
    const erased = commit.erased ?? {}
    const stores: Receipt['stores'] = holders.map((holder) => {
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
    const receipt = await signer.sign({
      receipt_id: intent.id,
      version: 1,
      issuer,
      deleted_id: nameOf(subject),
      subject_kind: kindOf(subject),
      deleted_at: at.toISOString(),
      reason,
      stores,
      retained: retainedOfSubject(at, { isOfRequest: false, requestsYears: facts.requestsYears, held: [] }),
      physical: lingeringAfter(at, facts),
      signed_at: now().toISOString(),
    })
    const { since } = await subjects.stored(db.prisma, subject, at)
    await db.transaction(async (tx) => {
      await suppressions.store(tx, intent.hashes, { runId: intent.id, since: at })
      for (const agent of since.agents) await suppressions.lift(tx, 'agent', agent)
      await keepReceipt(tx, receipt, {
        record: (results) =>
          recordDeletion(tx, {
            requestedBy,
            reason,
            scope: { subject: nameOf(subject), kind: kindOf(subject) },
            results,
            now: at,
          }),
      })
    })
  }

  /** Erased ids first, the receipt last: who finds the receipt finds the ids taken. */
  return async function reinstate(lost: ReadonlyMap<string, Committed<SubjectIntent>>): Promise<void> {
    for await (const row of committedItems(ledger, lost)) {
      const one = lost.get(row.id)
      const ids = Object.keys(row.identities ?? {})
      if (!one || ids.length === 0) continue
      const holder = holders.find(({ name }) => name === row.holder)
      await db.transaction(async (tx) => {
        // What is stored now was held, or came since: it stays, and keeps its id.
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
