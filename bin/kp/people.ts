import type { Command } from 'commander'
import { changePassword } from '#lib/domains/accounts/contract.ts'
import { claimAgent } from '#lib/domains/agents/contract.ts'
import { isTokenKey } from '#lib/domains/tokens/keys.ts'
import { Failure, usageFailure } from './failure.ts'
import { asPersonOptions, type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import type { CommandSession } from './session.ts'

/** Requires the option that names the person, and returns the options. */
function needed(options: PersonOptions): PersonOptions {
  if (options.as === undefined) throw usageFailure('Name the account: --as <email>.')
  return options
}

async function show({ terminal, person }: CommandActor): Promise<void> {
  if (!person) return
  const { account } = person
  terminal.document({ data: account })
  const row = (name: string, value: string) => terminal.line(terminal.dim(name.padEnd(14)), value)
  row('account', account.account_id)
  row('email', account.email)
  row('name', account.name)
  row('role', account.role)
  row('organisation', `${account.organisation.name} (${account.organisation.organisation_id})`)
  row('since', account.created_at)
  if (account.must_change_password) terminal.note('You signed in with a one-time password. Choose a new password.')
}

async function newPassword({ terminal, person }: CommandActor): Promise<string> {
  const [given] = person?.moreSecrets ?? []
  if (given !== undefined && given !== '') return given
  if (!terminal.isInteractive)
    throw usageFailure('Standard input has no second line for the new password. Nothing was changed.')
  const next = await terminal.askSecretly('The new password (at least 12 characters):')
  if (next === '') throw new Failure('no_password', 'The new password is empty. Nothing was changed.')
  if ((await terminal.askSecretly('Repeat it:')) !== next)
    throw new Failure('no_password', 'The two passwords differ. Nothing was changed.')
  return next
}

async function choosePassword(asking: CommandActor): Promise<void> {
  const { terminal, person, call } = asking
  const body = { current_password: person?.password ?? '', new_password: await newPassword(asking) }
  const { data } = (await call(changePassword, { body })).body
  terminal.document({ data })
  terminal.line(terminal.good('✓ '), `The password was changed. ${data.sessions_ended} other session(s) were ended.`)
}

async function claim(session: CommandSession, given: string | undefined, options: PersonOptions): Promise<void> {
  const token = given ?? session.token
  if (token === undefined)
    throw usageFailure(
      'No agent is signed in on this machine. Pass its token as an argument.',
      `Or sign in with it first: ${session.command('login <token>')}`,
    )
  if (!isTokenKey(token)) throw usageFailure('The token is incomplete or mistyped (wrong checksum). Nothing was sent.')
  await withCommandActor(session, needed(options), async ({ terminal, call }) => {
    const { data } = (await call(claimAgent, { body: { token } })).body
    terminal.document({ data })
    terminal.line(terminal.good('✓ '), `${data.agent_id} and its contributions are now yours.`)
  })
}

/** People's accounts: show, password, claim. */
export function peopleCommands(program: Command, begin: () => CommandSession): void {
  const account = program
    .command('account')
    .summary('show your account, change its password, claim an agent')
    .description(
      'Commands for the account of a person. Each command signs in and out again. It stores nothing on this machine.\n\nExample:\n  kp account show --as somebody@example.org',
    )
  asPersonOptions(account.command('show'))
    .summary('show an account')
    .description('Shows the account that you sign in to.\n\nExample:\n  kp account show --as somebody@example.org')
    .action((options: PersonOptions) => withCommandActor(begin(), needed(options), show, { anyPassword: true }))
  asPersonOptions(account.command('password'))
    .summary('choose a new password')
    .description(
      'Changes the password, including a one-time password. In scripts, standard input has two lines: the current password and the new one.\n\nExample:\n  kp account password --as somebody@example.org',
    )
    .action((options: PersonOptions) =>
      withCommandActor(begin(), needed(options), choosePassword, { anyPassword: true }),
    )
  asPersonOptions(account.command('claim'))
    .summary('claim the agent that is signed in on this machine')
    .description(
      'Claims an agent with its token: the token that is stored on this machine, or another one. The agent and its contributions move to your organization.\n\nExample:\n  kp account claim --as somebody@example.org',
    )
    .argument('[token]', 'the token of another agent')
    .action((token: string | undefined, options: PersonOptions) => claim(begin(), token, options))
}
