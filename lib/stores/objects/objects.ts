import { Problem } from '#lib/kernel/problem.ts'
import type { StoreState } from '../store-state.ts'

export interface ObjectVersion {
  key: string
  /** The store's id of the version, or empty if it has no versions. For an unfinished upload: `upload:` and its id. */
  version: string
  /** 0 for an unfinished upload or a delete marker. */
  bytes: number
  at: Date
}

/** One version of an object with its content. */
export interface ObjectContent {
  version: string
  /** Changes with the content: for {@link ObjectStore.replace}. */
  state: string
  /** Undefined if the store does not record it. */
  mediaType: string | undefined
  /** Undefined if the object is larger than the requested maximum. */
  bytes: Buffer | undefined
  /** Names and values of user metadata and tags, and the file name of a download. */
  described: string[]
  /** The object must be restored from an archive of the provider before it can be read: no bytes, no described texts. */
  isArchived?: boolean
  /** The store cannot decrypt the object for us: no bytes, no described texts. Every repetition fails, and other objects can be read. */
  isRefused?: boolean
  /** The store does not return the tags of the object: they are not in `described`, and `replace` would lose them. */
  hasRefusedTags?: boolean
}

/** Other texts for names and values of metadata and tags. */
export type DescribedTexts = ReadonlyMap<string, string>
/**
 * Renames and replaces entries. Names that become equal are numbered, so that every value remains. The number follows a hyphen, because names
 * of metadata are names of headers.
 */
export function describedAnew(
  entries: readonly (readonly [string, string])[],
  texts: DescribedTexts,
): [string, string][] {
  const taken = new Set(entries.map(([name]) => name))
  return entries.map(([before, value]) => {
    const given = texts.get(before) ?? before
    let name = given
    for (let n = 2; name !== before && taken.has(name); n++) name = `${given}-${n}`
    taken.add(name)
    return [name, texts.get(value) ?? value]
  })
}

/**
 * Bytes under keys, with every version that the store retains: files in a folder, S3, or Google Cloud Storage; all pass one suite. No
 * message contains an address, a key or a credential. @throws `unavailable` from every method if the store does not respond
 */
export interface ObjectStore {
  provider: 'files' | 's3' | 'gcs'
  state(): Promise<StoreState>
  /**
   * Resolves once the object is stored completely; a failed upload leaves nothing under the key. Of several concurrent uploads, one is
   * stored completely.
   */
  put(key: string, bytes: AsyncIterable<Uint8Array>, about: { mediaType: string }): Promise<void>
  /** The newest version; undefined if there is none. The caller must read it or end it. */
  get(key: string): Promise<AsyncIterable<Uint8Array> | undefined>
  /** All versions of a key, including delete markers and unfinished uploads. */
  versions(key: string): Promise<ObjectVersion[]>
  /**
   * Permanently removes every version of these keys. Returns how many keys had any. @throws `unavailable` if one remains (a lock, a
   * retention rule)
   */
  erase(keys: readonly string[]): Promise<number>
  /**
   * One version, by default the newest; undefined if it does not exist or is a delete marker. `max`: the maximum number of bytes to
   * read.
   */
  read(key: string, max: number, version?: string): Promise<ObjectContent | undefined>
  /**
   * Stores new bytes with the content type, metadata and tags of the newest version. Previous versions remain. If the newest version is
   * not the one that was read, it changes nothing and returns false. `texts`: other texts for metadata and tags. @throws `bad_request` if the
   * store does not accept the object or does not return its tags
   */
  replace(key: string, was: Pick<ObjectContent, 'state'>, bytes: Buffer, texts?: DescribedTexts): Promise<boolean>
  /** Removes these versions of a key and no others. */
  eraseVersions(key: string, versions: readonly string[]): Promise<void>
  /** Keys with this prefix that have any version, in byte order, after `after`. */
  list(prefix: string, after: string, max: number): Promise<string[]>
  /** For how many seconds the provider retains erased objects so that they can be restored (soft delete); 0: none. */
  residueSeconds(): Promise<number>
  close(): Promise<void>
}

/**
 * For data whose deletion must be final: a key that destroys a snapshot, a file that expires. @throws Problem `unavailable` if the
 * provider could restore deleted objects
 */
export async function requireFinalDeletion(store: ObjectStore): Promise<void> {
  if ((await store.residueSeconds()) > 0)
    throw new Problem(
      'unavailable',
      'The bucket of KP_FILES_URL can restore deleted objects (soft delete). Turn soft delete off for this bucket. Nothing was stored.',
    )
}
