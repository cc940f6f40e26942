import type { Command } from 'commander'
import type { ResponseOf } from '#lib/client/request.ts'
import { shownOnce } from '#lib/client/shown-once.ts'
import {
  createToken,
  listTokens,
  readSelf,
  revokeByPrefix,
  revokeToken,
  rotateToken,
} from '#lib/domains/tokens/contract.ts'
import { type Overlap, overlaps } from '#lib/domains/tokens/rules.ts'
import { usageFailure } from './failure.ts'
import { scopesOf } from './grants.ts'
import type { CommandSession } from './session.ts'

type Issued = ResponseOf<typeof createToken>['body']

const isOverlap = (text: string): text is Overlap => Object.hasOwn(overlaps, text)

function printKey(session: CommandSession, { data }: Issued): void {
  const { terminal } = session
  terminal.line(
    terminal.good('✓ '),
    `Token ${data.id} of ${data.agent_id} (${data.scopes.join(', ')}), ${data.expires_at ? `until ${data.expires_at}` : 'with no expiry'}`,
  )
  terminal.line(terminal.bold(shownOnce(data.api_key)))
  terminal.note('Store it now: it is shown only once.')
}

async function list(session: CommandSession, agent: string | undefined): Promise<void> {
  const { terminal } = session
  const rows: ResponseOf<typeof listTokens>['body']['data'] = []
  let cursor: string | undefined
  do {
    const { body } = await session.call(listTokens, {
      query: { limit: 100, ...(agent !== undefined && { agent_id: agent }), ...(cursor !== undefined && { cursor }) },
    })
    rows.push(...body.data)
    cursor = body.next_cursor ?? undefined
  } while (cursor !== undefined)
  terminal.document({ data: rows, total: rows.length })
  terminal.table(
    ['ID', 'KEY', 'STATE', 'SCOPES', 'LAST USED', 'EXPIRES', 'CREATED BY TOKEN', 'NAME'],
    rows.map((row) => [
      row.id,
      `${row.key_prefix}…`,
      row.state,
      row.scopes.join(','),
      row.last_used_at?.slice(0, 16) ?? 'never',
      row.expires_at?.slice(0, 16) ?? '–',
      row.issued_by_token_id ?? '–',
      row.name ?? '',
    ]),
  )
}

interface CreateOptions {
  name?: string
  scopes?: string
  expiresInDays?: string
  agent?: string
}

async function create(session: CommandSession, { name, scopes, expiresInDays, agent }: CreateOptions): Promise<void> {
  const days = expiresInDays === undefined ? undefined : Number(expiresInDays)
  if (days !== undefined && !Number.isInteger(days))
    throw usageFailure(`--expires-in-days must be a whole number, not "${expiresInDays}".`)
  const { body } = await session.call(createToken, {
    body: {
      ...(agent !== undefined && { agent_id: agent }),
      ...(name !== undefined && { name }),
      ...(scopes !== undefined && { scopes: scopesOf(scopes) }),
      ...(days !== undefined && { expires_in_days: days }),
    },
  })
  session.terminal.document(body)
  printKey(session, body)
}

/** The id of the token in use. */
async function ownId(session: CommandSession): Promise<string | undefined> {
  return (await session.call(readSelf)).body.data.token?.id
}

