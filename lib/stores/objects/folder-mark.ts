import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { markFile, markIn } from '#lib/data-folder.ts'
import { fileObjects } from './files.ts'

/** No object's name: those begin with no dot. */
const name = '.mark'

/** Whether no object lies in a folder, nor anything begun of one; or there is no such folder. */
export const hasNoObject = async (folder: string): Promise<boolean> =>
  (await fileObjects(folder).list('', '', 1)).length === 0

/** The mark by which a folder of objects is known wherever it is moved to, and told from what lies in its place while its disk is away. */
export const objectFolderMark = (folder: string) => ({
  read: (): Promise<string | undefined> => markIn(join(folder, name)),
  /** Before the first object is put there, or where some lie that were put there before there were marks; says whether there is one now. */
  async make(isPut: boolean): Promise<boolean> {
    if (!isPut && (await hasNoObject(folder))) return false
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await markFile(join(folder, name))
    return true
  },
})
