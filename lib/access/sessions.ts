import { deriveKey } from '#lib/config/secret.ts'
import { noteSessionSeen, openSession } from '#lib/domains/accounts/repository.ts'
import { seenEvery } from '#lib/domains/accounts/rules.ts'
import { type FactorPolicy, hasSecondFactor, isRequired } from '#lib/domains/accounts/second-factors/rules.ts'
import type { Clock } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type Caller, permits, personCaller } from './access.ts'

/** The secret with which next-auth encrypts its cookie. */
export const sessionSecret = (secret: string): string => deriveKey(secret, 'next-auth session').toString('base64url')

/** With https, the prefix `__Host-` prevents other hosts of the domain, and http, from setting it (RFC 6265bis §4.1.3.2). */
export const sessionCookieName = (origin: string): string =>
  origin.startsWith('https:') ? '__Host-next-auth.session-token' : 'next-auth.session-token'

/** The session cookie's value in a Cookie header (RFC 6265 §4.2); next-auth splits a long one into `name.0`, `name.1` … */
function sessionCookie(header: string, wanted: string): string | undefined {
  const cookies = header.split(';').map((pair) => {
    const at = pair.indexOf('=')
    return { name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() }
  })
  const whole = cookies.find(({ name }) => name === wanted)
  if (whole) return whole.value
  const pieces = cookies
    .filter(({ name }) => name.startsWith(`${wanted}.`) && /^\d{1,2}$/.test(name.slice(wanted.length + 1)))
    .sort((one, other) => Number(one.name.slice(wanted.length + 1)) - Number(other.name.slice(wanted.length + 1)))
  return pieces.length > 0 ? pieces.map(({ value }) => value).join('') : undefined
}

/** Restricts a person who still has a one-time password to viewing and changing their own account, whatever their role. */
const confined = (caller: Caller): Caller => ({
  ...caller,
  actor: {
    ...caller.actor,
    // Operations that are open to everybody give an admin more.
    isAdmin: false,
    can: (permission) => (permission === 'public' || permission === 'accounts:person') && caller.actor.can(permission),
  },
})

/**
 * Restricts a person who must have a second factor and has none to what is open without one, and to their own data: without an admin's
 * rights, whatever their role.
 */
const unprotected = ({ actor, ...caller }: Caller): Caller => ({
  ...caller,
  actor: { ...actor, isAdmin: false, lacksSecondFactor: true, can: (permission) => permits(['person'], permission) },
})

/**
 * Finds the person behind a cookie. Every request queries the database, so that a revoked session is rejected on the next request on
 * every replica. Returns undefined for a cookie that is missing, expired or not ours.
 */
export function createSessions({
  db,
  clock,
  secret,
  origin,
  factorPolicy,
}: {
  db: Database
  clock: Clock
  /** The installation's secret. */
  secret: string
  /** The installation's public address. */
  origin: string
  /** Who must have a second factor. */
  factorPolicy(): Promise<FactorPolicy>
}) {
  const key = sessionSecret(secret)

  async function callerOfSession(id: string): Promise<Caller | undefined> {
    const now = clock.now()
    const [row] = await openSession(db, { id, now })
    if (!row) return undefined
    if (now.getTime() - row.last_seen_at.getTime() >= seenEvery) await noteSessionSeen(db, { id, now })
    const caller = personCaller(row)
    if (row.must_change_password) return confined(caller)
    const isLacking = !hasSecondFactor(row) && isRequired(await factorPolicy(), row.role, now)
    return isLacking ? unprotected(caller) : caller
  }

  return {
    callerOfSession,
    async caller(cookieHeader: string): Promise<Caller | undefined> {
      const token = sessionCookie(cookieHeader, sessionCookieName(origin))
      if (token === undefined) return undefined
      // A cookie that cannot be decrypted is not ours or is too old.
      // Loaded with the first session: `kp` and the worker have none.
      const { decode } = await import('next-auth/jwt')
      const claims = await decode({ token, secret: key }).catch(() => null)
      return typeof claims?.sid === 'string' ? callerOfSession(claims.sid) : undefined
    },
  }
}
