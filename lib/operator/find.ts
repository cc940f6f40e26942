import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { identifiesAPerson } from '#lib/domains/projects/graph/name-rules.ts'
import { Fingerprints, mergeSpans, type TextSpan } from '#lib/domains/projects/words/fingerprints.ts'
import { phoneNumbersIn } from '#lib/domains/projects/words/run-words.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, storeRefusalOf } from '#lib/kernel/store-refusal.ts'
import { digitsIn, leastDigits } from '#lib/text/numbers.ts'

export type FindStore = 'postgresql' | 'neo4j' | 'redis' | 'objects'
/** Why data was not searched. */
export type UnreadKind = 'binary' | 'large' | 'format' | 'slow'

/** A record of a store: its place, and its texts in every form in which they can be read. */
export interface FindRecord {
  /** thread, row, entity, key, object … */
  kind: string
  name: string
  field?: string
  texts: readonly string[]
}
export interface FindPage {
  records: FindRecord[]
  unread: Partial<Record<UnreadKind, number>>
  next: string | null
  /** Milliseconds that the store worked for the page. By default the time until the page was there. */
  worked?: number
}
/** A store that is only read, page by page. */
export interface FindSource {
  store: FindStore
  /** The address of the store without credentials. */
  address: string
  page(after: string | null): Promise<FindPage>
  /** Parts that cannot be searched, with the reason; known after the first page. */
  skipped(): readonly string[]
  close(): Promise<void>
}

export interface FoundPlace {
  store: FindStore
  address: string
  kind: string
  /** The name of the place, with `…` instead of the words that were searched for. */
  name: string
  field?: string
  /** Names, addresses, numbers and sentences that certainly mean the sought person. */
  matches: number
  /** Words that may mean somebody else: single names, initials. */
  possible: number
  /** Excerpts, if asked for. */
  content?: string[]
}
interface SearchedStore {
  store: FindStore
  address: string
  /** `failed`: the store stopped answering; a repetition with the same state file continues there. */
  state: 'searching' | 'done' | 'failed'
  records: number
  characters: number
  unread: Partial<Record<UnreadKind, number>>
  skipped: string[]
  failure?: string
}
/** The report, and the state from which an interrupted search continues. It contains neither the sought words nor credentials. */
export interface FindReport {
  version: 1
  salt: string
  /** A salted hash of what is sought: another search does not continue this one. */
  sought: string
  stores: (SearchedStore & { cursor: string | null })[]
  places: FoundPlace[]
}

export interface Sought {
  /** Names, email addresses and telephone numbers. */
  names: readonly string[]
  /** Sentences of the person: six words in a row are found. */
  texts: readonly string[]
}

/** Milliseconds between two notes of the state. */
const noteEvery = 2_000
const longestRest = 10_000
const excerpt = 60
const maxExcerpts = 5

/** Fingerprints of what is sought, as an erasure makes them. */
function fingerprintsOf({ names, texts }: Sought): Fingerprints {
  const sought = new Fingerprints()
  for (const name of names) {
    if (identifiesAPerson(name)) sought.addName(name)
    else sought.addUncertainName(name)
    for (const number of phoneNumbersIn(name)) sought.addNumber(number)
    if (!/\p{L}/u.test(name) && digitsIn(name).length >= leastDigits) sought.addNumber(name)
  }
  for (const text of texts) sought.add(text)
  return sought
}

const distinctOf = (spans: readonly TextSpan[]): TextSpan[] =>
  mergeSpans(spans.map(({ start, end }) => ({ start, end })))

/** What the texts of a record contain. They are forms of the same data, so the form with most matches counts. */
function matchesIn(sought: Fingerprints, texts: readonly string[]) {
  let best = { text: '', certain: [] as TextSpan[], possible: 0 }
  for (const text of texts) {
    const names = sought.certainAndUncertainIn(text)
    const certain = distinctOf([...names.certain, ...sought.runsIn(text)])
    const possible = distinctOf(names.uncertain).length
    if (certain.length > best.certain.length || (certain.length === best.certain.length && possible > best.possible))
      best = { text, certain, possible }
  }
  return best
}

