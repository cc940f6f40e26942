import type { GatePorts, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { accountOfIdentity, type Identified, type IdentityRefusal, noteLinked, unlinkAll } from './identities.ts'
import { knownSignIns } from './known-sign-ins.ts'
import { endLinks } from './links.ts'
import { enqueueNotice } from './notices.ts'
import { hashPassword, isPassword, oneTimePassword } from './passwords.ts'
import type { Unsuppress } from './rectification.ts'
import { browserName, type Locale, longestPassword, normaliseEmail, oneTimePasswordLife, sessionLife } from './rules.ts'
import { countTry, refusalOfTry, signInWindows, type Tries } from './tries.ts'

export interface SignInParts {
  gate: Pick<GatePorts, 'clock' | 'transaction' | 'auditWithin'>
  tries: Tries
  /** Keys the hashes of where accounts signed in. */
  markKey: () => Uint8Array
  /** Whether people sign in while the grace of their erasure runs. */
  graceSignIn: 'keep' | 'stop'
  unsuppress: Unsuppress
}
export interface Visit {
  /** The client's address, after trusted proxies. */
  address: string
  /** The network that the address counts as in limits. */
  limitKey: string
  userAgent: string
  locale: Locale
}
export interface OpenSession {
  accountId: string
  sessionId: string
  expiresAt: Date
}

/** Sessions from the password to their end. Whether an address is known is never told, by words or by time. */
export function signIn(db: Database, { gate, tries, markKey, graceSignIn, unsuppress }: SignInParts) {
  const known = knownSignIns(db, markKey)
  const audit = (
    tx: Transaction,
    entry: { actorId: string; ip: string; resourceType: string; resourceId: string; details: Record<string, unknown> },
  ) => gate.auditWithin(tx, { action: 'update', at: gate.clock.now(), ...entry })

  /** The account whose password it is; undefined for a wrong password, a one-time password that ended, and an unknown address alike. */
  async function verifyPassword(
    email: string,
    password: string,
  ): Promise<{ id: string; passwordHash: string } | undefined> {
    const [found] = await db.query<{ id: string; password_hash: string | null }>(
      'account-by-email',
      `SELECT id, CASE WHEN password_expires_at IS NULL OR password_expires_at > $2 THEN password_hash END AS password_hash
       FROM accounts WHERE email = $1`,
      [normaliseEmail(email), gate.clock.now()],
    )
    // Who has no password takes as long as who has one.
    const isRight = await isPassword(found?.password_hash, password)
    return isRight && found?.password_hash ? { id: found.id, passwordHash: found.password_hash } : undefined
  }

  /** Where the identity was shown. Throws `forbidden` for a closed account, `fenced` for who is being erased and may not come in. */
  async function sessionWithin(
    tx: Transaction,
    account: { id: string; passwordHash?: string },
    visit: Visit,
    by: 'password' | 'identity',
  ): Promise<OpenSession | undefined> {
    const now = gate.clock.now()
    // The row is locked: a change of password either ends this session too, or comes first and prevents it.
    const [found] = await tx.account.updateManyAndReturn({
      where: account,
      data: { locale: visit.locale },
      select: { id: true, email: true, suspendedAt: true, deactivatedAt: true },
    })
    if (!found) return undefined
    if (found.deactivatedAt)
      throw new Problem(
        'forbidden',
        'This account was closed by an admin. What is held stays, and so do your rights over it.',
      )
    if (found.suspendedAt && graceSignIn === 'stop')
      throw new Problem(
        'fenced',
        'The erasure of this account was asked for, and nobody signs in to it meanwhile. To cancel, use the link in the letter.',
      )
    const sessionId = newId('ses')
    const expiresAt = new Date(now.getTime() + sessionLife)
    await tx.session.create({
      data: {
        id: sessionId,
        accountId: account.id,
        createdAt: now,
        lastSeenAt: now,
        expiresAt,
        passwordAt: by === 'password' ? now : null,
        userAgent: browserName(visit.userAgent),
      },
    })
    await audit(tx, {
      actorId: `user:${account.id}`,
      ip: visit.address,
      resourceType: 'session',
      resourceId: sessionId,
      details: { operation: 'signIn', ...(by === 'identity' && { by }) },
    })
    await known.note(tx, found, visit.limitKey, now)
    return { accountId: account.id, sessionId, expiresAt }
  }

  /** Undefined when the password was changed since it was verified. Throws `forbidden` and `fenced`. */
  const openSession = (account: { id: string; passwordHash: string }, visit: Visit): Promise<OpenSession | undefined> =>
    gate.transaction((tx) => sessionWithin(tx, account, visit, 'password'))

  return {
    verifyPassword,
    openSession,

    /**
     * Counts the try, checks the password, opens a session. Undefined when address and password do not fit. Throws `rate_limited`:
     * when guesses from everywhere have used up the account's tries, its password is still taken where it signed in before.
     */
    async signIn(credentials: { email: string; password: string }, visit: Visit): Promise<OpenSession | undefined> {
      const { email, password } = credentials
      // First of all: Unicode normalisation of a long enough text takes minutes.
      if (email.includes('\0') || email.length > 320 || password.length > longestPassword) return undefined
      const now = gate.clock.now()
      const { near, everywhere } = signInWindows(email, visit.limitKey)
      await countTry(tries, near, now)
      const refusal = await refusalOfTry(tries, [everywhere], now)
      const account = await verifyPassword(email, password)
      // After the same work, and with the same words for every wrong password: nobody learns who signs in from where.
      if (refusal && !((await known.has(email, visit.limitKey, now)) && account)) throw refusal
      return account && openSession(account, visit)
    },

    /**
     * For whom an identity provider vouches: opens a session as a password does, and links the provider's sign-in where that is new. Counts
     * the try by network. Throws `rate_limited`, `forbidden`, `fenced`.
     */
    async signInWithIdentity(identified: Identified, visit: Visit): Promise<OpenSession | IdentityRefusal> {
      const now = gate.clock.now()
      await countTry(tries, [{ key: `sign-in:${visit.limitKey}`, limit: 20 }], now)
      return gate.transaction(async (tx) => {
        const found = await accountOfIdentity(tx, identified, now)
        if (typeof found === 'string') return found
        const opened = await sessionWithin(tx, { id: found.accountId }, visit, 'identity')
        if (!opened) return 'uninvited'
        if (found.isNew) {
          await noteLinked(tx, found.accountId, unsuppress, now)
          await audit(tx, {
            actorId: `user:${found.accountId}`,
            ip: visit.address,
            resourceType: 'account',
            resourceId: found.accountId,
            details: { operation: 'linkIdentity', changed: ['identities'] },
          })
        }
        return opened
      })
    },

    /** Ends a session by its id, as signing out does. Nothing happens when it has ended already. */
    closeSession: (sessionId: string, address: string): Promise<void> =>
      gate.transaction(async (tx) => {
        const [ended] = await tx.session.updateManyAndReturn({
          where: { id: sessionId, revokedAt: null },
          data: { revokedAt: gate.clock.now() },
          select: { accountId: true },
        })
        if (!ended) return
        await audit(tx, {
          actorId: `user:${ended.accountId}`,
          ip: address,
          resourceType: 'session',
          resourceId: sessionId,
          details: { operation: 'signOut' },
        })
      }),

    /**
     * A one-time password for an account, on the word of whoever runs the machine: it has to be changed at sign-in, every session
     * ends, and a letter tells the person. Open links do nothing any more, and sign-ins with an identity provider are unlinked for good. Throws `not_found`.
     */
    async resetPassword(email: string): Promise<{ accountId: string; password: string; sessionsEnded: number }> {
      const password = oneTimePassword()
      const passwordHash = await hashPassword(password)
      return gate.transaction(async (tx) => {
        const now = gate.clock.now()
        const [account] = await tx.account.updateManyAndReturn({
          where: { email: normaliseEmail(email) },
          data: {
            ...{ passwordHash, mustChangePassword: true, updatedAt: now },
            passwordExpiresAt: new Date(now.getTime() + oneTimePasswordLife),
          },
          select: { id: true },
        })
        if (!account) throw new Problem('not_found', 'No account has this e-mail address.')
        // Whoever had another way in meanwhile keeps none.
        await endLinks(tx, account.id, now)
        await unlinkAll(tx, account.id, now)
        const { count } = await tx.session.updateMany({
          where: { accountId: account.id, revokedAt: null },
          data: { revokedAt: now },
        })
        await audit(tx, {
          actorId: 'system:admin.reset-password',
          ip: '',
          resourceType: 'account',
          resourceId: account.id,
          details: { operation: 'resetPassword', changed: ['password'], sessions_ended: count },
        })
        await enqueueNotice(tx, { kind: 'password-reset', accountId: account.id, at: now.toISOString() })
        return { accountId: account.id, password, sessionsEnded: count }
      })
    },
  }
}
