import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from './kernel/error-code.ts'

/** What file systems without hard links answer. */
const unlinked = new Set<string | undefined>(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])
const whole = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Writes a random id into the file, unless it has one: of many at once, one writes, and nobody reads half of it. */
export async function markFile(path: string): Promise<void> {
  if (existsSync(path)) return
  const unfinished = `${path}.${randomUUID()}`
  await writeFile(unfinished, randomUUID(), { mode: 0o600, flag: 'wx', flush: true })
  try {
    await link(unfinished, path).catch(async (error: unknown) => {
      if (errorCode(error) === 'EEXIST') return
      if (!unlinked.has(errorCode(error))) throw error
      // No second name for a file there: then at once, and who reads half of it takes it for none.
      await writeFile(path, randomUUID(), { mode: 0o600, flag: 'wx', flush: true }).catch((second: unknown) => {
        if (errorCode(second) !== 'EEXIST') throw second
      })
    })
  } finally {
    await rm(unfinished, { force: true })
  }
}

/** What {@link markFile} wrote; undefined where there is no such file, or no folder on the way to it. */
export async function markIn(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return ''
    throw error
  })
  return whole.test(text) ? text : undefined
}

/**
 * What tells an installation's data folder from every copy of it: a random id in a file, `<dataDir>/installation`, made at the first call, and
 * where on its disk that file lies, which no copy has in common with it.
 */
export async function dataFolderMark(dataDir: string): Promise<string> {
  const path = join(dataDir, 'installation')
  await mkdir(dataDir, { recursive: true })
  await markFile(path)
  const [id, { ino }] = [await readFile(path, 'utf8'), await stat(path, { bigint: true })]
  return createHash('sha256').update(`${id} ${ino}`).digest('base64url').slice(0, 22)
}
