import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { newSecret } from '#lib/config/secret.ts'
import { operatorKeys } from '#lib/operator/keys.ts'
import { operator } from '#lib/operator/operator.ts'
import { Failure } from './failure.ts'
import { enterInstallation, withInstallation } from './installation.ts'
import type { CommandSession } from './session.ts'

async function list(session: CommandSession): Promise<void> {
  const { terminal } = session
  const keys = await withInstallation(session.invocation, (app) => operatorKeys(app).list())
  const { KP_SECRET, KP_DATA_DIR } = enterInstallation(session.invocation)
  const secret = KP_SECRET === undefined ? join(KP_DATA_DIR, 'secret') : 'KP_SECRET'
  terminal.document({
    data: {
      keys: keys.map(({ kind, id, createdAt, retiredAt, isLost }) => ({
        kind,
        id,
        created_at: createdAt.toISOString(),
        retired_at: retiredAt?.toISOString() ?? null,
        lost: isLost,
      })),
      installation: { kept_in: secret },
    },
  })
  const state = (isLost: boolean, isRetired: boolean) =>
    isLost ? 'lost: sealed with another secret' : isRetired ? 'retired' : 'in use'
  terminal.table(
    ['FOR', 'KEY', 'MADE', 'STATE'],
    keys.map((key) => [key.kind, key.id, key.createdAt.toISOString(), state(key.isLost, key.retiredAt !== null)]),
  )
  if (keys.length === 0) terminal.note('No keys exist yet. Each key is created when it is first needed.')
  terminal.note(`The keys are sealed with the installation’s secret, which is in ${secret}.`)
}

export async function rotateSigning(session: CommandSession): Promise<void> {
  const { terminal, command } = session
  const kid = await withInstallation(session.invocation, (app) => operatorKeys(app).rotateSigning())
  terminal.document({ data: { kid } })
  terminal.line(
    terminal.good('✓ '),
    `New receipts are signed with the key ${kid}. Running processes use it within a minute.`,
  )
  terminal.note(
    `The old key stays published, so old receipts stay valid. People who pinned keys can add the new key with ${command('receipts trust')}`,
  )
}

async function rotateSuppression(session: CommandSession): Promise<void> {
  const { terminal } = session
  const id = await withInstallation(session.invocation, (app) => operatorKeys(app).rotateSuppression())
  terminal.document({ data: { id } })
  terminal.line(
    terminal.good('✓ '),
    `New suppression entries use the key ${id}. Running processes use it within a minute.`,
  )
  terminal.note('Old keys still match, so subjects that were erased before are still recognized.')
}

/** With the secret in the environment, kp cannot change it and suggests a new one to the operator. */
function adviseGiven(session: CommandSession): void {
  const { terminal } = session
  const secret = newSecret()
  terminal.document({
    data: { rotated: false, suggested_secret: secret, variables: ['KP_SECRET', 'KP_SECRET_PREVIOUS'] },
  })
  terminal.line(secret)
  terminal.note(
    'Nothing was changed yet. The secret comes from KP_SECRET, so you must replace it. The line above is a new secret. Stop every process, set KP_SECRET_PREVIOUS to the old secret and KP_SECRET to the new one, and start again: all keys are sealed with the new secret in one transaction. Then remove KP_SECRET_PREVIOUS.',
  )
}

async function rotateInstallation(session: CommandSession): Promise<void> {
  const { terminal } = session
  const env = enterInstallation(session.invocation)
  if (env.KP_SECRET !== undefined) return adviseGiven(session)
  if (!existsSync(join(env.KP_DATA_DIR, 'secret')))
    throw new Failure('not_prepared', `There is no secret in ${env.KP_DATA_DIR} yet, so there is nothing to rotate.`, {
      advice: 'Run npm start, which creates the installation and its secret.',
    })
  const { rotateInstallationSecret } = await import('#lib/platform/secret-rotation.ts')
  const { sealed, lost } = await rotateInstallationSecret(env)
  await withInstallation(session.invocation, (app) => operatorKeys(app).noteInstallation())
  terminal.document({ data: { rotated: true, sealed, lost } })
  terminal.line(
    terminal.good('✓ '),
    `The secret was replaced, and ${sealed} key(s) and contact(s) are sealed with it. Start the installation again.`,
  )
  for (const [table, count] of Object.entries(lost))
    terminal.line(
      terminal.bad('! '),
      `${count} in ${table} are sealed with a secret that was lost before. They were not changed and cannot be opened.`,
    )
  terminal.note(
    'All people must sign in again. Earlier answers for an Idempotency-Key are no longer available. A database backup from before the rotation requires the old secret, which is in your backup of the data directory.',
  )
}

async function acceptLostSecret(session: CommandSession): Promise<void> {
  const { terminal } = session
  await withInstallation(session.invocation, (app) => operator(app).noteLoss('secret'), { isSecretLost: true })
  terminal.document({ data: { accepted: true } })
  terminal.line(terminal.good('✓ '), 'The installation uses the present secret from now on.')
  terminal.note(
    'What only the lost secret opens stays closed: kp keys list shows which keys are lost. Receipts are signed with a new key, and subjects that were erased under a lost suppression key are not recognized. The audit log contains this decision.',
  )
}

/** The installation's keys, on its own machine. */
export function keyCommands(program: Command, begin: () => CommandSession): void {
  const keys = program
    .command('keys')
    .summary('show and rotate the installation’s keys')
    .description(
      'Manages the keys that sign receipts, the keys of the suppression list, and the secret that seals both. Run these commands on the machine of the installation.\n\nExample:\n  kp keys list',
    )
  keys
    .command('list')
    .summary('show every key with its state, without key material')
    .description('Shows every key with its creation time, and whether it is lost.\n\nExample:\n  kp keys list --json')
    .action(() => list(begin()))
  keys
    .command('accept-lost-secret')
    .summary('continue with a new secret after the old one is lost')
    .description(
      'Run this command only if the installation’s secret is lost. A start with another secret is refused. If you have the former secret, set KP_SECRET_PREVIOUS to it for one start instead: nothing is lost then. Stop the installation first.\n\nExample:\n  kp keys accept-lost-secret',
    )
    .action(() => acceptLostSecret(begin()))
  const rotate = keys
    .command('rotate')
    .summary('replace a key')
    .description('Replaces a key. Results of the old key stay valid.\n\nExample:\n  kp keys rotate signing')
  rotate
    .command('signing')
    .summary('sign receipts with a new key')
    .description(
      'Makes a new key that signs receipts from now on. The old key stays published with its history, so that old receipts stay valid.\n\nExample:\n  kp keys rotate signing',
    )
    .action(() => rotateSigning(begin()))
  rotate
    .command('suppression')
    .summary('replace the key of the suppression list')
    .description(
      'Creates a new key for the suppression list of erased subjects. Old entries still match with their old keys.\n\nExample:\n  kp keys rotate suppression',
    )
    .action(() => rotateSuppression(begin()))
  rotate
    .command('installation')
    .summary('replace the secret that seals the other keys')
    .description(
      'Replaces the secret in the data directory and seals all keys with the new one. Stop the installation first. A crash at any moment leaves it usable. If the secret is in KP_SECRET, the command explains how to replace it.\n\nExample:\n  kp keys rotate installation',
    )
    .action(() => rotateInstallation(begin()))
}
