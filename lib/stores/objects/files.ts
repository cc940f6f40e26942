import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { parseFileName, pathOfKey } from './file-names.ts'
import { bytesUpTo, checkKey, inKeyOrder, isObjectKey } from './keys.ts'
import type { ObjectStore, ObjectVersion } from './objects.ts'

const nameOf = (error: unknown): string => errorCode(error) ?? 'unknown fault'
const isMissing = (error: unknown): boolean => errorCode(error) === 'ENOENT'
/** The file system's error without the path, which contains keys. */
const refused = (error: unknown): Problem =>
  Problem.is(error)
    ? error
    : new Problem(
        'unavailable',
        `The folder of objects cannot be used (${nameOf(error)}). No data was lost. Try again later.`,
      )
const told = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    throw refused(error)
  }
}

async function synced(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Changes with every write, because each write creates a new file. */
const stateOf = ({ ino, size, mtimeNs }: { ino: bigint; size: bigint; mtimeNs: bigint }): string =>
  `${ino}:${size}:${mtimeNs}`

interface Level {
  text: string
  path: string
  isFolder: boolean
}

/**
 * Objects as files in a folder that only its owner can read. A file is written under a temporary name and renamed when it is on disk;
 * what a crash leaves counts as a version of its key until it is erased. Several processes may share the folder.
 */
export function fileObjects(root: string): ObjectStore {
  const pathOf = (key: string) => {
    const { folders, name } = pathOfKey(key)
    return { folder: join(root, ...folders), name }
  }

  /** Creates the folder and its parents, and syncs them, so that a crash does not lose them. */
  async function prepare(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true, mode: 0o700 })
    if (first === undefined) return
    for (let made = folder; made.length >= first.length; made = dirname(made)) await synced(dirname(made))
  }
  /** Retries, because a concurrent erasure removes empty folders. */
  async function begin(folder: string, name: string): Promise<FileHandle> {
    for (let attempt = 1; ; attempt++) {
      await prepare(folder)
      try {
        return await open(join(folder, name), 'wx', 0o600)
      } catch (error) {
        if (!isMissing(error) || attempt === 20) throw error
      }
    }
  }
  async function write(file: FileHandle, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const piece of bytes)
      for (let at = 0; at < piece.length; ) at += (await told(file.write(piece, at, piece.length - at))).bytesWritten
    await told(file.sync())
  }

  const entries = async (folder: string): Promise<string[]> => {
    try {
      return await readdir(folder)
    } catch (error) {
      if (isMissing(error)) return []
      throw refused(error)
    }
  }
  /** The file of a key, and its unfinished uploads. */
  async function namesOf(key: string): Promise<string[]> {
    const { folder, name } = pathOf(key)
    return (await entries(folder)).filter(
      (one) => one === `${name}.o` || (one.startsWith(`${name}.`) && parseFileName(one)?.kind === 'upload'),
    )
  }

  /** The contents of a folder in the order of the keys, with long segments joined again. */
  async function level(folder: string, begun = ''): Promise<Level[]> {
    const found = new Map<string, Level>()
    for (const name of await entries(folder)) {
      const one = parseFileName(name)
      if (!one) continue
      const path = join(folder, name)
      if (one.kind === 'beginning') for (const more of await level(path, begun + one.text)) found.set(more.text, more)
      else {
        const isFolder = one.kind === 'folder'
        const text = begun + one.text + (isFolder ? '/' : '')
        found.set(text, { text, path, isFolder })
      }
    }
    return [...found.values()]
  }
  async function* keys(folder: string, lead: string, prefix: string, after: string): AsyncGenerator<string> {
    for (const one of (await level(folder)).sort((a, b) => inKeyOrder(a.text, b.text))) {
      const text = lead + one.text
      if (one.isFolder) {
        const mayHold = text.startsWith(prefix) || prefix.startsWith(text)
        if (mayHold && (after.startsWith(text) || inKeyOrder(text, after) > 0))
          yield* keys(one.path, text, prefix, after)
      } else if (text.startsWith(prefix) && inKeyOrder(text, after) > 0) yield text
    }
  }

  async function eraseOne(key: string): Promise<boolean> {
    const { folder } = pathOf(key)
    const names = await namesOf(key)
    if (names.length === 0) return false
    for (const name of names) await rm(join(folder, name), { force: true })
    await synced(folder)
    for (let empty = folder; empty.startsWith(root) && empty !== root; empty = dirname(empty)) {
      const isGone = await rmdir(empty).then(
        () => true,
        () => false, // the folder is not empty
      )
      if (!isGone) break
      await synced(dirname(empty)).catch(() => {}) // the parent may already be removed; earlier removals are synced
    }
    return true
  }

  return {
    provider: 'files',
    async state() {
      const began = performance.now()
      try {
        await mkdir(root, { recursive: true, mode: 0o700 })
        await access(root, constants.R_OK | constants.W_OK | constants.X_OK)
        return { state: 'ok', latency: performance.now() - began }
      } catch (error) {
        return { state: 'down', latency: performance.now() - began, detail: nameOf(error) }
      }
    },
    async put(key, bytes) {
      checkKey(key)
      const { folder, name } = pathOf(key)
      const begun = `${name}.${randomBytes(8).toString('hex')}.tmp`
      const file = await told(begin(folder, begun))
      try {
        await write(file, bytes).finally(() => file.close())
      } catch (error) {
        await rm(join(folder, begun), { force: true })
        throw error
      }
      try {
        await rename(join(folder, begun), join(folder, `${name}.o`))
      } catch (error) {
        if (!isMissing(error)) throw refused(error)
        throw new Problem('conflict', 'The object was erased during its upload, so it was not stored.')
      }
      await told(synced(folder))
    },
    async get(key) {
      if (!isObjectKey(key)) return undefined
      const { folder, name } = pathOf(key)
      try {
        return (await open(join(folder, `${name}.o`), 'r')).createReadStream()
      } catch (error) {
        if (isMissing(error)) return undefined
        throw refused(error)
      }
    },
    async versions(key) {
      if (!isObjectKey(key)) return []
      const { folder } = pathOf(key)
      const found: ObjectVersion[] = []
      for (const name of await namesOf(key)) {
        const one = parseFileName(name)
        const about = await stat(join(folder, name)).catch((error: unknown) => {
          if (isMissing(error)) return undefined
          throw refused(error)
        })
        if (!about) continue
        const version = one?.kind === 'upload' ? `upload:${one.id}` : ''
        found.push({ key, version, bytes: about.size, at: about.mtime })
      }
      return found
    },
    async erase(given) {
      let count = 0
      for (const key of new Set(given)) if (isObjectKey(key) && (await told(eraseOne(key)))) count++
      return count
    },
    async read(key, most, version = '') {
      if (!isObjectKey(key) || version !== '') return undefined
      const { folder, name } = pathOf(key)
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
        throw refused(error)
      }
    },
    async replace(key, { state }, bytes) {
      checkKey(key)
      const { folder, name } = pathOf(key)
      const [place, begun] = [join(folder, `${name}.o`), join(folder, `${name}.${randomBytes(8).toString('hex')}.tmp`)]
      const file = await told(open(begun, 'wx', 0o600))
      try {
        await file.writeFile(bytes)
        await file.sync()
        const isSame = stateOf(await stat(place, { bigint: true })) === state
        if (isSame) await rename(begun, place)
        else await rm(begun, { force: true })
        await synced(folder)
        return isSame
      } catch (error) {
        await rm(begun, { force: true })
        if (isMissing(error)) return false
        throw refused(error)
      } finally {
        await file.close()
      }
    },
    async eraseVersions(key, versions) {
      if (!isObjectKey(key)) return
      const { folder, name } = pathOf(key)
      for (const version of versions)
        await told(
          rm(join(folder, version === '' ? `${name}.o` : `${name}.${version.slice('upload:'.length)}.tmp`), {
            force: true,
          }),
        )
    },
    async list(prefix, after, most) {
      const found: string[] = []
      if (most < 1) return found
      for await (const key of keys(root, '', prefix, after)) {
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
