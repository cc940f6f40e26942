import { currentConfig, ErasedThread, type Recorder, threadOf } from './recorder.ts'

/** What it needs of a client of `redis` or `@redis/client`. Not imported, so that the client has no dependency. */
export interface RedisClient {
  get(key: string): Promise<unknown>
  del(keys: string[]): Promise<unknown>
  sMembers(key: string): Promise<unknown>
  multi(): RedisTransaction
}
interface RedisTransaction {
  set(key: string, value: string, options: { expiration: { type: 'EX'; value: number } }): RedisTransaction
  sAdd(key: string, member: string): RedisTransaction
  expire(key: string, seconds: number): RedisTransaction
  exec(): Promise<unknown>
}
export interface CacheOptions {
  /** Seconds, at most 24 hours. */
  ttl?: number
  /** By default the thread of the LangGraph run. */
  thread?: string
  /** Your own id of the person, by default the author of the run. */
  subject?: string
}

/** Seconds. A value lives at most this long. */
const longest = 24 * 60 * 60

const hashOf = async (name: string): Promise<string> => {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(name))
  return Array.from(new Uint8Array(digest, 0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * A cache in Redis that an erasure can empty: every value has a time to live, and an index by person and conversation. Values belong to the
 * thread of the present LangGraph run and to its author.
 */
export class RecordedCache {
  readonly #redis: RedisClient
  readonly #recorder: Recorder
  readonly #ttl: number

  constructor(redis: RedisClient, recorder: Recorder, { ttl = longest }: { ttl?: number } = {}) {
    this.#redis = redis
    this.#recorder = recorder
    this.#ttl = ttl
  }

  /**
   * The key in Redis. It contains the id of the project, so that it provably belongs to it, and no words: a name may quote a person, and the
   * registry keeps the keys that were reported.
   */
  async key(name: string): Promise<string> {
    return `${this.#recorder.project}:${await hashOf(name)}`
  }

  async get(name: string): Promise<string | null> {
    const value = await this.#redis.get(await this.key(name))
    return value === null || value === undefined ? null : String(value)
  }

  /** @throws ErasedThread if the thread may not be written; its values are deleted */
  async set(name: string, value: string, { ttl = this.#ttl, ...options }: CacheOptions = {}): Promise<void> {
    if (!(ttl >= 1)) throw new RangeError('ttl must be at least 1 second')
    const config = currentConfig()
    const { thread = threadOf(config), subject = this.#recorder.authorOf(config)?.external_id } = options
    const key = await this.key(name)
    const forget = thread === undefined ? {} : { cache: () => this.deleteConversation(thread) }
    if (thread !== undefined) await this.#recorder.admit(thread, forget)
    const transaction = this.#redis
      .multi()
      .set(key, value, { expiration: { type: 'EX', value: Math.min(Math.ceil(ttl), longest) } })
    for (const [kind, id] of Object.entries({ conversation: thread, subject }))
      if (id !== undefined) {
        const index = await this.#index(kind, id)
        transaction.sAdd(index, key).expire(index, longest)
      }
    await transaction.exec()
    if (thread === undefined) return
    try {
      await this.#recorder.point(thread, { store: 'cache', ref: key, text: value }, forget)
    } catch (error) {
      if (error instanceof ErasedThread) await this.deleteConversation(thread)
      throw error
    }
  }

  async delete(name: string): Promise<void> {
    await this.#redis.del([await this.key(name)])
  }

  /** Deletes the values of a thread. Returns how many. */
  deleteConversation(thread: string): Promise<number> {
    return this.#deleteOf('conversation', thread)
  }

  /** Deletes the values of a person, by your own id. Returns how many. */
  deleteSubject(subject: string): Promise<number> {
    return this.#deleteOf('subject', subject)
  }

  /** No name of a value leads to the key of an index. */
  async #index(kind: string, id: string): Promise<string> {
    return `${this.#recorder.project}:index:${await hashOf(`${kind}:${id}`)}`
  }

  async #deleteOf(kind: string, id: string): Promise<number> {
    const index = await this.#index(kind, id)
    const members = await this.#redis.sMembers(index)
    const keys = (Array.isArray(members) ? members : [...(members as Iterable<unknown>)]).map(String)
    const count = keys.length === 0 ? 0 : Number(await this.#redis.del(keys))
    await this.#redis.del([index])
    return count
  }
}
