import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { operation, sharedFields, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { NotRead, ReadingAttestation } from '#lib/kernel/receipt.ts'

const when = time()
const whenever = when.nullable()
const count = z.number().int()

const ReadingStore = z
  .strictObject({
    store: z.string(),
    holder: z.string(),
    state: z.enum(['waiting', 'running', 'unavailable', 'done']).meta({
      description: 'unavailable: the store does not answer. Reading continues where it stopped when it answers',
    }),
    started_at: whenever,
    completed_at: whenever,
    waiting_since: whenever,
    texts: count.meta({ description: 'Texts that were read so far, including those of others' }),
    not_read: NotRead,
  })
  .meta({ id: 'ReadingStore' })
export type ReadingStore = z.output<typeof ReadingStore>

const sums = sharedFields('ReadingCounts', {
  found: count.meta({ description: 'Places with erased words: erased + left + explained' }),
  erased: count,
  left: count,
  explained: count,
})

export const readReceiptReadings = operation({
  id: 'readReceiptReadings',
  method: 'get',
  path: '/v1/receipts/{id}/readings',
  summary: 'Get whether every connected store was read completely for an erasure',
  description:
    'The state of the complete reading with times for each store, and the newest repetition with its signed attestation. Anyone who knows the id of the receipt can read it. Counts only.',
  permission: 'public',
  audit: { none: 'anyone who knows the id may read it, so there is no reader to name' },
  params: z.strictObject({ id: z.string().regex(/^rcpt_[0-9A-Za-z]{22}$/, 'is not the id of a receipt') }),
  output: z.strictObject({
    data: z
      .strictObject({
        state: z.enum(['none', 'waiting', 'reading', 'done']).meta({
          description:
            'none: the erasure erased no texts, so there are no words to look for. done: the receipt contains `complete_reading`',
        }),
        stores: z.array(ReadingStore),
        newest: z
          .strictObject({
            ...sums,
            started_at: when,
            completed_at: when,
            attestation: ReadingAttestation.nullable(),
          })
          .nullable()
          .meta({ description: 'The newest completed reading that looked for the words of this erasure' }),
      })
      .meta({ id: 'ReceiptReadings' }),
  }),
  refusals: ['not_found'],
})

export const CompleteReadingView = z
  .strictObject({
    reading_id: z.string(),
    is_repeated: z.boolean().meta({ description: 'It also reads for all former erasures' }),
    started_at: when,
    completed_at: whenever,
    erasures: count.meta({ description: 'Erasures whose words it looks for' }),
    erasures_found: count.meta({ description: 'Those of them whose words were erased again or left' }),
    ...sums,
    stores: z.array(ReadingStore),
    attestation: ReadingAttestation.nullable().meta({ description: 'Null until every store is read' }),
  })
  .meta({ id: 'CompleteReadingState' })
export type CompleteReadingView = z.output<typeof CompleteReadingView>

export const listCompleteReadings = operation({
  id: 'listCompleteReadings',
  method: 'get',
  path: '/api/readings',
  summary: 'List complete readings of the connected stores, newest first',
  permission: 'erasures:audit',
  audit: { resourceType: 'erasure' },
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(CompleteReadingView),
})

/**
 * Why erased words remain in a place.
 * - owned: another organization owns it, or nobody may claim it.
 * - unchanged: the store could not remove them safely, or a legal hold retains them.
 * - newer: it was written after the erasure, and the common words are few.
 * - undated: its store records no time, and the common words are few.
 * - shared: a name that a person who was not erased also has, or wrote in a message or document.
 * - uncertain: words that may be a name of the erased person, or of somebody else, or ordinary words.
 */
const remainingReasons = ['owned', 'unchanged', 'newer', 'undated', 'shared', 'uncertain'] as const
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

const Decision = z.enum(placeDecisions)
export const RemainingPlace = z
  .strictObject({
    id: z.string(),
    receipt_id: z.string(),
    holder: z.string(),
    place: z
      .string()
      .meta({ description: 'A thread, or a hash of the name of a key or an object, or the id of a record' }),
    reason: z.enum(remainingReasons).meta({
      description:
        'owned: another organization owns it, or nobody may claim it. unchanged: the words could not be removed safely, or a legal hold retains them. newer: it was written after the erasure. undated: its store records no time. newer and undated have fewer common words than a copy, or only a name. shared: another person has or wrote the name. uncertain: it may be a name',
    }),
    written_at: whenever,
    first_found_at: when,
    last_found_at: when,
    decision: Decision.nullable(),
  })
  .meta({ id: 'RemainingPlace' })
export type RemainingPlace = z.output<typeof RemainingPlace>

export const listRemainingPlaces = operation({
  id: 'listRemainingPlaces',
  method: 'get',
  path: '/api/readings/places',
  summary: 'List places in connected stores where complete readings left erased words',
  description: 'Newest first. At most 100 places of each erasure and data source. Ids only.',
  permission: 'erasures:audit',
  audit: { resourceType: 'erasure' },
  query: z.strictObject({
    receipt_id: z.string().max(64).optional(),
    decision: z
      .enum([...placeDecisions, 'none'])
      .optional()
      .meta({ description: 'none: not decided yet' }),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(RemainingPlace),
})

export const decideRemainingPlace = operation({
  needsRecentPassword: true,
  id: 'decideRemainingPlace',
  method: 'post',
  path: '/api/readings/places/{id}',
  summary: 'Decide whether erased words in a place are erased',
  description:
    '`erase`: the next complete reading erases them, unless an author who was not erased wrote them or the place belongs to others. `keep`: they stay.',
  permission: 'erasures:admin',
  audit: { action: 'update', resourceType: 'erasure' },
  params: z.strictObject({ id: z.string().regex(/^plc_[0-9A-Za-z]{22}$/, 'is not the id of a place') }),
  body: z.strictObject({ decision: Decision }),
  output: z.strictObject({ data: RemainingPlace }),
  refusals: ['not_found'],
})