/** A name of a place without the sought words, because reports are passed on. */
function masked(sought: Fingerprints, name: string): string {
  const spans = distinctOf([...sought.namesIn(name), ...sought.uncertainIn(name), ...sought.runsIn(name)])
  let rest = ''
  let from = 0
  for (const { start, end } of spans) {
    rest += `${name.slice(from, start)}…`
    from = end
  }
  return rest + name.slice(from)
}

const excerptsOf = (text: string, spans: readonly TextSpan[]): string[] =>
  spans
    .slice(0, maxExcerpts)
    .map(({ start, end }) =>
      text.slice(Math.max(0, start - excerpt), Math.min(text.length, end + excerpt)).replaceAll(/\s+/g, ' '),
    )

/** Reasons that a person can act on, by the code of a system or of PostgreSQL. */
const failures: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server listens at this address',
  ENOENT: 'no server listens at this address',
  ECONNRESET: 'the server ended the connection',
  ENOTFOUND: 'this host does not exist',
  ETIMEDOUT: 'the server does not answer',
  '28P01': 'the user name or password is wrong',
  '28000': 'this user may not sign in',
  '3D000': 'this database does not exist',
  '42501': 'this user may not read it',
  '55P03': 'another session has locked a table',
  '57014': 'a statement took too long',
  '57P01': 'the server is shutting down',
}
const refusals: Readonly<Partial<Record<StoreRefusal, string>>> = {
  access_denied: 'this user may not read it',
  credentials: 'the user name or password is wrong',
  missing: 'this database, schema, bucket or folder does not exist',
}
/** Without the message of the error, which may contain data or a password. */
export const failureOf = (error: unknown): string => {
  const refusal = storeRefusalOf(error)
  if (refusal) return refusals[refusal] ?? refusal
  if (Problem.is(error)) return 'the server does not answer, or the scheme of the address is wrong'
  const code = errorCode(error)
  if (code !== undefined) return failures[code] === undefined ? code : `${failures[code]} (${code})`
  // The client of PostgreSQL gives its own time limits no code.
  if (error instanceof Error && /timeout/i.test(error.message)) return 'the server does not answer'
  return error instanceof Error ? error.name : 'unknown fault'
}

export interface FindOptions {
  sources: readonly FindSource[]
  sought: Sought
  withContent: boolean
  /** The share of the time in which a store works for this search, 0–1. */
  load: number
  /** How many places are kept: those with the most matches. By default all. */
  maxPlaces?: number
  /** An interrupted search with the same words continues. */
  before?: FindReport | undefined
  /** Receives the state every few seconds and at the end. */
  note?(report: FindReport): void
  /** `found`: the number of places, also of those that are not kept. */
  progress?(store: SearchedStore, found: number, report: FindReport): void
  /** Ends the search: the stores keep the state `searching`. */
  signal?: AbortSignal | undefined
}

/** Those with the most matches, at most `max`. */
export const strongestPlaces = (places: Iterable<FoundPlace>, max: number): FoundPlace[] =>
  [...places].sort((one, other) => other.matches - one.matches || other.possible - one.possible).slice(0, max)

