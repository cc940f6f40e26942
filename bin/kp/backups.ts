import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import type { Command } from 'commander'
import { usageFailure } from './failure.ts'
import { enterInstallation, withInstallation } from './installation.ts'
import type { CommandSession } from './session.ts'

const standardStream = '-'

interface BackupChoices {
  recipient?: string[]
  plain?: boolean
}

/** Writes a file under a temporary name, so that a backup that was cut short never has the name of a whole one. */
async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const draft = `${path}.part`
  try {
    await pipeline(Readable.from(bytes), createWriteStream(draft, { mode: 0o600, flags: 'wx', flush: true }))
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

async function backup(
  session: CommandSession,
  target: string,
  { recipient = [], plain }: BackupChoices,
): Promise<void> {
  const { terminal } = session
  if (recipient.length === 0 && !plain)
    throw usageFailure(
      'A backup contains everything, and the secret. Name who can open it: --recipient age1….',
      'kp backup-key <file> creates a key. --plain writes an unencrypted backup.',
    )
  if (recipient.length > 0 && plain) throw usageFailure('Choose either --recipient or --plain.')
  const path = target === standardStream ? undefined : resolve(target)
  if (path !== undefined && existsSync(path)) throw usageFailure(`${path} exists. Choose another name.`)
  const env = enterInstallation(session.invocation)
  const report = await withInstallation(session.invocation, async (app, { ownerUrl }) => {
    const { writeBackup } = await import('#lib/operator/backup.ts')
    const now = app.pipeline.clock.now()
    return writeBackup({ ownerUrl, settings: env, recipients: recipient, now }, (bytes) =>
      path === undefined
        ? pipeline(Readable.from(bytes), createWriteStream('', { fd: 1, autoClose: false }))
        : writeWhole(path, bytes),
    )
  })
  if (path === undefined) return
  const { tables, rows, objects, ledgerFiles } = report
  terminal.document({ data: { file: path, tables, rows, objects, ledger_files: ledgerFiles } })
  terminal.line(
    terminal.good('✓ '),
    `${path} contains ${rows} rows of ${tables} tables, ${objects} objects, and the erasure ledger.`,
  )
  if (env.KP_OBJECTS_URL !== undefined)
    terminal.note('Attachments and documents are in the bucket of KP_OBJECTS_URL, and not in this backup.')
  if (env.KP_SECRET !== undefined) terminal.note('The secret comes from KP_SECRET, and is not in this backup.')
  terminal.note(
    'Copy the folder of the erasure ledger to another place more often than this: it has the erasures made after this backup.',
  )
}

interface RestoreChoices {
  identity?: string
  replace?: boolean
  ledgerLost?: boolean
}

async function restore(session: CommandSession, source: string, choices: RestoreChoices): Promise<void> {
  const { terminal, invocation } = session
  const path = source === standardStream ? undefined : resolve(source)
  const identities =
    choices.identity === undefined
      ? []
      : (await readFile(resolve(choices.identity), 'utf8'))
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== '' && !line.startsWith('#'))
  const settings = enterInstallation(invocation)
  const { restoreBackup } = await import('#lib/operator/restore.ts')
  const report = await restoreBackup(path === undefined ? createReadStream('', { fd: 0 }) : createReadStream(path), {
    settings,
    identities,
    isReplacing: choices.replace === true,
    isLedgerLost: choices.ledgerLost === true,
  })
  if (report.hasLedgerOfBackup) {
    const { operator } = await import('#lib/operator/operator.ts')
    await withInstallation(
      invocation,
      async (app) => {
        await operator(app).noteLoss('ledger')
        await app.writeMissingRows()
      },
      { isLedgerLost: true },
    )
  }
  const { createdAt, tables, rows, objects, hasLedgerOfBackup } = report
  terminal.document({
    data: { created_at: createdAt, tables, rows, objects, ledger: hasLedgerOfBackup ? 'of the backup' : 'current' },
  })
  terminal.line(
    terminal.good('✓ '),
    `Restored the backup of ${createdAt}: ${rows} rows of ${tables} tables, and ${objects} objects.`,
  )
  terminal.line(
    hasLedgerOfBackup
      ? `The ledger of the backup is in place. Erasures made after ${createdAt} are lost: compare your receipts, and erase that data again. The audit log contains this decision.`
      : 'The next start repeats the erasures made after the backup before it serves a request.',
  )
  terminal.note('Start the installation: npm start')
}

