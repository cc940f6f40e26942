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
/** Streams of erasures at the same time in a process. Each reads two rows of an index four times a second. */
const maxStreams = 50
/**
 * The same for ids without an erasure. They have their own limit, because anybody can invent an id: a flood of them must not take the
 * places of people who watch their erasure.
 */
const maxUnknown = 25
/** Milliseconds after which a stream of an id without an erasure ends. A browser connects again. */
const longestUnknown = 120_000

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
  const open = { known: 0, unknown: 0 }
  const max = { known: maxStreams, unknown: maxUnknown }
  const kindOf = ({ state }: ErasureProgress): 'known' | 'unknown' => (state === 'waiting' ? 'unknown' : 'known')
  const statusOf = async (receiptId: string) => (await progressOf(db, receiptId)) ?? notStarted

  async function* events(receiptId: string, first: ErasureProgress, closed: AbortSignal): AsyncGenerator<string> {
    const started = performance.now()
    const elapsed = () => performance.now() - started
    let progress = first
    let kind = kindOf(first)
    // Other streams may have opened between the check and the first read of this one. A browser connects again.
    if (open[kind] >= max[kind]) return
    let sent = ''
    let sentAt = started
    open[kind] += 1
    try {
      while (elapsed() < (kind === 'unknown' ? longestUnknown : longest)) {
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
        const between = kind === 'unknown' && elapsed() > soon ? longPause : pause
        await delay(between, undefined, { ref: false, signal: closed }).catch(() => undefined)
        if (closed.aborted) return
        progress = await statusOf(receiptId)
        open[kind] -= 1
        kind = kindOf(progress)
        open[kind] += 1
      }
    } finally {
      open[kind] -= 1
    }
  }

  /** A generator alone would notice only at its next event that nobody reads it any more, and keep its place until then. */
  function followed(receiptId: string, first: ErasureProgress): AsyncIterable<string> {
    const closing = new AbortController()
    const generator = events(receiptId, first, closing.signal)
    const iterator: AsyncIterator<string> = {
      next: () => generator.next(),
      return: () => {
        closing.abort()
        return generator.return(undefined)
      },
    }
    return { [Symbol.asyncIterator]: () => iterator }
  }

  return {
    progress: read(readErasureProgress, async (_ctx, { params }) => {
      const data = await progressOf(db, params.id)
      if (!data) throw new Problem('not_found', 'No erasure with this receipt has started.')
      return { body: { data }, resourceId: params.id }
    }),
    watchProgress: stream(watchErasureProgress, async (_ctx, { params }) => {
      const first = await statusOf(params.id)
      const kind = kindOf(first)
      if (open[kind] >= max[kind])
        throw new Problem('unavailable', {
          detail: 'Too many erasures are being followed. Read the progress instead.',
          headers: { 'Retry-After': '5' },
        })
      return {
        body: followed(params.id, first),
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
