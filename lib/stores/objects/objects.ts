import type { StoreState } from '../store-state.ts'

export interface ObjectVersion {
  key: string
  /** As the store calls it; where it keeps none, empty. */
  version: string
  bytes: number
  at: Date
}

/** Bytes under keys, with every version that the store keeps of them. Files under a folder, S3, Google Cloud Storage; all pass one suite. */
export interface ObjectStore {
  provider: 'files' | 's3' | 'gcs'
  state(): Promise<StoreState>
  /** Resolves once it is there whole; a failed one leaves nothing under the key. */
  put(key: string, bytes: AsyncIterable<Uint8Array>, about: { mediaType: string }): Promise<void>
  /** The newest version; undefined where there is none. */
  get(key: string): Promise<AsyncIterable<Uint8Array> | undefined>
  /** All versions of a key, delete markers and unfinished uploads among them. */
  versions(key: string): Promise<ObjectVersion[]>
  /** Removes every version of these keys for good. Gives how many keys had any. Throws `unavailable` where one is left (a lock, a retention rule). */
  erase(keys: readonly string[]): Promise<number>
  /** Keys that begin so and have any version, in their order, after one. */
  list(prefix: string, after: string, most: number): Promise<string[]>
  close(): Promise<void>
}
