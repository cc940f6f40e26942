import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { areSnapshotKeysInBucket, markFile, markIn, snapshotKeysFolder } from '#lib/config/data-folder.ts'
import type { Env } from '#lib/config/env.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type ObjectStore, requireFinalDeletion } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import { snapshotIdForm } from './rules.ts'

const isNoFile = (error: unknown): boolean => errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR'
/** The result; undefined if the file or folder does not exist. */
const unlessMissing = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error: unknown) => {
    if (isNoFile(error)) return undefined
    throw error
  })
/** Flushes renames and removals in the folder to disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
/** The name of a key's file, finished or not. */
export const keyFileForm = /^snap_[0-9A-Za-z]{22}(\.part)?$/

export const keyFolderMarkPath = (folder: string): string => join(folder, 'folder')
/** The mark that identifies a key folder even after it was moved. Undefined for a folder that has never had keys. */
export const keyFolderMark = (folder: string): Promise<string | undefined> => markIn(keyFolderMarkPath(folder))

interface KeyDeps {
  /** Records the use of this place in the database. */
  used(): Promise<void>
  /** Other places that have had keys and that nobody has declared empty. */
  whatIsMissing: MissingStoreData
}

/**
 * The wrapped keys of snapshots, outside the database and the object store, so that no backup of either contains them. Destroying a key
 * makes every copy of its snapshot unreadable.
 * @throws Problem `unavailable` from destroy, write and a read of a missing key while keys exist in another place
 */
export interface SnapshotKeys {
  /** @throws Problem `unavailable` while keys exist in another place. */
  check(tx?: Transaction): Promise<void>
  /** Resolves when the key is durable. Replaces an earlier key. */
  write(id: string, key: unknown): Promise<void>
  /** Undefined for a destroyed key. */
  read(id: string): Promise<unknown>
  exists(id: string): Promise<boolean>
  /** Returns the number of keys that existed. `tx` is the surrounding transaction. */
  destroy(ids: readonly string[], tx?: Transaction): Promise<number>
  /** Snapshot ids whose key, finished or not, was last written before the given time. */
  olderThan(before: Date): Promise<string[]>
}

const requireId = (id: string): string => {
  if (!snapshotIdForm.test(id)) throw new Error('The snapshot id is not valid.')
  return id
}
const checkPlaces =
  (whatIsMissing: MissingStoreData) =>
  async (tx?: Transaction): Promise<void> => {
    const missing = await whatIsMissing(tx)
    if (missing.length > 0)
      throw new Problem(
        'unavailable',
        `This process uses another place for snapshot keys than ${missing.length} others. Give server and worker the same folder (KP_SNAPSHOT_KEYS_DIR) or bucket (KP_FILES_URL), or confirm that the other places no longer contain keys.`,
      )
  }

