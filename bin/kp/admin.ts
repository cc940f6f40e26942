import { Argument, type Command, Option } from 'commander'
import { type Role, roles } from '#lib/domains/accounts/rules.ts'
import { EmailAddress } from '#lib/kernel/email-address.ts'
import { operatorAccounts } from '#lib/operator/accounts.ts'
import { operator } from '#lib/operator/operator.ts'
import { usageFailure } from './failure.ts'
import { scopesOf } from './grants.ts'
import { withInstallation } from './installation.ts'
import { rotateSigning } from './keys.ts'
import type { CommandSession } from './session.ts'

async function token(session: CommandSession, { scopes, name }: { scopes: string; name: string }): Promise<void> {
  const { terminal } = session
  const wanted = scopesOf(scopes)
  const made = await withInstallation(session.invocation, (app) => operator(app).issueToken(wanted, name))
  terminal.document({
    data: {
      agent_id: made.agentId,
      id: made.tokenId,
      api_key: made.key,
      key_prefix: made.prefix,
      scopes: made.scopes,
      expires_at: made.expiresAt?.toISOString() ?? null,
    },
  })
  terminal.line(made.key)
  terminal.note(
    `A token of the agent ${made.agentId} (${made.scopes.join(', ')}). It is shown only once.${made.expiresAt ? ` It expires on ${made.expiresAt.toISOString().slice(0, 10)}.` : ''}`,
  )
}

async function resetPassword(session: CommandSession, email: string): Promise<void> {
  const { terminal } = session
  const made = await withInstallation(session.invocation, (app) => app.accounts.resetPassword(email))
  terminal.document({
    data: { account_id: made.accountId, password: made.password, sessions_ended: made.sessionsEnded },
  })
  terminal.line(made.password)
  terminal.note(
    `It works once: the person must choose a new password at sign-in. ${made.sessionsEnded} open session(s) were ended.`,
  )
}

async function addAccount(
  session: CommandSession,
  email: string,
  { role, name, organisation }: { role: Role; name?: string; organisation?: string },
): Promise<void> {
  const { terminal } = session
  if (!EmailAddress.safeParse(email.trim()).success) throw usageFailure(`"${email}" is not an email address.`)
  const made = await withInstallation(session.invocation, (app) =>
    operatorAccounts(app).add({
      email,
      name: name ?? email.split('@')[0] ?? email,
      role,
      organisationId: organisation,
    }),
  )
  terminal.document({
    data: { account_id: made.accountId, organisation_id: made.organisationId, role, password: made.password },
  })
  terminal.line(made.password)
  terminal.note(
    `The account ${made.accountId} (${role}). The password is shown only once. The person must choose a new one at the first sign-in.`,
  )
}

async function changeRole(session: CommandSession, email: string, role: Role): Promise<void> {
  const { terminal } = session
  const { accountId, before } = await withInstallation(session.invocation, (app) =>
    operatorAccounts(app).changeRole(email, role),
  )
  terminal.document({ data: { account_id: accountId, role, before } })
  terminal.line(
    terminal.good('✓ '),
    before === role
      ? `The account ${accountId} already has the role ${role}.`
      : `The account ${accountId} now has the role ${role} (before: ${before}).`,
  )
}

async function listAccounts(session: CommandSession): Promise<void> {
  const { terminal } = session
  const accounts = await withInstallation(session.invocation, (app) => operatorAccounts(app).list())
  terminal.document({
    data: accounts.map(({ accountId, email, name, role, organisationId, createdAt }) => ({
      account_id: accountId,
      email,
      name,
      role,
      organisation_id: organisationId,
      created_at: createdAt.toISOString(),
    })),
    total: accounts.length,
  })
  terminal.table(
    ['E-MAIL', 'ROLE', 'ACCOUNT', 'ORGANISATION', 'MADE'],
    accounts.map((one) => [one.email, one.role, one.accountId, one.organisationId, one.createdAt.toISOString()]),
  )
}

async function liftSecondFactors(session: CommandSession): Promise<void> {
  const { terminal } = session
  const { before } = await withInstallation(session.invocation, (app) => operatorAccounts(app).liftSecondFactors())
  terminal.document({ data: { required_of: 'nobody', before } })
  terminal.line(
    terminal.good('✓ '),
    `No account must have a second factor any more (before: ${before}). Existing second factors keep working.`,
  )
}

