import type { Context, Transaction } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { type GuardedContext, guardOwnAct, mutation, passwordStaysRecent, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { endSessions } from './account-status.ts'
import {
  changePassword,
  confirmPassword,
  listSessions,
  revokeOtherSessions,
  revokeSession,
  type SessionView,
} from './contract.ts'
import { endLinks, lockAccount } from './links.ts'
import { countTry, hashPassword, isPassword, type Tries } from './passwords.ts'
import type { AccountsDeps, Unsuppress } from './ports.ts'
import { listOpenSessions, lockAccountRow, lockEmail } from './repository.ts'
import {
  type Locale,
  longestPassword,
  normaliseEmail,
  passwordChecksPerMinute,
  passwordFault,
  passwordFaultText,
} from './rules.ts'
import { passkeyResponse } from './second-factors/passkeys.ts'
import {
  SecondFactorRefusal,
  type SecondFactorVerification,
  secondFactorVerification,
} from './second-factors/verification.ts'

const confirmedFactor = { confirmedAt: { not: null } } as const

/**
 * Returns the signed-in account.
 * @throws Problem `sign_in_needed`
 */
export function accountOf({ actor: { accountId } }: Pick<Context, 'actor'>): string {
  if (accountId === undefined) throw new Problem('sign_in_needed')
  return accountId
}

/** @throws Problem `rate_limited` */
const countPasswordTry = (tries: Tries, accountId: string): Promise<void> =>
  countTry(tries, [{ key: `password:${accountId}`, limit: passwordChecksPerMinute }])

/**
 * The proof of one's identity for acts on one's own account: the second factor of an account that has one, and the password. Takes the
 * same time for a wrong password and for a deleted account. Attempts are counted together.
 * @throws Problem `step_up_required` until the second factor was shown: see {@link confirmPassword}
 * @throws Problem `rate_limited`
 * @throws Problem `invalid` at the field of the password
 */
export async function requireOwnProof(
  tries: Tries,
  ctx: GuardedContext & { tx: Transaction },
  { accountId, password, field = 'password' }: { accountId: string; password: string; field?: string },
): Promise<void> {
  const account = await ctx.tx.account.findUnique({
    where: { id: accountId },
    select: { passwordHash: true, _count: { select: { factors: { where: confirmedFactor } } } },
  })
  // First: the step-up counts its own attempts, and without it a password is neither counted nor tested.
  guardOwnAct(ctx, (account?._count.factors ?? 0) > 0)
  await countPasswordTry(tries, accountId)
  // Unicode normalisation of a very long text takes minutes.
  const tried = password.length > longestPassword ? '' : password
  if (!(await isPassword(account?.passwordHash, tried))) throw invalid([field], 'is not the password of this account')
}

const change = ({ tries, unsuppress, requireOwner }: Pick<AccountsDeps, 'tries' | 'unsuppress' | 'requireOwner'>) =>
  mutation(changePassword, async (ctx, { body }) => {
    const id = accountOf(ctx)
    const account = await ctx.tx.account.findUnique({ where: { id } })
    if (!account) throw new Problem('sign_in_needed')
    if (account.passwordHash === null)
      throw new Problem(
        'wrong_state',
        'This account has no password to change. Request an email with a link to set one (POST /api/account/reset). Nothing was changed.',
      )
    await requireOwnProof(tries, ctx, { accountId: id, password: body.current_password, field: 'current_password' })
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
    await requireOwner(ctx.tx, id)
    // A person with a second factor confirms with it: see {@link confirmPassword}.
    await ctx.tx.session.updateMany({
      where: { id: ctx.actor.sessionId ?? '', account: { factors: { none: confirmedFactor } } },
      data: { passwordAt: ctx.now },
    })
    return {
      resourceId: id,
      body: { data: { sessions_ended: count } },
      details: { changed: ['password'], sessions_ended: count },
    }
  })

/** Whether the response is of a passkey of the account, and was not used before. */
async function usesPasskey(
  tx: Transaction,
  { accountOfPasskey }: SecondFactorVerification,
  { accountId, response, now }: { accountId: string; response: string; now: Date },
): Promise<boolean> {
  const parsed = passkeyResponse(response)
  const found = parsed && (await accountOfPasskey(parsed, now, tx))
  if (found?.accountId !== accountId) return false
  const { useUp: spend } = found
  return spend(tx)
}

/**
 * The guard of operations that need a recently entered password. An account with a second factor needs it here too, in every session: one
 * that was open before the factor was added, or whose cookie somebody copied, does not pass with the password alone.
 */
const confirm = ({ tries }: Pick<AccountsDeps, 'tries'>, verification: SecondFactorVerification) =>
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
    // The account is locked before its factors, as where they are added or removed, which avoids deadlocks.
    await lockAccount(tx, id)
    if (body.passkey !== undefined) {
      if (!(await usesPasskey(tx, verification, { accountId: id, response: body.passkey, now })))
        throw invalid(['passkey'], 'is not a valid response of a passkey of this account. Try again.')
    } else
      await verification.requireSecondFactor(id, body.code, now, tx).catch((error: unknown) => {
        if (!(error instanceof SecondFactorRefusal)) throw error
        const message =
          error.reason === 'needed'
            ? 'must be a code of the authenticator app or a recovery code. A passkey is possible instead.'
            : 'is wrong, or was used before. Enter the current code of the app, or a recovery code.'
        throw new Problem('invalid', {
          detail: 'One field is not valid.',
          issues: [{ path: ['code'], message }],
          ...(error.afterRollback && { afterRollback: error.afterRollback }),
        })
      })
    const sessionId = actor.sessionId ?? ''
    // The condition on the hash makes a concurrent password change win.
    const { count } = await tx.session.updateMany({
      where: { id: sessionId, revokedAt: null, account: { id, passwordHash: account?.passwordHash ?? '' } },
      data: { passwordAt: now },
    })
    if (count === 0) throw new Problem('sign_in_needed')
    return {
      resourceId: sessionId,
      body: { data: { recent_until: new Date(now.getTime() + passwordStaysRecent) } },
      details: { changed: ['password_at'] },
    }
  })