/** One file per key, in a folder that only its owner can read (modes 700 and 600). `used` records the mark of the folder. */
export function snapshotKeys({ folder, used, whatIsMissing }: KeyDeps & { folder: string }): SnapshotKeys {
  const fileOf = (id: string): string => join(folder, requireId(id))
  const check = checkPlaces(whatIsMissing)
  return {
    check,
    async write(id: string, key: unknown): Promise<void> {
      const unfinished = `${fileOf(id)}.part`
      await check()
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await chmod(folder, 0o700)
      // Record the folder before its first key exists.
      await markFile(keyFolderMarkPath(folder))
      await used()
      const handle = await open(unfinished, 'w', 0o600)
      try {
        await handle.writeFile(JSON.stringify(key))
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(unfinished, fileOf(id))
      await syncFolder(folder)
    },
    async read(id: string): Promise<unknown> {
      const text = await unlessMissing(readFile(fileOf(id), 'utf8'))
      if (text !== undefined) return JSON.parse(text)
      await check()
      return undefined
    },
    exists: async (id: string): Promise<boolean> => (await unlessMissing(stat(fileOf(id)))) !== undefined,
    /** When it resolves, the files are deleted and the folder is flushed; the disk blocks are not overwritten. */
    async destroy(ids: readonly string[], tx?: Transaction): Promise<number> {
      if (ids.length === 0) return 0
      await check(tx)
      let destroyed = 0
      for (const id of ids) {
        await rm(`${fileOf(id)}.part`, { force: true })
        if (await unlessMissing(unlink(fileOf(id)).then(() => true))) destroyed += 1
      }
      if (destroyed > 0) await syncFolder(folder)
      return destroyed
    },
    /** Compares the times of the files, which this machine's clock set. */
    async olderThan(before: Date): Promise<string[]> {
      const found = new Set<string>()
      for (const name of (await unlessMissing(readdir(folder))) ?? []) {
        if (!keyFileForm.test(name)) continue
        const info = await stat(join(folder, name)).catch(() => undefined) // deleted meanwhile
        if (info && info.mtimeMs < before.getTime()) found.add(name.replace(/\.part$/, ''))
      }
      return [...found]
    },
  }
}

/** The beginning of the objects’ keys. */
export const snapshotKeyLead = 'snapshot-keys/'
/** More than any sealed key of ours, in bytes. */
const maxBytes = 65_536
/** Keys per listing. */
const keysAtOnce = 1_000

/** One object per key, in a bucket that several machines share. A destroyed key leaves no version of its object. */
export function snapshotKeyObjects({ store, used, whatIsMissing }: KeyDeps & { store: ObjectStore }): SnapshotKeys {
  const keyOf = (id: string): string => `${snapshotKeyLead}${requireId(id)}`
  const check = checkPlaces(whatIsMissing)
  return {
    check,
    async write(id, key) {
      await check()
      await requireFinalDeletion(store)
      // Record the bucket before its first key exists.
      await used()
      const bytes = Buffer.from(JSON.stringify(key))
      await store.put(
        keyOf(id),
        (async function* () {
          yield bytes
        })(),
        { mediaType: 'application/json' },
      )
    },
    async read(id) {
      const found = await store.read(keyOf(id), maxBytes)
      if (found?.bytes) return JSON.parse(found.bytes.toString())
      await check()
      return undefined
    },
    exists: async (id) => (await store.versions(keyOf(id))).length > 0,
    /** When it resolves, no version of the objects remains. */
    async destroy(ids, tx) {
      if (ids.length === 0) return 0
      await check(tx)
      return store.erase(ids.map(keyOf))
    },
    /** Compares the times of the objects, which the store's clock set. */
    async olderThan(before) {
      const found: string[] = []
      for (let after = ''; ; ) {
        const keys = await store.list(snapshotKeyLead, after, keysAtOnce)
        for (const key of keys) {
          const id = key.slice(snapshotKeyLead.length)
          if (!snapshotIdForm.test(id)) continue
          const last = Math.max(0, ...(await store.versions(key)).map(({ at }) => at.getTime()))
          if (last < before.getTime()) found.push(id)
        }
        const end = keys.at(-1)
        if (end === undefined || keys.length < keysAtOnce) return found
        after = end
      }
    },
  }
}

/** Where snapshots and their keys are stored. Keys are apart from the objects that they open. */
export function snapshotStorage({
  db,
  env,
  storeRegistry,
  stores,
}: {
  db: Database
  env: Pick<Env, 'KP_DATA_DIR' | 'KP_FILES_URL' | 'KP_SNAPSHOT_KEYS_DIR'>
  /** Which places have had keys. */
  storeRegistry: { used(port: 'snapshot_keys'): Promise<void>; missing(port: 'snapshot_keys'): MissingStoreData }
  stores: { objects: ObjectStore; files: ObjectStore | undefined }
}) {
  const deps = {
    used: () => storeRegistry.used('snapshot_keys'),
    whatIsMissing: storeRegistry.missing('snapshot_keys'),
  }
  const keys =
    stores.files && areSnapshotKeysInBucket(env)
      ? snapshotKeyObjects({ ...deps, store: stores.files })
      : snapshotKeys({ ...deps, folder: snapshotKeysFolder(env) })
  return { db, objects: stores.objects, keys }
}
