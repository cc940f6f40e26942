import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { DatabaseFault } from './fault.ts'

const run = promisify(execFile)

/** The user and group to run the server as; undefined: our own. */
export type ServerAccount = { uid: number; gid: number } | undefined

export type Binaries = { postgres: string; initdb: string }

const SHARED_HOME = '/var/lib/knowledgepulse'

const ids = async () => {
  const [uid, gid] = await Promise.all([run('id', ['-u', 'postgres']), run('id', ['-g', 'postgres'])])
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
}

/** PostgreSQL refuses to run as root, so root uses the system user `postgres`, created if missing. */
export async function serverAccount(): Promise<ServerAccount> {
  if (process.getuid?.() !== 0) return undefined
  try {
    return await ids()
  } catch {
    // no such user yet
  }
  try {
    const home = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin']
    await run('useradd', [...home, 'postgres'])
    return await ids()
  } catch (cause) {
    throw new DatabaseFault(
      'NO_SERVER_USER',
      'PostgreSQL refuses to run as root, and the system user "postgres" could not be made. Run npm start as an ordinary user, or create that user first.',
      { cause },
    )
  }
}

/** Whether the account can enter every folder of `path`. Folders that do not exist yet are created accessible. */
function canReach(account: ServerAccount, path: string): boolean {
  if (!account) return true
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    if (existsSync(folder)) {
      const { mode, uid, gid } = statSync(folder)
      const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
      if ((mode & bit) === 0) return false
    }
    if (folder === dirname(folder)) return true
  }
}

export type ServerPlacement = { home: string; binaries: Binaries; notice?: string }

const locationOf = (dataDir: string): string => join(dataDir, 'pgdata.location')

/** The folder of an installation's database files after its first start; creates nothing. */
export function homeOf(dataDir: string): string {
  const marker = locationOf(dataDir)
  return existsSync(marker) ? readFileSync(marker, 'utf8').trim() : resolve(dataDir)
}

/**
 * The location of data and binaries: `dataDir` and node_modules, unless the server's account cannot access them (such as a checkout in
 * root's home, mode 0700). In that case, a folder below /var/lib/knowledgepulse. `dataDir` stores its path, so that deleting `dataDir`
 * still means a fresh start.
 */
export function serverPlacement(dataDir: string, packaged: Binaries, account: ServerAccount): ServerPlacement {
  const marker = locationOf(dataDir)
  const isPlaced = existsSync(marker)
  if (!isPlaced && canReach(account, dirname(packaged.postgres)) && canReach(account, dataDir)) {
    return { home: resolve(dataDir), binaries: packaged }
  }
  const home = isPlaced ? readFileSync(marker, 'utf8').trim() : join(SHARED_HOME, randomBytes(6).toString('hex'))
  mkdirSync(home, { recursive: true, mode: 0o755 })
  if (!isPlaced) writeFileSync(marker, `${home}\n`)
  const notice = `The database's files are in ${home}, because the system user "postgres" may not enter ${resolve(dataDir)}.`
  return { home, binaries: canReach(account, dirname(packaged.postgres)) ? packaged : copied(packaged), notice }
}

function copied(packaged: Binaries): Binaries {
  const native = dirname(dirname(packaged.postgres))
  const { mtimeMs, size } = statSync(packaged.postgres)
  const target = join(SHARED_HOME, `postgres-${size}-${Math.trunc(mtimeMs)}`)
  if (!existsSync(target)) {
    const unfinished = `${target}-${randomBytes(4).toString('hex')}`
    cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true })
    try {
      renameSync(unfinished, target)
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true })
      if (!existsSync(target)) throw error // otherwise another start was faster
    }
  }
  return { postgres: join(target, 'bin/postgres'), initdb: join(target, 'bin/initdb') }
}
