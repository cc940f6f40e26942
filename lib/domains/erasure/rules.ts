import { auditDays } from '#lib/domains/audit/rules.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { receiptText, recognizeReceiptText } from '#lib/kernel/receipt-texts.ts'

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
    what: receiptText('retained', 'audit'),
    ground: receiptText('grounds', 'accountability'),
    until: plusDays(deletedAt, auditDays),
  },
  {
    what: receiptText('retained', 'proof'),
    ground: receiptText('grounds', 'proof'),
    until: plusYears(deletedAt, 7).toISOString(),
  },
  {
    what: receiptText('retained', 'id'),
    ground: receiptText('grounds', 'effectiveness'),
    until: null,
  },
]

/** The item ids that a run retains until the second search of shared stores is done. */
const untilSearchedAgain = (deletedAt: Date, isSearchedAgain: boolean): Receipt['retained'] =>
  isSearchedAgain
    ? [
        {
          what: receiptText('retained', 'sharedIds'),
          ground: receiptText('grounds', 'effectiveness'),
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
    what: receiptText('retained', 'fingerprints'),
    ground: receiptText('grounds', 'effectiveness'),
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

const heldLines = (held: readonly { hold: string; count: number }[]): Receipt['retained'] =>
  held.map((one) => ({
    what: receiptText('retained', 'held', one),
    ground: receiptText('grounds', 'hold'),
    until: null,
  }))

/** Returns the number of records that a receipt lists as retained by legal holds; 0 if none. */
export const legalHoldCountsIn = ({ held, retained }: Pick<Receipt, 'held' | 'retained'>): number =>
  // Old receipts contain the number only in this sentence.
  held ??
  retained.reduce((sum, { what }) => {
    const found = recognizeReceiptText('retained', what)
    return found?.code === 'held' ? sum + found.count : sum
  }, 0)

/** Records of the installation in which the id of an erased admin remains. Their number is not published. */
export const adminActLines = (hasActs: boolean): { what: string; ground: string }[] =>
  hasActs ? [{ what: receiptText('retained', 'adminActs'), ground: receiptText('grounds', 'administration') }] : []

/** Like {@link retainedAfter} for a person or agent, with the records under legal holds and the data that blocks a new import. */
export const retainedOfSubject = (
  deletedAt: Date,
  {
    requestClosedAt,
    requestsYears,
    held,
    whileHeld = [],
    letters = 'none',
    isSearchedAgain = false,
    words = [],
  }: {
    words?: Receipt['retained']
    /** When the request is closed; null while a legal hold keeps it open; undefined without a request. */
    requestClosedAt?: Date | null | undefined
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
  ...whileHeld.map((remaining) => ({ ...remaining, until: null })),
  ...(letters === 'none'
    ? []
    : [
        {
          what: receiptText('retained', letters === 'last' ? 'lastEmail' : 'emails'),
          ground: receiptText('grounds', 'answer'),
          // An email that cannot be written is retried for a week.
          until: letters === 'last' ? plusDays(requestClosedAt ?? deletedAt, 14) : null,
        },
      ]),
  ...(requestClosedAt === undefined
    ? []
    : [
        {
          what: receiptText('retained', 'request'),
          ground: receiptText('grounds', 'request'),
          until: requestClosedAt && plusYears(requestClosedAt, requestsYears).toISOString(),
        },
      ]),
  // Always listed, without a count: whether such texts exist is data of others.
  {
    what: receiptText('retained', 'sameTexts'),
    ground: receiptText('grounds', 'others'),
    until: null,
  },
  {
    what: receiptText('retained', 'hashes'),
    ground: receiptText('grounds', 'effectiveness'),
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
  { what: receiptText('physical', 'rows'), until: null },
  { what: receiptText('physical', 'log'), until: null },
  ...inStores.map(({ what, days }) => ({ what, until: days === null ? null : plusDays(deletedAt, days) })),
  backupDays === undefined
    ? {
        what: receiptText('physical', 'backupsUnstated'),
        until: null,
      }
    : {
        what: receiptText('physical', 'backups'),
        until: plusDays(deletedAt, backupDays),
      },
]

const pseudonymizedSources = ['erasure.owners', 'knowledge.references', 'privacy.requests', 'projects.references']
/**
 * Whether an erasure leaves the records of a data source, without the name and texts of the subject, instead of deleting them. They are
 * not anonymous: the installation has the key of the pseudonyms (GDPR Art. 4(5)).
 */
export const isPseudonymized = (dataSource: string): boolean => pseudonymizedSources.includes(dataSource)
