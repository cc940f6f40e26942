import type { StoreState } from '../store-state.ts'

export interface ObjectVersion {
  key: string
  /** As the store calls it; where it keeps none, empty. An unfinished upload: `upload:` and its id. */
  version: string
  /** Of an unfinished upload or a delete marker 0. */
  bytes: number
  at: Date
}

/** One version of an object with its content. */
export interface ObjectContent {
  version: string
  /** Changes with the content: for {@link ObjectStore.replace}. */
  state: string
  /** Undefined where the store keeps none. */
  mediaType: string | undefined
  /** Undefined where the object is larger than was asked for. */
  bytes: Buffer | undefined
  /** Names and values of user metadata and tags. */
  described: string[]
}

/**
 * Bytes under keys, with every version that the store keeps of them. Files under a folder, S3, Google Cloud Storage; all pass one suite.
 * Every method throws `unavailable` when the store does not answer; no message names an address, a key or a credential.
 */
export interface ObjectStore {
  provider: 'files' | 's3' | 'gcs'
  state(): Promise<StoreState>
  /** Resolves once it is there whole; a failed one leaves nothing under the key. Of several at once, one is there whole in the end. */
  put(key: string, bytes: AsyncIterable<Uint8Array>, about: { mediaType: string }): Promise<void>
  /** The newest version, to be read or ended; undefined where there is none. */
  get(key: string): Promise<AsyncIterable<Uint8Array> | undefined>
  /** All versions of a key, delete markers and unfinished uploads among them. */
  versions(key: string): Promise<ObjectVersion[]>
  /** Removes every version of these keys for good. Gives how many keys had any. Throws `unavailable` where one is left (a lock, a retention rule). */
  erase(keys: readonly string[]): Promise<number>
  /** One version, the newest unless it is named; undefined where there is none or a delete marker. `most`: bytes that are read. */
  read(key: string, most: number, version?: string): Promise<ObjectContent | undefined>
  /**
   * Stores new bytes with the content type, metadata and tags of the newest version, then removes the versions that were there before.
   * Returns false, and changes nothing, when the newest version is not the one that was read.
   */
  replace(key: string, was: Pick<ObjectContent, 'state'>, bytes: Buffer): Promise<boolean>
  /** Removes these versions of a key; others stay. */
  eraseVersions(key: string, versions: readonly string[]): Promise<void>
  /** Keys that begin so and have any version, in the order of their bytes, after one. */
  list(prefix: string, after: string, most: number): Promise<string[]>
  /** Seconds for which the provider itself keeps what was erased, where it can be brought back (soft delete); 0: it keeps nothing. */
  lingers(): Promise<number>
  close(): Promise<void>
}
