import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import canonicalize from 'canonicalize'
import type { Transaction } from '#lib/kernel/context.ts'
import {
  type DataSource,
  erasedOf,
  type ItemId,
  type ReadPlace,
  timeFor,
  unreadReasons,
} from '#lib/kernel/data-source.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { CompleteReading, ReadingAttestation } from '#lib/kernel/receipt.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { viewsOf } from '#lib/text/views.ts'
import type { EngineDeps, StoredWords, WordsOfMany } from '../engine/dependencies.ts'
import { noteMentions } from '../engine/plan.ts'
import { withoutReused } from '../engine/recheck.ts'
import { faultOf, forgetReadWords, runsToRead, unavailableStore, withStore } from '../engine/waits.ts'
import { readingItems, retainedErasures } from '../ledger/ledger-history.ts'
import { reason, requestedBy } from '../ledger/reinstatement.ts'
import { receiptsWithoutRun } from '../ledger/repository.ts'
import { erasedAmong } from '../queries.ts'
import { storeReading } from '../receipts/receipt.ts'
import { attestationType } from '../receipts/receipt-rules.ts'
import type { Signer } from '../receipts/signing.ts'
import { readingLock } from '../repository.ts'
import { nobody, type RunScope } from '../runs/run-rules.ts'
import { isReinstated, lockedRun, reinstateRun, scopeOf } from '../runs/runs.ts'
import { logRepeatedDeletion } from '../writes.ts'
import {
  decisionsOn,
  forgetPlaces,
  type LeftPlace,
  listPlaces,
  type PlaceDecision,
  type RemainingReason,
} from './contract.ts'

interface ReadingDeps extends Pick<EngineDeps, 'holds' | 'words' | 'audit' | 'interrupt'> {
  db: Database
  ledger: Pick<Ledger, 'read' | 'append'>
  /** Days between repetitions over former erasures. */
  sweepDays: number
  dataSources: readonly DataSource[]
  signer: Signer
  issuer: string
  now(): Date
}

/** Milliseconds of one job. Then another job continues, so that the queue never takes a long reading for an abandoned job. */
const longestSlice = 20 * 60_000
/** The pause after a page, as a multiple of the time that the page took: a slow store gets more time for its other clients. */
const restPerPage = 1
const longestRest = 5_000
/** Milliseconds after which the words of living authors are read again before anything is erased. */
const explainedFor = 10 * 60_000

/** The result of a slice. `waiting`: a store does not answer. `idle`: there is nothing to read, or another worker reads. */
type ReadingState = 'idle' | 'reading' | 'waiting' | 'completed'

type Readable = DataSource & Required<Pick<DataSource, 'read'>>
const isReadable = (one: DataSource): one is Readable => one.read !== undefined

/** The data sources of connected stores that a complete reading covers, in their order. */
const readableSources = (dataSources: readonly DataSource[]): Readable[] => dataSources.filter(isReadable)

/**
 * The receipts of former erasures to read for again, if a repetition is due and the ledger retains their fingerprints. Erasures that a
 * restored database lost, and that have a receipt again, get a run again.
 */
async function dueRepetition({ db, ledger, words, sweepDays, now }: ReadingDeps): Promise<string[]> {
  const [last, first] = await Promise.all([
    db.prisma.completeReading.findFirst({ where: { isRepeated: true }, orderBy: { startedAt: 'desc' } }),
    db.prisma.erasureRun.findFirst({ where: { state: 'done', readAt: { not: null } }, orderBy: { readAt: 'asc' } }),
  ])
  const since = last?.startedAt ?? first?.readAt
  if (!since || now().getTime() < since.getTime() + sweepDays * 86_400_000) return []
  const retained = await retainedErasures(ledger)
  const receiptIds = [...retained.keys()]
  for (const { id } of await receiptsWithoutRun(db, { ids: receiptIds })) {
    const one = retained.get(id)
    if (one) await db.transaction((tx) => reinstateRun(tx, id, one, { requestedBy, reason, readAt: null }, { words }))
  }
  const runs = await db.prisma.erasureRun.findMany({
    where: { state: 'done', readAt: { not: null } },
    select: { receiptId: true },
  })
  return runs.flatMap(({ receiptId }) => (retained.has(receiptId) ? [receiptId] : [])).sort()
}

/** Starts a reading if none is open, and erasures wait or a repetition is due. Returns the id of the open one. */
async function openReading(deps: ReadingDeps): Promise<string | undefined> {
  const { db, dataSources, words, now } = deps
  const open = await db.prisma.completeReading.findFirst({ where: { completedAt: null }, select: { id: true } })
  if (open) return open.id
  const again = await dueRepetition(deps)
  return db.transaction(async (tx) => {
    const waiting = await runsToRead(tx, words)
    if (waiting.length + again.length === 0) return undefined
    const id = newId('read')
    await tx.completeReading.create({
      data: {
        id,
        startedAt: now(),
        isRepeated: again.length > 0,
        receipts: [...waiting.map(({ receiptId }) => receiptId), ...again],
        stores: { create: readableSources(dataSources).map(({ name, store }) => ({ holder: name, store })) },
      },
    })
    return id
  })
}

/** The words of one erasure in a reading. */
interface ReadErasure extends StoredWords {
  runId: string
  /** When it was erased, if it may have been read completely before. What was written later is not a return. */
  erasedAt: Date | undefined
  /** When it was erased. A name that was written later may be somebody else's. */
  namesUntil: Date
  /** When the oldest erased text was written. Undefined: unknown, so any text of an assistant may be older. */
  since: Date | undefined
}
interface WordsOfReading {
  all: WordsOfMany
  of: ReadonlyMap<string, ReadErasure>
}

