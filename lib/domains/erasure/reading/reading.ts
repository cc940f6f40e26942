import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { noteMentions } from '#lib/domains/erasure/engine/mentions.ts'
import { withoutReused } from '#lib/domains/erasure/engine/recheck-store.ts'
import type { StoredWords, SubjectErasurePorts, WordsOfMany } from '#lib/domains/erasure/engine/subject-erasures.ts'
import { faultOf, needing, unavailableStore } from '#lib/domains/erasure/engine/waits.ts'
import type { Signer } from '#lib/domains/erasure/receipts/signing.ts'
import { logRepeatedDeletion } from '#lib/domains/erasure/runs/repeated-deletions.ts'
import { nobody, type RunScope } from '#lib/domains/erasure/runs/run-rules.ts'
import { lockedRun, scopeOf } from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, type ItemId, type ReadPlace, timeFor } from '#lib/kernel/data-source.ts'
import { erasedOf } from '#lib/kernel/erased.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { readingLock } from './repository.ts'
import { signReadings } from './statements.ts'
import { runsToRead } from './waiting.ts'

export interface ReadingDeps extends Pick<SubjectErasurePorts, 'holds' | 'words' | 'audit' | 'interrupt'> {
  db: Database
  dataSources: readonly DataSource[]
  signer: Signer
  issuer: string
  now(): Date
}

/** Milliseconds of one job. Then another job continues, so that the queue never takes a long reading for an abandoned job. */
const longestSlice = 20 * 60_000
/** The rest after a page, as a multiple of the time that the page took: a slow store gets more time for its other clients. */
const restPerPage = 1
const longestRest = 5_000
/** Milliseconds after which the words of living authors are read again before anything is erased. */
const explainedFor = 10 * 60_000
const mostPlaces = 100

/** The result of a slice. `waiting`: a store does not answer. `idle`: there is nothing to read, or another worker reads. */
export type ReadingState = 'idle' | 'reading' | 'waiting' | 'completed'

type Readable = DataSource & Required<Pick<DataSource, 'read'>>
const isReadable = (one: DataSource): one is Readable => one.read !== undefined

/** The data sources of connected stores that a complete reading covers, in their order. */
const readableSources = (dataSources: readonly DataSource[]): Readable[] => dataSources.filter(isReadable)

/** Starts a reading if none is open and erasures wait. Returns the id of the open one. */
const openReading = ({ db, dataSources, words, now }: ReadingDeps): Promise<string | undefined> =>
  db.transaction(async (tx) => {
    const open = await tx.completeReading.findFirst({ where: { completedAt: null }, select: { id: true } })
    if (open) return open.id
    const waiting = await runsToRead(tx, words)
    if (waiting.length === 0) return undefined
    const id = newId('read')
    await tx.completeReading.create({
      data: {
        id,
        startedAt: now(),
        receipts: waiting.map(({ receiptId }) => receiptId),
        stores: { create: readableSources(dataSources).map(({ name, store }) => ({ holder: name, store })) },
      },
    })
    return id
  })

/** The words of the erasures that a reading looks for. An erasure whose words are gone was read before. */
async function wordsOf({ db, words }: ReadingDeps, receipts: readonly string[]): Promise<WordsOfReading> {
  const runs = await db.prisma.erasureRun.findMany({
    where: { receiptId: { in: [...receipts] } },
    select: { id: true, receiptId: true },
  })
  const receiptOf = new Map(runs.map(({ id, receiptId }) => [id, receiptId]))
  const rows = await words.stored(db.prisma, [...receiptOf.keys()])
  const stored = rows.map((row) => ({ ...row, receiptId: receiptOf.get(row.runId) ?? '' }))
  return { all: words.together(stored), of: new Map(stored.map((one) => [one.receiptId, one])) }
}
interface WordsOfReading {
  all: WordsOfMany
  of: ReadonlyMap<string, StoredWords & { runId: string }>
}

/** What one place contains of one erasure. */
interface Finding {
  receiptId: string
  place: ReadPlace
  runs: Set<number>
}
const isErasable = ({ runs }: Finding, explained: ReadonlySet<number>): boolean =>
  runs.values().some((run) => !explained.has(run))

/** Reads one page and collects the places that contain words. */
async function readPage(source: Readable, cursor: string | null, { all }: WordsOfReading) {
  const findings = new Map<string, Finding>()
  let [texts, units] = [0, 0]
  const { next, unread } = await source.read(cursor, async (place) => {
    for (const text of place.texts) {
      texts++
      units += text.length
      for (const [receiptId, runs] of all.foundIn(text)) {
        const key = JSON.stringify([receiptId, place.id])
        const known = findings.get(key) ?? { receiptId, place, runs: new Set() }
        findings.set(key, { ...known, runs: known.runs.union(runs) })
      }
    }
  })
  return { findings, texts, units, next, unread }
}

