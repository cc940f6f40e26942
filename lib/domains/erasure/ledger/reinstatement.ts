import { recordDeletion } from '#lib/domains/erasure/deletion-log.ts'
import type { SubjectErasurePorts } from '#lib/domains/erasure/engine/subject-erasures.ts'
import { storeReceipt } from '#lib/domains/erasure/receipts/receipts.ts'
import type { Signer } from '#lib/domains/erasure/receipts/signing.ts'
import { type RetentionFacts, residueAfter, retainedOfPart, retainedOfSubject } from '#lib/domains/erasure/rules.ts'
import { namedInLog, namedOnReceipt } from '#lib/domains/erasure/runs/run-names.ts'
import type { Suppressions } from '#lib/domains/erasure/suppression/suppressions.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Ledger, PartIntent, SubjectIntent } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type Committed, committedItems } from './ledger-history.ts'

export interface ReinstatementDeps {
  db: Database
  ledger: Ledger
  signer: Signer
  dataSources: readonly DataSource[]
  subjects: SubjectErasurePorts['subjects']
  residueIn: SubjectErasurePorts['residueIn']
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
  dataSources,
  subjects,
  residueIn,
  suppressions,
  issuer,
  facts,
  now,
}: ReinstatementDeps) {
  async function giveBackReceipt({ intent, commit }: Committed<RunIntent>): Promise<void> {
    const { scope } = intent
    const at = new Date(intent.at)
    const erased = commit.erased ?? {}
    const isListed = ({ name }: DataSource): boolean => !('part' in scope) || (erased[name] ?? 0) > 0
    const stores: Receipt['stores'] = dataSources.filter(isListed).map((dataSource) => {
      const count = erased[dataSource.name] ?? 0
      const { store, name, what } = dataSource
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
    const beyondReach = dataSources.flatMap(({ name, leftBehind }) => {
      const count = erased[name] ?? 0
      const left = count > 0 ? leftBehind?.(count) : undefined
      return left ? [left] : []
    })
    const emptied = new Set(dataSources.filter(({ name }) => (erased[name] ?? 0) > 0).map(({ store }) => store))
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
      physical: residueAfter(at, facts, await residueIn([...emptied])),
      signed_at: now().toISOString(),
    })
    const since = 'part' in scope ? [] : (await subjects.stored(db.prisma, scope.subject, at)).since.agents
    await db.transaction(async (tx) => {
      if ('hashes' in intent) await suppressions.store(tx, intent.hashes, { runId: intent.id, since: at })
      for (const agent of since) await suppressions.lift(tx, 'agent', agent)
      await storeReceipt(tx, receipt, {
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
      const dataSource = dataSources.find(({ name }) => name === row.holder)
      await db.transaction(async (tx) => {
        // A record that exists now was under a hold or was created later: it stays and keeps its id.
        const stored = new Set((await dataSource?.identities?.(ids, tx))?.map(({ id }) => id))
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
