import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { stream } from '#lib/kernel/use-case.ts'
import { digitsIn } from '#lib/text/numbers.ts'
import { type StoreSearch, searchStores } from './contract.ts'

/** Milliseconds between two events. */
const pause = 400
/** Milliseconds after which a comment keeps the connection open through proxies. */
const silence = 15_000

/**
 * Searches the connected stores for names of one person, which are never stored or logged. `progress` receives the state after each page;
 * `signal` ends the search.
 */
export type SearchConnectedStores = (
  names: readonly string[],
  progress: (search: StoreSearch) => void,
  signal: AbortSignal,
) => Promise<StoreSearch>

export interface StoreSearchDeps {
  search: SearchConnectedStores
  /** Whether an entry is a name, an email address or a telephone number. Other words would ask what the texts of everybody contain. */
  identifies(entry: string): boolean
  /** The key of hashes in audit entries. */
  key(): Uint8Array
  needsApprovals(): Promise<boolean>
}

/** HMAC-SHA256, base64url: what is equal has equal hashes, and nobody without the key can guess from a hash. */
export const searchHash = (key: Uint8Array, kind: 'sought' | 'place', text: string): string =>
  createHmac('sha256', key).update(`store-search-${kind}:${text}`).digest('base64url')

/** The form of an entry that is hashed: letter case, spaces and the separators of a number do not matter. */
const comparedEntry = (entry: string): string =>
  /\p{L}/u.test(entry) ? entry.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ').trim() : digitsIn(entry)

/** Searches the stores while a client reads the events. One search runs at a time in a process, because each reads whole stores. */
export function storeSearch({ search, identifies, key, needsApprovals }: StoreSearchDeps) {
  let isSearching = false

  async function* events(names: readonly string[], closed: AbortSignal): AsyncGenerator<string> {
    // Another search may have begun between the check and the first read of this response.
    if (isSearching) return
    isSearching = true
    let latest: StoreSearch | undefined
    let failure: { error: unknown } | undefined
    const isOver = search(names, (state) => (latest = state), closed)
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

  return stream(searchStores, async (_ctx, { body: { names } }) => {
    const unclear = names.findIndex((name) => !identifies(name))
    if (unclear >= 0)
      throw invalid(
        ['names', unclear],
        'must be a full name, an email address or a telephone number with its area code',
      )
    if (await needsApprovals())
      throw new Problem(
        'approval_required',
        'While two-person approval is on, nobody searches the stores in the console. Use kp find on the server.',
      )
    if (isSearching)
      throw new Problem('conflict', 'Another search of the stores is running. Try again when it has ended.')
    const closing = new AbortController()
    const generator = events(names, closing.signal)
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
      details: { names: names.length, sought: names.map((name) => searchHash(key(), 'sought', comparedEntry(name))) },
      headers: {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      },
    }
  })
}
