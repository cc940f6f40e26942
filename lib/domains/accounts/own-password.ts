import type { Transaction } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { passwordStaysRecent } from '#lib/kernel/step-up.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { endSessions } from './account-status.ts'
import { countTry, type Tries } from './attempts.ts'
import { changePassword, confirmPassword } from './contract.ts'
import { endLinks } from './links.ts'
import { accountOf } from './own-account.ts'
import { hashPassword, isPassword } from './passwords.ts'
import type { Unsuppress } from './rectification.ts'
import { longestPassword, passwordChecksPerMinute, passwordFault, passwordFaultText } from './rules.ts'

interface PasswordDeps {
  tries: Tries
  unsuppress: Unsuppress
}

/** @throws Problem `rate_limited` */
const countPasswordTry = (tries: Tries, accountId: string): Promise<void> =>
  countTry(tries, [{ key: `password:${accountId}`, limit: passwordChecksPerMinute }])

/**
 * Verifies the password again. Takes the same time for a wrong password and for a deleted account. Attempts are
 * counted together with password changes.
 * @throws Problem `rate_limited`
 * @throws Problem `invalid` at `password`
 */
const check =
  ({ tries }: Pick<PasswordDeps, 'tries'>) =>
  async (tx: Transaction, accountId: string, password: string): Promise<void> => {
    await countPasswordTry(tries, accountId)
    const account = await tx.account.findUnique({ where: { id: accountId }, select: { passwordHash: true } })
    // Unicode normalisation of a very long text takes minutes.
    const tried = password.length > longestPassword ? '' : password
    if (!(await isPassword(account?.passwordHash, tried)))
      throw invalid(['password'], 'is not the password of this account')
  }

const change = ({ tries, unsuppress }: PasswordDeps) =>
  mutation(changePassword, async (ctx, { body }) => {
    const id = accountOf(ctx)
    await countPasswordTry(tries, id)
    const account = await ctx.tx.account.findUnique({ where: { id } })
    if (!account) throw new Problem('sign_in_needed')
    if (account.passwordHash === null)
      throw new Problem(
        'wrong_state',
        'This account has no password to change. Request an email with a link to set one (POST /api/account/reset). Nothing was changed.',
      )
    if (!(await isPassword(account.passwordHash, body.current_password)))
      throw invalid(['current_password'], 'is not the password of this account')
    const reason = passwordFault(body.new_password, body.current_password, account.email)
    if (reason !== undefined) throw invalid(['new_password'], passwordFaultText[reason])
    const { count: changed } = await ctx.tx.account.updateMany({
      where: { id, passwordHash: account.passwordHash },
      data: {
        passwordHash: await hashPassword(body.new_password),
        mustChangePassword: false,
        passwordExpiresAt: null,
        updatedAt: ctx.now,
      },
    })
    if (changed === 0)
      throw new Problem(
        'conflict',
        'Another request changed the password at the same time. Sign in with that password.',
      )
    if (account.mustChangePassword) await unsuppress(ctx.tx, 'email', account.email)
    await endLinks(ctx.tx, id, ctx.now)
    const count = await endSessions(ctx.tx, id, ctx.now, ctx.actor.sessionId)
    await ctx.tx.session.updateMany({ where: { id: ctx.actor.sessionId ?? '' }, data: { passwordAt: ctx.now } })
    return {
      resourceId: id,
      body: { data: { sessions_ended: count } },
      details: { changed: ['password'], sessions_ended: count },
    }
  })

const confirm = ({ tries }: Pick<PasswordDeps, 'tries'>) =>
  mutation(confirmPassword, async ({ tx, now, actor }, { body }) => {
    const id = accountOf({ actor })
    await countPasswordTry(tries, id)
    const account = await tx.account.findUnique({ where: { id }, select: { passwordHash: true } })
    if (account && account.passwordHash === null)
      throw new Problem(
        'wrong_state',
        'This account has no password. Request an email with a link to set one (POST /api/account/reset).',
      )
    if (!(await isPassword(account?.passwordHash, body.password)))
      throw invalid(['password'], 'is not the password of this account')
    const sessionId = actor.sessionId ?? ''
    // The condition on the hash makes a concurrent password change win.
    const { count } = await tx.session.updateMany({
      where: { id: sessionId, revokedAt: null, account: { id, passwordHash: account?.passwordHash ?? '' } },
      data: { passwordAt: now },
    })
    if (count === 0) throw new Problem('sign_in_needed')
    return {
      resourceId: sessionId,
      body: { data: { recent_until: new Date(now.getTime() + passwordStaysRecent).toISOString() } },
      details: { changed: ['password_at'] },
    }
  })

/** Use cases of people for their own password. */
export const ownPassword = (deps: PasswordDeps) => ({
  checkPassword: check(deps),
  changePassword: change(deps),
  confirmPassword: confirm(deps),
})
