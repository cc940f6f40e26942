import canonicalize from 'canonicalize'
import { z } from 'zod'
import { auditDays } from '#lib/domains/audit/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, RetainedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import { type CompleteReading, Receipt } from '#lib/kernel/receipt.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { EngineDeps, HasAdminActs, Residue, RetentionFacts } from '../engine/dependencies.ts'
import type { MentionCount } from '../engine/plan.ts'
import { isPseudonymized, plusYears } from '../rules.ts'
import { addedUp, addLegalHoldCounts, countsInLog, legalHoldCounts, namedOnReceipt } from '../runs/run-rules.ts'
import type { StepRow } from '../runs/runs.ts'
import { readingType } from './receipt-rules.ts'
import type { Signer } from './signing.ts'

const plusDays = (from: Date, days: number): string => new Date(from.getTime() + days * 86_400_000).toISOString()

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
const retainedOfPart = (
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

/** Records of the installation in which the id of an erased admin remains. Their number is not published. */
export const adminActLines = (hasActs: boolean): { what: string; ground: string }[] =>
  hasActs ? [{ what: receiptText('retained', 'adminActs'), ground: receiptText('grounds', 'administration') }] : []

/** Like {@link retainedAfter} for a person or agent, with the records under legal holds and the data that blocks a new import. */
const retainedOfSubject = (
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

/** Returns the physical copies that an erasure cannot delete immediately, with their latest end. */
const residueAfter = (
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

/** The work of one data source in an erasure, for the receipt. */
type SourceOutcome = Pick<StepRow, 'holder' | 'store' | 'planned' | 'erased' | 'held' | 'results'>
type SubjectRetention = Pick<Parameters<typeof retainedOfSubject>[1], 'requestClosedAt' | 'whileHeld' | 'letters'>

/** An erasure that a search of all data sources has just confirmed. */
export interface VerifiedErasure {
  receiptId: string
  scope: ErasureScope
  deletedAt: Date
  reason: string
  outcomes: readonly SourceOutcome[]
  /** Only for subjects. */
  subject?: SubjectRetention
  /** Fingerprints of the erased words in the ledger. */
  words?: Receipt['retained']
  /** True when shared stores, to which others also write, contained data. */
  isSearchedAgain?: boolean
  /** Copies of deleted data that the stores retain. */
  inStores?: readonly Residue[]
  mentions?: readonly MentionCount[]
  /** Number of places where a person's names were replaced; null if the request did not ask for it. */
  namesReplaced?: number | null
  /** When the search was done. */
  at: Date
}

/** Names are searched only for people: accounts and participants. */
const isOfPerson = (scope: ErasureScope): boolean =>
  'subject' in scope && (scope.subject.account !== null || (scope.subject.participants ?? []).length > 0)

type Counted = Pick<StepRow, 'holder' | 'store' | 'results'>

/**
 * Counts derived data by store and treatment, and the texts that a model generated while an erased episode was in its
 * context.
 */
function derivedOf(steps: readonly Counted[]): Pick<Receipt, 'derived' | 'exposed'> {
  const derived: NonNullable<Receipt['derived']> = []
  for (const [store, ofStore] of Map.groupBy(steps, (step) => step.store)) {
    const { derivedCut = 0, derivedDeleted = 0, derivedDecidedAgain = 0, derivedRetained = 0 } = resultsOf(ofStore)
    if (derivedCut + derivedDeleted + derivedDecidedAgain + derivedRetained === 0) continue
    const [judged_again, retained] = [derivedDecidedAgain, derivedRetained]
    derived.push({ store, cut: derivedCut, deleted: derivedDeleted, judged_again, retained })
  }
  const { exposedMatched = 0, exposedUnmatched = 0 } = resultsOf(steps)
  return {
    ...(derived.length > 0 && { derived }),
    ...(exposedMatched + exposedUnmatched > 0 && {
      exposed: { matched: exposedMatched, unmatched: exposedUnmatched },
    }),
  }
}
const resultsOf = (steps: readonly Counted[]): Record<string, number> => addedUp(steps.map(({ results }) => results))

/** Lists data that an erasure cannot search for words. */
function notSearchedOf(sources: readonly DataSource[], steps: readonly Counted[]): Pick<Receipt, 'not_searched'> {
  const records = steps.flatMap(({ holder, store, results }) =>
    (sources.find(({ name }) => name === holder)?.notSearched?.(results) ?? []).map((one) => ({ store, ...one })),
  )
  return records.length > 0 ? { not_searched: records } : {}
}

/** Builds the receipt of an erasure of any scope, without its signature. */
export function receiptContent(
  { dataSources, issuer, facts }: Pick<EngineDeps, 'dataSources' | 'issuer' | 'facts'>,
  { scope, deletedAt, outcomes, at, mentions = [], ...erasure }: VerifiedErasure,
): Omit<Receipt, 'jws'> {
  const { words = [], isSearchedAgain = false, subject = {}, inStores = [], namesReplaced } = erasure
  const sourceOf = (name: string) => dataSources.find((one) => one.name === name)
  const held = legalHoldCounts(addLegalHoldCounts(outcomes.map((one) => one.held)))
  const heldTotal = held.reduce((sum, { count }) => sum + count, 0)
  const beyondReach = outcomes.flatMap(({ holder, planned, results }) =>
    planned > 0 ? (sourceOf(holder)?.leftBehind?.(planned, results) ?? []) : [],
  )
  const lineOf = ({ holder, store, planned, erased, results }: SourceOutcome): Receipt['stores'][number] => {
    // A page that was erased again after a search found residue counts twice in the results.
    const pseudonymized = isPseudonymized(holder) ? erased : Math.min(erased, results.pseudonymized ?? 0)
    return {
      store,
      holder,
      what: sourceOf(holder)?.what ?? holder,
      found: planned,
      deleted: erased,
      ...(pseudonymized > 0 && { pseudonymized }),
      residue: 0,
      verified_at: at.toISOString(),
    }
  }
  // All data sources were searched. The receipt of a subject also lists those without records, as does a receipt without any.
  const found = outcomes.filter(({ planned }) => planned > 0)
  const listed = 'subject' in scope || found.length === 0 ? outcomes : found
  const retained = { held, words, isSearchedAgain }
  const { whileHeld = [], ...ofSubject } = subject
  return {
    receipt_id: erasure.receiptId,
    version: 1,
    issuer,
    ...namedOnReceipt(scope),
    deleted_at: deletedAt.toISOString(),
    reason: erasure.reason,
    stores: listed.map(lineOf),
    retained:
      'subject' in scope
        ? retainedOfSubject(deletedAt, {
            ...retained,
            ...ofSubject,
            requestsYears: facts.requestsYears,
            whileHeld: [...whileHeld, ...beyondReach],
          })
        : retainedOfPart(deletedAt, { ...retained, beyondReach }),
    ...(heldTotal > 0 && { held: heldTotal }),
    ...derivedOf(outcomes),
    ...(mentions.length > 0 && { remaining_mentions: [...mentions] }),
    ...(isOfPerson(scope) && namesReplaced !== undefined && { names_replaced: namesReplaced }),
    ...notSearchedOf(dataSources, outcomes),
    physical: residueAfter(deletedAt, facts, inStores),
    signed_at: at.toISOString(),
  }
}

/** Outcomes of which only the number of erased items by data source is known, in the order of the data sources. */
export const outcomesOf = (
  dataSources: readonly DataSource[],
  counts: Readonly<Record<string, Pick<SourceOutcome, 'planned' | 'erased'> & Partial<Pick<SourceOutcome, 'results'>>>>,
): SourceOutcome[] =>
  dataSources.map(({ name, store }) => ({
    holder: name,
    store,
    held: {},
    results: {},
    planned: 0,
    erased: 0,
    ...counts[name],
  }))

/** Stored with a receipt but not part of it: ids and counts by data source. */
export const ReceiptPlan = z.record(
  z.string(),
  z.strictObject({
    items: z.array(z.string()),
    deleted: z.number().int(),
    /** Additional counts by name. */
    results: z.record(z.string(), z.number().int()).optional(),
  }),
)

const negative = (counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, -count]))

/** The deletion log counts pseudonymized records as deleted. */
const inLog = ({ pseudonymized: _, ...counts }: Readonly<Record<string, number>>) => counts

const signatureOf = (receipt: Receipt) => ({
  state: 'signed' as const,
  receipt,
  jws: receipt.jws,
  signedAt: new Date(receipt.signed_at),
})

/**
 * Stores the signature of an erasure whose row and log entry were written with the deletion. Returns the stored receipt:
 * if two processes sign it concurrently, the first signature is the receipt.
 */
export async function storeSignature(tx: Transaction, receipt: Receipt): Promise<Receipt> {
  const receiptId = receipt.receipt_id
  await tx.erasure.updateMany({ where: { receiptId, state: 'committed' }, data: signatureOf(receipt) })
  const stored = await tx.erasure.findUniqueOrThrow({ where: { receiptId }, select: { receipt: true } })
  return Receipt.parse(stored.receipt)
}

/** Number of deletions in the previous receipt with the same id. */
export interface Accounting {
  total: number
}

/** Signs the second statement of a receipt, and stores it. */
export async function storeReading(
  tx: Transaction,
  statement: Omit<CompleteReading, 'jws'>,
  signer: Pick<Signer, 'attest'>,
): Promise<void> {
  const { receipt_id: receiptId, signed_at } = statement
  const jws = await signer.attest(tx, readingType, canonicalize(statement) ?? '')
  const stored = { statement: { ...statement, jws }, signedAt: new Date(signed_at) }
  await tx.receiptReading.upsert({ where: { receiptId }, create: { receiptId, ...stored }, update: stored })
}

/**
 * Stores the signed receipt of a run. A receipt that a hold left incomplete is signed again under the same id when the
 * rest is erased; the deletion log then gets only the new deletions. `record` writes the log entry and returns its id.
 */
export async function storeReceipt(
  tx: Transaction,
  receipt: Receipt,
  {
    results = {},
    record,
  }: {
    /** Total additional counts by data source and name. */
    results?: Readonly<Record<string, Readonly<Record<string, number>>>>
    record(fresh: Record<string, number>): Promise<string>
  },
): Promise<Accounting> {
  const receiptId = receipt.receipt_id
  const known = await tx.erasure.findUnique({ where: { receiptId }, select: { plan: true } })
  const before = known ? ReceiptPlan.parse(known.plan) : {}
  const deleted = Object.fromEntries(
    receipt.stores.map(({ holder, deleted }) => [holder, deleted - (before[holder]?.deleted ?? 0)]),
  )
  const named = addedUp(
    [...Object.values(results), ...Object.values(before).map((one) => negative(one.results ?? {}))].map(inLog),
  )
  const retained = {
    auditId: await record({ ...countsInLog(deleted), ...named }),
    deletedAt: new Date(receipt.deleted_at),
    ...signatureOf(receipt),
    plan: Object.fromEntries(
      receipt.stores.map(({ holder, deleted }) => [
        holder,
        { items: [], deleted, ...(holder in results && { results: { ...results[holder] } }) },
      ]),
    ),
  }
  await tx.erasure.upsert({
    where: { receiptId },
    create: { receiptId, deletedId: receipt.deleted_id, ...retained },
    update: retained,
  })
  return { total: Object.values(before).reduce((sum, { deleted }) => sum + deleted, 0) }
}

interface ExpectedErasure {
  subject: Pick<Subject, 'account' | 'participants'>
  /** The number of records to erase, by data source. */
  counts: ReadonlyMap<string, number>
  /** Further counts of these records by name, by data source. Without them, external systems are not named. */
  results?: ReadonlyMap<string, Readonly<Record<string, number>>>
  held: readonly { hold: string; count: number }[]
}
type ExpectedRetention = (erasure: ExpectedErasure, now: Date) => Promise<Receipt['retained']>

export const adminActSearch =
  (retainedRecords: readonly RetainedRecord[]): HasAdminActs =>
  async (account, now) => {
    if (account === null) return false
    for (const { inventory } of retainedRecords.filter(({ isAdminAct }) => isAdminAct))
      if (((await inventory({ account, agents: [] }, now))?.count ?? 0) > 0) return true
    return false
  }

/**
 * Returns the classes of data that the receipt of an erasure will list as retained, in the same order, if the erasure begins now. The
 * counts of the receipt are those of the erasure.
 */
export const expectedRetention =
  ({
    dataSources,
    hasAdminActs,
    facts,
  }: {
    dataSources: readonly DataSource[]
    hasAdminActs: HasAdminActs
    facts: RetentionFacts
  }): ExpectedRetention =>
  async ({ subject: { account, participants = [] }, counts, results, held }, now) => {
    const countOf = (name: string): number => counts.get(name) ?? 0
    const beyondReach = dataSources.flatMap(({ name, leftBehind }) => {
      const count = countOf(name)
      return count > 0 ? (leftBehind?.(count, results?.get(name)) ?? []) : []
    })
    // A person is also searched by name and address.
    const isPerson = account !== null || participants.length > 0
    const hasWords = isPerson || countOf('projects.messages') + countOf('projects.documents') > 0
    const isMailed = account !== null && facts.emailsInFolder
    const hasAddress = account !== null && held.length > 0
    return retainedOfSubject(now, {
      requestClosedAt: now,
      requestsYears: facts.requestsYears,
      held,
      whileHeld: [
        ...(hasAddress ? [{ what: receiptText('retained', 'address'), ground: receiptText('grounds', 'end') }] : []),
        ...adminActLines(await hasAdminActs(account, now)),
        ...beyondReach,
      ],
      letters: !isMailed ? 'none' : held.length > 0 ? 'all' : 'last',
      // The cache is searched for the ids of every subject.
      isSearchedAgain: true,
      words: hasWords ? fingerprintRetention(now, facts) : [],
    })
  }