/**
 * The words of the erasures that a reading looks for: stored for erasures that wait, from the ledger for former erasures. An erasure whose
 * words no longer exist is removed from the reading, so that nothing is said about it.
 */
async function wordsOf({ db, ledger, words }: ReadingDeps, readingId: string): Promise<WordsOfReading> {
  const { receipts } = await db.prisma.completeReading.findUniqueOrThrow({ where: { id: readingId } })
  const runs = await db.prisma.erasureRun.findMany({
    where: { receiptId: { in: receipts } },
    select: { id: true, receiptId: true, readAt: true, plannedAt: true, finishedAt: true, wordsSince: true },
  })
  const waiting = new Map(runs.flatMap((run) => (run.readAt === null ? [[run.id, run] as const] : [])))
  const of = new Map<string, ReadErasure>()
  for (const row of await words.stored(db.prisma, [...waiting.keys()])) {
    const run = waiting.get(row.runId)
    if (!run) continue
    const { receiptId, finishedAt, wordsSince } = run
    const since = wordsSince ?? undefined
    // What was written since an erasure that a restored database lost may be of others, as in a repetition.
    const erasedAt = isReinstated(run) ? (finishedAt ?? undefined) : undefined
    of.set(receiptId, { ...row, receiptId, erasedAt, namesUntil: finishedAt ?? new Date(0), since })
  }
  const former = runs.filter(({ readAt }) => readAt !== null)
  if (former.length > 0) {
    const retained = await retainedErasures(ledger, new Set(former.map(({ receiptId }) => receiptId)))
    for (const { id, receiptId, wordsSince } of former) {
      const one = retained.get(receiptId)
      const since = wordsSince ?? undefined
      if (one) of.set(receiptId, { ...one, receiptId, runId: id, namesUntil: one.erasedAt, since })
    }
  }
  if (receipts.some((one) => !of.has(one)))
    await db.prisma.completeReading.update({
      where: { id: readingId },
      data: { receipts: receipts.filter((one) => of.has(one)) },
    })
  return { all: words.together([...of.values()]), of }
}

/** What one place contains of one erasure. */
interface Finding {
  receiptId: string
  place: ReadPlace
  /** For each text of the place with words: their fingerprints, and when it was written. */
  texts: (FoundWords & { text: string })[]
}
interface FoundWords {
  runs: ReadonlySet<number>
  names: ReadonlySet<number>
  uncertain: ReadonlySet<number>
  writtenAt: Date | undefined
}
const keyOf = ({ receiptId, place }: Pick<Finding, 'receiptId' | 'place'>): string =>
  JSON.stringify([receiptId, place.id])

/** The places of a page or of several that contain words, and the ids of those with values that cannot be read. */
class ReadPlaces {
  readonly findings = new Map<string, Finding>()
  readonly unread = new Set<string>()
  texts = 0
  units = 0
  /** Values that were decoded only in part. */
  partial = 0
  readonly words: WordsOfReading
  constructor(words: WordsOfReading) {
    this.words = words
  }
  readonly visit = async (place: ReadPlace): Promise<void> => {
    const { findings, words } = this
    let isRead = place.isUnread !== true
    for (const text of place.texts) {
      this.texts++
      this.units += text.length
      const found = words.all.foundIn(text)
      if (isRead && viewsOf(text).isIncomplete) {
        isRead = false
        this.partial++
      }
      if (found.size === 0) continue
      const writtenAt = await place.writtenAt?.()
      for (const [receiptId, own] of found) {
        const key = keyOf({ receiptId, place })
        const known = findings.get(key) ?? { receiptId, place, texts: [] }
        known.texts.push({ text, writtenAt, ...own })
        findings.set(key, known)
      }
    }
    if (!isRead) this.unread.add(place.id)
  }
}

/** A part of a data source, from a cursor to a cursor; null: from the beginning, to the end. */
interface ReadRange {
  from: string | null
  until: string | null
}
/** The stored end of a range that ends with its data source: no cursor is empty. */
const endOfSource = ''
/** The end of a range as stored. An earlier version stored none: then it is unknown, and the range is one page. */
type StoredEnd = string | null

/** Reads all of a range, also what others stored in it since its page was read: a place that is not in it does not exist. */
export async function readRange(
  source: Pick<Readable, 'read'>,
  { from, until }: { from: string | null; until: StoredEnd },
  visit: (place: ReadPlace) => Promise<void>,
): Promise<void> {
  for (let at = from; ; ) {
    const { next } = await source.read(at, visit, until || undefined)
    if (until === null || next === null || next === until) return
    at = next
  }
}
/**
 * Reads the places of a page again. A store whose cursors lose their meaning may never return the same end of a page, so that a range of it would
 * be all of its data: its places are read by their ids.
 */
async function readAgain(
  source: Readable,
  range: { from: string | null; until: StoredEnd },
  ids: readonly string[],
  words: WordsOfReading,
): Promise<ReadPlaces> {
  const places = new ReadPlaces(words)
  if (source.readPlaces) await source.readPlaces(ids, places.visit)
  else await readRange(source, range, places.visit)
  return places
}

/** Whose words the runs of an erasure are, by the id of its receipt. */
interface Explained {
  /** The runs of its erasure that texts of others explain. */
  by(receiptId: string): ReadonlySet<number>
  /**
   * The runs that only assistants also wrote, who may quote the oldest erased text or say the same: in other projects after it, or in any project
   * shortly before it, or before it only by the time that a client stated.
   */
  doubtful(receiptId: string): ReadonlySet<number>
}

