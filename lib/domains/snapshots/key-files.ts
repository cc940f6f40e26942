import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { markFile, markIn } from '#lib/config/data-folder.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
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
const unfinishedForm = /^snap_[0-9A-Za-z]{22}\.part$/

const markOf = (folder: string): string => join(folder, 'folder')
/** The mark that identifies a key folder even after it was moved. Undefined for a folder that has never had keys. */
export const keyFolderMark = (folder: string): Promise<string | undefined> => markIn(markOf(folder))

export interface KeyFolderDeps {
  folder: string
  /** Records the mark of this folder in the database. */
  used(): Promise<void>
  /** Other folders that have had keys and that nobody has declared empty. */
  whatIsMissing: MissingStoreData
}

/**
 * The wrapped keys of snapshots: one file each, in a folder outside the database and the object store, so that no
 * backup of either contains them. Destroying a key makes every copy of its snapshot unreadable. Only the owner can
 * read the folder (modes 700 and 600).
 * @throws Problem `unavailable` from destroy, write and a read of a missing key while keys exist in another folder
 */
export function snapshotKeys({ folder, used, whatIsMissing }: KeyFolderDeps) {
  const fileOf = (id: string): string => {
    if (!snapshotIdForm.test(id)) throw new Error('The snapshot id is not valid.')
    return join(folder, id)
  }
  async function check(tx?: Transaction): Promise<void> {
    const missing = await whatIsMissing(tx)
    if (missing.length > 0)
      throw new Problem(
        'unavailable',
        `This process uses another snapshot key folder than ${missing.length} others. Give server and worker the same folder (KP_SNAPSHOT_KEYS_DIR), or confirm that the other folders no longer contain keys.`,
      )
  }
  return {
    /** @throws Problem `unavailable` while keys exist in another folder. */
    check,
    /** Resolves when the key is on disk. Replaces an earlier key. */
    async write(id: string, key: unknown): Promise<void> {
      const unfinished = `${fileOf(id)}.part`
      await check()
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await chmod(folder, 0o700)
      // Record the folder before its first key exists.
      await markFile(markOf(folder))
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
    /** Undefined for a destroyed key. */
    async read(id: string): Promise<unknown> {
      const text = await unlessMissing(readFile(fileOf(id), 'utf8'))
      if (text !== undefined) return JSON.parse(text)
      await check()
      return undefined
    },
    exists: async (id: string): Promise<boolean> => (await unlessMissing(stat(fileOf(id)))) !== undefined,
    /**
     * Returns the number of keys that existed. `tx` is the surrounding transaction. When it resolves, the files are
     * deleted and the folder is flushed; the disk blocks are not overwritten.
     */
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
    /** Snapshot ids whose key file, finished or not, was last written before the given time (machine clock). */
    async olderThan(before: Date): Promise<string[]> {
      const found = new Set<string>()
      for (const name of (await unlessMissing(readdir(folder))) ?? []) {
        if (!snapshotIdForm.test(name) && !unfinishedForm.test(name)) continue
        const info = await stat(join(folder, name)).catch(() => undefined) // deleted meanwhile
        if (info && info.mtimeMs < before.getTime()) found.add(name.replace(/\.part$/, ''))
      }
      return [...found]
    },
  }
}
export type SnapshotKeys = ReturnType<typeof snapshotKeys>
