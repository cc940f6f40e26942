import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, relative, resolve } from 'node:path'
import type { Client } from 'pg'
import { areSnapshotKeysInBucket, snapshotKeysFolder } from '#lib/config/data-folder.ts'
import { BadVariable, type Env } from '#lib/config/env.ts'
import { alteredDetail, replayCommand } from '#lib/domains/erasure/ledger/restored-database.ts'
import { overdueExchanges } from '#lib/domains/llm-log/repository.ts'
import { auditLogRights, databaseTime, workersAndLateJobs } from '#lib/operator/repository.ts'
import { joinInstallation } from '#lib/platform/installation.ts'
import { acceptLossCommand } from '#lib/platform/ledger-settling.ts'
import { isInDataFolder, ledgerFolder } from '#lib/stores/ledger/ledger-place.ts'
import { isAlteration } from '#lib/stores/ledger/ledger-scan.ts'
import { objectsAddress } from '#lib/stores/objects/address.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { findEmbedded } from '#lib/stores/postgres/embedded.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import { checkClockSkew, checkFreeSpace, checkMode, fault, type HealthCheck, ok, skipped, warning } from './health.ts'
import { enterInstallation } from './installation.ts'
import type { Invocation } from './invocation.ts'
import { checkStores } from './store-checks.ts'

async function roleCheck(client: Client): Promise<HealthCheck> {
  const name = 'audit log'
  const [found] = await auditLogRights(client, {})
  return found && !found.may
    ? ok(name, `the application's role (${found.role}) cannot alter it`)
    : fault(
        name,
        `the application's role (${found?.role ?? 'unknown'}) can alter it`,
        'Set DATABASE_URL to a user without owner rights and DATABASE_MIGRATION_URL to the owner, then run npm start.',
      )
}

async function workerCheck(client: Client): Promise<HealthCheck> {
  const name = 'worker'
  const [{ workers, overdue } = { workers: 0, overdue: 0 }] = await workersAndLateJobs(client, {})
  if (workers === 0)
    return fault(
      name,
      `none is running${overdue > 0 ? `, and ${overdue} job(s) are overdue` : ''}`,
      'Start one: npm start, or KP_ROLE=worker npm start beside the servers.',
    )
  if (overdue > 0)
    return warning(
      name,
      `running, and ${overdue} job(s) are more than five minutes late`,
      'Look for job errors in the log of npm start.',
    )
  return ok(name, 'running, and no job is late')
}

/** Compares the clock of this machine with that of the database, which all machines share. */
async function clockCheck(client: Client): Promise<HealthCheck> {
  const before = Date.now()
  const [{ now } = { now: new Date() }] = await databaseTime(client, {})
  return checkClockSkew('database clock', (before + Date.now()) / 2 - now.getTime(), 'the database')
}

/** Checks for exchanges beyond their retention of one day, except those under a legal hold. */
async function modelLogCheck(client: Client): Promise<HealthCheck> {
  const name = 'model log'
  const [{ n, late } = { n: 0, late: 0 }] = await overdueExchanges(client, { now: new Date() })
  const minutes = Math.floor(late / 60_000)
  return minutes > 60
    ? fault(
        name,
        `${n} logged model exchange(s) are past their 24 hours, the oldest by ${minutes} minutes`,
        'Check that a worker is running, and look for errors of llm-log.purge-ended in the log of npm start.',
      )
    : ok(name, 'no exchange is past its 24 hours')
}

