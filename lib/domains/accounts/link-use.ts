import { createHash } from 'node:crypto'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { endSessions } from './account-status.ts'
import { countTry, type Tries } from './attempts.ts'
import { askForReset, usePasswordLink } from './link-contract.ts'
import { endLinks, takePasswordLink } from './links.ts'
import { enqueueNotice } from './notices.ts'
import { hashPassword, isPassword } from './passwords.ts'
import type { Unsuppress } from './rectification.ts'
import { normaliseEmail, passwordFault, passwordFaultText, passwordLinkTriesPerMinute } from './rules.ts'

export interface PasswordLinkDeps {
  tries: Tries
  /** Returns the network that limits count an address to. */
  networkOf(address: string): string
  unsuppress: Unsuppress
}
/** Used instead of an unknown account, so that its request takes the same steps. */
const nobody = 'usr_0000000000000000000000'

/** Use cases to choose a password without knowing the old one, by an emailed link. */
export const passwordLinkUse = (deps: PasswordLinkDeps) => ({
  /**
   * Neither response nor timing reveals whether the address is known: an unknown address causes the same query, job and
   * audit entry.
   */
  askForReset: mutation(askForReset, async (ctx, { body }) => {
    const email = normaliseEmail(body.email)
    const who = createHash('sha256').update(email).digest('base64url').slice(0, 22)
    const network = deps.networkOf(ctx.ip)
    await countTry(deps.tries, [
      { key: `reset:${network}`, limit: 20 },
      { key: `reset:${who}:${network}`, limit: 5 },
    ])
    const record = await ctx.tx.account.findUnique({ where: { email }, select: { id: true } })
    const accountId = record?.id ?? nobody
    await enqueueNotice(ctx.tx, { kind: 'reset-link', by: 'anybody', accountId, at: ctx.now.toISOString() })
    return {
      resourceId: accountId,
      body: {
        message: 'If an account has this address, a link was created for it. It works for an hour.',
      },
    }
  }),

  usePasswordLink: mutation(usePasswordLink, async (ctx, { body: { code, new_password } }) => {
    const { tx, now } = ctx
    await countTry(deps.tries, [{ key: `account-link:${deps.networkOf(ctx.ip)}`, limit: passwordLinkTriesPerMinute }])
    const { accountId, email, passwordHash, mustChangePassword, purpose } = await takePasswordLink(tx, code, now)
    const isCurrent = passwordHash !== null && (await isPassword(passwordHash, new_password))
    const fault = isCurrent ? 'is_current' : passwordFault(new_password, '', email)
    if (fault !== undefined) throw invalid(['new_password'], passwordFaultText[fault])
    const taken = await tx.account.count({ where: { email, id: { not: accountId } } })
    if (taken > 0)
      throw new Problem(
        'conflict',
        'You already have an account with this address, and an account belongs to one organization. Sign in to that account. Nothing was changed.',
      )
    await tx.account.update({
      where: { id: accountId },
      // The link was sent to this address, so the address is verified.
      data: {
        email,
        invitedEmail: null,
        passwordHash: await hashPassword(new_password),
        mustChangePassword: false,
        passwordExpiresAt: null,
        emailVerifiedAt: now,
        updatedAt: now,
      },
    })
    // The account was created by somebody else: choosing a password shows the person's own wish to have it.
    if (passwordHash === null || mustChangePassword) await deps.unsuppress(tx, 'email', email)
    const sessionsEnded = await endSessions(tx, accountId, now)
    await endLinks(tx, accountId, now)
    await enqueueNotice(tx, { kind: 'password-set', accountId, at: now.toISOString() })
    return {
      resourceId: accountId,
      body: { data: { sessions_ended: sessionsEnded } },
      details: { changed: ['password'], by: purpose, sessions_ended: sessionsEnded },
    }
  }),
})