/** The runs that texts of living authors contain. They are read when the first words are found, and again after a while. */
function explanations({ words, now }: ReadingDeps, { all }: WordsOfReading) {
  let known: { runs: Set<number>; until: number } | undefined
  return async (): Promise<ReadonlySet<number>> => {
    if (known && known.until > performance.now()) return known.runs
    const runs = new Set<number>()
    await words.living(now(), (text) => {
      for (const run of all.runsIn(text)) runs.add(run)
    })
    known = { runs, until: performance.now() + explainedFor }
    return runs
  }
}

const nobodys: RunScope = { subject: nobody }

/** Erases what was found of one erasure by the engine's own step, and counts and logs it in the same transaction. */
const erasePage = (
  deps: ReadingDeps,
  source: DataSource,
  { readingId, receiptId, page, items }: { readingId: string; receiptId: string; page: string; items: string[] },
  { all, of }: WordsOfReading,
  explained: ReadonlySet<number>,
): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const where = { readingId, receiptId, holder: source.name }
    const words = of.get(receiptId)
    const run = words && (await lockedRun(tx, words.runId))
    await deps.holds.lock(tx)
    const isHeld = (await deps.holds.projects(tx, words?.projects ?? [], deps.now())).size > 0
    if (!run || !words) return
    if (isHeld) {
      await addFinding(tx, where, { isHeld })
      return
    }
    const now = deps.now()
    const own = await withoutReused(tx, source, items, now)
    const { count, results, mentions } = erasedOf(
      await source.erase(nobodys, own, tx, {
        key: `${run.id}:${source.name}:late:${readingId}:${page}`,
        redacts: false,
        round: 1,
        words: all.unexplained(receiptId, explained),
        projects: words.projects,
        now,
      }),
    )
    await noteMentions(tx, run.id, mentions)
    if (count === 0) return
    await tx.erasureRun.update({ where: { id: run.id }, data: { lateFound: { increment: count } } })
    await logRepeatedDeletion(tx, deps.audit, {
      ...{ scope: scopeOf(run), receiptId, actorId: 'system:erasure.read', reason: run.reason },
      ...{ holder: source.name, count, countedAs: 'late', results, at: now },
    })
    deps.interrupt(`read.${source.name}.inside`)
  }, timeFor(source))

async function addFinding(
  tx: Transaction,
  key: { readingId: string; receiptId: string; holder: string },
  { erased = 0, left = 0, explained = 0, isHeld = false, places = [] }: Partial<FindingCounts>,
): Promise<void> {
  const known = await tx.readingFinding.findUnique({ where: { readingId_receiptId_holder: key } })
  const data = {
    erased: (known?.erased ?? 0) + erased,
    left: (known?.left ?? 0) + left,
    explained: (known?.explained ?? 0) + explained,
    isHeld: (known?.isHeld ?? false) || isHeld,
    places: [...new Set([...(known?.places ?? []), ...places])].slice(0, mostPlaces),
  }
  await tx.readingFinding.upsert({
    where: { readingId_receiptId_holder: key },
    create: { ...key, ...data },
    update: data,
  })
}
interface FindingCounts {
  erased: number
  left: number
  explained: number
  isHeld: boolean
  places: string[]
}

/** Erases the findings of a page, and returns the counts of each erasure after the page was read again. */
async function eraseFindings(
  deps: ReadingDeps,
  source: Readable,
  { readingId, cursor, findings }: { readingId: string; cursor: string | null; findings: readonly Finding[] },
  words: WordsOfReading,
  explained: ReadonlySet<number>,
): Promise<Map<string, FindingCounts>> {
  const counts = new Map<string, FindingCounts>()
  const erasable = findings.filter((one) => isErasable(one, explained))
  const page = createHash('sha256')
    .update(cursor ?? '')
    .digest('base64url')
    .slice(0, 22)
  for (const [receiptId, own] of Map.groupBy(erasable, (one) => one.receiptId)) {
    const projects = words.of.get(receiptId)?.projects ?? []
    const items = new Set<ItemId>()
    await deps.db.transaction(async (tx) => {
      items.clear()
      for (const { place } of own) for (const item of await place.itemsOf(projects, tx)) items.add(item)
      if (items.size === 0) return
      const places = own.map(({ place }) => place.id)
      const data = { readingId, receiptId, holder: source.name, page, items: [...items].sort(), places }
      await tx.readingPage.upsert({
        where: { readingId_receiptId_holder_page: { readingId, receiptId, holder: source.name, page } },
        create: data,
        update: { items: data.items, places },
      })
    })
    deps.interrupt('read.noted')
    if (items.size > 0)
      await erasePage(deps, source, { readingId, receiptId, page, items: [...items].sort() }, words, explained)
  }
  // The same page again, by the reader: not by the queries that erased.
  const again = erasable.length === 0 ? undefined : (await readPage(source, cursor, words)).findings
  for (const finding of findings) {
    const { receiptId, place } = finding
    const of = counts.get(receiptId) ?? { erased: 0, left: 0, explained: 0, isHeld: false, places: [] }
    counts.set(receiptId, of)
    if (!isErasable(finding, explained)) {
      of.explained++
      continue
    }
    const now = await remaining(finding, again, words)
    if (now && isErasable(now, explained)) {
      of.left++
      of.places.push(place.id)
    } else of.erased++
  }
  return counts
}

