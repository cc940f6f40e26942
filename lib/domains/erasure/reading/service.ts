import type { DataSource } from '#lib/kernel/data-source.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { ReadingAttestation } from '#lib/kernel/receipt.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  decideRemainingPlace,
  listCompleteReadings,
  listRemainingPlaces,
  placeDecisions,
  type ReadingStore,
  RemainingPlace,
  readReceiptReadings,
} from './contract.ts'
import { unreadIn } from './reading.ts'

interface StoreRow {
  holder: string
  store: string
  startedAt: Date | null
  completedAt: Date | null
  texts: bigint
  unread: unknown
  fault: string | null
  faultSince: Date | null
}
const storeView = (row: StoreRow) => {
  const { store, holder, startedAt, completedAt, fault, faultSince } = row
  const state: ReadingStore['state'] = completedAt
    ? 'done'
    : fault !== null
      ? 'unavailable'
      : startedAt
        ? 'running'
        : 'waiting'
  return {
    store,
    holder,
    state,
    started_at: startedAt,
    completed_at: completedAt,
    waiting_since: state === 'unavailable' ? faultSince : null,
    texts: Number(row.texts),
    not_read: unreadIn(row.unread),
  }
}
type StoreView = ReturnType<typeof storeView>

type Counts = Record<'erased' | 'left' | 'explained', number>
function sumOf(findings: readonly Counts[]): Counts & { found: number } {
  const sum = { found: 0, erased: 0, left: 0, explained: 0 }
  for (const { erased, left, explained } of findings) {
    sum.erased += erased
    sum.left += left
    sum.explained += explained
    sum.found += erased + left + explained
  }
  return sum
}
const attestationOf = (stored: unknown) => (stored === null ? null : ReadingAttestation.parse(stored))

const readingWithRows = { stores: { orderBy: { holder: 'asc' } }, findings: true } as const