/** For each run in texts of assistants: their projects, and there the first time that a client stated and at which we stored one. */
type MachineTexts = Map<number, { project: string; at: number; storedAt: number }[]>

/** In milliseconds: an application that stores a question and its answer together may store the answer first. */
const turn = 10 * 60_000

function explainedBy(persons: ReadonlySet<number>, machines: MachineTexts, of: WordsOfReading['of']): Explained {
  const known = new Map<string, { by: Set<number>; doubtful: Set<number> }>()
  const ofReceipt = (receiptId: string) => {
    const sets = known.get(receiptId) ?? { by: new Set(persons), doubtful: new Set<number>() }
    if (known.has(receiptId)) return sets
    known.set(receiptId, sets)
    const { since, projects = [] } = of.get(receiptId) ?? {}
    const first = since?.getTime() ?? Number.POSITIVE_INFINITY
    for (const [run, texts] of machines)
      if (texts.some(({ storedAt }) => storedAt < first - turn)) sets.by.add(run)
      else if (
        !persons.has(run) &&
        texts.some(({ project, at, storedAt }) => Math.min(at, storedAt) < first || !projects.includes(project))
      )
        sets.doubtful.add(run)
    return sets
  }
  return { by: (receiptId) => ofReceipt(receiptId).by, doubtful: (receiptId) => ofReceipt(receiptId).doubtful }
}

/**
 * What texts of living authors explain, and what texts of assistants explain or may quote. They are read when the first words are found, and
 * again after a while.
 */
function explanations({ words, now }: ReadingDeps, { all, of }: WordsOfReading) {
  let known: { explained: Explained; until: number } | undefined
  return async (): Promise<Explained> => {
    if (known && known.until > performance.now()) return known.explained
    const persons = new Set<number>()
    const machines: MachineTexts = new Map()
    await words.living(
      now(),
      (text) => {
        for (const run of all.runsIn(text)) persons.add(run)
      },
      (name) => {
        for (const run of all.namesIn(name)) persons.add(run)
      },
      (text, { writtenAt, storedAt, project }) => {
        for (const run of all.wordsIn(text)) {
          const texts = machines.get(run) ?? []
          machines.set(run, texts)
          const known = texts.find((one) => one.project === project)
          const [at, stored] = [writtenAt.getTime(), storedAt.getTime()]
          if (known) {
            known.at = Math.min(known.at, at)
            known.storedAt = Math.min(known.storedAt, stored)
          } else texts.push({ project, at, storedAt: stored })
        }
      },
    )
    const explained = explainedBy(persons, machines, of)
    known = { explained, until: performance.now() + explainedFor }
    return explained
  }
}

/** A finding without the runs that two remaining texts of persons contain only together: the erasure leaves them too. */
async function withoutShared(
  { words: { sharedRuns }, now }: Pick<ReadingDeps, 'words' | 'now'>,
  finding: Finding,
  { all, of }: WordsOfReading,
  explained: Explained,
): Promise<Finding> {
  const { receiptId } = finding
  const texts: Finding['texts'] = []
  for (const one of finding.texts) {
    const unknown = one.runs.difference(explained.by(receiptId))
    const matches = unknown.size === 0 ? [] : all.runsOf(receiptId, one.text).filter(({ run }) => unknown.has(run))
    const shared =
      matches.length === 0
        ? new Set<number>()
        : await sharedRuns(one.text, matches, of.get(receiptId)?.projects ?? [], now())
    texts.push({ ...one, runs: one.runs.difference(shared) })
  }
  return { ...finding, texts }
}

/**
 * Distinct runs of six words that a text must share with an erased one to be a copy of it: twelve words in a row. Others write shorter
 * sequences by chance.
 */
const leastCopied = 7

/** What a reading does with a place. `runs`: the fingerprints to erase there. */
type Assessment =
  | { kind: 'erase'; runs: ReadonlySet<number> }
  /** A living author's text contains all of the words. */
  | { kind: 'explained' }
  /** The words stay for now, and an admin can decide. */
  | { kind: 'leave'; reason: RemainingReason; writtenAt: Date | undefined }

/**
 * Judges a place. An erasure that was never read completely erases all words that no living author explains. A repetition erases only what
 * came back: texts that are older than the erasure by their store's own time, and copies too long to be chance. Words in `doubtful`, which an
 * assistant in another project wrote, are erased only when an admin decides so.
 */
export function decideFinding(
  { texts }: { texts: readonly Pick<FoundWords, 'runs' | 'writtenAt'>[] },
  explained: ReadonlySet<number>,
  erasedAt: Date | undefined,
  decision?: PlaceDecision | null,
  doubtful: ReadonlySet<number> = new Set(),
): Assessment {
  const rest = texts
    .map(({ runs, writtenAt }) => ({ runs: runs.difference(explained), writtenAt }))
    .filter(({ runs }) => runs.size > 0)
  if (rest.length === 0) return { kind: 'explained' }
  const writtenAt = rest.map((one) => one.writtenAt).find((one) => one !== undefined)
  if (decision === 'keep') return { kind: 'leave', reason: writtenAt ? 'newer' : 'undated', writtenAt }
  const returned = rest.filter(
    (one) =>
      erasedAt === undefined ||
      decision === 'erase' ||
      (one.writtenAt !== undefined && one.writtenAt <= erasedAt) ||
      one.runs.size >= leastCopied,
  )
  if (returned.length === 0) return { kind: 'leave', reason: writtenAt ? 'newer' : 'undated', writtenAt }
  const runs = new Set(returned.flatMap((one) => [...one.runs]))
  const certain = decision === 'erase' ? runs : runs.difference(doubtful)
  return certain.size === 0 ? { kind: 'leave', reason: 'owned', writtenAt } : { kind: 'erase', runs: certain }
}

