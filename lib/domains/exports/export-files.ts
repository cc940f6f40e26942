import { createHash, randomUUID } from 'node:crypto'
import { access, chmod, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type ObjectStore, requireFinalDeletion } from '#lib/stores/objects/objects.ts'

/** One attempt to prepare an export. File names contain both ids, so that two attempts never write to the same file. */
export interface Attempt {
  id: string
  attempt: string
}
export interface FoundFile extends Attempt {
  isWhole: boolean
  /** Milliseconds since the last write, by the machine's clock. */
  idle: number
}

/** Where prepared exports are stored: a folder, or a bucket that several machines share. */
export interface ExportFiles {
  /** @throws Problem `unavailable` when the place is not the one that the installation uses */
  check(): Promise<void>
  /**
   * Stores the pieces as one file, which is complete and durable when the promise resolves. On an error, nothing of it remains.
   */
  write(which: Attempt, pieces: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }>
  exists(which: Attempt): Promise<boolean>
  /** Reads the file piece by piece. */
  read(which: Attempt): AsyncIterable<Uint8Array>
  /** Deletes the files of an attempt, if any, with every version that the place retains. */
  remove(which: Attempt): Promise<void>
  /** Returns all files of exports, finished or not. */
  list(): Promise<FoundFile[]>
  /** Returns only the names, for the search for residue. */
  names(): Promise<Attempt[]>
}

export const exportFileForm = /^(exp_\w+)\.(att_\w+)\.(zip|part)$/
/** Bytes per read. */
const piece = 256 * 1024

/** Parses a file name; undefined for other files. */
const named = (name: string): (Attempt & { isWhole: boolean }) | undefined => {
  const [, id, attempt, ending] = exportFileForm.exec(name) ?? []
  return id === undefined || attempt === undefined ? undefined : { id, attempt, isWhole: ending === 'zip' }
}

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })
/** Whether the folder contains no export, finished or not. */
export const hasNoExport = async (folder: string): Promise<boolean> =>
  (await namesIn(folder)).every((name) => named(name) === undefined)

