import { constants } from 'node:fs'
import { access, mkdir, open, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { asFileProblem, faultName, isMissing, orProblem } from './file-faults.ts'
import { parseFileName } from './file-names.ts'
import { filesOfKey, keysIn, pathIn } from './file-tree.ts'
import { replaceObject, stateOf, synced, writeObject } from './file-writing.ts'
import { bytesUpTo, checkKey, isObjectKey } from './keys.ts'
import type { ObjectStore, ObjectVersion } from './objects.ts'

/** The stored object of a key and its unfinished uploads. */
async function versionsOf(root: string, key: string): Promise<ObjectVersion[]> {
  const { folder } = pathIn(root, key)
  const found: ObjectVersion[] = []
  for (const name of await filesOfKey(root, key)) {
    const one = parseFileName(name)
    const about = await stat(join(folder, name)).catch((error: unknown) => {
      if (isMissing(error)) return undefined
      throw asFileProblem(error)
    })
    if (!about) continue
    const version = one?.kind === 'upload' ? `upload:${one.id}` : ''
    found.push({ key, version, bytes: about.size, at: about.mtime })
  }
  return found
}

/** At most the first `most` bytes, with the state that {@link replaceObject} compares. */
async function readObject(root: string, key: string, most: number) {
  const { folder, name } = pathIn(root, key)
  try {
    const file = await open(join(folder, `${name}.o`), 'r')
    try {
      const state = stateOf(await file.stat({ bigint: true }))
      const bytes = await bytesUpTo(file.createReadStream({ autoClose: false }), most)
      return { version: '', state, mediaType: undefined, bytes, described: [] }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw asFileProblem(error)
  }
}

/** A concurrent erasure that removed the folder syncs its parent. */
const syncedIfPresent = (folder: string): Promise<void> =>
  synced(folder).catch((error: unknown) => {
    if (!isMissing(error)) throw error
  })

/** Keys that are erased concurrently, because each removal waits for the disk. */
const erasedAtOnce = 16

/** Also removes the folders that this leaves empty. Returns whether the key had any file. */
async function eraseOne(root: string, key: string): Promise<boolean> {
  const { folder } = pathIn(root, key)
  const names = await filesOfKey(root, key)
  if (names.length === 0) return false
  for (const name of names) await rm(join(folder, name), { force: true })
  await syncedIfPresent(folder)
  for (let empty = folder; empty.startsWith(root) && empty !== root; empty = dirname(empty)) {
    const isGone = await rmdir(empty).then(
      () => true,
      () => false, // the folder is not empty
    )
    if (!isGone) break
    await syncedIfPresent(dirname(empty))
  }
  return true
}

/**
 * Objects as files in a folder that only its owner can read. A file is written under a temporary name and renamed when it is on disk;
 * what a crash leaves counts as a version of its key until it is erased. Several processes may share the folder.
 */
export function fileObjects(root: string): ObjectStore {
  return {
    provider: 'files',
    async state() {
      const began = performance.now()
      try {
        await mkdir(root, { recursive: true, mode: 0o700 })
        await access(root, constants.R_OK | constants.W_OK | constants.X_OK)
        return { state: 'ok', latency: performance.now() - began }
      } catch (error) {
        return { state: 'down', latency: performance.now() - began, detail: faultName(error) }
      }
    },
    async put(key, bytes) {
      checkKey(key)
      const { folder, name } = pathIn(root, key)
      await writeObject(folder, name, bytes)
    },
    async get(key) {
      if (!isObjectKey(key)) return undefined
      const { folder, name } = pathIn(root, key)
      try {
        return (await open(join(folder, `${name}.o`), 'r')).createReadStream()
      } catch (error) {
        if (isMissing(error)) return undefined
        throw asFileProblem(error)
      }
    },
    versions: async (key) => (isObjectKey(key) ? versionsOf(root, key) : []),
    async erase(given) {
      let count = 0
      const keys = new Set(given).values()
      const eraseSome = async () => {
        for (const key of keys) if (isObjectKey(key) && (await orProblem(eraseOne(root, key)))) count++
      }
      await Promise.all(Array.from({ length: erasedAtOnce }, eraseSome))
      return count
    },
    async read(key, most, version = '') {
      return isObjectKey(key) && version === '' ? readObject(root, key, most) : undefined
    },
    async replace(key, { state }, bytes) {
      checkKey(key)
      const { folder, name } = pathIn(root, key)
      return replaceObject(folder, name, state, bytes)
    },
    async eraseVersions(key, versions) {
      if (!isObjectKey(key)) return
      const { folder, name } = pathIn(root, key)
      for (const version of versions)
        await orProblem(
          rm(join(folder, version === '' ? `${name}.o` : `${name}.${version.slice('upload:'.length)}.tmp`), {
            force: true,
          }),
        )
    },
    async list(prefix, after, most) {
      const found: string[] = []
      if (most < 1) return found
      for await (const key of keysIn(root, '', prefix, after)) {
        found.push(key)
        if (found.length >= most) break
      }
      return found
    },
    residueSeconds: async () => 0,
    close: async () => {},
  }
}

/** Whether a folder is missing or contains no objects and no unfinished uploads. */
export const hasNoObject = async (folder: string): Promise<boolean> =>
  (await fileObjects(folder).list('', '', 1)).length === 0
