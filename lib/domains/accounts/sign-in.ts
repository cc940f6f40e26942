import type { PipelinePorts, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { countTry, refusalOfTry, signInWindows, type Tries } from './attempts.ts'
import { accountOfIdentity, type Identified, type IdentityRefusal, noteLinked } from './identities.ts'
import { operatorReset } from './operator-reset.ts'
import { isPassword } from './passwords.ts'
import type { Unsuppress } from './rectification.ts'
import { credentialsOf } from './repository.ts'
import { browserName, type Locale, longestPassword, normaliseEmail, sessionLife } from './rules.ts'
import { passkeyResponse } from './second-factors/passkeys.ts'
import type { SignInWay } from './second-factors/rules.ts'
import {
  type SecondFactorDeps,
  type SecondFactorVerification,
  secondFactorVerification,
} from './second-factors/verification.ts'
import { rememberedSignIns } from './sessions/remembered-sign-ins.ts'

export interface SignInDeps extends SecondFactorDeps {
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
  (db: Database, { pipeline }: Pick<SignInDeps, 'pipeline'>) =>
  async (email: string, password: string): Promise<Credentials | undefined> => {
    const [record] = await credentialsOf(db, { email: normaliseEmail(email), now: pipeline.clock.now() })
    // Takes the same time without a password hash.
    const isRight = await isPassword(record?.password_hash, password)
    return isRight && record?.password_hash ? { id: record.id, passwordHash: record.password_hash } : undefined
  }

/**
 * Opens a session for a verified identity. Undefined when the password changed after its verification.
 * @throws Problem `forbidden` for a closed account
 * @throws Problem `fenced` for an account whose erasure waits, if sign-in stops meanwhile
 */
const openSession =
  ({ pipeline, graceSignIn }: Pick<SignInDeps, 'pipeline' | 'graceSignIn'>, known: RememberedSignIns, audit: Audit) =>
  async (
    tx: Transaction,
    account: { id: string; passwordHash?: string },
    visit: SignInVisit,
    by: SignInWay,
  ): Promise<OpenSession | undefined> => {
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
    { pipeline, tries }: Pick<SignInDeps, 'pipeline' | 'tries'>,
    known: RememberedSignIns,
    verify: ReturnType<typeof verifyPassword>,
    { requireSecondFactor }: Pick<SecondFactorVerification, 'requireSecondFactor'>,
    openWithPassword: (account: Credentials, visit: SignInVisit) => Promise<OpenSession | undefined>,
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
    await requireSecondFactor(account.id, code, now)
    return openWithPassword(account, visit)
  }

/**
 * Opens a session for a person whom an identity provider identified, and links a new identity. Attempts are counted
 * by network.
 * @throws Problem `rate_limited`, `forbidden`, `fenced`
 */
const signInWithIdentity =
  (
    { pipeline, tries, unsuppress }: Pick<SignInDeps, 'pipeline' | 'tries' | 'unsuppress'>,
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
    { pipeline, tries }: Pick<SignInDeps, 'pipeline' | 'tries'>,
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
  ({ pipeline }: Pick<SignInDeps, 'pipeline'>, audit: Audit) =>
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

/** Sign-in and sign-out. Neither responses nor timing reveal whether an address is known. */
export function signInUseCases(db: Database, deps: SignInDeps) {
  const { pipeline } = deps
  const known = rememberedSignIns(db, deps.markKey)
  const audit: Audit = (tx, entry) => pipeline.auditWithin(tx, { action: 'update', at: pipeline.clock.now(), ...entry })
  const verify = verifyPassword(db, deps)
  const open = openSession(deps, known, audit)
  const secondFactors = secondFactorVerification(db, deps)
  const openWithPassword = (account: Credentials, visit: SignInVisit): Promise<OpenSession | undefined> =>
    pipeline.transaction((tx) => open(tx, account, visit, 'password'))
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