async function* readFrom(handle: FileHandle): AsyncGenerator<Uint8Array> {
  for (;;) {
    // Each piece needs its own buffer, because the socket may still hold the previous one.
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(piece), 0, piece, null)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

/**
 * The folder of prepared exports, readable only by its owner (700, files 600). A file is renamed to its final name when
 * it is complete and synced to disk. The caller of {@link list} deletes files that the database does not know.
 *
 * `used` is called before every use, with `isPut` before a file is written.
 * @throws Problem `unavailable` when the folder is not the one that the installation uses
 */
export function exportFiles(folder: string, used: (isPut: boolean) => Promise<void> = async () => {}): ExportFiles {
  const whole = ({ id, attempt }: Attempt) => join(folder, `${id}.${attempt}.zip`)
  const unfinished = ({ id, attempt }: Attempt) => join(folder, `${id}.${attempt}.part`)

  async function entries(): Promise<string[]> {
    await used(false)
    return namesIn(folder)
  }

  return {
    check: (): Promise<void> => used(false),
    async write(which: Attempt, pieces: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }> {
      await used(true)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await chmod(folder, 0o700)
      const hash = createHash('sha256')
      let bytes = 0
      try {
        const handle = await open(unfinished(which), 'wx', 0o600)
        try {
          for await (const part of pieces) {
            hash.update(part)
            bytes += part.byteLength
            await handle.writeFile(part)
          }
          await handle.sync()
        } finally {
          await handle.close()
        }
        await rename(unfinished(which), whole(which))
      } catch (error) {
        await rm(unfinished(which), { force: true })
        throw error
      }
      return { bytes, sha256: hash.digest('hex') }
    },
    async exists(which: Attempt): Promise<boolean> {
      await used(false)
      return access(whole(which)).then(
        () => true,
        () => false,
      )
    },
    /** Closes the file after the last piece or when the reader stops. */
    async *read(which: Attempt): AsyncGenerator<Uint8Array> {
      const handle = await open(whole(which), 'r')
      try {
        yield* readFrom(handle)
      } finally {
        await handle.close()
      }
    },
    async remove(which: Attempt): Promise<void> {
      await used(false)
      for (const file of [whole(which), unfinished(which)])
        await rm(file).catch((error: unknown) => {
          if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTDIR') throw error
        })
    },
    async list(): Promise<FoundFile[]> {
      const found: FoundFile[] = []
      for (const name of await entries()) {
        const which = named(name)
        if (!which) continue
        const info = await stat(join(folder, name)).catch(() => undefined) // deleted meanwhile
        if (info) found.push({ ...which, idle: Date.now() - info.mtimeMs })
      }
      return found
    },
    names: async (): Promise<Attempt[]> => (await entries()).flatMap((name) => named(name) ?? []),
  }
}

/** The beginning of the keys of prepared exports. */
export const exportLead = 'exports/'
const keyOf = ({ id, attempt }: Attempt, ending: 'zip' | 'part') => `${exportLead}${id}.${attempt}.${ending}`
/** Keys per listing. */
const keysAtOnce = 1_000
/** Milliseconds between two signs that an export is still written: shorter than a process may be silent before it counts as dead. */
const signOfLife = 15_000
async function* oneByte(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('.')
}

/**
 * Prepared exports in a bucket. A file appears under its key when it is complete. Until then the object `….part` shows that it is being
 * written: an upload in parts has no time of its last write.
 *
 * `used` is called before every use, with `isPut` before a file is written.
 */
export function exportObjects(store: ObjectStore, used: (isPut: boolean) => Promise<void>): ExportFiles {
  const sign = (key: string) => store.put(key, oneByte(), { mediaType: 'application/octet-stream' })

  async function keys(): Promise<string[]> {
    await used(false)
    const found: string[] = []
    for (;;) {
      const page = await store.list(exportLead, found.at(-1) ?? '', keysAtOnce)
      found.push(...page)
      if (page.length < keysAtOnce) return found
    }
  }
  const attempts = async () => (await keys()).flatMap((key) => named(key.slice(exportLead.length)) ?? [])

  const lastWrite = async (key: string): Promise<number> =>
    Math.max(0, ...(await store.versions(key)).map(({ at }) => at.getTime()))
  /** The time by the clock of the store, because the clocks of the machines may differ. */
  async function timeOfStore(): Promise<number> {
    const key = `${exportLead}clock.${randomUUID()}`
    await sign(key)
    const now = await lastWrite(key)
    await store.erase([key])
    return now
  }

  return {
    check: () => used(false),
    async write(which, pieces) {
      await used(true)
      await requireFinalDeletion(store)
      const [whole, begun] = [keyOf(which, 'zip'), keyOf(which, 'part')]
      const hash = createHash('sha256')
      let bytes = 0
      async function* counted() {
        let signed = performance.now()
        for await (const part of pieces) {
          hash.update(part)
          bytes += part.byteLength
          yield part
          if (performance.now() - signed < signOfLife) continue
          await sign(begun)
          signed = performance.now()
        }
      }
      try {
        await sign(begun)
        await store.put(whole, counted(), { mediaType: 'application/zip' })
        // An erasure removes the sign. What was stored meanwhile must not stay.
        if ((await store.erase([begun])) === 0)
          throw new Problem('conflict', 'The export was erased while it was written.')
      } catch (error) {
        await store.erase([whole, begun])
        throw error
      }
      return { bytes, sha256: hash.digest('hex') }
    },
    async exists(which) {
      await used(false)
      const versions = await store.versions(keyOf(which, 'zip'))
      return versions.some(({ version, bytes }) => bytes > 0 && !version.startsWith('upload:'))
    },
    async *read(which) {
      const stream = await store.get(keyOf(which, 'zip'))
      if (!stream) throw new Problem('not_found', 'The file of this export no longer exists.')
      yield* stream
    },
    async remove(which) {
      await used(false)
      await store.erase([keyOf(which, 'zip'), keyOf(which, 'part')])
    },
    async list() {
      const found = await attempts()
      if (found.every(({ isWhole }) => isWhole)) return found.map((file) => ({ ...file, idle: 0 }))
      const now = await timeOfStore()
      const files: FoundFile[] = []
      for (const file of found)
        files.push({ ...file, idle: now - (await lastWrite(keyOf(file, file.isWhole ? 'zip' : 'part'))) })
      return files
    },
    names: attempts,
  }
}
