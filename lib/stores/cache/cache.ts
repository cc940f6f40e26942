import type { StoreState } from '../store-state.ts'

/** The maximum TTL of any entry, in seconds (product: 24 hours). */
export const longestTtl = 86_400

/** The prefix of our keys, because other applications may use the same database. */
export const ownPrefix = 'kp:cache:'

export type CacheType = 'string' | 'hash' | 'list' | 'set' | 'zset' | 'stream' | 'other'
/** One value of an entry: the string, a field of a hash, an item of a list, a member of a set, an entry of a stream. */
export interface CachePart {
  /** The field of a hash, the id of a stream's entry, or the item or member itself; empty for a string. */
  id: Buffer
  /** Its contents: the value of a string or field, the item itself, or all fields and values of a stream's entry. */
  texts: readonly Buffer[]
  /** The position of an item of a list. Equal items have the same id. */
  at?: number
}
export interface CacheEntry {
  name: string
  type: CacheType
  /** A large collection is read in several portions with the same name. */
  parts: readonly CachePart[]
  /** Whether `texts` are complete. Pieces of a long string overlap and can only be searched. */
  isWhole: boolean
}

/** Counts of keys by their TTL. Names and values never leave the store. */
export interface KeyLifetimes {
  examined: number
  /** False if there are more keys than were examined. */
  isComplete: boolean
  /** Keys without a TTL. */
  unlimited: number
  /** Keys with a TTL above {@link longestTtl}. */
  tooLong: number
  /** Number of keys without a TTL or with a longer one that have one of the prefixes. */
  prefixed: number
  /** Number of the prefixed keys whose TTL was set to {@link longestTtl}. */
  shortened: number
}

/**
 * A cache, in memory or in Redis; both pass one suite. `get` and `set` take our own keys. All other methods use names as in the
 * database, where ours begin with {@link ownPrefix}, so that entries of other applications are also found and deleted. @throws
 * `unavailable` from every method if the store does not respond
 */
export interface CacheStore {
  provider: 'memory' | 'redis'
  state(): Promise<StoreState>
  get(key: string): Promise<string | undefined>
  /**
   * `about`: ids (of messages, conversations, projects, agents, accounts) from which the value was made, by which it can be found. `ttl`
   * in whole seconds, reduced to {@link longestTtl} if larger.
   */
  set(key: string, value: string, how: { ttl: number; about: readonly string[] }): Promise<void>
  /** Names that match one of the patterns (`*`, `?`, and `\` before literal characters), or whose entries are about one of the ids. */
  find(what: { patterns: readonly string[]; about: readonly string[] }): Promise<string[]>
  /** All names for which `isWanted` returns true, found by a scan of all names. */
  names(isWanted: (name: string) => boolean): Promise<string[]>
  /** Deletes these entries, also from the index. Returns how many existed. */
  drop(names: readonly string[]): Promise<number>
  /** A hash of everything that an entry contains; undefined if it does not exist. */
  contentHash(name: string): Promise<string | undefined>
  /** Deletes an entry, unless its content no longer has this hash. Returns whether it was deleted. */
  dropUnchanged(name: string, hash: string): Promise<boolean>
  /** Deletes the index entries of these ids. */
  forget(about: readonly string[]): Promise<void>
  /**
   * Names of entries whose name, value or index contains one of these strings, found by a scan of everything. A string of fewer than 20
   * characters counts only where no letter or digit is next to it. Removes names of entries that no longer exist from indexes.
   */
  search(searchStrings: readonly string[]): Promise<string[]>
  /** Reads the entries of these names, or all entries, one after the other. An entry may be read twice. */
  read(visit: (entry: CacheEntry) => Promise<void>, names?: readonly string[]): Promise<void>
  /**
   * Reads a page of all entries, of whichever application, after a cursor: for a complete reading. Returns where the next page begins, or
   * null after the last one. An entry that exists during the whole reading is read at least once.
   */
  page(after: string | null, visit: (entry: CacheEntry) => Promise<void>): Promise<string | null>
  /**
   * Reads every text of every entry, by other commands than `read`; long values in overlapping pieces, and large collections in several. The
   * pieces of an entry follow one another. The texts of a hash are names of fields and their values, alternating; those of a stream are the id of
   * each entry, and its fields in the same way.
   */
  texts(
    visit: (name: string, texts: readonly Buffer[], piece: { type: CacheType; isFirst: boolean }) => Promise<void>,
  ): Promise<void>
  /**
   * Replaces one part of an entry, or removes it (null). TTL, score and position are preserved. If the part has changed since it was
   * read, it changes nothing and returns false. An entry without parts is deleted. Equal items of a list change together, unless `at` is
   * the position of one of them; change positions from the last to the first. `field`: the new name of a field of a hash. If the hash has
   * such a field, a number is added to the name.
   */
  change(
    entry: Pick<CacheEntry, 'name' | 'type'>,
    part: CachePart,
    to: Buffer | null,
    where?: { at?: number | undefined; field?: Buffer | undefined },
  ): Promise<boolean>
  /** Whether an entry of this name exists and has a TTL, as a cached value does. */
  expires(name: string): Promise<boolean>
  /**
   * Counts keys with a TTL above {@link longestTtl}, including other applications' keys. `shorten` sets this TTL on those with one of
   * the prefixes. Examines about `max` keys in a scan; a key that the scan returns twice counts twice.
   */
  lifetimes(how: { prefixes: readonly string[]; shorten: boolean; max: number }): Promise<KeyLifetimes>
  /** Records by labels what an erasure did, until `forgetNotes`, so that a repetition after a crash counts the same. */
  note(run: string, notes: Readonly<Record<string, string>>): Promise<void>
  notes(run: string): Promise<Record<string, string>>
  forgetNotes(run: string): Promise<void>
  /**
   * Call it at the end of a search that proves an erasure: a failover from now on keeps everything that was deleted. Behind Sentinels it
   * writes a key that expires in a minute; `find`, `names`, `read`, `page` and `texts` write nothing.
   *
   * @throws `unavailable` if a replica lags behind
   */
  confirm(): Promise<void>
  close(): Promise<void>
}

/** Limits whole seconds to 1 … {@link longestTtl}. @throws RangeError for anything below 1 or not whole */
export function checkedTtl(ttl: number): number {
  if (!Number.isInteger(ttl) || ttl < 1)
    throw new RangeError('The TTL of a cache entry must be a whole number of seconds, at least 1.')
  return Math.min(ttl, longestTtl)
}
