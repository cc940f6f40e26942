import { readSelf, revokeToken } from '#lib/domains/tokens/contract.ts'
import { Failure } from './failure.ts'
import type { CommandSession } from './session.ts'

export interface LogoutOptions {
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
export async function logout(session: CommandSession, { revoke = false, yes = false }: LogoutOptions): Promise<void> {
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
