import type { Command } from 'commander'
import { readSelf } from '#lib/domains/tokens/contract.ts'
import { isTokenKey, prefixOf } from '#lib/domains/tokens/rules.ts'
import { policyOption } from './consent.ts'
import { usageFailure } from './failure.ts'
import { type RegisterOptions, registerWithToken } from './registering.ts'
import type { CommandSession } from './session.ts'
import { type LogoutOptions, logout } from './signing-out.ts'
import { readStdin } from './terminal.ts'
import { pinIfReachable } from './trust.ts'

async function tokenToStore(session: CommandSession, given: string | undefined, fromStdin: boolean): Promise<string> {
  if (given !== undefined && fromStdin)
    throw usageFailure('Give the token as an argument or with --token-stdin, not both.')
  if (!fromStdin && given === undefined && !session.terminal.isInteractive)
    throw usageFailure('A token is needed: as an argument, or with --token-stdin.')
  const text = fromStdin
    ? await readStdin(session.invocation, 'A token')
    : (given ?? (await session.terminal.ask('Token (kp_…):')))
  const token = text.trim()
  if (!isTokenKey(token))
    throw usageFailure(
      'This is not a whole token: its checksum does not fit. Nothing was sent or changed.',
      'Copy all 52 characters, from kp_ on.',
    )
  return token
}

async function login(session: CommandSession, given: string | undefined, fromStdin: boolean): Promise<void> {
  const { terminal, url, command } = session
  const token = await tokenToStore(session, given, fromStdin)
  const { data } = (await session.call(readSelf, {}, { token })).body
  const before = session.stored ?? session.storedElsewhere
  if (before && before.token !== token)
    terminal.note(`The token of ${before.agent_id ?? 'an agent'} for ${before.url} is no longer kept here.`)
  session.remember({
    url,
    token,
    key_prefix: prefixOf(token),
    ...(data.agent_id !== null && { agent_id: data.agent_id }),
  })
  const verdict = await pinIfReachable(session)
  terminal.document({
    data: {
      url,
      agent_id: data.agent_id,
      key_prefix: prefixOf(token),
      scopes: data.scopes,
      tier: data.tier,
      signing_keys: verdict,
    },
  })
  terminal.line(
    terminal.good('✓ '),
    `Signed in to ${url} as ${data.agent_id ?? 'an agent'} (${data.scopes.join(', ')})`,
  )
  terminal.note(`The token is kept in ${session.folder}. Sign out with ${command('logout')}`)
}

async function me(session: CommandSession): Promise<void> {
  const { terminal, url } = session
  const { data } = (await session.call(readSelf)).body
  terminal.document({ data: { url, ...data } })
  const row = (name: string, value: string) => terminal.line(terminal.dim(name.padEnd(14)), value)
  row('registry', url)
  row('agent', `${data.agent_id ?? '–'}${data.name ? ` (${data.name})` : ''}`)
  row('organisation', `${data.organisation_id ?? '–'}${data.owner_claimed ? '' : ' (nobody has claimed the agent)'}`)
  row(
    'token',
    data.token
      ? `${data.token.key_prefix}…${data.token.name ? ` (${data.token.name})` : ''}, ${data.token.expires_at ? `until ${data.token.expires_at}` : 'without an end'}`
      : '–',
  )
  row('scopes', data.scopes.join(', '))
  row(
    'tier',
    `${data.tier ?? '–'}: ${data.limits.reads_per_minute} reads and ${data.limits.writes_per_minute} writes a minute, units up to ${Math.round(data.limits.unit_bytes / 1024)} KiB`,
  )
  if (data.consent)
    row(
      'consent',
      data.consent.withdrawn_at
        ? `withdrawn on ${data.consent.withdrawn_at}`
        : `notice ${data.consent.policy_version}, ${data.consent.given_at ? `given on ${data.consent.given_at} (${data.consent.via ?? 'unknown'})` : `none; processed on the ground of ${data.consent.lawful_basis}`}`,
    )
  if (data.restricted_at) row('restricted', `since ${data.restricted_at}: nothing is written for it`)
}

/** Sign-in and identity: register, login, me, logout. */
export function accountCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('register')
    .summary('get an agent and a token of your own')
    .description(
      'Registers an agent with the registry, keeps its token on this machine, and pins the keys that the registry signs receipts with.\n\nExample:\n  kp register --agent-id build-helper --scopes read,write',
    )
    .option('--agent-id <id>', 'what others call the agent by; the registry makes one up unless given')
    .option('--name <name>', 'a name for people')
    .option('--scopes <list>', 'what the token may do: read, write (default: read,write, or what the invitation gives)')
    .option('--tier <tier>', 'free, pro or enterprise; more than free is an admin’s to give')
    .option('--invite <code>', 'the code of an invitation')
    .option('--consent', 'agree to the privacy notice without being asked; needed in scripts')
    .option('--yes', 'the same as --consent')
    .option(...policyOption)
    .option('--replace', 'replace the token that is stored here; it cannot be read again')
    .option('--show-key', 'print the whole token instead of its first characters')
    .action((options: RegisterOptions) => registerWithToken(begin(), options))
  program
    .command('login')
    .summary('use a token that you have')
    .description(
      'Checks a token with the registry, keeps it on this machine (readable by you alone), and pins the registry’s signing keys. An argument may stay in your shell’s history; --token-stdin does not.\n\nExample:\n  kp login --token-stdin < token.txt',
    )
    .argument('[token]', 'kp_ and 49 characters; asked for on a terminal when absent')
    .option('--token-stdin', 'read the token from standard input')
    .action((token: string | undefined, options: { tokenStdin?: boolean }) =>
      login(begin(), token, options.tokenStdin ?? false),
    )
  program
    .command('me')
    .summary('show who you are, and what you may')
    .description('Shows the agent behind the token, its scopes, limits and consent.\n\nExample:\n  kp me --json')
    .action(() => me(begin()))
  program
    .command('logout')
    .summary('remove the token from this machine')
    .description(
      'Removes the stored token. It still works elsewhere, unless it is revoked too. Where it may be the only key to an agent that nobody has claimed, it says so and asks.\n\nExample:\n  kp logout --revoke',
    )
    .option('--revoke', 'revoke it as well: it is refused from then on, everywhere')
    .option('--yes', 'do not ask')
    .action((options: LogoutOptions) => logout(begin(), options))
}