async function createKey(session: CommandSession, file: string): Promise<void> {
  const { terminal } = session
  const identity = await generateIdentity()
  const recipient = await identityToRecipient(identity)
  const path = resolve(file)
  await writeFile(path, `# recipient: ${recipient}\n${identity}\n`, { mode: 0o600, flag: 'wx' })
  terminal.document({ data: { file: path, recipient } })
  terminal.line(recipient)
  terminal.note(
    `The key is in ${path}. Store it away from this machine: without it, no backup for this recipient can be opened.`,
  )
}

async function moveToBucket(session: CommandSession): Promise<void> {
  const { terminal } = session
  const env = enterInstallation(session.invocation)
  const { requireStopped } = await import('#lib/platform/secret-rotation.ts')
  await requireStopped(env)
  const { moveFiles } = await import('#lib/operator/move-files.ts')
  const moved = await withInstallation(session.invocation, (app) => moveFiles(app))
  terminal.document({ data: { moved } })
  terminal.line(
    terminal.good('✓ '),
    `Moved ${moved.exports} prepared exports and ${moved.snapshot_keys} snapshot keys into the bucket of KP_FILES_URL.`,
  )
  terminal.note('Set KP_FILES_URL on every machine, then start the installation.')
}

/** Backup and restore, and the move of files that machines share, on the machine of the installation. */
export function backupCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('backup')
    .summary('write an encrypted backup while the installation runs')
    .description(
      'Writes the database, the files of the data folder, the secret and the erasure ledger into one file, encrypted for the given age recipients (https://age-encryption.org). The installation may run meanwhile.\n\nExample:\n  kp backup-key backup.key\n  kp backup /backups/2026-11-28.age --recipient age1…',
    )
    .argument('<file>', 'the file to write; - for standard output')
    .option(
      '--recipient <age1…>',
      'who can open the backup; repeat it for several',
      (value: string, all: string[] = []) => [...all, value],
    )
    .option('--plain', 'do not encrypt the backup')
    .action((file: string, choices: BackupChoices) => backup(begin(), file, choices))
  program
    .command('restore')
    .summary('restore a backup; the next start repeats later erasures')
    .description(
      'Restores a backup into the installation of the settings, which must be stopped. Nothing is replaced until the whole backup is loaded and checked. It refuses while the erasure ledger is missing, because erased data would come back.\n\nExample:\n  kp restore /backups/2026-11-28.age --identity backup.key\n  npm start',
    )
    .argument('<file>', 'the backup; - for standard input')
    .option('--identity <file>', 'the file with the key that opens the backup')
    .option('--replace', 'replace the embedded database of the data folder')
    .option('--ledger-lost', 'the current erasure ledger is lost: use the copy in the backup')
    .action((file: string, choices: RestoreChoices) => restore(begin(), file, choices))
  program
    .command('backup-key')
    .summary('create a key for encrypted backups')
    .description(
      'Writes a new age key to a file and prints its recipient, which `kp backup --recipient` accepts.\n\nExample:\n  kp backup-key backup.key',
    )
    .argument('<file>', 'the file to write the key to')
    .action((file: string) => createKey(begin(), file))
  program
    .command('move-files')
    .summary('move prepared exports and snapshot keys into a bucket')
    .description(
      'Moves prepared exports and snapshot keys from the data folder into the bucket of KP_FILES_URL, so that several machines can share them. Stop all processes first. Each copy is read back before its file is removed. Safe to repeat.\n\nExample:\n  KP_FILES_URL=s3://files?region=eu-central-1 kp move-files',
    )
    .action(() => moveToBucket(begin()))
}
