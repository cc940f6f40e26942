import { createHmac } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { accountOfIdentity, type Identified, type IdentityRefusal, noteLinked, unlinkAll } from './identities.ts'
import { endLinks } from './links.ts'
import { countTry, hashPassword, isPassword, oneTimePassword, refusalOfTry, signInWindows } from './passwords.ts'
import type { AccountsDeps } from './ports.ts'
import { credentialsOf, signInMark } from './repository.ts'
import {
  browserName,
  type Locale,
  longestPassword,
  normaliseEmail,
  oneTimePasswordLife,
  sessionLife,
  signInPlaceRemembered,
} from './rules.ts'
import { dropFactors } from './second-factors/own-factors.ts'
import { passkeyResponse } from './second-factors/passkeys.ts'
import type { SignInWay } from './second-factors/rules.ts'
import {
  SecondFactorRefusal,
  type SecondFactorVerification,
  secondFactorVerification,
} from './second-factors/verification.ts'
import { enqueueNotice } from './writes.ts'

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

/** The networks from which accounts signed in recently, stored as keyed hashes that do not reveal the network. */
function rememberedSignIns(db: Database, markKey: () => Uint8Array) {
  const markOf = (email: string, limitKey: string) =>
    createHmac('sha256', markKey())
      .update(`${normaliseEmail(email)}\0${limitKey}`)
      .digest()

  return {
    /**
     * Returns true when the account with this address signed in from this network within 30 days. Runs the same query
     * for unknown addresses.
     */
    async has(email: string, limitKey: string, now: Date): Promise<boolean> {
      const records = await signInMark(db, {
        mark: markOf(email, limitKey),
        after: new Date(now.getTime() - signInPlaceRemembered),
      })
      return records.length > 0
    },
    async note(tx: Transaction, account: { id: string; email: string }, limitKey: string, now: Date): Promise<void> {
      const mark = markOf(account.email, limitKey)
      await tx.knownSignIn.upsert({
        where: { mark },
        create: { mark, accountId: account.id, lastAt: now },
        update: { accountId: account.id, lastAt: now },
      })
    },
  }
}

type RememberedSignIns = ReturnType<typeof rememberedSignIns>
type Credentials = { id: string; passwordHash: string }
type Audit = (
  tx: Transaction,
  entry: { actorId: string; ip: string; resourceType: string; resourceId: string; details: Record<string, unknown> },
) => Promise<void>

/**
 * Returns the account with an address and a password. Undefined for a wrong password, an expired one-time password
 * and an unknown address alike.
 */
const verifyPassword =
  (db: Database, { pipeline }: Pick<AccountsDeps, 'pipeline'>) =>
  async (email: string, password: string): Promise<Credentials | undefined> => {
    const [record] = await credentialsOf(db, { email: normaliseEmail(email), now: pipeline.clock.now() })
    // Takes the same time without a password hash.
    const isRight = await isPassword(record?.password_hash, password)
    return isRight && record?.password_hash ? { id: record.id, passwordHash: record.password_hash } : undefined
  }

/**
 * Opens a session for a verified identity. Undefined when the password changed after its verification.
 * @throws SecondFactorRefusal for an account with a second factor that was not shown
 * @throws Problem `forbidden` for a closed account
 * @throws Problem `fenced` for an account whose erasure waits, if sign-in stops meanwhile
 */