/** What a reading does with the names of the erased person in a place. `names`: the fingerprints to erase there. */
type NameAssessment =
  | { kind: 'none' }
  | { kind: 'erase'; names: ReadonlySet<number> }
  /** Nothing is erased until an admin decides about these names. */
  | { kind: 'leave'; reason: RemainingReason; writtenAt: Date | undefined }

interface NamesInPlace {
  /** When the last text of the place was written; null if its texts change without a time. */
  lastAt: Date | null | undefined
  isOfOthers: boolean
}
/**
 * Judges the names in a place. A name is erased where it is older than the erasure by the store's own time. Everybody else's data stays: what
 * is newer or has no time, what belongs to other projects, and names that a living person has or wrote. It is listed for an admin.
 */
export function decideNames(
  texts: readonly Omit<FoundWords, 'runs'>[],
  explained: ReadonlySet<number>,
  until: Date,
  { lastAt, isOfOthers }: NamesInPlace,
  decision?: PlaceDecision | null,
): NameAssessment {
  const found = texts.filter(({ names, uncertain }) => names.size + uncertain.size > 0)
  if (found.length === 0) return { kind: 'none' }
  const names = new Set(found.flatMap((one) => [...one.names]))
  const times = [...found.map(({ writtenAt }) => writtenAt), ...(lastAt ? [lastAt] : [])]
  const writtenAt = times.findLast((at) => at !== undefined)
  const isNewer = times.some((at) => at !== undefined && at > until)
  const leave = (reason: RemainingReason): NameAssessment => ({ kind: 'leave', reason, writtenAt })
  if (names.size === 0) {
    // What people write later is about others: it only may be a name.
    if (isNewer && decision !== 'erase' && decision !== 'keep') return { kind: 'none' }
    if (isOfOthers) return leave('owned')
    if (decision !== 'erase') return leave('uncertain')
    const maybe = new Set(found.flatMap((one) => [...one.uncertain])).difference(explained)
    return maybe.size === 0 ? leave('shared') : { kind: 'erase', names: maybe }
  }
  const rest = names.difference(explained)
  if (rest.size === 0) return leave('shared')
  if (isOfOthers) return leave('owned')
  if (decision === 'erase') return { kind: 'erase', names: rest }
  if (isNewer) return leave('newer')
  if (decision === 'keep' || lastAt === null || times.includes(undefined)) return leave('undated')
  return { kind: 'erase', names: rest }
}

const nobodys: RunScope = { subject: nobody }

/** What a reading is about to erase of one erasure on one page. */
interface NotedPage {
  readingId: string
  receiptId: string
  page: string
  items: string[]
  runs: bigint[]
  /** If there are any, only these names are erased. */
  names: bigint[]
}

/** Erases what was found of one erasure by the engine's own step, and counts and logs it in the same transaction. */
const erasePage = (
  deps: ReadingDeps,
  source: DataSource,
  { readingId, receiptId, page, items, runs, names }: NotedPage,
  { all, of }: WordsOfReading,
  explained: Explained,
): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const where = { readingId, receiptId, holder: source.name }
    const words = of.get(receiptId)
    const run = words && (await lockedRun(tx, words.runId))
    await deps.holds.lock(tx, deps.now())
    const isHeld = (await deps.holds.projects(tx, words?.projects ?? [], deps.now())).size > 0
    if (!run || !words) return
    if (isHeld) {
      await addFinding(tx, where, { isHeld })
      return
    }
    const now = deps.now()
    const own = await withoutReused(tx, source, items, now)
    const only = runs.length === 0 ? undefined : new Set(runs.map(Number))
    const known = explained.by(receiptId).union(explained.doubtful(receiptId))
    const { count, results, mentions } = erasedOf(
      await source.erase(nobodys, own, tx, {
        key: `${run.id}:${source.name}:late:${readingId}:${page}`,
        redacts: false,
        round: 1,
        words:
          names.length > 0
            ? all.named(receiptId, new Set(names.map(Number)))
            : all.unexplained(receiptId, only ? explained.by(receiptId) : known, only),
        projects: words.projects,
        now,
      }),
    )
    await noteMentions(tx, run.id, mentions)
    if (count === 0) return
    await tx.erasureRun.update({ where: { id: run.id }, data: { lateFound: { increment: count } } })
    await logRepeatedDeletion(tx, deps.audit, {
      scope: scopeOf(run),
      receiptId,
      actorId: 'system:erasure.read',
      reason: run.reason,
      holder: source.name,
      count,
      countedAs: 'late',
      results,
      at: now,
    })
    deps.interrupt(`read.${source.name}.inside`)
  }, timeFor(source))

async function addFinding(
  tx: Transaction,
  key: { readingId: string; receiptId: string; holder: string },
  { erased = 0, left = 0, explained = 0, namesErased = 0, namesListed = 0, isHeld = false }: Partial<FindingCounts>,
): Promise<void> {
  await tx.readingFinding.upsert({
    where: { readingId_receiptId_holder: key },
    create: { ...key, erased, left, explained, namesErased, namesListed, isHeld },
    update: {
      erased: { increment: erased },
      left: { increment: left },
      explained: { increment: explained },
      namesErased: { increment: namesErased },
      namesListed: { increment: namesListed },
      ...(isHeld && { isHeld }),
    },
  })
}
interface FindingCounts {
  erased: number
  left: number
  explained: number
  namesErased: number
  namesListed: number
  isHeld: boolean
}
/** The result of a page for one erasure. */
interface PageResult extends FindingCounts {
  places: LeftPlace[]
}

