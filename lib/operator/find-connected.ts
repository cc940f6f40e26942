import type { Env } from '#lib/config/env.ts'
import type { StoreSearch } from '#lib/domains/stores/contract.ts'
import type { SearchConnectedStores } from '#lib/domains/stores/search.ts'
import { ownSchema } from '#lib/stores/checkpoints/connected-checkpoints.ts'
import { type FindReport, type FindSource, find } from './find.ts'
import { postgresSource } from './find-postgres.ts'
import { neo4jSource, objectsSource, redisSource } from './find-stores.ts'

/** The share of the time in which a store works for the search, 0–1. */
const load = 0.25
/** Maximum number of reported places. */
const maxPlaces = 1_000

type StoreUrls = Pick<Env, 'KP_CHECKPOINTS_URL' | 'KP_GRAPH_URL' | 'KP_REDIS_URL' | 'KP_OBJECTS_URL'>

/** The threads that LangGraph stores in the database of the installation. */
function ownThreads(databaseUrl: string): string {
  const url = new URL(databaseUrl)
  url.searchParams.set('schema', ownSchema)
  return url.href
}

function viewOf(
  { stores, places }: FindReport,
  { state, found, own }: { state: StoreSearch['state']; found: number; own: string | undefined },
): StoreSearch {
  const sorted = () => places.toSorted((a, b) => b.matches - a.matches || b.possible - a.possible).slice(0, maxPlaces)
  return {
    state,
    stores: stores.map(({ store, address, state: reached, records, unread, skipped, failure = null }) => ({
      store,
      address,
      is_own: address === own,
      state: reached,
      records,
      unread,
      skipped,
      failure,
    })),
    found,
    places:
      state === 'searching'
        ? []
        : sorted().map(({ store, kind, name, field = null, matches, possible }) => ({
            store,
            kind,
            name,
            field,
            matches,
            possible,
          })),
  }
}

/** Searches the stores of the settings as `kp find` does. The database of the installation is read only where LangGraph stores threads. */
export const searchConnectedStores =
  (env: StoreUrls, databaseUrl: string | undefined): SearchConnectedStores =>
  async (sought, progress, signal) => {
    const sources: FindSource[] = []
    let own: string | undefined
    if (env.KP_CHECKPOINTS_URL !== undefined) sources.push(postgresSource(env.KP_CHECKPOINTS_URL))
    else if (databaseUrl !== undefined) {
      const threads = postgresSource(ownThreads(databaseUrl))
      own = threads.address
      sources.push(threads)
    }
    if (env.KP_GRAPH_URL !== undefined) sources.push(neo4jSource(env.KP_GRAPH_URL))
    if (env.KP_REDIS_URL !== undefined) sources.push(redisSource(env.KP_REDIS_URL))
    if (env.KP_OBJECTS_URL !== undefined) sources.push(objectsSource(env.KP_OBJECTS_URL))
    let reading: Promise<unknown> = Promise.resolve()
    const followed = sources.map(
      (source): FindSource => ({
        ...source,
        page(after) {
          const page = source.page(after)
          reading = page
          return page
        },
      }),
    )
    const close = () => Promise.allSettled(sources.map((source) => source.close()))
    try {
      const report = await find({
        sources: followed,
        sought,
        withContent: false,
        load,
        signal,
        progress: (_store, found, so) => progress(viewOf(so, { state: 'searching', found, own })),
      })
      return viewOf(report, { state: 'done', found: report.places.length, own })
    } finally {
      // Ends the page that an ended search was reading, and then what that page opened again. Nothing waits: a store that does not answer
      // may never confirm the end of a connection.
      void close()
      void reading.then(close, close)
    }
  }
