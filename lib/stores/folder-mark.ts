import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { markFile, markIn } from '#lib/config/data-folder.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** Identifies a folder by a mark file inside it. A path is not enough: another disk, or none, may later be mounted at the same path. */
export interface FolderMark {
  /** Undefined if the folder has no mark. */
  read(): Promise<string | undefined>
  /**
   * Creates the mark before data is written (`isPut`), or if the folder already contains data from before marks existed. Returns whether
   * it did. Undefined: the writer of the folder creates the mark.
   */
  make?(isPut: boolean): Promise<boolean>
}

export const folderMarkPath = (folder: string): string => join(folder, 'folder.mark')

/** Reports the file system's error without the path. */
const refused = (error: unknown): never => {
  if (Problem.is(error)) throw error
  throw new Problem('unavailable', {
    detail: `The folder cannot be used (${errorCode(error) ?? 'unknown fault'}). No data was lost. Try again later.`,
    headers: { 'Retry-After': '60' },
    cause: error,
  })
}

/**
 * A mark in the file `folder.mark`, which moves with the folder. No object, row or key has such a name. @throws `unavailable` if the
 * folder cannot be used
 */
export function folderMark(folder: string, hasNothing: (folder: string) => Promise<boolean>): Required<FolderMark> {
  const file = folderMarkPath(folder)
  async function make(isPut: boolean): Promise<boolean> {
    if (!isPut && (await hasNothing(folder))) return false
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await markFile(file)
    return true
  }
  return { read: () => markIn(file).catch(refused), make: (isPut) => make(isPut).catch(refused) }
}