/** Places by their key. It keeps fewer than twice `max` while it collects. */
class FoundPlaces {
  readonly #places = new Map<string, FoundPlace>()
  readonly #most: number
  /** The number of all places. One that was dropped and occurs again counts again. */
  found = 0
  constructor(max: number) {
    this.#most = max
  }
  static #keyOf({ store, address, kind, name, field }: Omit<FoundPlace, 'matches' | 'possible'>): string {
    return JSON.stringify([store, address, kind, name, field])
  }
  /** The place with its counts so far. */
  at(place: Omit<FoundPlace, 'matches' | 'possible'>): FoundPlace {
    const key = FoundPlaces.#keyOf(place)
    const known = this.#places.get(key)
    if (known) return known
    this.found++
    if (this.#places.size >= 2 * this.#most) {
      const retained = this.kept()
      this.#places.clear()
      for (const one of retained) this.#places.set(FoundPlaces.#keyOf(one), one)
    }
    const added = { ...place, matches: 0, possible: 0 }
    this.#places.set(key, added)
    return added
  }
  kept(): FoundPlace[] {
    return this.#places.size > this.#most
      ? strongestPlaces(this.#places.values(), this.#most)
      : [...this.#places.values()]
  }
}

/** Milliseconds for one page. Longer than the limits of the stores' own clients, which some of them lack. */
const maxPageTime = 180_000
/** The page, or an error as soon as the search ends or the page takes too long: a store that does not answer must not prolong it. */
function unlessEnded<T>(page: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const limit = AbortSignal.timeout(maxPageTime)
  const over = signal ? AbortSignal.any([signal, limit]) : limit
  return new Promise((resolve, reject) => {
    const end = () => reject(over.reason)
    over.addEventListener('abort', end, { once: true })
    page.then(resolve, reject).finally(() => over.removeEventListener('abort', end))
  })
}

const hashOf = (salt: string, sought: Sought): string =>
  createHash('sha256').update(salt).update(JSON.stringify(sought)).digest('base64url')

/**
 * Searches stores for a person by the words that an erasure would look for, in every encoding that it reads. Reads only. A store that fails
 * is reported, and the others are searched.
 */
export async function find(options: FindOptions): Promise<FindReport> {
  const {
    sources,
    sought,
    withContent,
    load,
    maxPlaces = Number.POSITIVE_INFINITY,
    before,
    note = () => {},
    progress = () => {},
    signal,
  } = options
  const words = fingerprintsOf(sought)
  const isSame = before !== undefined && before.sought === hashOf(before.salt, sought)
  const salt = isSame ? before.salt : randomBytes(16).toString('base64url')
  const known = new Map(isSame ? before.stores.map((one) => [`${one.store} ${one.address}`, one]) : [])
  const report: FindReport = { version: 1, salt, sought: hashOf(salt, sought), stores: [], places: [] }
  const places = new FoundPlaces(maxPlaces)
  for (const place of isSame ? before.places : []) Object.assign(places.at(place), place)
  for (const { store, address } of sources)
    report.stores.push(
      known.get(`${store} ${address}`) ?? {
        store,
        address,
        state: 'searching',
        records: 0,
        characters: 0,
        unread: {},
        skipped: [],
        cursor: null,
      },
    )
  let reportedAt = performance.now()
  let hasNoteFailed = false
  const noteState = (isDue = true) => {
    if (!isDue && performance.now() - reportedAt < noteEvery) return
    reportedAt = performance.now()
    report.places = places.kept()
    hasNoteFailed = true
    note(report)
    hasNoteFailed = false
  }

  // A state that cannot be stored ends the search before it has read anything.
  noteState()
  for (const [at, source] of sources.entries()) {
    const searched = report.stores[at]
    if (!searched || searched.state === 'done') continue
    searched.state = 'searching'
    delete searched.failure
    try {
      for (;;) {
        signal?.throwIfAborted()
        const began = performance.now()
        const page = await unlessEnded(source.page(searched.cursor), signal)
        const worked = page.worked ?? performance.now() - began
        for (const { kind, name, field, texts } of page.records) {
          searched.records++
          for (const text of texts) searched.characters += text.length
          const { text, certain, possible } = matchesIn(words, texts)
          if (certain.length + possible === 0) continue
          const { store, address } = source
          const place = { store, address, kind, name: masked(words, name), ...(field !== undefined && { field }) }
          const found = places.at(place)
          found.matches += certain.length
          found.possible += possible
          if (withContent)
            found.content = [...(found.content ?? []), ...excerptsOf(text, certain)].slice(0, maxExcerpts)
        }
        for (const [kind, count] of Object.entries(page.unread) as [UnreadKind, number][])
          searched.unread[kind] = (searched.unread[kind] ?? 0) + count
        searched.skipped = [...source.skipped()]
        searched.cursor = page.next
        progress(searched, places.found, report)
        if (page.next === null) break
        noteState(false)
        // The time of the search is a rest for the store.
        const rest = worked / load - (performance.now() - began)
        if (rest > 0) await delay(Math.min(rest, longestRest), undefined, { signal })
      }
      searched.state = 'done'
    } catch (error) {
      if (signal?.aborted) break
      // The store is not at fault.
      if (hasNoteFailed) throw error
      searched.state = 'failed'
      searched.failure = failureOf(error)
    }
    noteState()
  }
  noteState()
  return report
}