/** What a reading is about to erase in the places of one erasure on a page: words, or the same names in each of the places. */
interface Batch {
  receiptId: string
  findings: Finding[]
  runs: Set<number>
  names: ReadonlySet<number>
}

/** Erases the findings of a page, and returns the counts of each erasure after the page was read again. */
async function eraseFindings(
  deps: ReadingDeps,
  source: Readable,
  { readingId, range, found }: { readingId: string; range: ReadRange; found: ReadPlaces },
  words: WordsOfReading,
  explained: Explained,
): Promise<Map<string, PageResult>> {
  const findings: Finding[] = []
  for (const one of found.findings.values()) findings.push(await withoutShared(deps, one, words, explained))
  const decisions = await decisionsOn(deps.db.prisma, source.name, findings)
  const hasRuns = ({ texts }: Finding): boolean => texts.some(({ runs }) => runs.size > 0)
  const decided = (finding: Finding): Assessment =>
    decideFinding(
      { texts: finding.texts.filter(({ runs }) => runs.size > 0) },
      explained.by(finding.receiptId),
      words.of.get(finding.receiptId)?.erasedAt,
      decisions.get(keyOf(finding)),
      explained.doubtful(finding.receiptId),
    )
  async function decidedNames(finding: Finding): Promise<NameAssessment> {
    const { receiptId, place, texts } = finding
    if (texts.every(({ names, uncertain }) => names.size + uncertain.size === 0)) return { kind: 'none' }
    const { projects = [], namesUntil = new Date(0) } = words.of.get(receiptId) ?? {}
    const isOfOthers = await deps.db.transaction((tx) => place.isOfOthers(projects, tx))
    const lastAt = await place.lastWrittenAt?.()
    return decideNames(
      texts,
      explained.by(receiptId),
      namesUntil,
      { lastAt, isOfOthers },
      decisions.get(keyOf(finding)),
    )
  }
  const batches = new Map<string, Batch>()
  const add = (finding: Finding, runs: ReadonlySet<number>, names: ReadonlySet<number>) => {
    const { receiptId, place } = finding
    if (place.isFixed) return
    const key = JSON.stringify([receiptId, ...[...names].sort((one, other) => one - other)])
    const known = batches.get(key) ?? { receiptId, findings: [], runs: new Set<number>(), names }
    known.findings.push(finding)
    for (const run of runs) known.runs.add(run)
    batches.set(key, known)
  }
  const ofNames = new Map<Finding, NameAssessment>()
  for (const finding of findings) {
    const assessment = decided(finding)
    if (assessment.kind === 'erase') add(finding, assessment.runs, new Set())
    const names = await decidedNames(finding)
    ofNames.set(finding, names)
    if (names.kind === 'erase') add(finding, new Set(), names.names)
  }
  const owned: Owned = { runs: new Set(), names: new Set() }
  for (const batch of batches.values()) {
    const noted = await noteBatch(deps, source, { readingId, range, batch, owned }, words)
    deps.interrupt('read.noted')
    if (noted) await erasePage(deps, source, noted, words, explained)
  }
  // By the reader: not by the queries that erased. Where each place can be read by itself, no range is read.
  const inRange = [...batches.values()].flatMap((batch) =>
    batch.findings.flatMap(({ place }) => (place.again ? [] : [place.id])),
  )
  const stored = { from: range.from, until: range.until ?? endOfSource }
  const again = inRange.length === 0 ? undefined : await readAgain(source, stored, inRange, words)
  const results = new Map<string, PageResult>()
  for (const finding of findings) {
    const { receiptId, place } = finding
    const of = results.get(receiptId) ?? {
      erased: 0,
      left: 0,
      explained: 0,
      namesErased: 0,
      namesListed: 0,
      isHeld: false,
      places: [],
    }
    results.set(receiptId, of)
    const before = decided(finding)
    const namesBefore: NameAssessment = ofNames.get(finding) ?? { kind: 'none' }
    const isErased = !place.isFixed && (before.kind === 'erase' || namesBefore.kind === 'erase')
    const rest = isErased ? await remaining(finding, again, words) : undefined
    const now = rest?.finding && (await withoutShared(deps, rest.finding, words, explained))
    // A value that can no longer be read may still contain the words.
    const isUncertain = rest?.isUnread === true && !found.unread.has(place.id)
    const leave = (reason: RemainingReason, writtenAt: Date | undefined) =>
      of.places.push({ place: place.id, reason, writtenAt })
    const namesAfter: NameAssessment = !isErased ? namesBefore : now ? await decidedNames(now) : { kind: 'none' }
    // Only what was to be erased here counts as erased: others may also have deleted a place that nobody here changes.
    if (namesAfter.kind === 'leave') {
      of.namesListed++
      leave(namesAfter.reason, namesAfter.writtenAt)
    } else if (namesBefore.kind !== 'none') {
      const reason = reasonToStay(
        namesAfter.kind === 'erase',
        owned.names.has(finding) || owned.runs.has(finding),
        isUncertain,
        place.isFixed,
      )
      if (reason === undefined) of.namesErased++
      else {
        of.namesListed++
        leave(reason, now?.texts[0]?.writtenAt)
      }
    }
    if (!hasRuns(finding)) continue
    if (before.kind === 'explained') {
      of.explained++
      continue
    }
    const after = before.kind === 'leave' ? before : now && hasRuns(now) ? decided(now) : undefined
    if (after?.kind === 'leave') {
      of.left++
      leave(after.reason, after.writtenAt)
      continue
    }
    const reason = reasonToStay(after?.kind === 'erase', owned.runs.has(finding), isUncertain, place.isFixed)
    if (reason === undefined) of.erased++
    else {
      of.left++
      leave(reason, now?.texts[0]?.writtenAt)
    }
  }
  return results
}

