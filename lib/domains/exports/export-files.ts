import { createHash } from 'node:crypto'
import { access, chmod, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '#lib/kernel/error-code.ts'

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

const form = /^(exp_\w+)\.(att_\w+)\.(zip|part)$/
/** Bytes per read. */
const piece = 256 * 1024

/** Parses a file name; undefined for other files. */
const named = (name: string): (Attempt & { isWhole: boolean }) | undefined => {
  const [, id, attempt, ending] = form.exec(name) ?? []
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
export function exportFiles(folder: string, used: (isPut: boolean) => Promise<void> = async () => {}) {
  const whole = ({ id, attempt }: Attempt) => join(folder, `${id}.${attempt}.zip`)
  const unfinished = ({ id, attempt }: Attempt) => join(folder, `${id}.${attempt}.part`)

  async function entries(): Promise<string[]> {
    await used(false)
    return namesIn(folder)
  }

  return {
    /** @throws Problem `unavailable` when the folder is not the one that the installation uses */
    check: (): Promise<void> => used(false),
    /**
     * Writes the pieces to a file, which is complete, synced and renamed when the promise resolves. On an error, the
     * partial file is deleted.
     */
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
    /** Reads the file piece by piece; closes it after the last piece or when the reader stops. */
    async *read(which: Attempt): AsyncGenerator<Uint8Array> {
      const handle = await open(whole(which), 'r')
      try {
        yield* readFrom(handle)
      } finally {
        await handle.close()
      }
    },
    /** Deletes the files of an attempt, if any. */
    async remove(which: Attempt): Promise<void> {
      await used(false)
      for (const file of [whole(which), unfinished(which)])
        await rm(file).catch((error: unknown) => {
          if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTDIR') throw error
        })
    },
    /** Returns all export files in the folder. */
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
    /** Returns only the names, for the search for residue. */
    names: async (): Promise<Attempt[]> => (await entries()).flatMap((name) => named(name) ?? []),
  }
}
export type ExportFiles = ReturnType<typeof exportFiles>
