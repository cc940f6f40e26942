import { auditDays } from '#lib/domains/audit/rules.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'

export interface RetentionFacts {
  /** Days that the operator retains backups; undefined when the operator does not state it. */
  backupDays: number | undefined
  /** Years for which closed privacy requests are retained. */
  requestsYears: number
  /** True when no mail server is configured: emails are stored in a folder for a week. */
  emailsInFolder: boolean
}

/**
 * Milliseconds before an erased id is listed as a tombstone: longer than a transaction can wait and run (5 + 15 s). A
 * transaction that starts earlier and commits later thus never falls behind a cursor that was already returned.
 */
export const settlingTime = 30_000

const plusDays = (from: Date, days: number): string => new Date(from.getTime() + days * 86_400_000).toISOString()

/** Adds calendar years; 29 February becomes 28 February in other years. */
export function plusYears(from: Date, years: number): Date {
  const moved = new Date(from)
  moved.setUTCFullYear(from.getUTCFullYear() + years)
  if (moved.getUTCMonth() !== from.getUTCMonth()) moved.setUTCDate(0)
  return moved
}

/** Data that an erasure retains on purpose, with ground and end. */
const retainedAfter = (deletedAt: Date): Receipt['retained'] => [
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

/** The item ids that a run retains until the second search of shared stores is done. */
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

/**
 * Fingerprints of the erased words in the ledger. Their key is destroyed when backups expire, or with the ledger's
 * files after seven years.
 */
export const fingerprintRetention = (deletedAt: Date, { backupDays }: RetentionFacts): Receipt['retained'] => [
  {
    what: 'keyed fingerprints of the erased words, sealed in the erasure ledger, so that a restored store can be searched for them; the words cannot be read from them',
    ground: 'effectiveness of the erasure (GDPR art. 17(1))',
    // One key is used for a whole month.
    until: backupDays === undefined ? plusYears(deletedAt, 7).toISOString() : plusDays(deletedAt, 31 + backupDays),
  },
]

/**
 * Data that the erasure of a unit, a skill or a part of a project retains: {@link retainedAfter}, the records under legal
 * holds, and the time for which its ids are retained.
 */
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
    /** Data in places that this installation cannot erase. */
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

/** Returns the number of records that a receipt lists as retained by legal holds; 0 if none. */
export const legalHoldCountsIn = ({ held, retained }: Pick<Receipt, 'held' | 'retained'>): number =>
  // Old receipts contain the number only in this sentence.
  held ?? retained.reduce((sum, { what }) => sum + Number(heldForm.exec(what)?.[1] ?? 0), 0)

/** Like {@link retainedAfter} for a person or agent, with the records under legal holds and the data that blocks a new import. */
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
    /** Data that data sources retain until the holds end, and data that nobody can erase. */
    whileHeld?: readonly { what: string; ground: string }[]
    /** Emails about the erasure in the mail folder: `all` while the request is open, `last` after it is closed. */
    letters?: 'none' | 'last' | 'all'
    /** True when shared stores, to which others also write, contained data. */
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
          // An email that cannot be sent is retried for a week.
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
  // Always listed, without a count: whether such texts exist is data of others.
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

/** Deleted data that a connected store retains out of reach, with the number of days; null when unknown. */
export interface Residue {
  what: string
  days: number | null
}
/** Returns the physical copies that an erasure cannot delete immediately, with their latest end. */
export const residueAfter = (
  deletedAt: Date,
  { backupDays }: RetentionFacts,
  inStores: readonly Residue[] = [],
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
