import type { StoreState } from '../store-state.ts'

/** The longest that anything may stay, in seconds (product: 24 hours). */
export const longestTtl = 86_400

/** Answers that are kept for a while. Inside one process, or in Redis; both pass one suite. */
export interface CacheStore {
  provider: 'memory' | 'redis'
  state(): Promise<StoreState>
  get(key: string): Promise<string | undefined>
  /** `about`: ids (of messages, conversations, projects, agents, accounts) that the value was made of; by them it is found again. */
  set(key: string, value: string, how: { ttl: number; about: readonly string[] }): Promise<void>
  /** Keys that match one of the patterns (`*` and `?`), or were set about one of the ids. */
  find(what: { patterns: readonly string[]; about: readonly string[] }): Promise<string[]>
  /** Gives how many of the keys were there; the index forgets them too. */
  drop(keys: readonly string[]): Promise<number>
  /** The index entries of these ids. */
  forget(about: readonly string[]): Promise<void>
  /** Keys, among all that it can see, whose name, value or index contains one of these strings; found by a scan. */
  search(needles: readonly string[]): Promise<string[]>
  close(): Promise<void>
}
