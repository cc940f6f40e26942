import { memoize, memoizeByObject } from '#lib/kernel/concurrency.ts'
import { inKeyOrder, isAskable } from '#lib/stores/objects/keys.ts'
import type { DescribedTexts, ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Chosen } from '../cache/rules.ts'
import { searchedIds } from '../cache/scan.ts'
import { isInKeySpace, type KeySpace, mayEraseById } from '../key-space.ts'
import { type Ownership, type OwnershipReader, readable } from '../values/readable.ts'
import type { Naming, ValueDecider } from '../values/value-decider.ts'
import { occurrences } from '../words/fingerprints.ts'
import { isMark, isUploadKey } from './rules.ts'

/** What to search for in objects of applications, and the judge of words. */
export interface ObjectSearch {
  ids: Iterable<string>
  /** A list, because one search reads it several times. */
  chosen: readonly Chosen[]
  /** Projects and conversations: objects with one of these ids in their keys are searched for words. */
  anchors: Iterable<string>
  names: ReadonlyMap<string, Naming>
  /** Objects in it are searched for words. */
  space: KeySpace
  wordDecider: ValueDecider
  /** Whose object it is, by the ids in its key. */
  ownershipOf: OwnershipReader
  /** Whether the content is the result of an earlier attempt of this erasure. */
  isOwnResult?(key: string, bytes: Buffer): boolean
}
export interface ObjectFinding {
  key: string
  found: 'pointer' | 'text'
  verdict: 'deleted' | 'cut' | 'retained'
  /** For `cut`: the new content, other texts for metadata and tags, and the version that was read. */
  cut?: { version: string; state: string; bytes: Buffer; texts: DescribedTexts }
  /**
   * Only these versions are deleted: those with erased words. Other versions may be the only copy of what others wrote: if there are any, the
   * verdict is `cut`.
   */
  versions?: string[]
  /** The newest version, if it is among {@link versions}. A store without versions may have other content under the key now. */
  newest?: { version: string; state: string }
}
export interface UnsearchedObjects {
  binary: Set<string>
  large: Set<string>
  /** Objects that must be restored from an archive of the provider before they can be read. */
  archived: Set<string>
  /** Objects that the store cannot decrypt for us. */
  refused: Set<string>
  /** Objects whose tags the store does not return. */
  tags: Set<string>
  /** Keys with control characters, for which a server cannot be asked. */
  oddKeys: Set<string>
  /** Objects with an erased id that belong to others, or that the organization may not claim. */
  owned: Set<string>
  isOutside: boolean
  /** Whether the folders of this installation have too many files to look for objects of applications among all of them. */
  isAmongOwn: boolean
  isBeyond: boolean
}
export const noneUnsearched = (): UnsearchedObjects => ({
  binary: new Set(),
  large: new Set(),
  archived: new Set(),
  refused: new Set(),
  tags: new Set(),
  oddKeys: new Set(),
  owned: new Set(),
  isOutside: false,
  isAmongOwn: false,
  isBeyond: false,
})

/** Maximum size of an object to read, in bytes. */
export const maxRead = 8 * 1024 * 1024
/** Maximum number of application keys to list. */
const maxKeys = 1_000_000
const perPage = 1_000
/** Maximum number of this installation's own keys to list. A complete reading lists all. */
export const maxOwn = 100_000
/** The beginnings of the keys of this installation's own objects. Applications may have objects there too. */
const ownFolders = ['projects/', 'snapshots/', 'knowledgepulse-']
/**
 * All keys of applications in a bucket or folder. Left out are keys that rows name, and keys that only this installation makes: their row
 * may not be stored yet.
 */
export async function* applicationKeys(
  objects: Pick<ObjectStore, 'list'>,
  keysWithRows: (keys: readonly string[]) => Promise<ReadonlySet<string>>,
  unsearched: UnsearchedObjects,
): AsyncGenerator<string> {
  let [seen, listed] = [0, 0]
  for (let after = ''; ; ) {
    const page = await objects.list('', after, perPage)
    const usual = page.filter((key) => !isUploadKey(key) && !isMark(key))
    const own = await keysWithRows(usual)
    const further = usual.filter((key) => !own.has(key))
    yield* further
    seen += further.length
    listed += page.length - further.length
    if (seen >= maxKeys) {
      unsearched.isBeyond = true
      return
    }
    const last = page.at(-1)
    if (last === undefined || page.length < perPage) return
    // Own keys continue with letters, which sort before `~`.
    const end = listed < maxOwn ? undefined : ownFolders.find((folder) => last.startsWith(folder))
    const isSkipped = end !== undefined && inKeyOrder(last, `${end}~`) < 0
    unsearched.isAmongOwn ||= isSkipped
    after = isSkipped ? `${end}~` : last
  }
}

