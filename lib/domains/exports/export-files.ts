import { createHash } from 'node:crypto'
import { access, chmod, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '#lib/kernel/error-code.ts'

/** One attempt at preparing an export: its files are named by both, so that two attempts never write into one. */
export interface Attempt {
  id: string
  attempt: string
}
export interface FoundFile extends Attempt {
  isWhole: boolean
  /** Milliseconds since anything was written to it, by the machine's clock. */
  idle: number
}

const form = /^(exp_\w+)\.(att_\w+)\.(zip|part)$/
/** How much is read at once, in bytes. */
const piece = 256 * 1024

/** What a file is by its name; undefined for what is none of ours. */
const named = (name: string): (Attempt & { isWhole: boolean }) | undefined => {
  const [, id, attempt, ending] = form.exec(name) ?? []
  return id === undefined || attempt === undefined ? undefined : { id, attempt, isWhole: ending === 'zip' }
}

/**
 * The folder of prepared exports: its owner alone reads it (700, files 600). A file is written under another name and takes its own when it
 * is whole and on the disk. What the database does not know any more is removed by whoever asks {@link list}.
 */
export function exportFiles(folder: string) {
  const whole = ({ id, attempt }: Attempt) => join(folder, `${id}.${attempt}.zip`)
  const unfinished = ({ id, attempt }: Attempt) => join(folder, `${id}.${attempt}.part`)

  async function entries(): Promise<string[]> {
    return readdir(folder).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return []
      throw error
    })
  }
  async function* readFrom(handle: FileHandle): AsyncGenerator<Uint8Array> {
    for (;;) {
      // A buffer of its own for each piece: the socket may still hold the one before.
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(piece), 0, piece, null)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  }

  return {
    /** Writes the pieces as they come; the file is whole, synced and in its place when it resolves. No half of it is left where it throws. */
    async write(which: Attempt, pieces: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }> {
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
    exists: async (which: Attempt): Promise<boolean> =>
      access(whole(which)).then(
        () => true,
        () => false,
      ),
    /** The file, piece by piece; opened with the first, closed with the last or when its reader leaves. */
    async *read(which: Attempt): AsyncGenerator<Uint8Array> {
      const handle = await open(whole(which), 'r')
      try {
        yield* readFrom(handle)
      } finally {
        await handle.close()
      }
    },
    /** Removes what there is of an attempt; nothing happens where there is nothing. */
    async remove(which: Attempt): Promise<void> {
      for (const file of [whole(which), unfinished(which)])
        await rm(file).catch((error: unknown) => {
          if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTDIR') throw error
        })
    },
    /** Every file of ours. */
    async list(): Promise<FoundFile[]> {
      const found: FoundFile[] = []
      for (const name of await entries()) {
        const which = named(name)
        if (!which) continue
        const info = await stat(join(folder, name)).catch(() => undefined) // gone meanwhile
        if (info) found.push({ ...which, idle: Date.now() - info.mtimeMs })
      }
      return found
    },
    /** Names alone, for who asks whether something is left. */
    names: async (): Promise<Attempt[]> => (await entries()).flatMap((name) => named(name) ?? []),
  }
}
export type ExportFiles = ReturnType<typeof exportFiles>