async function liftApprovals(session: CommandSession): Promise<void> {
  const { terminal } = session
  const { before } = await withInstallation(session.invocation, (app) => operatorAccounts(app).liftApprovals())
  terminal.document({ data: { is_on: false, before } })
  terminal.line(
    terminal.good('✓ '),
    `No action needs the approval of a second admin any more (before: ${before ? 'on' : 'off'}).`,
  )
}

function accountCommands(admin: Command, begin: () => CommandSession): void {
  const account = admin
    .command('account')
    .summary('create accounts and change their roles')
    .description(
      'Manages accounts of the console. For the operator.\n\nExample:\n  kp admin account add somebody@example.org --role manager',
    )
  account
    .command('add')
    .summary('create an account with a one-time password')
    .description(
      'Creates an account and prints a one-time password.\n\nExample:\n  kp admin account add somebody@example.org --role auditor --name "Somebody"',
    )
    .argument('<email>', 'the email address of the account')
    .addOption(new Option('--role <role>', 'the role of the account').choices(roles).default('person'))
    .option('--name <name>', 'the name of the person (default: the part of the address before the @)')
    .option('--organisation <id>', 'the organization of the account (default: the first admin’s)')
    .action((email: string, options: { role: Role; name?: string; organisation?: string }) =>
      addAccount(begin(), email, options),
    )
  account
    .command('role')
    .summary('change the role of an account')
    .description(
      'Changes the role of an account, starting with its next request. The last admin cannot be demoted.\n\nExample:\n  kp admin account role somebody@example.org admin',
    )
    .argument('<email>', 'the email address of the account')
    .addArgument(new Argument('<role>', 'the role of the account').choices(roles))
    .action((email: string, role: Role) => changeRole(begin(), email, role))
  account
    .command('list')
    .summary('show every account')
    .description('Shows every account with its role and organization.\n\nExample:\n  kp admin account list')
    .action(() => listAccounts(begin()))
}

/** Commands that need the installation's machine and database instead of a token. */
export function adminCommands(program: Command, begin: () => CommandSession): void {
  const admin = program
    .command('admin')
    .summary('manage tokens, passwords and accounts as the operator')
    .description(
      'For the operator, on the machine of the installation. These commands use the database directly, need no token, and work whether or not the server runs.\n\nExample:\n  kp admin token --scopes admin',
    )
  admin
    .command('token')
    .summary('create a token for the operator')
    .description(
      'Creates a token for the agent "operator" in the first admin’s organization, and prints it once.\n\nExample:\n  KP_TOKEN=$(npm run --silent kp -- admin token) npm run --silent kp -- audit',
    )
    .option('--scopes <list>', 'read, write, admin, with commas between', 'admin')
    .option('--name <name>', 'a name for the token', 'made by kp admin token')
    .action((options: { scopes: string; name: string }) => token(begin(), options))
  admin
    .command('reset-password')
    .summary('reset the password of an account')
    .description(
      'Prints a one-time password and ends every open session of the account.\n\nExample:\n  kp admin reset-password admin@localhost.localdomain',
    )
    .argument('<email>', 'the email address of the account')
    .action((email: string) => resetPassword(begin(), email))
  admin
    .command('lift-second-factors')
    .summary('require second factors of nobody')
    .description(
      'Ends the requirement of second factors, for example when no admin can add one. Second factors of accounts keep working; reset-password removes them from one account.\n\nExample:\n  kp admin lift-second-factors',
    )
    .action(() => liftSecondFactors(begin()))
  admin
    .command('lift-approvals')
    .summary('require no approval by a second admin')
    .description(
      'Ends the requirement that a second admin approves consequential actions, for example when only one admin remains. Open proposals are not carried out.\n\nExample:\n  kp admin lift-approvals',
    )
    .action(() => liftApprovals(begin()))
  admin
    .command('rotate-signing-key')
    .summary('the same as kp keys rotate signing')
    .description('The older name of kp keys rotate signing.\n\nExample:\n  kp admin rotate-signing-key')
    .action(() => rotateSigning(begin()))
  accountCommands(admin, begin)
}
