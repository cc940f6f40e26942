import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Problem } from '#lib/kernel/problem.ts'
import { asFileProblem, isMissing, orProblem } from './file-faults.ts'

export async function synced(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Changes with every write, because each write creates a new file. */
export const stateOf = ({ ino, size, mtimeNs }: { ino: bigint; size: bigint; mtimeNs: bigint }): string =>
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
export async function writeObject(folder: string, name: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
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
export async function replaceObject(folder: string, name: string, state: string, bytes: Uint8Array): Promise<boolean> {
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
