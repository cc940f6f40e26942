import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { bytesUpTo, checkKey, inKeyOrder, isObjectKey } from './keys.ts'
import type { ObjectStore, ObjectVersion } from './objects.ts'

interface Level {
  text: string
  path: string
  isFolder: boolean
}

/**
 * The file name of a key: each segment is percent-encoded (letters, digits, `-` and `_` stay), and the last gets the ending `.o`. A
 * segment too long for a file name is split into folders that end in `+`. Dots and slashes of a key never become part of the path.
 */
const longest = 200
const plain = /^[A-Za-z0-9_-]$/

const encoded = (character: string): string =>
  plain.test(character)
    ? character
    : [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')

function piecesOf(segment: string): string[] {
  const pieces = ['']
  for (const character of segment) {
    const text = encoded(character)
    if ((pieces.at(-1) ?? '').length + text.length > longest) pieces.push('')
    pieces.push((pieces.pop() ?? '') + text)
  }
  return pieces
}

/** The folders of the file, and its name without the ending. */
export function pathOfKey(key: string): { folders: string[]; name: string } {
  const folders: string[] = []
  for (const segment of key.split('/')) {
    const pieces = piecesOf(segment)
    folders.push(...pieces.slice(0, -1).map((piece) => `${piece}+`), pieces.at(-1) ?? '')
  }
  return { name: folders.pop() ?? '', folders }
}

/** What a name in the folder is: an object, an unfinished upload, a folder for a whole segment, or a folder for the beginning of one. */
type StoredFileName =
  | { kind: 'object'; text: string }
  | { kind: 'upload'; text: string; id: string }
  | { kind: 'folder'; text: string }
  | { kind: 'beginning'; text: string }

const form = /^((?:[A-Za-z0-9_-]|%[0-9A-F]{2})+)(\.o|\.[0-9a-f]{16}\.tmp|\+)?$/

/** Undefined if the name is not one of ours. */
export function parseFileName(name: string): StoredFileName | undefined {
  const [, stem = '', ending = ''] = form.exec(name) ?? []
  if (stem === '') return undefined
  const text = decodeURIComponent(stem)
  if (ending === '.o') return { kind: 'object', text }
  if (ending === '+') return { kind: 'beginning', text }
  return ending === '' ? { kind: 'folder', text } : { kind: 'upload', text, id: ending.slice(1, 17) }
}

/** The folder of a key's file and the beginning of its name. */
const pathIn = (root: string, key: string) => {
  const { folders, name } = pathOfKey(key)
  return { folder: join(root, ...folders), name }
}

const faultName = (error: unknown): string => errorCode(error) ?? 'unknown fault'
const isMissing = (error: unknown): boolean => errorCode(error) === 'ENOENT'
/** The file system's error without the path, which contains keys. */
const asFileProblem = (error: unknown): Problem =>
  Problem.is(error)
    ? error
    : new Problem(
        'unavailable',
        `The folder of objects cannot be used (${faultName(error)}). No data was lost. Try again later.`,
      )
/** Rejects with {@link asFileProblem} errors. */
const orProblem = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    throw asFileProblem(error)
  }
}

const entries = async (folder: string): Promise<string[]> => {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw asFileProblem(error)
  }
}

/** The file of a key, and its unfinished uploads. */
async function filesOfKey(root: string, key: string): Promise<string[]> {
  const { folder, name } = pathIn(root, key)
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

/** Keys with the prefix that follow `after`, in key order. `lead` is the part of the key that the folder stands for. */
async function* keysIn(folder: string, lead: string, prefix: string, after: string): AsyncGenerator<string> {
  for (const one of (await level(folder)).sort((a, b) => inKeyOrder(a.text, b.text))) {
    const text = lead + one.text
    if (one.isFolder) {
      const mayHold = text.startsWith(prefix) || prefix.startsWith(text)
      if (mayHold && (after.startsWith(text) || inKeyOrder(text, after) > 0))
        yield* keysIn(one.path, text, prefix, after)
    } else if (text.startsWith(prefix) && inKeyOrder(text, after) > 0) yield text
  }
}

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
    for (let at = 0; at < piece.length; ) at += (await orProblem(file.write(piece, at, piece.length - at))).bytesWritten
  await orProblem(file.sync())
}

const uploadName = (name: string): string => `${name}.${randomBytes(8).toString('hex')}.tmp`

/** Writes the object of `name` under a temporary name and renames it when it is on disk. */
async function writeObject(folder: string, name: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const begun = uploadName(name)
  const file = await orProblem(begin(folder, begun))
  try {
    await write(file, bytes).finally(() => file.close())
  } catch (error) {
    await rm(join(folder, begun), { force: true })
    throw error
  }
  try {
    await rename(join(folder, begun), join(folder, `${name}.o`))
  } catch (error) {
    if (!isMissing(error)) throw asFileProblem(error)
    throw new Problem('conflict', 'The object was erased during its upload, so it was not stored.')
  }
  await orProblem(synced(folder))
}

/** Replaces the object of `name` unless its state differs from `state`. Returns whether it was replaced. */
async function replaceObject(folder: string, name: string, state: string, bytes: Uint8Array): Promise<boolean> {
  const [place, begun] = [join(folder, `${name}.o`), join(folder, uploadName(name))]
  const file = await orProblem(open(begun, 'wx', 0o600))
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
    throw asFileProblem(error)
  } finally {
    await file.close()
  }
}

/** At most the first `max` bytes, with the state that {@link replaceObject} compares. */
async function readObject(root: string, key: string, max: number) {
  const { folder, name } = pathIn(root, key)
  try {
    const file = await open(join(folder, `${name}.o`), 'r')
    try {
      const state = stateOf(await file.stat({ bigint: true }))
      const bytes = await bytesUpTo(file.createReadStream({ autoClose: false }), max)
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
    const isDeleted = await rmdir(empty).then(
      () => true,
      () => false, // the folder is not empty
    )
    if (!isDeleted) break
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
    async read(key, max, version = '') {
      return isObjectKey(key) && version === '' ? readObject(root, key, max) : undefined
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
    async list(prefix, after, max) {
      const found: string[] = []
      if (max < 1) return found
      for await (const key of keysIn(root, '', prefix, after)) {
        found.push(key)
        if (found.length >= max) break
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