/** Use cases of people for their own password. */
export const ownPassword = (db: Database, deps: AccountsDeps) => ({
  requireOwnProof: (ctx: GuardedContext & { tx: Transaction }, accountId: string, password: string) =>
    requireOwnProof(deps.tries, ctx, { accountId, password }),
  changePassword: change(deps),
  confirmPassword: confirm(deps, secondFactorVerification(db, deps)),
})

const viewOf = (
  row: Awaited<ReturnType<typeof listOpenSessions>>[number],
  current: string | undefined,
): SessionView => ({
  session_id: row.id,
  browser: row.user_agent,
  created_at: row.created_at,
  last_seen_at: row.last_seen_at,
  expires_at: row.expires_at,
  is_current: row.id === current,
})

const list = (db: Database) =>
  read(listSessions, async (ctx, { query: { limit, cursor } }) => {
    const after = parseCursor(cursor)
    const rows = await listOpenSessions(db, {
      account: accountOf(ctx),
      now: ctx.now,
      limit: limit + 1,
      at: after?.at ?? null,
      id: after?.id ?? null,
    })
    const { shown, page } = pageOf(rows, limit, rows[0]?.total ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
    return {
      resourceId: 'query',
      details: { count: shown.length },
      body: {
        data: shown.map((row) => viewOf(row, ctx.actor.sessionId)),
        ...page,
      },
    }
  })

/** Ending a session means that somebody else may have used it: tokens that it created no longer prove that the person agrees. */
const revokeOthers = ({ requireOwner }: Pick<AccountsDeps, 'requireOwner'>) =>
  mutation(revokeOtherSessions, async (ctx) => {
    const ended = await endSessions(ctx.tx, accountOf(ctx), ctx.now, ctx.actor.sessionId)
    await requireOwner(ctx.tx, accountOf(ctx))
    return {
      resourceId: accountOf(ctx),
      details: { sessions_ended: ended },
      body: { data: { sessions_ended: ended } },
    }
  })

const revokeOne = ({ requireOwner }: Pick<AccountsDeps, 'requireOwner'>) =>
  mutation(revokeSession, async (ctx, { params: { id } }) => {
    const { count } = await ctx.tx.session.updateMany({
      where: { id, accountId: accountOf(ctx), revokedAt: null, expiresAt: { gt: ctx.now } },
      data: { revokedAt: ctx.now },
    })
    if (count === 0) throw new Problem('not_found', 'You have no open session with this id.')
    if (id !== ctx.actor.sessionId) await requireOwner(ctx.tx, accountOf(ctx))
    return { resourceId: id, body: undefined }
  })

/** Use cases of people for their own sessions. */
export const ownSessions = (db: Database, deps: Pick<AccountsDeps, 'requireOwner'>) => ({
  sessions: list(db),
  revokeOtherSessions: revokeOthers(deps),
  revokeSession: revokeOne(deps),
})

/** Fields of an account that a person can have corrected (GDPR art. 16). A new address must be confirmed before. */
export interface AccountChanges {
  name?: string | undefined
  locale?: Locale | undefined
  email?: string | undefined
}

/**
 * Corrects an account and returns the names of the changed fields. A new address deletes the known sign-ins and ends
 * open links to choose a password, which belong to the former address.
 * @throws Problem `not_found`
 * @throws Problem `conflict` when another account uses the address
 */
export async function rectifyAccount(
  tx: Transaction,
  accountId: string,
  changes: AccountChanges,
  { now, unsuppress }: { now: Date; unsuppress: Unsuppress },
): Promise<string[]> {
  await lockAccountRow(tx, { id: accountId })
  const before = await tx.account.findUnique({
    where: { id: accountId },
    select: { name: true, locale: true, email: true },
  })
  if (!before) throw new Problem('not_found', 'There is no such account.')
  const { name = before.name, locale = before.locale } = changes
  const email = changes.email === undefined ? before.email : normaliseEmail(changes.email)
  const after = { name, locale, email }
  const changed = (['name', 'locale', 'email'] as const).filter((field) => after[field] !== before[field])
  if (changed.length === 0) return []
  if (email !== before.email) {
    // Concurrent calls for one address wait here. At the unique index, the second one would fail without a clear error.
    await lockEmail(tx, { email })
    if ((await tx.account.count({ where: { email } })) > 0)
      throw new Problem('conflict', 'An account with this email address already exists. Nothing was changed.')
    await tx.knownSignIn.deleteMany({ where: { accountId } })
    // The links were sent to the former address, whose reader could choose the password.
    await endLinks(tx, accountId, now)
    await unsuppress(tx, 'email', email)
  }
  await tx.account.update({
    where: { id: accountId },
    data: { ...after, ...(email !== before.email && { emailVerifiedAt: now }), updatedAt: now },
  })
  return changed
}