/** The state of complete readings, and the places that they left. */
export function readingUseCases({
  db,
  dataSources,
  runsWithWords,
}: {
  db: Database
  dataSources: readonly DataSource[]
  runsWithWords(): Promise<string[]>
}) {
  const { prisma } = db

  /** The stores of a reading that has not begun. */
  const waitingStores = (): StoreView[] =>
    dataSources
      .filter((one) => one.read !== undefined)
      .map(({ name, store }) =>
        storeView({
          holder: name,
          store,
          startedAt: null,
          completedAt: null,
          texts: 0n,
          unread: {},
          fault: null,
          faultSince: null,
        }),
      )
      .sort((one, other) => (one.holder < other.holder ? -1 : 1))

  async function stateOf(
    receiptId: string,
  ): Promise<{ state: 'none' | 'waiting' | 'reading' | 'done'; stores: StoreView[] }> {
    const covers = { receipts: { has: receiptId } }
    const run = await prisma.erasureRun.findUnique({
      where: { receiptId },
      select: { id: true },
    })
    const wasRead = (await prisma.receiptReading.count({ where: { receiptId } })) > 0
    if (!wasRead && !(run && (await runsWithWords()).includes(run.id))) return { state: 'none', stores: [] }
    const reading = await prisma.completeReading.findFirst({
      where: wasRead ? { ...covers, completedAt: { not: null } } : { ...covers, completedAt: null },
      orderBy: { startedAt: 'asc' },
      include: { stores: { orderBy: { holder: 'asc' } } },
    })
    if (wasRead) return { state: 'done', stores: reading?.stores.map(storeView) ?? [] }
    return reading
      ? { state: 'reading', stores: reading.stores.map(storeView) }
      : { state: 'waiting', stores: waitingStores() }
  }

  async function newestOf(receiptId: string) {
    const newest = await prisma.completeReading.findFirst({
      where: { receipts: { has: receiptId }, completedAt: { not: null } },
      orderBy: { completedAt: 'desc' },
      include: { findings: { where: { receiptId } } },
    })
    if (!newest?.completedAt) return null
    return {
      ...sumOf(newest.findings),
      started_at: newest.startedAt,
      completed_at: newest.completedAt,
      attestation: attestationOf(newest.attestation),
    }
  }

  const placeView = (row: {
    id: string
    receiptId: string
    holder: string
    place: string
    reason: string
    writtenAt: Date | null
    firstFoundAt: Date
    lastFoundAt: Date
    decision: string | null
  }): RemainingPlace =>
    RemainingPlace.parse({
      id: row.id,
      receipt_id: row.receiptId,
      holder: row.holder,
      place: row.place,
      reason: row.reason,
      written_at: row.writtenAt,
      first_found_at: row.firstFoundAt,
      last_found_at: row.lastFoundAt,
      decision: row.decision,
    })

  return {
    ofReceipt: read(readReceiptReadings, async (_ctx, { params: { id } }) => {
      if ((await prisma.erasure.count({ where: { receiptId: id } })) === 0) throw new Problem('not_found')
      return { body: { data: { ...(await stateOf(id)), newest: await newestOf(id) } }, resourceId: id }
    }),

    list: read(listCompleteReadings, async (_ctx, { query: { cursor, limit } }) => {
      const after = parseCursor(cursor)
      const [rows, total] = await Promise.all([
        prisma.completeReading.findMany({
          ...(after && {
            where: { OR: [{ startedAt: { lt: after.at } }, { startedAt: after.at, id: { lt: after.id } }] },
          }),
          orderBy: [{ startedAt: 'desc' }, { id: 'desc' }],
          take: limit + 1,
          include: readingWithRows,
        }),
        prisma.completeReading.count(),
      ])
      const { shown, page } = pageOf(rows, limit, total, ({ startedAt, id }) => ({ at: startedAt, id }))
      const data = shown.map((row) => {
        const changed = row.findings.filter(({ erased, left }) => erased + left > 0)
        return {
          reading_id: row.id,
          is_repeated: row.isRepeated,
          started_at: row.startedAt,
          completed_at: row.completedAt,
          erasures: row.receipts.length,
          erasures_found: new Set(changed.map(({ receiptId }) => receiptId)).size,
          ...sumOf(row.findings),
          stores: row.stores.map(storeView),
          attestation: attestationOf(row.attestation),
        }
      })
      return { body: { data, ...page }, resourceId: 'list', details: { count: data.length } }
    }),

    places: read(listRemainingPlaces, async (_ctx, { query: { cursor, limit, receipt_id, decision } }) => {
      const after = parseCursor(cursor)
      const known = placeDecisions.find((one) => one === decision)
      const where = {
        ...(receipt_id !== undefined && { receiptId: receipt_id }),
        ...(decision !== undefined && { decision: known ?? null }),
      }
      const [rows, total] = await Promise.all([
        prisma.remainingPlace.findMany({
          where: {
            ...where,
            ...(after && {
              OR: [{ firstFoundAt: { lt: after.at } }, { firstFoundAt: after.at, id: { lt: after.id } }],
            }),
          },
          orderBy: [{ firstFoundAt: 'desc' }, { id: 'desc' }],
          take: limit + 1,
        }),
        prisma.remainingPlace.count({ where }),
      ])
      const { shown, page } = pageOf(rows, limit, total, ({ firstFoundAt, id }) => ({ at: firstFoundAt, id }))
      return {
        body: { data: shown.map(placeView), ...page },
        resourceId: 'list',
        details: { count: shown.length },
      }
    }),

    decide: mutation(decideRemainingPlace, async ({ tx, now }, { params: { id }, body: { decision } }) => {
      const { count } = await tx.remainingPlace.updateMany({ where: { id }, data: { decision, decidedAt: now } })
      const row = count === 0 ? null : await tx.remainingPlace.findUnique({ where: { id } })
      if (!row) throw new Problem('not_found')
      return { body: { data: placeView(row) }, resourceId: id, details: { decision } }
    }),
  }
}
