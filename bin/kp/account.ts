import type { Command } from 'commander'
import { readSelf, revokeToken } from '#lib/domains/tokens/contract.ts'
import { isTokenKey, prefixOf } from '#lib/domains/tokens/keys.ts'
import { policyOption } from './consent.ts'
import { Failure, usageFailure } from './failure.ts'
import { type RegisterOptions, registerWithToken } from './registering.ts'
import type { CommandSession } from './session.ts'
import { readStdin } from './terminal.ts'
import { pinIfReachable } from './trust.ts'

interface LogoutOptions {
  revoke?: boolean
  yes?: boolean
}

/** Without its last token, nobody can control an unclaimed agent or its contributions. */
async function warnOfLastToken(session: CommandSession, token: string, yes: boolean): Promise<void> {
  const { terminal, command } = session
  const self = await session.call(readSelf, {}, { token }).catch(() => undefined)
  if (!self || self.body.data.owner_claimed) return // claimed, or the token no longer works
  terminal.warning(
    `Nobody has claimed the agent ${self.body.data.agent_id ?? ''}, and its token on this machine may be the only copy. Without it, only an admin can read, export or erase the agent’s contributions.`,
  )
  if (yes || !terminal.isInteractive) {
    terminal.warning(`Claim it in the console first, or export it: ${command('export me --output me.json')}`)
    return
  }
  if (!/^y(?:es)?$/i.test(await terminal.ask('Sign out anyway? [y/N]')))
    throw new Failure('not_confirmed', 'You are still signed in. Nothing was changed.', {
      advice: `Claim the agent in the console first, or export its data: ${command('export me --output me.json')}`,
    })
}

/** Deletes the stored token, and revokes it with `revoke`. */
async function logout(session: CommandSession, { revoke = false, yes = false }: LogoutOptions): Promise<void> {
  const { terminal, stored, storedElsewhere, command } = session
  const before = stored ?? storedElsewhere
  if (!before) throw new Failure('not_signed_in', 'No agent is signed in on this machine.')
  if (revoke) {
    if (!stored)
      throw new Failure('signed_in_elsewhere', `The stored token is for ${before.url}. Nothing was changed.`, {
        advice: `Run ${command(`logout --revoke --url ${before.url}`)}`,
      })
    await warnOfLastToken(session, stored.token, yes)
    const { data } = (await session.call(readSelf, {}, { token: stored.token })).body
    if (data.token) await session.call(revokeToken, { params: { id: data.token.id } }, { token: stored.token })
  } else if (stored) await warnOfLastToken(session, stored.token, yes)
  session.forget()
  terminal.document({ data: { url: before.url, agent_id: before.agent_id ?? null, revoked: revoke } })
  terminal.line(
    terminal.good('✓ '),
    `Signed out of ${before.url}; the token was removed from this machine${revoke ? ' and revoked' : ''}.`,
  )
  if (!revoke) terminal.note('The token itself is still valid. Pinned keys remain, so you can still check receipts.')
}

async function tokenToStore(session: CommandSession, given: string | undefined, fromStdin: boolean): Promise<string> {
  if (given !== undefined && fromStdin)
    throw usageFailure('Pass the token as an argument or with --token-stdin, not both.')
  if (!fromStdin && given === undefined && !session.terminal.isInteractive)
    throw usageFailure('No token was given. Pass it as an argument or with --token-stdin.')
  const text = fromStdin
    ? await readStdin(session.invocation, 'A token')
    : (given ?? (await session.terminal.ask('Token (kp_…):')))
  const token = text.trim()
  if (!isTokenKey(token))
    throw usageFailure(
      'The token is incomplete or mistyped (wrong checksum). Nothing was sent or changed.',
      'Copy all 52 characters, including kp_.',
    )
  return token
}

