import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { markFile, markIn } from '#lib/data-folder.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** What tells a folder from every other: not its path, where another disk may be mounted tomorrow, or none, but a mark that lies in it. */
export interface FolderMark {
  /** Undefined where none lies there. */
  read(): Promise<string | undefined>
  /** Makes it before something is put there, or where something lay there before there were marks; says whether. Undefined: who writes there does. */
  make?(isPut: boolean): Promise<boolean>
}

export const markOf = (folder: string): string => join(folder, 'folder.mark')

/** What the file system says against it, without the path. */
const refused = (error: unknown): never => {
  if (Problem.is(error)) throw error
  throw new Problem('unavailable', {
    detail: `The folder cannot be used (${errorCode(error) ?? 'unknown fault'}). Nothing was lost; it is tried again.`,
    headers: { 'Retry-After': '60' },
    cause: error,
  })
}

/** A mark in a file `folder.mark`, which goes wherever the folder is moved to; no object, row or key has such a name. Throws `unavailable` where the folder cannot be used. */
export function folderMark(folder: string, hasNothing: (folder: string) => Promise<boolean>): Required<FolderMark> {
  const file = markOf(folder)
  async function make(isPut: boolean): Promise<boolean> {
    if (!isPut && (await hasNothing(folder))) return false
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await markFile(file)
    return true
  }
  return { read: () => markIn(file).catch(refused), make: (isPut) => make(isPut).catch(refused) }
}