async function rotate(
  session: CommandSession,
  named: string | undefined,
  { overlap = '0s', showKey }: { overlap?: string; showKey?: boolean },
): Promise<void> {
  if (!isOverlap(overlap))
    throw usageFailure(`--overlap must be one of ${Object.keys(overlaps).join(', ')}, not "${overlap}".`)
  const { terminal, usesStored, url, stored } = session
  const own = await ownId(session)
  const id = named ?? own
  if (id === undefined) throw usageFailure('No token was named. Give its id.')
  const isStored = usesStored && id === own
  if (isStored) session.checkStorage()
  const { body } = await session.call(rotateToken, { params: { id }, body: { overlap } })
  const { api_key, ...rest } = body.data
  const key = shownOnce(api_key)
  if (!isStored) {
    terminal.document(body)
    printKey(session, body)
    return
  }
  session.remember({ url: stored?.url ?? url, token: key, agent_id: rest.agent_id, key_prefix: rest.key_prefix })
  terminal.document({ ...body, data: { ...rest, ...(showKey && { api_key: key }) } })
  terminal.line(
    terminal.good('✓ '),
    `Your token is now ${showKey ? key : `${rest.key_prefix}…`}, stored in ${session.folder}; the old one ${overlap === '0s' ? 'is revoked' : `works for ${overlap} more`}.`,
  )
}

async function revoke(session: CommandSession, which: string): Promise<void> {
  const { terminal, usesStored, stored } = session
  const byPrefix = /^kp_[0-9A-Za-z]{8}$/.test(which)
  if (!byPrefix && which.startsWith('kp_'))
    throw usageFailure('Give the token’s id or the first 11 characters of its key, not the whole key.')
  const isOwn = byPrefix ? which === stored?.key_prefix : (await ownId(session)) === which
  if (byPrefix) await session.call(revokeByPrefix, { body: { key_prefix: which } })
  else await session.call(revokeToken, { params: { id: which } })
  const isForgotten = isOwn && usesStored && session.forget()
  terminal.document({ data: { revoked: which, signed_out: isForgotten } })
  terminal.line(
    terminal.good('✓ '),
    `${which} was revoked, together with the tokens that were created with it. They no longer work.`,
  )
  if (isForgotten) terminal.note('It was the token stored on this machine, so you are signed out.')
}

/** The agent's tokens: list, create, rotate, revoke. */
export function tokenCommands(program: Command, begin: () => CommandSession): void {
  const tokens = program
    .command('tokens')
    .summary('list, create, rotate and revoke tokens')
    .description('Tokens of your agent. A key is shown once, when it is made.\n\nExample:\n  kp tokens list')
  tokens
    .command('list')
    .summary('show tokens, newest first')
    .description('Shows the tokens of your agent with their scopes, last use and status.\n\nExample:\n  kp tokens list')
    .option('--agent <id>', 'of this agent; an admin may name any')
    .action((options: { agent?: string }) => list(begin(), options.agent))
  tokens
    .command('create')
    .summary('create a token')
    .description(
      'Creates a token and prints it once. It cannot have more rights than your token.\n\nExample:\n  kp tokens create --name laptop --scopes read --expires-in-days 30',
    )
    .option('--name <name>', 'a name for the token')
    .option('--scopes <list>', 'read, write, admin, with commas between (default: read)')
    .option('--expires-in-days <days>', 'how long it works (default: no expiry)')
    .option('--agent <id>', 'for this agent; an admin may name any')
    .action((options: CreateOptions) => create(begin(), options))
  tokens
    .command('rotate')
    .summary('replace a token by a new one')
    .description(
      'Replaces a token. Your own is replaced on this machine too; the key of another is printed, once. Tokens that were created with it keep working: if the key leaked, revoke it instead.\n\nExample:\n  kp tokens rotate --overlap 15m',
    )
    .argument('[id]', 'the token’s id (default: the one in use)')
    .option('--overlap <time>', `how long the old key still works: ${Object.keys(overlaps).join(', ')} (default: 0s)`)
    .option('--show-key', 'print your own new key as well')
    .action((id: string | undefined, options: { overlap?: string; showKey?: boolean }) => rotate(begin(), id, options))
  tokens
    .command('revoke')
    .summary('revoke a token')
    .description(
      'Revokes a token and all tokens that were created with it. They stop working with the next request.\n\nExample:\n  kp tokens revoke kp_3fK9aZ1q',
    )
    .argument('<id-or-prefix>', 'the token’s id, or the first 11 characters of its key')
    .action((which: string) => revoke(begin(), which))
}