async function login(session: CommandSession, given: string | undefined, fromStdin: boolean): Promise<void> {
  const { terminal, url, command } = session
  const token = await tokenToStore(session, given, fromStdin)
  const { data } = (await session.call(readSelf, {}, { token })).body
  const before = session.stored ?? session.storedElsewhere
  if (before && before.token !== token)
    terminal.note(
      `The token of ${before.agent_id ?? 'an agent'} for ${before.url} is no longer stored on this machine.`,
    )
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
  terminal.note(`The token is stored in ${session.folder}. Sign out with ${command('logout')}`)
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
      ? `${data.token.key_prefix}…${data.token.name ? ` (${data.token.name})` : ''}, ${data.token.expires_at ? `until ${data.token.expires_at}` : 'with no expiry'}`
      : '–',
  )
  row('scopes', data.scopes.join(', '))
  row(
    'tier',
    `${data.tier ?? '–'}: ${data.limits.reads_per_minute} reads and ${data.limits.writes_per_minute} writes per minute, units up to ${Math.round(data.limits.unit_bytes / 1024)} KiB`,
  )
  if (data.consent)
    row(
      'consent',
      data.consent.withdrawn_at
        ? `withdrawn on ${data.consent.withdrawn_at}`
        : `notice ${data.consent.policy_version}, ${data.consent.given_at ? `given on ${data.consent.given_at} (${data.consent.via ?? 'unknown'})` : `no consent; lawful basis: ${data.consent.lawful_basis}`}`,
    )
  if (data.restricted_at)
    row('restricted', `since ${data.restricted_at}: the registry accepts no writes for this agent`)
}

/** Sign-in and identity: register, login, me, logout. */
export function accountCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('register')
    .summary('get an agent and a token of your own')
    .description(
      'Registers an agent, stores its token on this machine, and pins the registry’s keys for signing receipts.\n\nExample:\n  kp register --agent-id build-helper --scopes read,write',
    )
    .option('--agent-id <id>', 'the public id of the agent (default: generated by the registry)')
    .option('--name <name>', 'a display name')
    .option(
      '--scopes <list>',
      'scopes of the token: read, write (default: read,write, or the scopes of the invitation)',
    )
    .option('--tier <tier>', 'free, pro or enterprise; only an admin can grant pro or enterprise')
    .option('--invite <code>', 'the code of an invitation')
    .option('--consent', 'agree to the privacy notice without a prompt; required in scripts')
    .option('--yes', 'the same as --consent')
    .option(...policyOption)
    .option('--replace', 'replace the token that is stored here; it cannot be read again')
    .option('--show-key', 'print the whole token instead of its first characters')
    .action((options: RegisterOptions) => registerWithToken(begin(), options))
  program
    .command('login')
    .summary('use a token that you have')
    .description(
      'Checks a token with the registry, stores it on this machine (readable only by you), and pins the registry’s signing keys. Your shell history may contain a token that you pass as an argument. Use --token-stdin to avoid this.\n\nExample:\n  kp login --token-stdin < token.txt',
    )
    .argument('[token]', 'kp_ and 49 characters (default: ask for it on the terminal)')
    .option('--token-stdin', 'read the token from standard input')
    .action((token: string | undefined, options: { tokenStdin?: boolean }) =>
      login(begin(), token, options.tokenStdin ?? false),
    )
  program
    .command('me')
    .summary('show your agent, scopes and limits')
    .description('Shows the agent behind the token, its scopes, limits and consent.\n\nExample:\n  kp me --json')
    .action(() => me(begin()))
  program
    .command('logout')
    .summary('remove the token from this machine')
    .description(
      'Removes the stored token from this machine. The token itself stays valid unless you add --revoke. If it may be the only token of an unclaimed agent, the command warns and asks first.\n\nExample:\n  kp logout --revoke',
    )
    .option('--revoke', 'also revoke it, so that it stops working everywhere')
    .option('--yes', 'do not ask')
    .action((options: LogoutOptions) => logout(begin(), options))
}