/** The findings of a page that were to be erased and do not belong to others: their words, or the names in them. */
interface Owned {
  runs: Set<Finding>
  names: Set<Finding>
}
/** Why a place counts as left although it was to be erased; undefined if it was erased. */
const reasonToStay = (
  isThere: boolean,
  isOwned: boolean,
  isUncertain: boolean,
  isFixed = false,
): RemainingReason | undefined =>
  isFixed ? 'unchanged' : !isOwned ? 'owned' : isThere || isUncertain ? 'unchanged' : undefined

/** Stores what is about to be erased; undefined if all places belong to others. Adds the other findings to `owned`. */
const noteBatch = (
  { db }: Pick<ReadingDeps, 'db'>,
  { name: holder }: DataSource,
  {
    readingId,
    range,
    batch: { receiptId, findings, runs, names },
    owned,
  }: { readingId: string; range: ReadRange; batch: Batch; owned: Owned },
  { of }: WordsOfReading,
): Promise<NotedPage | undefined> =>
  db.transaction(async (tx) => {
    const { projects = [], erasedAt } = of.get(receiptId) ?? {}
    const ofNames = [...names].sort((one, other) => one - other).map(BigInt)
    const items = new Set<ItemId>()
    const places: string[] = []
    for (const finding of findings) {
      const { place } = finding
      const some =
        names.size > 0 && place.itemsOfNames
          ? await place.itemsOfNames(projects, tx)
          : await place.itemsOf(projects, tx, (ids) => erasedAmong(tx, ids, receiptId))
      if (some.length === 0) continue
      owned[names.size > 0 ? 'names' : 'runs'].add(finding)
      places.push(place.id)
      for (const item of some) items.add(item)
    }
    if (items.size === 0) return undefined
    const page = createHash('sha256')
      .update(names.size === 0 ? (range.from ?? '') : JSON.stringify([range.from, ofNames.map(String)]))
      .digest('base64url')
      .slice(0, 22)
    const data = {
      readingId,
      receiptId,
      holder,
      page,
      items: [...items].sort(),
      places,
      until: range.until ?? endOfSource,
      // Of what came back, only the words of the returned texts are erased: others may write the rest anew.
      runs: erasedAt ? [...runs].map(BigInt) : [],
      names: ofNames,
    }
    await tx.readingPage.upsert({
      where: { readingId_receiptId_holder_page: { readingId, receiptId, holder, page } },
      create: data,
      update: { items: data.items, places: data.places, until: data.until, runs: data.runs },
    })
    return data
  })

/** What a place contains now. A place that cannot be read again by its range is read by itself. */
async function remaining(
  finding: Finding,
  again: ReadPlaces | undefined,
  { all }: WordsOfReading,
): Promise<{ finding: Finding | undefined; isUnread: boolean }> {
  const { receiptId, place } = finding
  if (!place.again)
    return { finding: again?.findings.get(keyOf(finding)), isUnread: again?.unread.has(place.id) === true }
  const writtenAt = await place.writtenAt?.()
  const { texts, isUnread = false } = await place.again()
  const found = texts.flatMap((text) => {
    const words = all.foundIn(text).get(receiptId)
    return words ? [{ text, writtenAt, ...words }] : []
  })
  const isPartial = texts.some((text) => viewsOf(text).isIncomplete)
  return { finding: { receiptId, place, texts: found }, isUnread: isUnread || isPartial }
}

/**
 * Finishes what the page of an ended process was about to erase: erases it again under the same key, so that the engine counts and logs it, and
 * counts the places without the words. The page itself is read next, and the reading finds the other places again.
 */
async function finishNoted(
  deps: ReadingDeps,
  { readingId, source, cursor }: { readingId: string; source: Readable; cursor: string | null },
  words: WordsOfReading,
  explained: () => Promise<Explained>,
): Promise<void> {
  const { db, now } = deps
  const noted = await db.prisma.readingPage.findMany({ where: { readingId, holder: source.name } })
  if (noted.length === 0) return
  for (const one of noted) await erasePage(deps, source, one, words, await explained())
  const ranges = new Map<StoredEnd, ReadPlaces>()
  const results: { receiptId: string; isOfNames: boolean; erased: number; unread: string[] }[] = []
  for (const { receiptId, places, names, until } of noted) {
    const read = ranges.get(until) ?? (await readAgain(source, { from: cursor, until }, places, words))
    if (!source.readPlaces) ranges.set(until, read)
    const gone = places.filter((id) => !read.findings.has(JSON.stringify([receiptId, id])))
    const unread = gone.filter((id) => read.unread.has(id))
    results.push({ receiptId, isOfNames: names.length > 0, erased: gone.length - unread.length, unread })
  }
  await db.transaction(async (tx) => {
    for (const { receiptId, isOfNames, erased, unread } of results) {
      const where = { readingId, receiptId, holder: source.name }
      await addFinding(
        tx,
        where,
        isOfNames ? { namesErased: erased, namesListed: unread.length } : { erased, left: unread.length },
      )
      const listed = unread.map((place): LeftPlace => ({ place, reason: 'unchanged', writtenAt: undefined }))
      await listPlaces(tx, { ...where, now: now() }, listed)
    }
    await tx.readingPage.deleteMany({ where: { readingId, holder: source.name } })
  })
}

