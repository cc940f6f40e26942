import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'

/**
 * Why erased words remain in a place.
 * - owned: another organization owns it, or nobody may claim it.
 * - unchanged: the store could not remove them safely, or a legal hold retains them.
 * - newer: it was written after the erasure, and the common words are few.
 * - undated: its store records no time, and the common words are few.
 */
export const remainingReasons = ['owned', 'unchanged', 'newer', 'undated'] as const
export type RemainingReason = (typeof remainingReasons)[number]

/** erase: the next complete reading erases the words, unless a living author wrote them. keep: they stay. */
export const placeDecisions = ['erase', 'keep'] as const
export type PlaceDecision = (typeof placeDecisions)[number]

/** A place in which a reading left words. */
export interface LeftPlace {
  place: string
  reason: RemainingReason
  writtenAt: Date | undefined
}

/** Maximum number of listed places of one erasure in one data source. The findings count all of them. */
const maxListed = 100

const decisionOf = (decision: string | null): PlaceDecision | undefined =>
  placeDecisions.find((one) => one === decision)

/** What admins decided about places, by the JSON of the receipt and the place. */
export async function decisionsOn(
  tx: Pick<Transaction, 'remainingPlace'>,
  holder: string,
  findings: readonly { receiptId: string; place: { id: string } }[],
): Promise<ReadonlyMap<string, PlaceDecision>> {
  const rows = await tx.remainingPlace.findMany({
    where: {
      receiptId: { in: [...new Set(findings.map(({ receiptId }) => receiptId))] },
      holder,
      place: { in: [...new Set(findings.map(({ place }) => place.id))] },
      decision: { not: null },
    },
    select: { receiptId: true, place: true, decision: true },
  })
  const decisions = new Map<string, PlaceDecision>()
  for (const { receiptId, place, decision } of rows) {
    const known = decisionOf(decision)
    if (known) decisions.set(JSON.stringify([receiptId, place]), known)
  }
  return decisions
}

/** Lists the places in which a reading left words, for an admin. */
export async function listPlaces(
  tx: Transaction,
  { readingId, receiptId, holder, now }: { readingId: string; receiptId: string; holder: string; now: Date },
  places: readonly LeftPlace[],
): Promise<void> {
  let free = maxListed - (await tx.remainingPlace.count({ where: { receiptId, holder } }))
  for (const { place, reason, writtenAt } of places) {
    const where = { receiptId_holder_place: { receiptId, holder, place } }
    const found = { reason, writtenAt: writtenAt ?? null, lastFoundAt: now, readingId }
    const known = await tx.remainingPlace.findUnique({ where, select: { id: true } })
    if (known) await tx.remainingPlace.update({ where, data: found })
    else if (free-- > 0)
      await tx.remainingPlace.create({
        data: { id: newId('plc'), receiptId, holder, place, firstFoundAt: now, ...found },
      })
  }
}

/** Deletes the listed places that a completed reading did not find again. */
export const forgetPlaces = (
  tx: Transaction,
  { readingId, receipts }: { readingId: string; receipts: readonly string[] },
) => tx.remainingPlace.deleteMany({ where: { receiptId: { in: [...receipts] }, readingId: { not: readingId } } })
