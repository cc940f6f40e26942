import { type FileHandle, mkdir, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '#lib/kernel/problem.ts'
import { writes } from './ledger-lines.ts'

export const monthOf = (time: Date): string => time.toISOString().slice(0, 7)

export const unwritten = (cause: unknown): Problem =>
  new Problem('unavailable', {
    detail: 'The erasure ledger cannot be written, so no erasure can begin or end. Try again later.',
    headers: { 'Retry-After': '60' },
    cause,
  })

/** Whether the path still refers to this file: the folder may have been moved and replaced. */
async function isAt(path: string, file: FileHandle): Promise<boolean> {
  const there = await stat(path).catch(() => undefined)
  const { dev, ino } = await file.stat()
  return there?.dev === dev && there.ino === ino
}

/** Appends lines to the file of the current month. A line is on disk when `append` returns. */
export function ledgerWriter(folder: string) {
  let handle: { month: string; file: FileHandle } | undefined
  let waiting: { text: string; done: () => void; failed: (error: unknown) => void }[] = []
  let writing: Promise<void> | undefined

  async function fileOf(month: string) {
    const path = join(folder, `${month}.ledger`)
    if (handle?.month === month && (await isAt(path, handle.file))) return handle.file
    await handle?.file.close()
    handle = undefined
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = await open(path, 'a', 0o600)
    const parent = await open(folder, 'r')
    await parent.sync()
    await parent.close()
    handle = { month, file }
    return file
  }

  /** Rows that arrive during a write share the next write and its fsync. */
  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        const file = await fileOf(monthOf(new Date()))
        for (const bytes of writes(group.map(({ text }) => text))) {
          const { bytesWritten } = await file.write(bytes)
          if (bytesWritten < bytes.length) throw new Error(`${bytesWritten} of ${bytes.length} bytes were written`)
        }
        await file.datasync()
        for (const { done } of group) done()
      } catch (error) {
        await handle?.file.close().catch(() => {})
        handle = undefined
        const problem = unwritten(error)
        for (const { failed } of group) failed(problem)
      }
    }
    writing = undefined
  }

  return {
    /** @throws {Problem} `unavailable` if the line could not be stored */
    append: (text: string): Promise<void> =>
      new Promise((done, failed) => {
        waiting.push({ text, done, failed })
        writing ??= write()
      }),
    async close(): Promise<void> {
      await writing
      await handle?.file.close()
      handle = undefined
    },
  }
}
