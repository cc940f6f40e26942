import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { logFault } from '#lib/kernel/fault-log.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { createHead, type LedgerKey, openHead } from './ledger-head.ts'
import { lineOf, writes } from './ledger-lines.ts'
import { moveMark, readMark } from './ledger-mark.ts'
import { type Chain, LedgerScan, ledgerFiles, linkedRow } from './ledger-scan.ts'

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

/** Creates the head of a new ledger. A folder with rows and without a head of ours is not written to. */
async function requireHead(folder: string, key: LedgerKey): Promise<void> {
  const head = await openHead(folder, key)
  if (head === 'foreign') throw new Error('The erasure ledger was made with another secret, or its head was changed.')
  if (head !== undefined) return
  if ((await ledgerFiles(folder)).length > 0)
    throw new Error('The erasure ledger has rows that are not authenticated. npm start accepts them once.')
  await createHead(folder, key)
}

interface WaitingRow {
  row: { kind: string; id: string }
  done: () => void
  failed: (error: unknown) => void
}

/**
 * Appends rows to the newest file. A row is on disk when `append` returns. Each row states what the process had read of the file, so that
 * rows of several processes need no lock. Processes write concurrently, each group of rows in a single write.
 */
export function ledgerWriter(folder: string, keyOf: () => LedgerKey, mark: string | undefined) {
  const writer = randomBytes(6).toString('base64url')
  let sequence = 0
  let handle: { name: string; file: FileHandle } | undefined
  let waiting: WaitingRow[] = []
  let writing: Promise<void> | undefined
  let scan = new LedgerScan(folder, keyOf, true)
  /** The newest executed erasure that this process knows. Undefined: the mark was not read yet. */
  let newest: string | null | undefined

  async function fileToAppend() {
    // Never an older file than the newest: rows of a machine whose clock is behind belong after those that it has read.
    const name = [`${monthOf(new Date())}.ledger`, ...(await ledgerFiles(folder)).slice(-1)].sort().at(-1) ?? ''
    if (handle?.name === name && (await isAt(join(folder, name), handle.file))) return handle
    await handle?.file.close()
    handle = undefined
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await requireHead(folder, keyOf())
    scan = new LedgerScan(folder, keyOf, true)
    await scan.finish()
    const file = await open(join(folder, name), 'a', 0o600)
    const parent = await open(folder, 'r')
    await parent.sync()
    await parent.close()
    handle = { name, file }
    return handle
  }

  function linesOf(rows: readonly WaitingRow[], name: string): string[] {
    const key = keyOf()
    const { head } = scan
    if (!head) throw new Error('The erasure ledger has no readable head.')
    const own = scan.claimOf(name)
    const before = own ? undefined : scan.claimBefore(name)
    return rows.map(({ row }) => {
      const chain: Chain = {
        k: key.id,
        w: writer,
        s: sequence++,
        n: own?.rows ?? 0,
        h: own?.hash ?? scan.hashAtStart(name),
      }
      if (before) chain.p = [before.file, before.rows, before.hash]
      return lineOf(linkedRow(row, chain, name, head.id, key))
    })
  }

  /** Reads what was written since, and moves the mark to it. */
  async function follow(group: readonly WaitingRow[]): Promise<void> {
    await scan.finish()
    if (mark === undefined || !scan.head || !scan.claim) return
    if (newest === undefined) {
      const known = await readMark(mark, scan.head.keys)
      newest = typeof known === 'object' ? known.newest : null
    }
    newest = group.findLast(({ row }) => row.kind === 'commit')?.row.id ?? newest
    await moveMark(mark, { ledger: scan.head.id, ...scan.claim, newest }, keyOf())
  }

  /** Rows that arrive during a write share the next write and its fsync. */
  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        const { name, file } = await fileToAppend()
        for (const bytes of writes(linesOf(group, name))) {
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
        continue
      }
      // The rows are stored. A folder that is away now is found by the next write.
      await follow(group).catch((error: unknown) => logFault(error, { operationId: 'ledgerMark' }))
    }
    writing = undefined
  }

  return {
    /** @throws {Problem} `unavailable` if the row could not be stored */
    append: (row: WaitingRow['row']): Promise<void> =>
      new Promise((done, failed) => {
        waiting.push({ row, done, failed })
        writing ??= write()
      }),
    async close(): Promise<void> {
      await writing
      await handle?.file.close()
      handle = undefined
    },
  }
}
