import { auditDays } from '#lib/domains/audit/rules.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'

export interface RetentionFacts {
  /** Days that the operator keeps backups; undefined when the operator states none. */
  backupDays: number | undefined
  /** Years that closed privacy requests are kept. */
  requestsYears: number
  /** No mail server takes letters: they lie in a folder for a week. */
  lettersInFolder: boolean
}

/**
 * How long an erased id waits before it is told, in milliseconds: longer than a transaction can wait and run (5 + 15 s), so that one
 * which began earlier and commits later is never behind a cursor that was already given out.
 */
export const settlingTime = 30_000

const plusDays = (from: Date, days: number): string => new Date(from.getTime() + days * 86_400_000).toISOString()

/** Years by calendar; 29 February becomes 28 February where there is none. */
export function plusYears(from: Date, years: number): Date {
  const moved = new Date(from)
  moved.setUTCFullYear(from.getUTCFullYear() + years)
  if (moved.getUTCMonth() !== from.getUTCMonth()) moved.setUTCDate(0)
  return moved
}

/** What stays after an erasure on purpose, why, and how long. */
export const retainedAfter = (deletedAt: Date): Receipt['retained'] => [
  {
    what: 'audit entries: who acted, when and from which network address; ids and counts, no content',
    ground: 'accountability (GDPR art. 5(2)), legal obligation (art. 17(3)(b))',
    until: plusDays(deletedAt, auditDays),
  },
  {
    what: 'deletion audit entry, this receipt and the erasure ledger: the id of who asked, ids and counts, no content',
    ground: 'proof of the erasure (GDPR art. 5(2), 17(3)(e))',
    until: plusYears(deletedAt, 7).toISOString(),
  },
  {
    what: 'the erased id, so that it cannot come back',
    ground: 'effectiveness of the erasure (GDPR art. 17(1))',
    until: null,
  },
]

/** What a run keeps of whatever it is about until stores that others write to were searched once more. */
const untilSearchedAgain = (deletedAt: Date, isSearchedAgain: boolean): Receipt['retained'] =>
  isSearchedAgain
    ? [
        {
          what: 'ids of what was erased from stores that others write to, until these were searched once more and nothing was found',
          ground: 'effectiveness of the erasure (GDPR art. 17(1))',
          // A search that finds something is repeated a day later.
          until: plusDays(deletedAt, 1),
        },
      ]
    : []

/** The fingerprints of erased words, in the ledger. Their key is destroyed when backups end, or with the ledger's files after seven years. */
export const fingerprintsKept = (deletedAt: Date, { backupDays }: RetentionFacts): Receipt['retained'] => [
  {
    what: 'keyed fingerprints of the erased words, sealed in the erasure ledger, so that a restored store can be searched for them; the words cannot be read from them',
    ground: 'effectiveness of the erasure (GDPR art. 17(1))',
    // The key of a month serves until the month ends.
    until: backupDays === undefined ? plusYears(deletedAt, 7).toISOString() : plusDays(deletedAt, 31 + backupDays),
  },
]

/** As {@link retainedAfter}, of a part of a project: what legal holds keep, and for how long its ids are known. */
export const retainedOfPart = (
  deletedAt: Date,
  {
    held,
    beyondReach = [],
    isSearchedAgain = false,
    words = [],
  }: {
    held: readonly { hold: string; count: number }[]
    words?: Receipt['retained']
    /** What stays where nobody here can erase it. */
    beyondReach?: readonly { what: string; ground: string }[]
    isSearchedAgain?: boolean
  },
): Receipt['retained'] => [
  ...heldLines(held),
  ...beyondReach.map((left) => ({ ...left, until: null })),
  ...words,
  ...untilSearchedAgain(deletedAt, isSearchedAgain),
  ...retainedAfter(deletedAt),
]

const heldItems = ({ hold, count }: { hold: string; count: number }): string =>
  `${count} items that the legal hold ${hold} covers; they are erased when it ends`
const heldForm = /^(\d+) items that the legal hold \S+ covers; they are erased when it ends$/

