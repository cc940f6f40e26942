import type { Command } from 'commander'
import { changePassword } from '#lib/domains/accounts/contract.ts'
import { claimAgent } from '#lib/domains/agents/contract.ts'
import { isTokenKey } from '#lib/domains/tokens/rules.ts'
import { Failure, usageFailure } from './failure.ts'
import { asPersonOptions, type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import type { CommandSession } from './session.ts'

/** These commands need a person. */
function needed(options: PersonOptions): PersonOptions {
  if (options.as === undefined) throw usageFailure('Say whose account it is: --as <e-mail>.')
  return options
}

async function show({ terminal, person }: CommandActor): Promise<void> {
  if (!person) return
  const { account } = person
  terminal.document({ data: account })
  const row = (name: string, value: string) => terminal.line(terminal.dim(name.padEnd(14)), value)
  row('account', account.account_id)
  row('e-mail', account.email)
  row('name', account.name)
  row('role', account.role)
  row('organisation', `${account.organisation.name} (${account.organisation.organisation_id})`)
  row('since', account.created_at)
  if (account.must_change_password) terminal.note('The password is a one-time password: choose your own.')
}

async function newPassword({ terminal, person }: CommandActor): Promise<string> {
  const [given] = person?.moreSecrets ?? []
  if (given !== undefined && given !== '') return given
  if (!terminal.isInteractive)
    throw usageFailure('The new password is the second line of what is piped in. Nothing was changed.')
  const next = await terminal.askSecretly('The new password (12 characters at least):')
  if (next === '') throw new Failure('no_password', 'No new password was given, so nothing was changed.')
  if ((await terminal.askSecretly('Once more:')) !== next)
    throw new Failure('no_password', 'The two are not the same, so nothing was changed.')
  return next
}

async function choosePassword(asking: CommandActor): Promise<void> {
  const { terminal, person, call } = asking
  const body = { current_password: person?.password ?? '', new_password: await newPassword(asking) }
  const { data } = (await call(changePassword, { body })).body
  terminal.document({ data })
  terminal.line(terminal.good('✓ '), `The password is changed; ${data.sessions_ended} other session(s) were ended.`)
}

async function claim(session: CommandSession, given: string | undefined, options: PersonOptions): Promise<void> {
  const token = given ?? session.token
  if (token === undefined)
    throw usageFailure(
      'No agent is signed in here; give its token as an argument.',
      `Or sign in with it first: ${session.command('login <token>')}`,
    )
  if (!isTokenKey(token)) throw usageFailure('This is not a whole token: its checksum does not fit. Nothing was sent.')
  await withCommandActor(session, needed(options), async ({ terminal, call }) => {
    const { data } = (await call(claimAgent, { body: { token } })).body
    terminal.document({ data })
    terminal.line(terminal.good('✓ '), `${data.agent_id} is yours, with what it contributed.`)
  })
}

/** People's accounts: show, password, claim. */
export function peopleCommands(program: Command, begin: () => CommandSession): void {
  const account = program
    .command('account')
    .summary('a person’s account: show, password, claim')
    .description(
      'What a person does with their account. Each command signs in for itself and out again; nothing of it is kept here.\n\nExample:\n  kp account show --as somebody@example.org',
    )
  asPersonOptions(account.command('show'))
    .summary('show an account')
    .description('Shows the account that you sign in to.\n\nExample:\n  kp account show --as somebody@example.org')
    .action((options: PersonOptions) => withCommandActor(begin(), needed(options), show, { anyPassword: true }))
  asPersonOptions(account.command('password'))
    .summary('choose a new password')
    .description(
      'Changes the password, a one-time password too. In scripts the present one and the new one are two lines of standard input.\n\nExample:\n  kp account password --as somebody@example.org',
    )
    .action((options: PersonOptions) =>
      withCommandActor(begin(), needed(options), choosePassword, { anyPassword: true }),
    )
  asPersonOptions(account.command('claim'))
    .summary('make the agent that is signed in here yours')
    .description(
      'Makes an agent yours by its token: the one that is kept on this machine, or another. The agent and what it contributed move into your organisation.\n\nExample:\n  kp account claim --as somebody@example.org',
    )
    .argument('[token]', 'of another agent')
    .action((token: string | undefined, options: PersonOptions) => claim(begin(), token, options))
}