/** A restored backup contains erased data until the ledger is replayed. */
async function replayChecks(env: Env): Promise<HealthCheck[]> {
  const name = 'restored backup'
  const { createApp } = await import('#lib/app.ts')
  const app = createApp({ env })
  try {
    const { missing, unfinished, isCompared } = await app.restored.state()
    const { problems, mark, newest } = await app.ledger
      .inspect()
      .catch(() => ({ problems: [], mark: 'unread', newest: null }))
    const alterations = problems.filter(isAlteration).length
    const isOlder = mark === 'ahead' || mark === 'other' || mark === 'unreadable'
    const remedy = `Put the newest copy of the ledger in its place. If it is lost: ${acceptLossCommand}`
    const lost = isCompared ? await app.lostRequests().catch(() => []) : []
    const named = lost.map(({ id, due }) => `${id} (due ${due.slice(0, 10)})`).join(', ')
    const requests =
      lost.length === 0
        ? []
        : [
            fault(
              'privacy requests',
              `the restored database lacks ${lost.length} open privacy request(s): ${named}`,
              'File them again, then run kp erasures close-request <id> for each.',
            ),
          ]
    const rows = alterations > 0 ? [fault('ledger rows', alteredDetail(alterations), remedy)] : []
    if (missing > 0)
      return [
        ...rows,
        fault(
          name,
          `the database was restored and lacks ${missing} erasure(s) of the ledger; the server rejects all requests until they are repeated`,
          replayCommand,
        ),
      ]
    if (!isCompared || mark === 'unread')
      return [...rows, fault(name, 'the database and the ledger cannot be compared: the ledger cannot be read', remedy)]
    if (isOlder)
      return [
        ...rows,
        fault(
          name,
          `the database and the ledger cannot be compared: the ledger is not the newest one${newest === null ? '' : ` (the newest erasure was ${newest})`}`,
          remedy,
        ),
      ]
    if (unfinished > 0)
      return [
        ...rows,
        warning(
          name,
          `${unfinished} erasure(s) of the ledger are being repeated`,
          'Look for the stuck step under Erasures.',
        ),
      ]
    return [...rows, ...requests, ok(name, 'the database has every erasure of the ledger')]
  } finally {
    await app.close()
  }
}

async function databaseChecks(env: Env): Promise<HealthCheck[]> {
  const name = 'database'
  if (!env.DATABASE_URL && !env.DATABASE_MIGRATION_URL && (await findEmbedded(env.KP_DATA_DIR)).ownerPid === undefined)
    return [
      warning(name, 'the embedded PostgreSQL is not running', 'npm start'),
      ...(await checkStores(env, undefined)),
    ]
  try {
    const { appUrl, leave } = await joinInstallation(env)
    try {
      const checks = await withConnection(appUrl, async (client) => [
        ok(name, 'reachable'),
        ok('migrations', 'up to date'),
        await roleCheck(client),
        await workerCheck(client),
        await clockCheck(client),
        await modelLogCheck(client),
      ])
      checks.push(...(await replayChecks({ ...env, DATABASE_URL: appUrl })))
      return [...checks, ...(await checkStores({ ...env, DATABASE_URL: appUrl }, appUrl))]
    } finally {
      await leave()
    }
  } catch (error) {
    if (!(error instanceof DatabaseFault)) throw error
    return [
      fault(
        error.code === 'NOT_PREPARED' || error.code === 'SCHEMA_NEWER' ? 'migrations' : name,
        error.message,
        'Fix the cause above, then run this command again.',
      ),
      ...(await checkStores(env, undefined)),
    ]
  }
}

