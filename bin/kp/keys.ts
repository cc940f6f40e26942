import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { newSecret } from '#lib/config/secret.ts'
import { operatorKeys } from '#lib/operator/keys.ts'
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
  if (keys.length === 0) terminal.note('There are no keys yet: each is made at its first need.')
  terminal.note(`They are sealed with the installation’s secret, which is in ${secret}.`)
}

export async function rotateSigning(session: CommandSession): Promise<void> {
  const { terminal, command } = session
  const kid = await withInstallation(session.invocation, (app) => operatorKeys(app).rotateSigning())
  terminal.document({ data: { kid } })
  terminal.line(
    terminal.good('✓ '),
    `Receipts are signed with the key ${kid} from now on; running processes follow within a minute.`,
  )
  terminal.note(
    `The old key stays published, so old receipts still hold. Whoever pinned keys adds the new one with ${command('receipts trust')}`,
  )
}

async function rotateSuppression(session: CommandSession): Promise<void> {
  const { terminal } = session
  const id = await withInstallation(session.invocation, (app) => operatorKeys(app).rotateSuppression())
  terminal.document({ data: { id } })
  terminal.line(
    terminal.good('✓ '),
    `Who is erased from now on is remembered under the key ${id}; running processes follow within a minute.`,
  )
  terminal.note('The old keys go on matching: whoever was erased before stays recognised.')
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
    'Nothing was changed yet: the secret comes from KP_SECRET, so it is yours to replace. The line above is a new one. Stop every process, put the present KP_SECRET into KP_SECRET_PREVIOUS and the new one into KP_SECRET, and start: everything is sealed anew in one transaction. Then take KP_SECRET_PREVIOUS away.',
  )
}

async function rotateInstallation(session: CommandSession): Promise<void> {
  const { terminal } = session
  const env = enterInstallation(session.invocation)
  if (env.KP_SECRET !== undefined) return adviseGiven(session)
  if (!existsSync(join(env.KP_DATA_DIR, 'secret')))
    throw new Failure('not_prepared', `There is no secret in ${env.KP_DATA_DIR} yet, so there is nothing to rotate.`, {
      advice: 'npm start makes the installation, and its secret with it.',
    })
  const { rotateInstallationSecret } = await import('#lib/platform/secret-rotation.ts')
  const { sealed, lost } = await rotateInstallationSecret(env)
  await withInstallation(session.invocation, (app) => operatorKeys(app).noteInstallation())
  terminal.document({ data: { rotated: true, sealed, lost } })
  terminal.line(
    terminal.good('✓ '),
    `The secret is a new one, and ${sealed} key(s) and contact(s) are sealed with it. Start the installation again.`,
  )
  for (const [table, count] of Object.entries(lost))
    terminal.line(
      terminal.bad('! '),
      `${count} in ${table} are sealed with a secret that was lost before; they stay so.`,
    )
  terminal.note(
    'Everybody signs in anew. Answers to an Idempotency-Key from before are not found again. A backup of the database from before needs the former secret: it lies beside it in your backup of the data directory.',
  )
}

/** The installation's keys, on its own machine. */
export function keyCommands(program: Command, begin: () => CommandSession): void {
  const keys = program
    .command('keys')
    .summary('show and rotate the installation’s keys')
    .description(
      'Keys that sign receipts, that remember who was erased, and the secret that both are sealed with. On the installation’s own machine.\n\nExample:\n  kp keys list',
    )
  keys
    .command('list')
    .summary('show every key with its state; no key itself')
    .description('Shows which keys there are, since when, and whether one is lost.\n\nExample:\n  kp keys list --json')
    .action(() => list(begin()))
  const rotate = keys
    .command('rotate')
    .summary('put a new key in the place of one')
    .description('Replaces a key. What the old one did stays good.\n\nExample:\n  kp keys rotate signing')
  rotate
    .command('signing')
    .summary('sign receipts with a new key')
    .description(
      'Makes a new key that signs receipts from now on. The old one stays published with its history, so that old receipts still hold.\n\nExample:\n  kp keys rotate signing',
    )
    .action(() => rotateSigning(begin()))
  rotate
    .command('suppression')
    .summary('remember the erased under a new key')
    .description(
      'Makes a new key for the list of who was erased. Old entries go on matching under their own.\n\nExample:\n  kp keys rotate suppression',
    )
    .action(() => rotateSuppression(begin()))
  rotate
    .command('installation')
    .summary('replace the secret that seals the others')
    .description(
      'Replaces the secret in the data directory and seals everything anew. The installation has to stand still; a crash at any moment leaves it usable. Where the secret is in KP_SECRET, it says how you replace that.\n\nExample:\n  kp keys rotate installation',
    )
    .action(() => rotateInstallation(begin()))
}