const heldLines = (held: readonly { hold: string; count: number }[]): Receipt['retained'] =>
  held.map((one) => ({
    what: heldItems(one),
    ground: 'legal obligation or legal claims (GDPR art. 17(3)(b), (e))',
    until: null,
  }))

/** Records that legal holds keep for now by what a receipt says; 0 where nothing waits for a hold's end. */
export const heldIn = ({ held, retained }: Pick<Receipt, 'held' | 'retained'>): number =>
  // Receipts of former days say it in this sentence alone.
  held ?? retained.reduce((sum, { what }) => sum + Number(heldForm.exec(what)?.[1] ?? 0), 0)

/** As {@link retainedAfter}, of a person or agent: what legal holds keep, and by what the erased are known again. */
export const retainedOfSubject = (
  deletedAt: Date,
  {
    isOfRequest,
    requestsYears,
    held,
    whileHeld = [],
    letters = 'none',
    isSearchedAgain = false,
    words = [],
  }: {
    words?: Receipt['retained']
    isOfRequest: boolean
    requestsYears: number
    held: readonly { hold: string; count: number }[]
    /** What holders keep until the holds end, and what stays where nobody can erase it. */
    whileHeld?: readonly { what: string; ground: string }[]
    /** About the erasure, in the mail folder: `all` of a request that is not closed, the `last` of one that is. */
    letters?: 'none' | 'last' | 'all'
    /** Stores that others write to had something. */
    isSearchedAgain?: boolean
  },
): Receipt['retained'] => [
  ...heldLines(held),
  ...whileHeld.map((kept) => ({ ...kept, until: null })),
  ...(letters === 'none'
    ? []
    : [
        {
          what:
            letters === 'last'
              ? 'the last letter about the erasure, with the e-mail address, as a file in the mail folder, for seven days from when it is written'
              : 'letters about the erasure, with the e-mail address, as files in the mail folder, each for seven days from when it is written',
          ground: 'telling the person what became of their request (GDPR art. 12(3), (4), 19)',
          // One that cannot be handed over is tried for a week.
          until: letters === 'last' ? plusDays(deletedAt, 14) : null,
        },
      ]),
  ...(isOfRequest
    ? [
        {
          what: 'the privacy request and its timeline, without names: codes, times and counts',
          ground: 'proof that the request was answered (GDPR art. 5(2), 17(3)(e))',
          until: plusYears(deletedAt, requestsYears).toISOString(),
        },
      ]
    : []),
  // Always, and without a count: whether there are any is others' data.
  {
    what: 'texts equal to an id of the erased in records of others that do not verifiably mean them; an admin decides about each',
    ground: 'rights and freedoms of others (GDPR art. 15(4)): anybody may choose a name that somebody else has',
    until: null,
  },
  {
    what: 'keyed hashes of the ids and of the e-mail address, so that no import brings them back',
    ground: 'effectiveness of the erasure (GDPR art. 17(1))',
    until: null,
  },
  ...words,
  ...untilSearchedAgain(deletedAt, isSearchedAgain),
  ...retainedAfter(deletedAt),
]

/** What a connected store keeps of what was deleted there, out of everybody's reach or nearly, and for how many days; null where nobody can say. */
export interface Lingering {
  what: string
  days: number | null
}
/** What lingers where a database cannot reach at once, with its longest life. */
export const lingeringAfter = (
  deletedAt: Date,
  { backupDays }: RetentionFacts,
  inStores: readonly Lingering[] = [],
): Receipt['physical'] => [
  { what: 'dead rows in table files, unreadable through the database, until the next vacuum', until: null },
  { what: 'write-ahead log, until it is recycled', until: null },
  ...inStores.map(({ what, days }) => ({ what, until: days === null ? null : plusDays(deletedAt, days) })),
  backupDays === undefined
    ? {
        what: 'backups, for a term that the operator does not state; after one is restored, the operator erases again from the ledger',
        until: null,
      }
    : {
        what: 'backups; after one is restored, the operator erases again from the ledger',
        until: plusDays(deletedAt, backupDays),
      },
]