const openSession =
  ({ pipeline, graceSignIn }: Pick<AccountsDeps, 'pipeline' | 'graceSignIn'>, known: RememberedSignIns, audit: Audit) =>
  async (
    tx: Transaction,
    account: { id: string; passwordHash?: string },
    visit: SignInVisit,
    by: SignInWay,
    isFactorShown = true,
  ): Promise<OpenSession | undefined> => {
    const now = pipeline.clock.now()
    // The update locks the row: a concurrent password change either ends this session or prevents it.
    const [record] = await tx.account.updateManyAndReturn({
      where: account,
      data: { locale: visit.locale },
      select: { id: true, email: true, suspendedAt: true, deactivatedAt: true },
    })
    if (!record) return undefined
    // One that was added since the password was verified ended all other sessions before this one existed.
    if (
      !isFactorShown &&
      (await tx.accountFactor.count({ where: { accountId: record.id, confirmedAt: { not: null } } }))
    )
      throw new SecondFactorRefusal('needed')
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
        // A passkey verifies its user, so it counts like a password that was just entered.
        passwordAt: by === 'password' || by === 'passkey' ? now : null,
        signedInWith: by,
        userAgent: browserName(visit.userAgent),
      },
    })
    await audit(tx, {
      actorId: `user:${account.id}`,
      ip: visit.address,
      resourceType: 'session',
      resourceId: sessionId,
      details: { operation: 'signIn', ...(by !== 'password' && { by }) },
    })
    await known.note(tx, record, visit.limitKey, now)
    return { accountId: account.id, sessionId, expiresAt }
  }

/**
 * Counts the attempt, verifies the password and, if the account has one, the second factor, and opens a session. Undefined for a wrong
 * address or password.
 * @throws SecondFactorRefusal when the code is missing or wrong
 * @throws Problem `rate_limited`. When guesses from many networks have used up the account's attempts, the right
 * password is still accepted from networks of earlier sign-ins.
 */
const signIn =
  (
    { pipeline, tries }: Pick<AccountsDeps, 'pipeline' | 'tries'>,
    known: RememberedSignIns,
    verify: ReturnType<typeof verifyPassword>,
    { requireSecondFactor }: Pick<SecondFactorVerification, 'requireSecondFactor'>,
    openWithPassword: (
      account: Credentials,
      visit: SignInVisit,
      isFactorShown: boolean,
    ) => Promise<OpenSession | undefined>,
  ) =>
  async (
    credentials: { email: string; password: string; code?: string | undefined },
    visit: SignInVisit,
  ): Promise<OpenSession | undefined> => {
    const { email, password, code } = credentials
    // Checked first, because Unicode normalisation of a very long text takes minutes.
    if (email.includes('\0') || email.length > 320 || password.length > longestPassword) return undefined
    const now = pipeline.clock.now()
    const { near, everywhere } = signInWindows(email, visit.limitKey)
    await countTry(tries, near)
    const refusal = await refusalOfTry(tries, [everywhere])
    const account = await verify(email, password)
    // Checked after the same work and with the same error for each wrong password, so that nobody learns from which
    // networks an account signs in.
    if (refusal && !((await known.has(email, visit.limitKey, now)) && account)) throw refusal
    if (!account) return undefined
    return openWithPassword(account, visit, await requireSecondFactor(account.id, code, now))
  }

/**
 * Opens a session for a person whom an identity provider identified, and links a new identity. Attempts are counted
 * by network.
 * @throws Problem `rate_limited`, `forbidden`, `fenced`
 */