/** What a place contains now. A place that cannot be read again by its page is read by itself. */
async function remaining(
  finding: Finding,
  again: ReadonlyMap<string, Finding> | undefined,
  { all }: WordsOfReading,
): Promise<Finding | undefined> {
  const { receiptId, place } = finding
  if (!place.again) return again?.get(JSON.stringify([receiptId, place.id]))
  const now: Finding = { ...finding, runs: new Set() }
  for (const text of await place.again()) {
    now.runs = now.runs.union(all.foundIn(text).get(receiptId) ?? new Set())
  }
  return now
}

/** Reads the next page of a data source. Returns false after the last one. */
async function advance(
  deps: ReadingDeps,
  readingId: string,
  source: Readable,
  words: WordsOfReading,
  explained: () => Promise<ReadonlySet<number>>,
): Promise<boolean> {
  const { db, now } = deps
  const where = { readingId_holder: { readingId, holder: source.name } }
  const row = await db.prisma.readingStore.findUniqueOrThrow({ where })
  if (row.completedAt !== null) return false
  if (row.startedAt === null) await db.prisma.readingStore.update({ where, data: { startedAt: now() } })
  const { cursor } = row
  // What the page erased before its process ended is erased again under the same key, so that the engine counts and logs it.
  const noted = await db.prisma.readingPage.findMany({ where: { readingId, holder: source.name } })
  for (const one of noted)
    await needing(source.store, async () => erasePage(deps, source, one, words, await explained()))
  const page = await needing(source.store, () => readPage(source, cursor, words))
  deps.interrupt('read.page')
  const findings = [...page.findings.values()]
  const counts =
    findings.length === 0
      ? new Map<string, FindingCounts>()
      : await needing(source.store, async () =>
          eraseFindings(deps, source, { readingId, cursor, findings }, words, await explained()),
        )
  await db.transaction(async (tx) => {
    const unread: Record<string, number> = { ...countsIn(row.unread) }
    for (const [reason, count] of Object.entries(page.unread)) unread[reason] = (unread[reason] ?? 0) + count
    const { count } = await tx.readingStore.updateMany({
      where: { readingId, holder: source.name, cursor, completedAt: null },
      data: {
        cursor: page.next,
        texts: { increment: page.texts },
        units: { increment: page.units },
        unread,
        fault: null,
        faultSince: null,
        ...(page.next === null && { completedAt: now() }),
      },
    })
    if (count === 0) return
    for (const [receiptId, found] of counts) await addFinding(tx, { readingId, receiptId, holder: source.name }, found)
    for (const { receiptId, places } of noted) {
      const gone = places.filter((id) => !page.findings.has(JSON.stringify([receiptId, id])))
      await addFinding(tx, { readingId, receiptId, holder: source.name }, { erased: gone.length })
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

/** Reads until everything is read, a store does not answer, or the time is over. */
async function readOn(deps: ReadingDeps, readingId: string, rest: boolean): Promise<ReadingState> {
  const { db, now } = deps
  const { receipts } = await db.prisma.completeReading.findUniqueOrThrow({ where: { id: readingId } })
  const words = await wordsOf(deps, receipts)
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
  await signReadings(deps, readingId)
  return 'completed'
}

/**
 * Complete readings. A reading passes every text of every connected store to a comparison with the words of all erasures that waited when it
 * began, erases what it finds, and adds a signed statement to their receipts. One worker reads at a time. A reading continues where it
 * stopped, also after a crash: every page commits its cursor with its counts.
 */
export const completeReadings = (deps: ReadingDeps) => ({
  /** Starts or continues a reading. `rests`: pauses after each page, for the load on the stores. */
  async read({ rests = true }: { rests?: boolean } = {}): Promise<ReadingState> {
    const client = await deps.db.pool.connect()
    try {
      const [lock] = await readingLock(client, {}, 'take')
      if (!lock?.done) return 'idle'
      try {
        const id = await openReading(deps)
        return id === undefined ? 'idle' : await readOn(deps, id, rests)
      } finally {
        await readingLock(client, {}, 'release')
      }
    } finally {
      client.release()
    }
  },
})
export type CompleteReadings = ReturnType<typeof completeReadings>
