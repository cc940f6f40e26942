import type { PipelinePorts, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { countTry, refusalOfTry, signInWindows, type Tries } from './attempts.ts'
import { accountOfIdentity, type Identified, type IdentityRefusal, noteLinked, unlinkAll } from './identities.ts'
import { endLinks } from './links.ts'
import { enqueueNotice } from './notices.ts'
import { hashPassword, isPassword, oneTimePassword } from './passwords.ts'
import type { Unsuppress } from './rectification.ts'
import { credentialsOf } from './repository.ts'
import { browserName, type Locale, longestPassword, normaliseEmail, oneTimePasswordLife, sessionLife } from './rules.ts'
import { rememberedSignIns } from './sessions/remembered-sign-ins.ts'

export interface SignInDeps {
  pipeline: Pick<PipelinePorts, 'clock' | 'transaction' | 'auditWithin'>
  tries: Tries
  /** Key for the hashes of known sign-ins. */
  markKey: () => Uint8Array
  /** Whether people can sign in during the grace period of their erasure. */
  graceSignIn: 'keep' | 'stop'
  unsuppress: Unsuppress
}
export interface SignInVisit {
  /** The client's address as determined behind trusted proxies. */
  address: string
  /** The network that limits count the address to. */
  limitKey: string
  userAgent: string
  locale: Locale
}
export interface OpenSession {
  accountId: string
  sessionId: string
  expiresAt: Date
}

/** Sign-in and sign-out. Neither responses nor timing reveal whether an address is known. */
export function signInUseCases(db: Database, { pipeline, tries, markKey, graceSignIn, unsuppress }: SignInDeps) {
  const known = rememberedSignIns(db, markKey)
  const audit = (
    tx: Transaction,
    entry: { actorId: string; ip: string; resourceType: string; resourceId: string; details: Record<string, unknown> },
  ) => pipeline.auditWithin(tx, { action: 'update', at: pipeline.clock.now(), ...entry })

  /**
   * Returns the account with this address and password. Undefined for a wrong password, an expired one-time password
   * and an unknown address alike.
   */
  async function verifyPassword(
    email: string,
    password: string,
  ): Promise<{ id: string; passwordHash: string } | undefined> {
    const [record] = await credentialsOf(db, { email: normaliseEmail(email), now: pipeline.clock.now() })
    // Takes the same time without a password hash.
    const isRight = await isPassword(record?.password_hash, password)
    return isRight && record?.password_hash ? { id: record.id, passwordHash: record.password_hash } : undefined
  }

  /**
   * Opens a session for a verified identity.
   * @throws Problem `forbidden` for a closed account
   * @throws Problem `fenced` for an account whose erasure waits, if sign-in stops meanwhile
   */
  async function sessionWithin(
    tx: Transaction,
    account: { id: string; passwordHash?: string },
    visit: SignInVisit,
    by: 'password' | 'identity',
  ): Promise<OpenSession | undefined> {
    const now = pipeline.clock.now()
    // The update locks the row: a concurrent password change either ends this session or prevents it.
    const [record] = await tx.account.updateManyAndReturn({
      where: account,
      data: { locale: visit.locale },
      select: { id: true, email: true, suspendedAt: true, deactivatedAt: true },
    })
    if (!record) return undefined
    if (record.deactivatedAt)
      throw new Problem('forbidden', 'An admin closed this account. Your data and your rights over it are unchanged.')
    if (record.suspendedAt && graceSignIn === 'stop')
      throw new Problem(
        'fenced',
        'The erasure of this account was requested, so sign-in is blocked. To cancel the erasure, use the link in the email.',
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
    await known.note(tx, record, visit.limitKey, now)
    return { accountId: account.id, sessionId, expiresAt }
  }

  /**
   * Undefined when the password changed after its verification.
   * @throws Problem `forbidden`, `fenced`
   */
  const openSession = (
    account: { id: string; passwordHash: string },
    visit: SignInVisit,
  ): Promise<OpenSession | undefined> => pipeline.transaction((tx) => sessionWithin(tx, account, visit, 'password'))

  return {
    verifyPassword,
    openSession,

    /**
     * Counts the attempt, verifies the password and opens a session. Undefined for a wrong address or password.
     * @throws Problem `rate_limited`. When guesses from many networks have used up the account's attempts, the right
     * password is still accepted from networks of earlier sign-ins.
     */
    async signIn(
      credentials: { email: string; password: string },
      visit: SignInVisit,
    ): Promise<OpenSession | undefined> {
      const { email, password } = credentials
      // Checked first, because Unicode normalisation of a very long text takes minutes.
      if (email.includes('\0') || email.length > 320 || password.length > longestPassword) return undefined
      const now = pipeline.clock.now()
      const { near, everywhere } = signInWindows(email, visit.limitKey)
      await countTry(tries, near, now)
      const refusal = await refusalOfTry(tries, [everywhere], now)
      const account = await verifyPassword(email, password)
      // Checked after the same work and with the same error for each wrong password, so that nobody learns from which
      // networks an account signs in.
      if (refusal && !((await known.has(email, visit.limitKey, now)) && account)) throw refusal
      return account && openSession(account, visit)
    },

    /**
     * Opens a session for a person whom an identity provider identified, and links a new identity. Attempts are counted
     * by network.
     * @throws Problem `rate_limited`, `forbidden`, `fenced`
     */
    async signInWithIdentity(identified: Identified, visit: SignInVisit): Promise<OpenSession | IdentityRefusal> {
      const now = pipeline.clock.now()
      await countTry(tries, [{ key: `sign-in:${visit.limitKey}`, limit: 20 }], now)
      return pipeline.transaction(async (tx) => {
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

    /** Ends a session by its id (sign-out). Does nothing when it has already ended. */
    closeSession: (sessionId: string, address: string): Promise<void> =>
      pipeline.transaction(async (tx) => {
        const [ended] = await tx.session.updateManyAndReturn({
          where: { id: sessionId, revokedAt: null },
          data: { revokedAt: pipeline.clock.now() },
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
     * Sets a one-time password on behalf of the operator; it must be changed at sign-in. Ends all sessions and links,
     * unlinks all identities, and notifies the person by email.
     * @throws Problem `not_found`
     */
    async resetPassword(email: string): Promise<{ accountId: string; password: string; sessionsEnded: number }> {
      const password = oneTimePassword()
      const passwordHash = await hashPassword(password)
      return pipeline.transaction(async (tx) => {
        const now = pipeline.clock.now()
        const [account] = await tx.account.updateManyAndReturn({
          where: { email: normaliseEmail(email) },
          data: {
            ...{ passwordHash, mustChangePassword: true, updatedAt: now },
            passwordExpiresAt: new Date(now.getTime() + oneTimePasswordLife),
          },
          select: { id: true },
        })
        if (!account) throw new Problem('not_found', 'No account has this email address.')
        // Ends all other ways to sign in.
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