type UnreadObject = Pick<NonNullable<Awaited<ReturnType<ObjectStore['read']>>>, 'isArchived' | 'isRefused'>
const unreadReasonOf = ({ isArchived, isRefused }: UnreadObject) =>
  isArchived ? 'archived' : isRefused ? 'refused' : 'large'

/** There may be 100,000 ids, and every changed object is judged again. */
const preparedSearch = memoizeByObject((search: ObjectSearch) => searchedIds(search))

/** Decides about objects one by one, by their keys, metadata, tags and content. What the search contains may not change afterwards. */
export function objectDecider(objects: Pick<ObjectStore, 'versions' | 'read'>, search: ObjectSearch) {
  const { names, space, wordDecider, isOwnResult, ...sought } = search
  const { ids, chosen, anchors, erased } = preparedSearch(search)
  const unsearched = noneUnsearched()

  const isInside = (key: string): boolean => names.has(key) || anchors.occursIn(key) || isInKeySpace(space, key)
  /** Whether a text contains an erased id. */
  const namesErased = (text: string): boolean => ids.occursIn(text) || chosen.occursIn(text)

  const ownershipOf = (key: string) =>
    memoize(async (): Promise<Ownership> => {
      const found = names.has(key) ? 'own' : await sought.ownershipOf(key)
      // The row of an erased project may be deleted already.
      return found === 'nobody' && anchors.occursIn(key) ? 'own' : found
    })

  const rules = {
    space,
    isNamed: (key: string) => ids.occursIn(key) || anchors.occursIn(key),
    ownershipOf: sought.ownershipOf,
  }
  /** Whether an erased id may erase something in an object. */
  const mayErase = (key: string) => memoize(async () => names.has(key) || mayEraseById(rules, key))

  /**
   * The versions with what is erased, except the newest one. Those of a reported object that contain an erased text are judged as its newest one:
   * a short erased text has no fingerprint. `isAll`: no other version remains; delete markers contain nothing.
   */
  async function formerOf(key: string, newest: string | undefined): Promise<{ found: string[]; isAll: boolean }> {
    const found: string[] = []
    const naming = names.get(key)
    let isAll = true
    for (const { version } of await objects.versions(key)) {
      if (version === newest) continue
      const isUpload = version.startsWith('upload:')
      const one = isUpload ? undefined : await objects.read(key, maxRead, version)
      if (!one) {
        isAll &&= !isUpload
        continue
      }
      const value = one.bytes && readable(one.bytes)
      const texts = [...(value ? [value] : []), ...one.described.map((text) => ({ form: 'text' as const, text }))]
      let isErased = false
      for (const text of texts)
        isErased ||=
          (namesErased(text.text) && (await mayErase(key)())) ||
          (await wordDecider.hasErasedWords(text, ownershipOf(key)))
      if (naming && !isErased)
        isErased = value
          ? naming.named.some((one) => occurrences(value.text, one).length > 0) &&
            ['deleted', 'cut'].includes((await wordDecider.decide(value, naming, ownershipOf(key))).decision)
          : naming.named.length > 0 && naming.remaining.length === 0
      isAll &&= isErased
      if (isErased) found.push(version)
      else {
        if (one.hasRefusedTags) await count('tags', key)
        if (!value) await count(unreadReasonOf(one), key)
        else if (value.form === 'binary') await count('binary', key)
      }
    }
    return { found, isAll }
  }
  /** Counts an object with a version that could not be searched, unless it belongs to another project. */
  async function count(
    reason: 'large' | 'binary' | 'archived' | 'refused' | 'tags' | 'oddKeys',
    key: string,
  ): Promise<void> {
    if ((await ownershipOf(key)()) !== 'elsewhere') unsearched[reason].add(key)
  }

  async function judge(key: string, onRefusedTags: () => void): Promise<ObjectFinding | undefined> {
    const naming = names.get(key)
    const found = naming ? 'pointer' : 'text'
    const deleted: ObjectFinding = { key, found, verdict: 'deleted' }
    // Also if its key has erased words: nobody can be asked to delete it.
    if (!isAskable(key)) {
      if (ids.occursIn(key) || isInside(key)) await count('oddKeys', key)
      else unsearched.isOutside = true
      return undefined
    }
    if (isMark(key)) return undefined
    const mayEraseHere = mayErase(key)
    /** Whether a text has an erased id that may erase the object. */
    const isErasedBy = async (text: string): Promise<boolean> => {
      if (!namesErased(text)) return false
      if (await mayEraseHere()) return true
      unsearched.owned.add(key)
      return false
    }
    if (ids.occursIn(key) && (await isErasedBy(key))) return deleted
    if (isUploadKey(key)) return undefined
    if (!isInside(key)) {
      unsearched.isOutside = true
      return undefined
    }
    const ownership = ownershipOf(key)
    if (await isErasedBy(key)) return deleted
    if (await wordDecider.hasErasedWords({ form: 'text', text: key }, ownership)) return deleted
    const newest = await objects.read(key, maxRead)
    if (newest?.hasRefusedTags) onRefusedTags()
    if (!newest) {
      const left = await objects.versions(key)
      if (left.length === 0) return undefined
      if (naming) return deleted
      const { found: versions, isAll } = await formerOf(key, undefined)
      return versions.length > 0 ? { ...deleted, verdict: isAll ? 'deleted' : 'cut', versions } : undefined
    }
    /** What a report names is derived from the erased source. Otherwise, each version is deleted for what it contains. */
    const deletedAsRead = async (): Promise<ObjectFinding> => {
      if (naming) return deleted
      const { version, state } = newest
      const { found: former, isAll } = await formerOf(key, version)
      const verdict = isAll ? 'deleted' : 'cut'
      return { ...deleted, verdict, versions: [version, ...former], newest: { version, state } }
    }
    const texts = new Map<string, string>()
    for (const text of newest.described) {
      if (await isErasedBy(text)) return deletedAsRead()
      if (!(await wordDecider.hasErasedWords({ form: 'text', text }, ownership))) continue
      // The content may be somebody else's: metadata and tags lose only the name. Other erased words describe content that is derived from them.
      const rest = await wordDecider.withoutNames(text, ownership)
      if (rest === undefined || newest.bytes === undefined) return deletedAsRead()
      texts.set(text, rest)
    }
    if (newest.bytes === undefined) {
      // A key may be disabled for a while, and the object may also have words of living authors.
      if (naming && !(newest.isRefused && naming.remaining.length > 0)) return deleted
      await count(unreadReasonOf(newest), key)
      return undefined
    }
    const { version, state } = newest
    const cutTo = async (bytes: Buffer): Promise<ObjectFinding> => {
      // Counts former versions that cannot be read. Those with erased words are sought again after the change.
      await formerOf(key, version)
      return { ...deleted, verdict: 'cut', cut: { version, state, bytes, texts } }
    }
    if (texts.size === 0 && isOwnResult?.(key, newest.bytes)) {
      // An attempt that was stopped may have stored the new content without removing the former versions.
      const { found: former } = await formerOf(key, version)
      return former.length > 0 ? { ...deleted, verdict: 'cut', versions: former } : undefined
    }
    const value = readable(newest.bytes)
    if (await isErasedBy(value.text)) {
      const rest = await wordDecider.withoutRecords(value, { erased, namesErased }, ownership)
      if (rest !== undefined) return cutTo(Buffer.from(rest))
      if (naming === undefined) return deletedAsRead()
    }
    const decided = await wordDecider.decide(value, naming, ownership)
    if (decided.decision === 'deleted') return deletedAsRead()
    if (decided.decision === 'cut') return cutTo(Buffer.from(decided.text))
    if (value.form === 'binary') await count('binary', key)
    if (texts.size > 0) return cutTo(newest.bytes)
    const { found: former } = await formerOf(key, version)
    if (former.length > 0) return { ...deleted, verdict: 'cut', versions: former }
    return decided.decision === 'retained' ? { ...deleted, verdict: 'retained' } : undefined
  }

  return {
    unsearched,
    isInside,
    ownershipOf,
    namesErased,
    /** Whether the key contains an erased id. */
    hasErasedId: async (key: string): Promise<boolean> =>
      (ids.occursIn(key) || (isInside(key) && chosen.occursIn(key))) && (await mayErase(key)()),
    mayErase,
    /**
     * The former versions to delete after an object was cut. The version that was read is one of them, because what it contains decided the
     * cut. A store that does not keep it may have given its id to the new content.
     */
    async formerOf(key: string, { version, state }: { version: string; state: string }): Promise<string[]> {
      const newest = (await objects.read(key, 0))?.version
      const { found } = await formerOf(key, newest)
      const isKept = version !== newest && (await objects.read(key, 0, version))?.state === state
      return isKept ? [...new Set([version, ...found])] : found
    },
    async judged(key: string): Promise<ObjectFinding | undefined> {
      let hasRefusedTags = false
      const finding = await judge(key, () => {
        hasRefusedTags = true
      })
      if (hasRefusedTags && finding?.verdict !== 'deleted') await count('tags', key)
      return finding
    },
  }
}
