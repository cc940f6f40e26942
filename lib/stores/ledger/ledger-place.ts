import { createHash, randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cp, open, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Env } from '#lib/config/env.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { syncFolder } from './ledger-head.ts'
import { ledgerFiles, namesIn } from './ledger-scan.ts'

export type LedgerSettings = Pick<
  Env,
  'KP_LEDGER_URL' | 'KP_DATA_DIR' | 'KP_LEDGER_MARK' | 'HOME' | 'XDG_STATE_HOME' | 'XDG_DATA_HOME'
>

export const folderOf = (location: string): string =>
  location.startsWith('file:') ? fileURLToPath(location) : resolve(location)

/** The random id of a data folder, in its file `installation`, which the first call creates. Undefined if it cannot be created. */
function installationId(dataDir: string): string | undefined {
  const path = join(dataDir, 'installation')
  const read = (): string | undefined => {
    try {
      return readFileSync(path, 'utf8') || undefined
    } catch {
      return undefined
    }
  }
  const known = read()
  if (known !== undefined) return known
  const draft = `${path}.${randomUUID()}`
  try {
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(draft, randomUUID(), { mode: 0o600, flag: 'wx', flush: true })
    linkSync(draft, path)
  } catch {
    // Another process created it, or the folder cannot be written to.
  }
  try {
    rmSync(draft, { force: true })
  } catch {
    // The folder is no folder.
  }
  return read()
}

/**
 * Names an installation in the user's folders. A copy of a data folder at another path has another name, so that it does not append to
 * the ledger of the original; a restored data folder at the same path has the same name.
 */
function installationName(dataDir: string): string {
  const folder = resolve(dataDir)
  const digest = createHash('sha256').update(`${folder}\n${installationId(folder) ?? ''}`)
  return `${basename(folder).replace(/[^\w.-]/g, '-')}-${digest.digest('hex').slice(0, 12)}`
}

const formerFolder = ({ KP_DATA_DIR }: Pick<Env, 'KP_DATA_DIR'>): string => join(KP_DATA_DIR, 'erasures')

/**
 * The configured folder of the ledger. The default is in the user's state folder (XDG Base Directory Specification). A user without a
 * home has it in the data folder.
 */
export function ledgerFolder(settings: LedgerSettings): string {
  const { KP_LEDGER_URL: place, KP_DATA_DIR, HOME, XDG_STATE_HOME } = settings
  if (place !== undefined) return folderOf(place)
  const state = XDG_STATE_HOME ?? (HOME === undefined ? undefined : join(HOME, '.local/state'))
  if (state === undefined) return resolve(formerFolder(settings))
  return join(state, 'knowledgepulse', installationName(KP_DATA_DIR), 'erasures')
}

/** The file of the ledger's mark. Undefined for a user without a home, unless KP_LEDGER_MARK names it. */
export function ledgerMark({ KP_LEDGER_MARK, KP_DATA_DIR, HOME, XDG_DATA_HOME }: LedgerSettings): string | undefined {
  if (KP_LEDGER_MARK !== undefined) return resolve(KP_LEDGER_MARK)
  const data = XDG_DATA_HOME ?? (HOME === undefined ? undefined : join(HOME, '.local/share'))
  return data === undefined ? undefined : join(data, 'knowledgepulse', installationName(KP_DATA_DIR), 'ledger.mark')
}

/** Whether the ledger is inside the data folder, so that restoring that folder also restores an old ledger. */
export const isInDataFolder = (settings: LedgerSettings): boolean => {
  const inside = relative(resolve(settings.KP_DATA_DIR), ledgerFolder(settings))
  return inside === '' || !(inside.startsWith('..') || inside.startsWith('/'))
}

/** Whether the folder contains no ledger. */
export const hasNoRow = async (folder: string): Promise<boolean> => (await ledgerFiles(folder)).length === 0

async function syncAll(folder: string): Promise<void> {
  for (const name of ['', ...(await readdir(folder))]) {
    const handle = await open(join(folder, name), 'r')
    await handle.sync()
    await handle.close()
  }
}

/** Whether every file of the source exists in the target, with the same bytes or more of them. */
async function hasEverything(source: string, target: string): Promise<boolean> {
  for (const name of await readdir(source)) {
    const [own, copy] = await Promise.all([
      readFile(join(source, name)),
      readFile(join(target, name)).catch(() => undefined),
    ])
    if (!copy?.subarray(0, own.length).equals(own)) return false
  }
  return true
}

/**
 * Moves a ledger that earlier versions stored in the data folder to its present default place. After a crash at any point, the next call
 * continues, and no row is lost. Leaves a note with the new place.
 * @returns the new place if the ledger was moved
 * @throws Problem `conflict` if both places have rows
 */
export async function moveFormerLedger(settings: LedgerSettings): Promise<string | undefined> {
  const [source, target] = [resolve(formerFolder(settings)), ledgerFolder(settings)]
  if (settings.KP_LEDGER_URL !== undefined || source === target) return undefined
  const names = await namesIn(source).catch((error: unknown) => {
    if (errorCode(error) === 'ENOTDIR') return []
    throw error
  })
  if (names.length === 0) {
    // An earlier call may have been killed when it had removed all files. A folder that is not empty stays.
    await rmdir(source).catch(() => {})
    return undefined
  }
  const isThere = await stat(target).then(
    () => true,
    () => false,
  )
  if (isThere && !(await hasEverything(source, target)))
    throw new Problem(
      'conflict',
      `The erasure ledger is in two places: ${source} and ${target}. Nothing was changed. Set KP_LEDGER_URL to the newer one, or remove the older one.`,
    )
  if (!isThere) {
    const draft = `${target}.moving`
    await rm(draft, { recursive: true, force: true })
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    // A copy, because the places may be on different disks.
    await cp(source, draft, { recursive: true, preserveTimestamps: true })
    await syncAll(draft)
    await rename(draft, target)
    await syncFolder(dirname(target))
  }
  // Written first: another machine that shares the data folder finds the new place here.
  await writeFile(
    join(settings.KP_DATA_DIR, 'erasures.moved'),
    `The erasure ledger was moved to ${target} on ${hostname()}. Other machines of this installation need KP_LEDGER_URL.\n`,
    { mode: 0o600, flush: true },
  )
  await rm(source, { recursive: true })
  return target
}
