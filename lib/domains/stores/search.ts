import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '#lib/kernel/problem.ts'
import { stream } from '#lib/kernel/use-case.ts'
import { type StoreSearch, searchStores } from './contract.ts'

/** Milliseconds between two events. */
const pause = 400
/** Milliseconds after which a comment keeps the connection open through proxies. */
const silence = 15_000

/** The words of one person. They are never stored or logged. */
export interface SoughtPerson {
  names: readonly string[]
  texts: readonly string[]
}
/** Searches the connected stores. `progress` receives the state after each page; `signal` ends the search. */
export type SearchConnectedStores = (
  sought: SoughtPerson,
  progress: (search: StoreSearch) => void,
  signal: AbortSignal,
) => Promise<StoreSearch>

/** Searches the stores while a client reads the events. One search runs at a time in a process, because each reads whole stores. */
export function storeSearch(search: SearchConnectedStores) {
  let isSearching = false

  async function* events(sought: SoughtPerson, closed: AbortSignal): AsyncGenerator<string> {
    // Another search may have begun between the check and the first read of this response.
    if (isSearching) return
    isSearching = true
    let latest: StoreSearch | undefined
    let failure: { error: unknown } | undefined
    const isOver = search(sought, (state) => (latest = state), closed)
      .then((state) => {
        latest = state
      })
      .catch((error: unknown) => {
        failure = { error }
      })
      .finally(() => {
        isSearching = false
      })
    // The first page may take long. The client learns at once that the search has begun.
    yield ': searching\n\n'
    let sent: StoreSearch | undefined
    let sentAt = performance.now()
    while (!closed.aborted) {
      // The response then ends without its last event, by which its reader knows that the search is incomplete.
      if (failure) throw failure.error
      if (latest && latest !== sent) {
        sent = latest
        sentAt = performance.now()
        yield `data: ${JSON.stringify(sent)}\n\n`
        if (sent.state === 'done') return
      } else if (performance.now() - sentAt > silence) {
        sentAt = performance.now()
        yield ': no change\n\n'
      }
      const waiting = new AbortController()
      const stop = AbortSignal.any([closed, waiting.signal])
      await Promise.race([isOver, delay(pause, undefined, { signal: stop }).catch(() => {})])
      waiting.abort()
    }
  }

  return stream(searchStores, async (_ctx, { body: { names, texts } }) => {
    if (isSearching)
      throw new Problem('conflict', 'Another search of the stores is running. Try again when it has ended.')
    const closing = new AbortController()
    const generator = events({ names, texts }, closing.signal)
    // A generator alone would notice only at its next event that nobody reads it any more.
    const iterator: AsyncIterator<string> = {
      next: () => generator.next(),
      return: () => {
        closing.abort()
        return generator.return(undefined)
      },
    }
    return {
      body: { [Symbol.asyncIterator]: () => iterator },
      resourceId: 'search',
      details: { names: names.length, texts: texts.length },
      headers: {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      },
    }
  })
}
