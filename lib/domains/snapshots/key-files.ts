import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { markFile, markIn } from '#lib/data-folder.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { WhatIsMissing } from '#lib/stores/known-store.ts'
import { snapshotIdForm } from './rules.ts'

const isNoFile = (error: unknown): boolean => errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR'
const unfinishedForm = /^snap_[0-9A-Za-z]{22}\.part$/

const markOf = (folder: string): string => join(folder, 'folder')
/** What tells a folder of keys from every other one, also where it was moved; undefined of one that has had none. */
export const keyFolderMark = (folder: string): Promise<string | undefined> => markIn(markOf(folder))

export interface KeyFolderParts {
  folder: string
  /** Remembers the folder, by its mark. */
  used(): Promise<void>
  /** Other folders that have had keys, and of which nobody said that nothing is left there. */
  whatIsMissing: WhatIsMissing
}

/**
 * The wrapped keys of snapshots: a file each in a folder that is no part of the database and no part of the objects, so that no backup of
 * either has them. Who destroys one makes every copy of its snapshot unreadable. The folder is its owner's alone (700, files 600). Where
 * keys lie in another folder, too, no key here says nothing: what is destroyed, written, or not found throws `unavailable` then.
 */
export function snapshotKeys({ folder, used, whatIsMissing }: KeyFolderParts) {
  const fileOf = (id: string): string => {
    if (!snapshotIdForm.test(id)) throw new Error('no id of a snapshot')
    return join(folder, id)
  }
  /** What was renamed or removed in the folder is so on the disk. */
  async function synced(): Promise<void> {
    const handle = await open(folder, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }
  async function check(tx?: Transaction): Promise<void> {
    const missing = await whatIsMissing(tx)
    if (missing.length > 0)
      throw new Problem(
        'unavailable',
        `The keys of snapshots lie in another folder than this one (${missing.length} that had keys). Share it between server and worker (KP_SNAPSHOT_KEYS_DIR), or state that nothing is left there.`,
      )
  }
  const names = (): Promise<string[]> =>
    readdir(folder).catch((error: unknown) => {
      if (isNoFile(error)) return []
      throw error
    })

  return {
    /** Throws `unavailable` where keys lie in another folder. */
    check,
    /** On the disk when it resolves. A key that was there before is gone. */
    async write(id: string, key: unknown): Promise<void> {
      const unfinished = `${fileOf(id)}.part`
      await check()
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await chmod(folder, 0o700)
      // Remembered before the first key is there.
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
      await synced()
    },
    /** Undefined where it is destroyed. */
    async read(id: string): Promise<unknown> {
      const text = await readFile(fileOf(id), 'utf8').catch((error: unknown) => {
        if (isNoFile(error)) return undefined
        throw error
      })
      if (text !== undefined) return JSON.parse(text)
      await check()
      return undefined
    },
    async exists(id: string): Promise<boolean> {
      const info = await stat(fileOf(id)).catch((error: unknown) => {
        if (isNoFile(error)) return undefined
        throw error
      })
      return info !== undefined
    },
    /** Gives how many of them were there; `tx` is the transaction that it is done within. Gone from the folder and the disk's list of it when it resolves; what the disk's blocks had is the disk's to overwrite. */
    async destroy(ids: readonly string[], tx?: Transaction): Promise<number> {
      if (ids.length === 0) return 0
      await check(tx)
      let destroyed = 0
      for (const id of ids) {
        await rm(`${fileOf(id)}.part`, { force: true })
        const wasThere = await unlink(fileOf(id)).then(
          () => true,
          (error: unknown) => {
            if (isNoFile(error)) return false
            throw error
          },
        )
        if (wasThere) destroyed += 1
      }
      if (destroyed > 0) await synced()
      return destroyed
    },
    /** Ids of snapshots whose keys, or beginnings of them, were last written before then by the machine's clock. */
    async olderThan(before: Date): Promise<string[]> {
      const found = new Set<string>()
      for (const name of await names()) {
        if (!snapshotIdForm.test(name) && !unfinishedForm.test(name)) continue
        const info = await stat(join(folder, name)).catch(() => undefined) // gone meanwhile
        if (info && info.mtimeMs < before.getTime()) found.add(name.replace(/\.part$/, ''))
      }
      return [...found]
    },
  }
}
export type SnapshotKeys = ReturnType<typeof snapshotKeys>
