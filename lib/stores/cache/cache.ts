import type { StoreState } from '../store-state.ts'

/** The longest that anything may stay, in seconds (product: 24 hours). */
const longestTtl = 86_400

/** Before our own keys in a database that others may use too. */
export const ownPrefix = 'kp:cache:'

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
  close(): Promise<void>
}

/** Whole seconds from 1 to {@link longestTtl}. */
export function checkedTtl(ttl: number): number {
  if (!Number.isInteger(ttl) || ttl < 1) throw new RangeError('a cache entry lives for whole seconds, one at least')
  return Math.min(ttl, longestTtl)
}
