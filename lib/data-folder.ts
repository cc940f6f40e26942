import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const isThere = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EEXIST'

/**
 * What tells an installation's data folder from every copy of it: a random id in a file, `<dataDir>/installation`, made at the first call, and
 * where on its disk that file lies, which no copy has in common with it.
 */
export async function folderMark(dataDir: string): Promise<string> {
  const path = join(dataDir, 'installation')
  await mkdir(dataDir, { recursive: true })
  await writeFile(path, randomUUID(), { mode: 0o600, flag: 'wx', flush: true }).catch((error: unknown) => {
    if (!isThere(error)) throw error
  })
  const [id, { ino }] = [await readFile(path, 'utf8'), await stat(path, { bigint: true })]
  return createHash('sha256').update(`${id} ${ino}`).digest('base64url').slice(0, 22)
}
