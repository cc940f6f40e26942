import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { type ErasureProgress, readErasureProgress, watchErasureProgress } from '#lib/domains/erasure/contract.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Milliseconds between two reads of a followed erasure. */
const pause = 250
/** The same while no erasure has started for longer than {@link soon}: the id may be unknown. */
const longPause = 2_000
const soon = 60_000
/** Milliseconds after which a comment keeps the connection open through proxies. */
const silence = 15_000
/** Milliseconds. A browser connects again. */
const longest = 600_000
/** Streams at the same time in a process. Each reads two rows of an index four times a second. */
const mostStreams = 50

const Counts = z.record(z.string(), z.number().int())
const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0)

/** The progress of the run that will sign, or has signed, a receipt. Undefined if no run has this receipt. */
async function progressOf(
  { prisma }: Pick<Database, 'prisma'>,
  receiptId: string,
): Promise<ErasureProgress | undefined> {
  const run = await prisma.erasureRun.findUnique({
    where: { receiptId },
    select: { state: true, steps: { orderBy: { position: 'asc' } }, waits: true },
  })
  if (!run) return undefined
  const waits = new Map(run.waits.map(({ store, since }) => [store, since.toISOString()]))
  const places = [...Map.groupBy(run.steps, ({ store }) => store)].map(([store, steps]) => {
    const held = sum(steps.flatMap((step) => Object.values(Counts.parse(step.held))))
    const planned = sum(steps.map((step) => step.planned))
    const isSearched = steps.every(({ verifiedAt }) => verifiedAt !== null)
    return {
      store,
      records: planned + held,
      remaining: Math.max(0, planned - sum(steps.map(({ erased }) => erased))) + held,
      held,
      found_again: isSearched ? sum(steps.map(({ residue }) => residue ?? 0)) : null,
      waiting_since: waits.get(store) ?? null,
    }
  })
  return {
    state: run.state,
    places: places.filter(({ records, waiting_since }) => records > 0 || waiting_since !== null),
  }
}

const notStarted: ErasureProgress = { state: 'waiting', places: [] }
const isLive = ({ state }: ErasureProgress): boolean =>
  state === 'waiting' || state === 'planning' || state === 'erasing' || state === 'verifying'

/** The progress of erasures for those who know the id of the receipt: read once, or followed as server-sent events. */
export function erasureProgress(db: Pick<Database, 'prisma'>) {
  let streams = 0

  async function* events(receiptId: string): AsyncGenerator<string> {
    const started = performance.now()
    let sent = ''
    let sentAt = started
    streams += 1
    try {
      while (performance.now() - started < longest) {
        const progress = (await progressOf(db, receiptId)) ?? notStarted
        const text = JSON.stringify(progress)
        if (text !== sent) {
          yield `data: ${text}\n\n`
          sent = text
          sentAt = performance.now()
        } else if (performance.now() - sentAt > silence) {
          yield ': no change\n\n'
          sentAt = performance.now()
        }
        if (!isLive(progress)) return
        const isUnknown = progress.state === 'waiting' && performance.now() - started > soon
        await delay(isUnknown ? longPause : pause, undefined, { ref: false })
      }
    } finally {
      streams -= 1
    }
  }

  return {
    progress: read(readErasureProgress, async (_ctx, { params }) => {
      const data = await progressOf(db, params.id)
      if (!data) throw new Problem('not_found', 'No erasure with this receipt has started.')
      return { body: { data }, resourceId: params.id }
    }),
    watchProgress: stream(watchErasureProgress, async (_ctx, { params }) => {
      if (streams >= mostStreams)
        throw new Problem('unavailable', {
          detail: 'Too many erasures are being followed. Read the progress instead.',
          headers: { 'Retry-After': '5' },
        })
      return {
        body: events(params.id),
        resourceId: params.id,
        headers: {
          'Content-Type': 'text/event-stream; charset=utf-8',
          'Cache-Control': 'no-store',
          'X-Accel-Buffering': 'no',
        },
      }
    }),
  }
}
