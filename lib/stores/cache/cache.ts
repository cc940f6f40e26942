import type { StoreState } from '../store-state.ts'

/** The longest that anything may stay, in seconds (product: 24 hours). */
export const longestTtl = 86_400

/** Before our own keys in a database that others may use too. */
export const ownPrefix = 'kp:cache:'

export type CacheType = 'string' | 'hash' | 'list' | 'set' | 'zset' | 'stream' | 'other'
/** One value of an entry: the string, a field of a hash, an item of a list, a member of a set, an entry of a stream. */
export interface CachePart {
  /** The field of a hash, the id of a stream's entry, the item or member; empty for a string. */
  id: Buffer
  /** What it contains: the value of a string or field, the item itself, all fields and values of a stream's entry. */
  texts: readonly Buffer[]
}
export interface CacheEntry {
  name: string
  type: CacheType
  /** A large collection is read in several portions of the same name. */
  parts: readonly CachePart[]
  /** Whether `texts` are complete; pieces of a long string overlap and can only be searched. */
  isWhole: boolean
}

/** Counts of keys by their TTL. Names and values stay in the store. */
export interface KeyLifetimes {
  examined: number
  /** False where there are more keys than were examined. */
  isComplete: boolean
  /** Without a TTL. */
  unlimited: number
  /** With a TTL above {@link longestTtl}. */
  tooLong: number
  /** Of both, keys with one of the prefixes. */
  prefixed: number
  /** Of these, keys whose TTL is now {@link longestTtl}. */
  shortened: number
}

/**
 * Answers that are kept for a while. Inside one process, or in Redis; both pass one suite. `get` and `set` take a key of ours; all the
 * others speak of names as they are in the database, where ours begin with {@link ownPrefix}: what applications keep beside is found and
 * goes too. Every method throws `unavailable` when the store does not answer.
 */
export interface CacheStore {
  provider: 'memory' | 'redis'
  state(): Promise<StoreState>
  get(key: string): Promise<string | undefined>
  /**
   * `about`: ids (of messages, conversations, projects, agents, accounts) that the value was made of; by them it is found again. `ttl` in
   * whole seconds; more than {@link longestTtl} is that.
   */
  set(key: string, value: string, how: { ttl: number; about: readonly string[] }): Promise<void>
  /** Names that match one of the patterns (`*`, `?`, and `\` before what is meant literally), or were set about one of the ids. */
  find(what: { patterns: readonly string[]; about: readonly string[] }): Promise<string[]>
  /** Names, among all that it can see, that are wanted; found by a scan of all names. */
  names(isWanted: (name: string) => boolean): Promise<string[]>
  /** Gives how many of the names were there; the index forgets them too. */
  drop(names: readonly string[]): Promise<number>
  /** The index entries of these ids. */
  forget(about: readonly string[]): Promise<void>
  /**
   * Names, among all that it can see, whose name, value or index contains one of these strings; found by a scan of everything. A string of
   * fewer than 20 characters counts only where no letter or digit stands next to it.
   */
  search(needles: readonly string[]): Promise<string[]>
  /** Reads the entries of these names, else all that it can see, one after the other. An entry may be read twice. */
  read(visit: (entry: CacheEntry) => Promise<void>, names?: readonly string[]): Promise<void>
  /** Reads every text of every entry by other commands than `read`, in overlapping pieces where a value is long. */
  texts(visit: (name: string, texts: readonly Buffer[]) => Promise<void>): Promise<void>
  /**
   * Replaces one part of an entry, or removes it (null). Expiry, score and position stay. Returns false, and changes nothing, when the
   * part is not what was read. An entry without parts disappears.
   */
  change(entry: Pick<CacheEntry, 'name' | 'type'>, part: CachePart, to: Buffer | null): Promise<boolean>
  /**
   * Counts keys that live longer than {@link longestTtl}, applications' keys too; `shorten` gives those with one of the prefixes this TTL.
   * Examines about `most` keys in a scan; a key that the scan returns twice counts twice.
   */
  lifetimes(how: { prefixes: readonly string[]; shorten: boolean; most: number }): Promise<KeyLifetimes>
  /** Remembers by labels what an erasure did, until `forgetNotes`: a repetition after a crash then counts the same. */
  note(run: string, notes: Readonly<Record<string, string>>): Promise<void>
  notes(run: string): Promise<Record<string, string>>
  forgetNotes(run: string): Promise<void>
  close(): Promise<void>
}

/** Whole seconds from 1 to {@link longestTtl}. */
export function checkedTtl(ttl: number): number {
  if (!Number.isInteger(ttl) || ttl < 1) throw new RangeError('a cache entry lives for whole seconds, one at least')
  return Math.min(ttl, longestTtl)
}