/** Reads the next page of a data source. Returns false after the last one. */
async function advance(
  deps: ReadingDeps,
  readingId: string,
  source: Readable,
  words: WordsOfReading,
  explained: () => Promise<Explained>,
): Promise<boolean> {
  const { db, now } = deps
  const where = { readingId_holder: { readingId, holder: source.name } }
  const row = await db.prisma.readingStore.findUniqueOrThrow({ where })
  if (row.completedAt !== null) return false
  if (row.startedAt === null) await db.prisma.readingStore.update({ where, data: { startedAt: now() } })
  const { cursor } = row
  await withStore(source.store, () => finishNoted(deps, { readingId, source, cursor }, words, explained))
  const found = new ReadPlaces(words)
  const page = await withStore(source.store, () => source.read(cursor, found.visit))
  deps.interrupt('read.page')
  const range = { from: cursor, until: page.next }
  const counts =
    found.findings.size === 0
      ? new Map<string, PageResult>()
      : await withStore(source.store, async () =>
          eraseFindings(deps, source, { readingId, range, found }, words, await explained()),
        )
  await db.transaction(async (tx) => {
    const unread: Record<string, number> = { ...countsIn(row.unread) }
    for (const [reason, count] of Object.entries(page.unread)) unread[reason] = (unread[reason] ?? 0) + count
    if (found.partial > 0) unread.large = (unread.large ?? 0) + found.partial
    const { count } = await tx.readingStore.updateMany({
      where: { readingId, holder: source.name, cursor, completedAt: null },
      data: {
        cursor: page.next,
        texts: { increment: found.texts },
        units: { increment: found.units },
        unread,
        fault: null,
        faultSince: null,
        ...(page.next === null && { completedAt: now() }),
      },
    })
    if (count === 0) return
    for (const [receiptId, result] of counts) {
      await addFinding(tx, { readingId, receiptId, holder: source.name }, result)
      await listPlaces(tx, { readingId, receiptId, holder: source.name, now: now() }, result.places)
    }
    await tx.readingPage.deleteMany({ where: { readingId, holder: source.name } })
  })
  deps.interrupt('read.advanced')
  return page.next !== null
}
const countsIn = (json: unknown): Record<string, number> =>
  typeof json === 'object' && json !== null
    ? Object.fromEntries(
        Object.entries(json).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
      )
    : {}

interface StoreRow {
  holder: string
  store: string
  startedAt: Date | null
  completedAt: Date | null
  texts: bigint
  units: bigint
  unread: unknown
}
interface FindingRow {
  holder: string
  erased: number
  left: number
  explained: number
  namesErased: number
  namesListed: number
}

/** The values that were not read, by reason. */
export function unreadIn(unread: unknown): CompleteReading['stores'][number]['not_read'] {
  return unreadReasons.flatMap((reason) => {
    const count: unknown = typeof unread === 'object' && unread !== null ? Reflect.get(unread, reason) : undefined
    return typeof count === 'number' && count > 0 ? [{ reason, count }] : []
  })
}

/** What no reader of a store reads as text, whether it exists there or not. Other values that cannot be read are counted. */
const neverRead: Readonly<Record<string, readonly string[]>> = {
  graph: ['embeddings'],
  checkpoints: ['embeddings'],
}

/** The line of one data source. @throws if it was not read completely: then nothing may be signed */
function lineOf(row: StoreRow, findings: readonly FindingRow[]): CompleteReading['stores'][number] {
  const { holder, store, startedAt, completedAt, texts, units, unread } = row
  if (!startedAt || !completedAt) throw new Error(`${holder} was not read completely`)
  let [erased, left, explained] = [0, 0, 0]
  const names = { found: 0, erased: 0, listed: 0 }
  for (const one of findings) {
    if (one.holder !== holder) continue
    erased += one.erased
    left += one.left
    explained += one.explained
    names.erased += one.namesErased
    names.listed += one.namesListed
  }
  names.found = names.erased + names.listed
  return {
    store,
    holder,
    from: startedAt.toISOString(),
    until: completedAt.toISOString(),
    how: ['words', 'contacts', 'names'],
    texts: Number(texts),
    characters: Number(units),
    found: erased + left + explained,
    erased,
    left,
    explained,
    names,
    not_read: unreadIn(unread),
    never_read: [...(neverRead[store] ?? [])],
  }
}

type SignDeps = Pick<ReadingDeps, 'db' | 'ledger' | 'words' | 'signer' | 'issuer' | 'now'>

/** The second statement of a receipt, without its signature. Undefined if there is nothing to sign. */
const statementOf = (
  { db, issuer, now }: SignDeps,
  readingId: string,
  receiptId: string,
): Promise<Omit<CompleteReading, 'jws'> | undefined> =>
  db.transaction(async (tx) => {
    const stores = await tx.readingStore.findMany({ where: { readingId }, orderBy: { holder: 'asc' } })
    const findings = await tx.readingFinding.findMany({ where: { readingId, receiptId } })
    // A legal hold kept words in place: the erasure waits for the next reading.
    if (findings.some(({ isHeld }) => isHeld)) return undefined
    return {
      receipt_id: receiptId,
      version: 1,
      issuer,
      stores: stores.map((row) => lineOf(row, findings)),
      signed_at: now().toISOString(),
    }
  })

