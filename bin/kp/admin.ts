import type { Command } from 'commander'
import { operator } from '#lib/operator.ts'
import { scopesOf } from './grants.ts'
import { withInstallation } from './installation.ts'
import type { Session } from './session.ts'

async function token(session: Session, { scopes, name }: { scopes: string; name: string }): Promise<void> {
  const { terminal } = session
  const wanted = scopesOf(scopes)
  const made = await withInstallation((app) => operator(app).issueToken(wanted, name))
  terminal.document({
    data: { agent_id: made.agentId, id: made.tokenId, api_key: made.key, key_prefix: made.prefix, scopes: made.scopes },
  })
  terminal.line(made.key)
  terminal.note(`A token of the agent ${made.agentId} (${made.scopes.join(', ')}). It is shown this once.`)
}

async function resetPassword(session: Session, email: string): Promise<void> {
  const { terminal } = session
  const made = await withInstallation((app) => app.accounts.resetPassword(email))
  terminal.document({
    data: { account_id: made.accountId, password: made.password, sessions_ended: made.sessionsEnded },
  })
  terminal.line(made.password)
  terminal.note(
    `It works once: a new one has to be chosen at sign-in. ${made.sessionsEnded} open session(s) were ended, and a letter tells the person.`,
  )
}

async function rotateSigningKey(session: Session): Promise<void> {
  const { terminal, command } = session
  const kid = await withInstallation((app) => operator(app).rotateSigningKey())
  terminal.document({ data: { kid } })
  terminal.line(
    terminal.good('✓ '),
    `Receipts are signed with the key ${kid} from now on; running processes follow within a minute.`,
  )
  terminal.note(
    `The old key stays published, so old receipts still hold. Whoever pinned keys adds the new one with ${command('receipts trust')}`,
  )
}

/** What needs the installation's machine and its database, and no token. */
export function adminCommands(program: Command, begin: () => Session): void {
  const admin = program
    .command('admin')
    .summary('tokens, passwords and keys, by the operator’s own hand')
    .description(
      'For whoever runs the installation, on its own machine: it needs the database, and no token. Works while it runs, and while it does not.\n\nExample:\n  kp admin token --scopes admin',
    )
  admin
    .command('token')
    .summary('make a token of the operator’s')
    .description(
      'Makes a token of the agent "operator", in the first admin’s organisation, and prints it once.\n\nExample:\n  KP_TOKEN=$(npm run --silent kp -- admin token) npm run --silent kp -- audit',
    )
    .option('--scopes <list>', 'read, write, admin, with commas between', 'admin')
    .option('--name <name>', 'to recognise it by', 'made by kp admin token')
    .action((options: { scopes: string; name: string }) => token(begin(), options))
  admin
    .command('reset-password')
    .summary('give an account a one-time password')
    .description(
      'Prints a password that works once, and ends every open session of the account.\n\nExample:\n  kp admin reset-password admin@localhost.localdomain',
    )
    .argument('<e-mail>', 'the account’s address')
    .action((email: string) => resetPassword(begin(), email))
  admin
    .command('rotate-signing-key')
    .summary('sign receipts with a new key')
    .description(
      'Makes a new key that signs receipts from now on. The old one stays published with its history, so that old receipts still hold.\n\nExample:\n  kp admin rotate-signing-key',
    )
    .action(() => rotateSigningKey(begin()))
}
