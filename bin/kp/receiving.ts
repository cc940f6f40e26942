import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { formats } from '#lib/domains/exports/contract.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Failure, usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import type { CommandSession } from './session.ts'

export type Format = (typeof formats)[number]

const brokenOff = (file: string) =>
  new Failure('broken_off', `The export stopped before it was complete. ${file} was not written.`, {
    advice: 'Run the command again.',
  })

/** How a complete export ends. */
const isEnd: Record<Format, (tail: Buffer) => boolean> = {
  json: (tail) => tail.toString('latin1').trimEnd().endsWith('}'),
  ndjson: (tail) => /\}\n?$/.test(tail.toString('latin1')),
  zip: (tail) => tail.includes(Buffer.from([0x50, 0x4b, 5, 6])), // end of central directory (APPNOTE 4.3.16)
}

/** Writes the stream to a file that only its owner can read. @throws when the stream is cut off */
async function receivePieces(
  response: Response,
  file: string,
  report: (bytes: number) => void,
  look: (piece: Uint8Array) => void = () => {},
): Promise<number> {
  const handle = await open(file, 'wx', 0o600)
  let bytes = 0
  try {
    for await (const piece of response.body ?? []) {
      await handle.write(piece)
      bytes += piece.byteLength
      look(piece)
      report(bytes)
    }
    await handle.sync()
  } catch (error) {
    if (error instanceof TypeError) throw brokenOff(file) // fetch throws it for a closed connection
    throw error
  } finally {
    await handle.close()
  }
  return bytes
}

/** Writes an export to a file that only its owner can read. Returns the number of bytes. @throws when the stream is cut off */
export async function receive(
  response: Response,
  file: string,
  format: Format,
  report: (bytes: number) => void,
): Promise<number> {
  let tail = Buffer.alloc(0)
  const bytes = await receivePieces(response, file, report, (piece) => {
    tail = Buffer.concat([tail, piece.subarray(-64)]).subarray(-64)
  })
  if (!isEnd[format](tail)) throw brokenOff(file)
  return bytes
}

/** Like {@link receive}, for a response with a Content-Length. */
export async function receiveWhole(response: Response, file: string, report: (bytes: number) => void): Promise<number> {
  const announced = Number(response.headers.get('content-length') ?? Number.NaN)
  const bytes = await receivePieces(response, file, report)
  if (Number.isFinite(announced) && announced !== bytes) throw brokenOff(file)
  return bytes
}

/** Moves the finished file into place. Without `force`, it never replaces an existing file. */
export function moveIntoPlace(unfinished: string, file: string, force: boolean): void {
  if (force) {
    renameSync(unfinished, file)
    return
  }
  try {
    linkSync(unfinished, file)
  } catch (error) {
    if (errorCode(error) === 'EEXIST')
      throw usageFailure(`${file} already exists. Choose another file, or add --force.`)
    throw error
  }
  rmSync(unfinished)
}

export const printedSize = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`

/** Runs the work with the name of an unfinished file next to the target, and removes that file at the end, even if a signal ends kp. */
export async function unfinishedBeside<T>(
  { onTermination }: Pick<Invocation, 'onTermination'>,
  file: string,
  work: (unfinished: string) => Promise<T>,
): Promise<T> {
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.part`
  const remove = () => rmSync(unfinished, { force: true })
  const unsubscribe = onTermination(remove)
  try {
    return await work(unfinished)
  } finally {
    unsubscribe()
    remove()
  }
}

/** The target file. @throws Failure when it exists and `force` is not set */
export function outputOf(
  session: Pick<CommandSession, 'pathOf'>,
  { output, force }: { output: string; force?: boolean },
): string {
  const file = session.pathOf(output)
  if (existsSync(file) && !force)
    throw usageFailure(`${output} already exists. Nothing was exported.`, 'Choose another file, or add --force.')
  return file
}