/** The nearest existing ancestor folder, in which the path will be created. */
function existing(path: string): string {
  for (let folder = resolve(path); ; folder = dirname(folder))
    if (existsSync(folder) || folder === dirname(folder)) return folder
}
/** Whether this user can write to the folder, or create it. */
function isWritable(folder: string): boolean {
  try {
    accessSync(existing(folder), constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function ledgerCheck(env: Env): HealthCheck {
  const name = 'erasure ledger'
  const folder = ledgerFolder(env)
  const inside = relative(resolve(env.KP_DATA_DIR, 'pgdata'), folder)
  if (inside === '' || !inside.startsWith('..'))
    return fault(
      name,
      `${folder} is inside the database folder, so restoring a backup would also restore the ledger`,
      'Set KP_LEDGER_URL to a folder elsewhere.',
    )
  if (!isWritable(folder))
    return fault(
      name,
      `${folder} cannot be written`,
      'Start as the user who owns it, or set KP_LEDGER_URL. Erasures fail until it is writable.',
    )
  if (isInDataFolder(env))
    return warning(
      name,
      `${folder} is inside the data folder, so restoring a copy of that folder would also restore an old ledger`,
      'Set KP_LEDGER_URL to a folder elsewhere, after you moved the ledger there.',
    )
  const isSameDisk =
    !env.DATABASE_URL && existsSync(env.KP_DATA_DIR) && statSync(existing(folder)).dev === statSync(env.KP_DATA_DIR).dev
  return ok(
    name,
    `${folder} is writable and apart from the database${isSameDisk ? ' (on the same disk; KP_LEDGER_URL may name another)' : ''}`,
  )
}

/** A copy of the keys could open snapshots that were erased. */
function snapshotKeysCheck(env: Env): HealthCheck {
  const name = 'snapshot keys'
  if (areSnapshotKeysInBucket(env)) return ok(name, 'in the bucket of KP_FILES_URL; exclude it from backups')
  const folder = snapshotKeysFolder(env)
  const isIn = (other: string) => !relative(resolve(other), folder).startsWith('..')
  const objects = objectsAddress(env.KP_OBJECTS_URL, env.KP_DATA_DIR)
  if (isIn(resolve(env.KP_DATA_DIR, 'pgdata')) || (objects.provider === 'files' && isIn(objects.folder)))
    return fault(
      name,
      `${folder} is inside the database or object folder, so the keys would be in their backups`,
      'Set KP_SNAPSHOT_KEYS_DIR to a folder elsewhere.',
    )
  if (!isWritable(folder))
    return fault(
      name,
      `${folder} cannot be written`,
      'Start as the user who owns it, or set KP_SNAPSHOT_KEYS_DIR. Snapshots cannot be created or erased until it is writable.',
    )
  if (existsSync(folder) && (statSync(folder).mode & 0o077) !== 0)
    return fault(
      name,
      `users other than its owner can access ${folder}`,
      `Restrict it to its owner: chmod 700 ${folder}`,
    )
  return ok(
    name,
    `${folder} is writable, private to its owner, and outside the database and object folders; exclude it from backups`,
  )
}

function mailCheck(env: Env): Promise<HealthCheck> {
  const name = 'mail'
  if (!env.KP_SMTP_URL)
    return Promise.resolve(
      warning(name, `no mail server; emails are written to ${env.KP_DATA_DIR}/mail`, 'Set KP_SMTP_URL to send them.'),
    )
  const { hostname, port, protocol } = new URL(env.KP_SMTP_URL)
  const at = Number(port) || (protocol === 'smtps:' ? 465 : 587)
  return new Promise((tell) => {
    const socket = connect(at, hostname)
    const end = (check: HealthCheck) => {
      socket.destroy()
      tell(check)
    }
    const silent = () =>
      end(
        fault(
          name,
          `${hostname}:${at} does not answer`,
          'Start the mail server, or correct KP_SMTP_URL. Until then, emails wait in the queue.',
        ),
      )
    socket
      .setTimeout(5000, silent)
      .once('error', silent)
      .once('connect', () => end(ok(name, `${hostname}:${at} answers`)))
  })
}

function secretCheck(env: Env): HealthCheck {
  const file = `${env.KP_DATA_DIR}/secret`
  if (env.KP_SECRET) return ok('secret', 'given in KP_SECRET')
  return existsSync(file)
    ? checkMode('secret', file, statSync(file).mode)
    : warning(
        'secret',
        `${file} does not exist`,
        'npm start creates it. If it existed before, restore it from your backup. Without it, tokens work, but receipts cannot be signed.',
      )
}

function spaceCheck(folder: string): HealthCheck {
  const { bavail, bsize } = statfsSync(existing(folder))
  return checkFreeSpace('disk', bavail * bsize, resolve(folder))
}

/** Checks that are only possible on the installation's machine. One line when there is no installation here. */
export async function checkInstallation(invocation: Invocation): Promise<HealthCheck[]> {
  let env: Env
  try {
    env = enterInstallation(invocation)
  } catch (error) {
    if (error instanceof BadVariable) return [fault('settings', error.message, 'Correct the variable.')]
    throw error
  }
  const isHere = Boolean(env.DATABASE_URL ?? env.DATABASE_MIGRATION_URL) || (await findEmbedded(env.KP_DATA_DIR)).exists
  if (!isHere)
    return [
      skipped('installation', 'no installation on this machine, so database, ledger, worker and disk were not checked'),
    ]
  return [
    ...(await databaseChecks(env)),
    ledgerCheck(env),
    snapshotKeysCheck(env),
    secretCheck(env),
    spaceCheck(env.KP_DATA_DIR),
    await mailCheck(env),
  ]
}