/** True for a receipt that did not expire. */
const isSigned = async (tx: Transaction, receiptId: string): Promise<boolean> =>
  (await tx.erasure.count({ where: { receiptId, state: 'signed' } })) > 0

/**
 * Signs the statement of the complete reading on a receipt, and deletes words that nothing needs any more. As with a receipt, the ledger
 * stores the statement before the database does.
 */
async function signReading(
  deps: SignDeps,
  readingId: string,
  { id: runId, receiptId }: { id: string; receiptId: string },
): Promise<void> {
  const statement = await statementOf(deps, readingId, receiptId)
  if (!statement || !(await isSigned(deps.db.prisma, receiptId))) return
  await withStore('ledger', () => deps.ledger.append(readingItems(statement)))
  await deps.db.transaction(async (tx) => {
    if (!(await isSigned(tx, receiptId))) return
    await storeReading(tx, statement, deps.signer)
    await tx.erasureRun.update({ where: { id: runId }, data: { readAt: new Date(statement.signed_at) } })
    await forgetReadWords(tx, runId, deps)
  })
}

/** Closes a reading with a signed statement over all its erasures. */
const attest = (deps: SignDeps, readingId: string): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const reading = await tx.completeReading.findUniqueOrThrow({
      where: { id: readingId },
      include: { stores: { orderBy: { holder: 'asc' } }, findings: true },
    })
    const { receipts, findings, isRepeated, startedAt } = reading
    await forgetPlaces(tx, { readingId, receipts })
    const at = deps.now()
    const changed = findings.filter(({ erased, left, namesErased }) => erased + left + namesErased > 0)
    const attestation: Omit<ReadingAttestation, 'jws'> = {
      reading_id: readingId,
      version: 1,
      issuer: deps.issuer,
      is_repeated: isRepeated,
      started_at: startedAt.toISOString(),
      completed_at: at.toISOString(),
      erasures: receipts.length,
      erasures_found: new Set(changed.map(({ receiptId }) => receiptId)).size,
      stores: reading.stores.map((row) => lineOf(row, findings)),
      signed_at: at.toISOString(),
    }
    const jws = await deps.signer.attest(tx, attestationType, canonicalize(attestation) ?? '')
    await tx.completeReading.update({
      where: { id: readingId },
      data: { completedAt: at, attestation: { ...attestation, jws } },
    })
  })

/** Signs the statements of all erasures that waited for a reading, and closes the reading. Idempotent: a repetition after a crash signs the rest. */
async function signReadings(deps: SignDeps, readingId: string): Promise<void> {
  const { db, words } = deps
  const { receipts } = await db.prisma.completeReading.findUniqueOrThrow({ where: { id: readingId } })
  const runs = await runsToRead(db.prisma, words, receipts)
  for (const run of runs) await signReading(deps, readingId, run)
  await attest(deps, readingId)
}

/** Reads until everything is read, a store does not answer, or the time is over. */
async function readOn(deps: ReadingDeps, readingId: string, rest: boolean): Promise<ReadingState> {
  const { db, now } = deps
  const words = await wordsOf(deps, readingId)
  const explained = explanations(deps, words)
  const until = performance.now() + longestSlice
  let isWaiting = false
  for (const source of readableSources(deps.dataSources))
    try {
      for (let isMore = true; isMore; ) {
        const began = performance.now()
        isMore = await advance(deps, readingId, source, words, explained)
        if (performance.now() > until) return 'reading'
        if (isMore && rest) await delay(Math.min((performance.now() - began) * restPerPage, longestRest))
      }
    } catch (error) {
      // An unavailable store must not block the others. Its reading continues when it answers again.
      if (unavailableStore(error, source.store) === undefined)
        logFault(error, { job: 'erasure.read', holder: source.name })
      isWaiting = true
      const where = { readingId, holder: source.name }
      const row = await db.prisma.readingStore.findFirst({ where })
      await db.prisma.readingStore.updateMany({
        where,
        data: { fault: faultOf(error), faultSince: row?.faultSince ?? now() },
      })
    }
  if (isWaiting) return 'waiting'
  try {
    await signReadings(deps, readingId)
  } catch (error) {
    if (unavailableStore(error, 'postgresql') !== 'ledger') throw error
    return 'waiting'
  }
  return 'completed'
}

/**
 * Complete readings. A reading passes every text of every connected store to a comparison with the words of all erasures that waited when it
 * began, erases what it finds, and adds a signed statement to their receipts. Every few days it also reads for all former erasures whose
 * fingerprints the ledger retains, and erases what came back. One worker reads at a time. A reading continues where it
 * stopped, also after a crash: every page commits its cursor with its counts.
 */
export const completeReadings = (deps: ReadingDeps) => ({
  /** The ids of the runs whose words are stored: those that wait for a reading or a second search. */
  runsWithWords: (): Promise<string[]> => deps.words.runs(deps.db.prisma),
  /** Starts or continues a reading. `rests`: pauses after each page, for the load on the stores. */
  async read({ rests = true }: { rests?: boolean } = {}): Promise<ReadingState> {
    const client = await deps.db.session()
    // The lock belongs to the session: a connection that may still have it is closed.
    let isIntact = false
    try {
      const [lock] = await readingLock(client, {}, 'take')
      if (!lock?.done) {
        isIntact = true
        return 'idle'
      }
      try {
        const id = await openReading(deps)
        return id === undefined ? 'idle' : await readOn(deps, id, rests)
      } finally {
        await readingLock(client, {}, 'release')
        isIntact = true
      }
    } finally {
      client.release(!isIntact)
    }
  },
})
export type CompleteReadings = ReturnType<typeof completeReadings>
