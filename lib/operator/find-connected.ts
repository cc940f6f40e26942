import type { Env } from '#lib/config/env.ts'
import { subjectPurpose } from '#lib/config/secret.ts'
import { identifiesAPerson } from '#lib/domains/projects/graph/name-rules.ts'
import type { StoreSearch } from '#lib/domains/stores/contract.ts'
import { type SearchConnectedStores, searchHash } from '#lib/domains/stores/search.ts'
import { EmailAddress } from '#lib/kernel/email-address.ts'
import { ownSchema } from '#lib/stores/checkpoints/connected-checkpoints.ts'
import { digitsIn, leastDigits } from '#lib/text/numbers.ts'
import { type FindReport, type FindSource, type FoundPlace, find, strongestPlaces } from './find.ts'
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

/** Maximum number of words in the name of a person, and of characters in a script without spaces. More may be a sentence. */
const maxWords = 7
const maxWordless = 8
const wordless = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/gu

/** Whether an entry identifies a person: an email address, a telephone number, or a name of several words without digits. */
export function identifiesSomebody(entry: string): boolean {
  if (entry.includes('@')) return EmailAddress.safeParse(entry).success
  if (!/\p{L}/u.test(entry)) return digitsIn(entry).length >= leastDigits
  const words = entry.split(/\s+/).filter((word) => /\p{L}/u.test(word))
  const isShort = words.length <= maxWords && (entry.match(wordless)?.length ?? 0) <= maxWordless
  return isShort && !/\p{N}/u.test(entry) && identifiesAPerson(words.join(' '))
}

const table = /^\S+(?=\s)/
const plainPrefix = /^[a-z][a-z_-]{0,31}[:/|#]/i
const shownHash = 12
/**
 * The name of a place as the console shows it. Names of keys, rows, threads, groups and objects may contain sessions and addresses of other
 * people, so only the table, or a plain word before the first separator, is shown.
 */
function shownName(key: Uint8Array, { store, address, kind, name }: FoundPlace): string {
  const prefix = kind === 'row' ? `${table.exec(name)?.[0] ?? ''} ` : (plainPrefix.exec(name)?.[0] ?? '')
  const hash = searchHash(key, 'place', JSON.stringify([store, address, kind, name])).slice(0, shownHash)
  return `${prefix}… #${hash}`.trimStart()
}

function viewOf(
  { stores, places }: FindReport,
  {
    state,
    found,
    own,
    key,
  }: { state: StoreSearch['state']; found: number; own: string | undefined; key(): Uint8Array },
): StoreSearch {
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
        : strongestPlaces(places, maxPlaces).map((place) => ({
            store: place.store,
            kind: place.kind,
            name: shownName(key(), place),
            field: place.field ?? null,
            matches: place.matches,
            possible: place.possible,
          })),
  }
}

/**
 * Searches the stores of the settings as `kp find` does. The database of the installation is read only where LangGraph stores threads.
 * `key`: of the hashes of places.
 */
const searchConnectedStores =
  (env: StoreUrls, databaseUrl: string | undefined, key: () => Uint8Array): SearchConnectedStores =>
  async (names, progress, signal) => {
    const sources: FindSource[] = []
    let own: string | undefined
    if (env.KP_CHECKPOINTS_URL !== undefined)
      sources.push(postgresSource(env.KP_CHECKPOINTS_URL, { requiresSchema: true }))
    else if (databaseUrl !== undefined) {
      const threads = postgresSource(ownThreads(databaseUrl))
      own = threads.address
      sources.push(threads)
    }
    if (env.KP_GRAPH_URL !== undefined) sources.push(neo4jSource(env.KP_GRAPH_URL))
    if (env.KP_REDIS_URL !== undefined) sources.push(redisSource(env.KP_REDIS_URL))
    // The installation makes its folder with the first object.
    if (env.KP_OBJECTS_URL !== undefined) sources.push(objectsSource(env.KP_OBJECTS_URL, { requiresFolder: false }))
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
      let found = 0
      const report = await find({
        sources: followed,
        sought: { names, texts: [] },
        withContent: false,
        load,
        maxPlaces,
        signal,
        progress(_store, count, so) {
          found = count
          progress(viewOf(so, { state: 'searching', found, own, key }))
        },
      })
      return viewOf(report, { state: 'done', found, own, key })
    } finally {
      // Ends the page that an ended search was reading, and then what that page opened again. Nothing waits: a store that does not answer
      // may never confirm the end of a connection.
      void close()
      void reading.then(close, close)
    }
  }

/** The search of the console in the connected stores of this installation. */
export const connectedSearch = ({
  env,
  databaseUrl,
  keyFor,
}: {
  env: StoreUrls
  databaseUrl: string | undefined
  keyFor(purpose: string): () => Uint8Array
}) => ({
  search: searchConnectedStores(env, databaseUrl, keyFor(subjectPurpose)),
  identifies: identifiesSomebody,
})
