import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { errorCode } from '#lib/kernel/error-code.ts'
import type { Env } from './env.ts'

/** Error codes of file systems without hard links. */
const unlinked = new Set<string | undefined>(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])
const whole = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Writes a random id into the file if it does not exist. Of many concurrent calls only one writes, and nobody reads a partial file. */
export async function markFile(path: string): Promise<void> {
  if (existsSync(path)) return
  const unfinished = `${path}.${randomUUID()}`
  await writeFile(unfinished, randomUUID(), { mode: 0o600, flag: 'wx', flush: true })
  try {
    await link(unfinished, path).catch(async (error: unknown) => {
      if (errorCode(error) === 'EEXIST') return
      if (!unlinked.has(errorCode(error))) throw error
      // Hard links are not supported, so the file is written directly; a partial file reads as missing.
      await writeFile(path, randomUUID(), { mode: 0o600, flag: 'wx', flush: true }).catch((second: unknown) => {
        if (errorCode(second) !== 'EEXIST') throw second
      })
    })
  } finally {
    await rm(unfinished, { force: true })
  }
}

/** The id that {@link markFile} wrote; undefined if the file or a folder of its path does not exist. */
export async function markIn(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return ''
    throw error
  })
  return whole.test(text) ? text : undefined
}

/**
 * Distinguishes an installation's data folder from every copy of it. The mark combines a random id in the file `<dataDir>/installation`,
 * created at the first call, with the inode of that file, which a copy does not share.
 */
export async function dataFolderMark(dataDir: string): Promise<string> {
  const path = join(dataDir, 'installation')
  await mkdir(dataDir, { recursive: true })
  await markFile(path)
  const [id, { ino }] = [await readFile(path, 'utf8'), await stat(path, { bigint: true })]
  return createHash('sha256').update(`${id} ${ino}`).digest('base64url').slice(0, 22)
}

/** The folder of prepared exports. */
export const exportsFolder = ({ KP_DATA_DIR }: Pick<Env, 'KP_DATA_DIR'>): string => resolve(KP_DATA_DIR, 'exports')
/**
 * The folder of the snapshots' wrapped keys. The comment tells the bundler that the path is known only at run time: otherwise it lists the
 * whole project as files of every route.
 */
export const snapshotKeysFolder = ({
  KP_SNAPSHOT_KEYS_DIR: folder,
  KP_DATA_DIR,
}: Pick<Env, 'KP_SNAPSHOT_KEYS_DIR' | 'KP_DATA_DIR'>): string =>
  resolve(/* turbopackIgnore: true */ folder ?? join(KP_DATA_DIR, 'snapshot-keys'))

/** Whether the keys of snapshots are in the bucket of KP_FILES_URL. A folder that the operator named comes first. */
export const areSnapshotKeysInBucket = (env: Pick<Env, 'KP_FILES_URL' | 'KP_SNAPSHOT_KEYS_DIR'>): boolean =>
  env.KP_FILES_URL !== undefined && env.KP_SNAPSHOT_KEYS_DIR === undefined
