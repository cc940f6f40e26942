import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseFault } from './fault.ts'
import { type Binaries, homeOf, type ServerAccount } from './server-account.ts'

const OWNER = 'kp_owner'
const UNFINISHED = '.unfinished-'
const LONGEST_SOCKET_FOLDER = 80 // a socket's path holds about 100 bytes on every system

export function paths(home: string) {
  const data = join(home, 'pgdata')
  const near = join(home, 'run')
  const far = join(tmpdir(), `kp-${createHash('sha256').update(data).digest('hex').slice(0, 12)}`)
  const isUsable = Buffer.byteLength(near) < LONGEST_SOCKET_FOLDER && !/[,"]/.test(near) // the setting is a list
  return { home, data, run: isUsable ? near : far, secret: join(home, 'pgdata.secret'), log: join(home, 'pgdata.log') }
}

export type Paths = ReturnType<typeof paths>

/** Creates the cluster in a temporary folder and renames it when it is complete, so that an interrupted start leaves no partial cluster. */
export async function initialise(at: Paths, { initdb }: Binaries, account: ServerAccount) {
  // The name is new for each attempt: an initdb whose parent was killed may still be writing to the previous folder.
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

/** Turns PostgreSQL's error output into one line of advice. */
export function whyNot(said: string, at: Paths): DatabaseFault {
  if (said.includes('No space left on device')) return fullDisk(at.data)
  if (said.includes('database files are incompatible with server')) {
    const theirs = readFileSync(join(at.data, 'PG_VERSION'), 'utf8').trim()
    return new DatabaseFault(
      'OTHER_VERSION',
      `PostgreSQL ${theirs} wrote the data in ${at.data}, and this version cannot read it. Nothing was changed. Go back to the version that made it, dump the database, and load the dump into a fresh KP_DATA_DIR.`,
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

export const urlOf = (at: Paths, database: string) => {
  const url = new URL(`postgresql://localhost/${encodeURIComponent(database)}`)
  url.username = OWNER
  url.password = readFileSync(at.secret, 'utf8')
  url.searchParams.set('host', at.run)
  return url.href
}

export const fullDisk = (folder: string, cause?: unknown) =>
  new DatabaseFault(
    'DISK_FULL',
    `The disk with ${folder} is full. No data was lost. Free some space and start again.`,
    {
      cause,
    },
  )

/** Whether the URL points to the embedded database of this data folder and not to an external server. */
export const isEmbedded = (url: string | undefined, dataDir: string): boolean =>
  url === undefined || new URL(url).searchParams.get('host') === paths(homeOf(dataDir)).run