const signInWithIdentity =
  (
    { pipeline, tries, unsuppress }: Pick<AccountsDeps, 'pipeline' | 'tries' | 'unsuppress'>,
    open: ReturnType<typeof openSession>,
    audit: Audit,
  ) =>
  async (identified: Identified, visit: SignInVisit): Promise<OpenSession | IdentityRefusal> => {
    const now = pipeline.clock.now()
    await countTry(tries, [{ key: `sign-in:${visit.limitKey}`, limit: 20 }])
    return pipeline.transaction(async (tx) => {
      const found = await accountOfIdentity(tx, identified, now)
      if (typeof found === 'string') return found
      const way = identified.isOneFactor ? 'identity-one-factor' : 'identity'
      const opened = await open(tx, { id: found.accountId }, visit, way)
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
  }

/**
 * Opens a session for the owner of a passkey, which verified its user. Undefined for a response that is not valid. Attempts are counted
 * by network.
 * @throws Problem `rate_limited`, `forbidden`, `fenced`
 */
const signInWithPasskey =
  (
    { pipeline, tries }: Pick<AccountsDeps, 'pipeline' | 'tries'>,
    { accountOfPasskey }: Pick<SecondFactorVerification, 'accountOfPasskey'>,
    open: ReturnType<typeof openSession>,
  ) =>
  async (text: string, visit: SignInVisit): Promise<OpenSession | undefined> => {
    const now = pipeline.clock.now()
    await countTry(tries, [{ key: `sign-in:${visit.limitKey}`, limit: 20 }])
    const response = passkeyResponse(text)
    const found = response && (await accountOfPasskey(response, now))
    if (!found) return undefined
    return pipeline.transaction(async (tx) =>
      (await found.useUp(tx)) ? open(tx, { id: found.accountId }, visit, 'passkey') : undefined,
    )
  }

/** Ends a session by its id (sign-out). Does nothing when it has already ended. */
const closeSession =
  ({ pipeline }: Pick<AccountsDeps, 'pipeline'>, audit: Audit) =>
  (sessionId: string, address: string): Promise<void> =>
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
    })

/** The password reset that the operator of the installation executes on the command line. */
const operatorReset = ({ pipeline, requireOwner }: Pick<AccountsDeps, 'pipeline' | 'requireOwner'>) => ({
  /**
   * Sets a one-time password on behalf of the operator; it must be changed at sign-in. Ends all sessions and links,
   * unlinks all identities, removes all second factors, and notifies the person by email.
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
          passwordHash,
          mustChangePassword: true,
          updatedAt: now,
          passwordExpiresAt: new Date(now.getTime() + oneTimePasswordLife),
        },
        select: { id: true },
      })
      if (!account) throw new Problem('not_found', 'No account has this email address.')
      // Ends all other ways to sign in.
      await endLinks(tx, account.id, now)
      await unlinkAll(tx, account.id, now)
      const factors = await dropFactors(tx, account.id)
      const { count } = await tx.session.updateMany({
        where: { accountId: account.id, revokedAt: null },
        data: { revokedAt: now },
      })
      await requireOwner(tx, account.id)
      await pipeline.auditWithin(tx, {
        action: 'update',
        at: now,
        actorId: 'system:admin.reset-password',
        ip: '',
        resourceType: 'account',
        resourceId: account.id,
        details: {
          operation: 'resetPassword',
          changed: ['password'],
          sessions_ended: count,
          ...(factors > 0 && { factors_removed: factors }),
        },
      })
      await enqueueNotice(tx, { kind: 'password-reset', accountId: account.id, at: now })
      return { accountId: account.id, password, sessionsEnded: count }
    })
  },
})

/** Sign-in and sign-out. Neither responses nor timing reveal whether an address is known. */
export function signInUseCases(db: Database, deps: AccountsDeps) {
  const { pipeline } = deps
  const known = rememberedSignIns(db, deps.markKey)
  const audit: Audit = (tx, entry) => pipeline.auditWithin(tx, { action: 'update', at: pipeline.clock.now(), ...entry })
  const verify = verifyPassword(db, deps)
  const open = openSession(deps, known, audit)
  const secondFactors = secondFactorVerification(db, deps)
  const openWithPassword = (account: Credentials, visit: SignInVisit, isFactorShown = false) =>
    pipeline.transaction((tx) => open(tx, account, visit, 'password', isFactorShown))
  return {
    verifyPassword: verify,
    openSession: openWithPassword,
    signIn: signIn(deps, known, verify, secondFactors, openWithPassword),
    signInWithPasskey: signInWithPasskey(deps, secondFactors, open),
    signInWithIdentity: signInWithIdentity(deps, open, audit),
    closeSession: closeSession(deps, audit),
    ...operatorReset(deps),
  }
}
