import type { NextAuthOptions, Profile, User } from 'next-auth'
import type { OAuthConfig } from 'next-auth/providers/oauth'
import type { OpenIdProvider } from '#lib/config/env.ts'
import type { Identified, IdentityRefusal } from '#lib/domains/accounts/identities.ts'
import { type Locale, localeOf, sessionLife } from '#lib/domains/accounts/rules.ts'
import { SecondFactorRefusal } from '#lib/domains/accounts/second-factors/verification.ts'
import type { OpenSession, SignInVisit } from '#lib/domains/accounts/sign-in.ts'
import { limitKeyOf } from '#lib/kernel/network-keys.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { sessionCookieName, sessionSecret } from './sessions.ts'

/** Methods of RFC 8176 §2, by what they prove. */
const kindOf: ReadonlyMap<string, string> = new Map(
  Object.entries({
    pwd: 'knowledge',
    pin: 'knowledge',
    kba: 'knowledge',
    hwk: 'possession',
    swk: 'possession',
    otp: 'possession',
    sms: 'possession',
    tel: 'possession',
    sc: 'possession',
    face: 'inherence',
    fpt: 'inherence',
    iris: 'inherence',
    retina: 'inherence',
    vbm: 'inherence',
  }),
)
/** Values of `acr` with a published meaning: several factors, or a credential that cannot be phished. */
const strongClasses = new Set([
  'https://refeds.org/profile/mfa',
  'http://schemas.openid.net/pape/policies/2007/06/multi-factor',
  'phr',
  'phrh',
])

/**
 * Whether the identity provider reported a sign-in with one factor. It did if `amr` (RFC 8176) contains neither `mfa` nor methods of two
 * kinds, and `acr` names no known class with several factors. Without `amr` the provider reported nothing, and its sign-in counts.
 */
export function isOneFactor({ amr, acr }: Readonly<Record<string, unknown>>): boolean {
  if (!Array.isArray(amr) || amr.length === 0) return false
  if (typeof acr === 'string' && strongClasses.has(acr)) return false
  if (amr.includes('mfa')) return false
  const kinds = new Set(amr.map((method) => kindOf.get(String(method))))
  kinds.delete(undefined)
  return kinds.size < 2
}

/** Part of the redirect URI: `/api/auth/callback/oidc`. */
const providerId = 'oidc'

export interface IdentityAccounts {
  signInWithIdentity(identified: Identified, visit: SignInVisit): Promise<OpenSession | IdentityRefusal>
}
type Claims = Record<string, unknown>

/**
 * The provider, configured by its discovery document. Uses the code flow with PKCE, state and nonce, and a validated ID token (OpenID
 * Connect Core §3.1). Claims about the address may be in the token or only at the UserInfo endpoint (§5.4).
 */
export const identityProvider = ({ issuer, clientId, clientSecret, name }: OpenIdProvider): OAuthConfig<Claims> => ({
  id: providerId,
  name,
  type: 'oauth',
  wellKnown: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
  clientId,
  clientSecret,
  authorization: { params: { scope: 'openid email profile' } },
  checks: ['pkce', 'state', 'nonce'],
  idToken: true,
  httpOptions: { timeout: 10_000 },
  userinfo: {
    async request({ tokens, client }) {
      const { id_token: idToken, access_token: accessToken } = tokens
      const claims = claimsOf(idToken ?? '')
      if ('email_verified' in claims || accessToken === undefined || !client.issuer.metadata.userinfo_endpoint)
        return claims
      const more = await client.userinfo(accessToken)
      // §5.3.2: a UserInfo response about another subject must be rejected.
      if (more.sub !== claims.sub) throw new Error('the UserInfo response is about a different subject')
      // The address and whether it is verified must come from the same document: neither document vouches for the other's address.
      const { email, email_verified } = more
      return { ...more, ...claims, email, email_verified }
    },
  },
  profile: ({ sub }) => ({ id: typeof sub === 'string' ? sub : '' }),
})

/** The claims of an ID token whose signature, issuer, audience, time and nonce were already validated. */
function claimsOf(idToken: string): Claims & { sub: string } {
  const claims: unknown = JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString('utf8'))
  if (typeof claims !== 'object' || claims === null || !('sub' in claims) || typeof claims.sub !== 'string')
    throw new Error('the ID token has no subject')
  return { ...claims, sub: claims.sub }
}

const sameIssuer = (one: string, other: string) => one.replace(/\/$/, '') === other.replace(/\/$/, '')

/**
 * Opens a session for the person that the provider authenticated. Returns true and sets `user` to the account and its session, as after
 * a password. Otherwise returns the address of the sign-in page with the reason; that page keeps the original destination.
 */
async function identitySignIn(
  {
    accounts,
    provider,
    publicUrl,
    refused,
    reportFault,
  }: {
    accounts: IdentityAccounts
    provider?: OpenIdProvider | undefined
    publicUrl: string
    refused(code: string): void
    reportFault(error: unknown): void
  },
  { user, profile, visit }: { user: User; profile: Profile | undefined; visit: SignInVisit },
): Promise<boolean | string> {
  const because = (reason: string) => {
    refused(reason.split(':')[0] ?? reason)
    return `${publicUrl}/api/auth/signin?error=${encodeURIComponent(reason)}`
  }
  const claims: Claims = { ...profile }
  const { iss, sub, email, email_verified: isEmailVerified } = claims
  // Discovery 1.0 §4.3: the issuer must be the configured one.
  if (typeof iss !== 'string' || typeof sub !== 'string' || !provider || !sameIssuer(iss, provider.issuer))
    return because('provider')
  const identified: Identified = {
    issuer: iss,
    subject: sub,
    email: typeof email === 'string' && email.length <= 320 && !email.includes('\0') ? email : undefined,
    isEmailVerified: isEmailVerified === true,
    isOneFactor: isOneFactor(claims),
  }
  try {
    const opened = await accounts.signInWithIdentity(identified, visit)
    if (typeof opened === 'string') return because(opened)
    // next-auth encrypts `user` into the cookie.
    Object.assign(user, { id: opened.accountId, sid: opened.sessionId })
    return true
  } catch (error) {
    if (Problem.is(error)) return because(`${error.code}:${error.headers['Retry-After'] ?? ''}`)
    reportFault(error)
    return because('internal')
  }
}

export interface NextAuthDeps {
  accounts: IdentityAccounts & {
    signIn(
      credentials: { email: string; password: string; code?: string | undefined },
      visit: SignInVisit,
    ): Promise<OpenSession | undefined>
    signInWithPasskey(response: string, visit: SignInVisit): Promise<OpenSession | undefined>
    closeSession(sessionId: string, address: string): Promise<void>
  }
  /** In addition to the password. */
  provider?: OpenIdProvider | undefined
  /** The installation's secret. */
  secret: string
  publicUrl: string
  /** The address of the client whose request is being handled, and its headers. */
  address(): string
  header(name: string): string
  /** Counts a refused sign-in by its code. */
  refused(code: string): void
  /** Logs a bug. */
  reportFault(error: unknown): void
}

/** The name of the sign-in with a passkey in next-auth's addresses. */
const passkeyProviderId = 'passkey'

const localeOfRequest = (header: NextAuthDeps['header']): Locale => {
  const chosen = /(?:^|;\s*)locale=(en|zh)(?:;|$)/.exec(header('cookie'))?.[1]
  return chosen === 'en' || chosen === 'zh' ? chosen : localeOf(header('accept-language'))
}

/**
 * The error for the sign-in page, and its code for the metrics: the problem's code, and after how many seconds to try again.
 */
function refusalOf(error: unknown): { code: string; text: string } {
  if (error instanceof SecondFactorRefusal)
    return { code: `second_factor_${error.reason}`, text: `second_factor_${error.reason}:` }
  return Problem.is(error)
    ? { code: error.code, text: `${error.code}:${error.headers['Retry-After'] ?? ''}` }
    : { code: 'internal', text: 'internal:' }
}

/** The error code of an identity provider or of the validation of its response (RFC 6749 §5.2); its message may contain anything. */
function protocolCode(cause: unknown): string {
  const field = (of: unknown, name: string): unknown =>
    typeof of === 'object' && of !== null ? Object.getOwnPropertyDescriptor(of, name)?.value : undefined
  const error = field(cause, 'error') ?? cause
  const code = field(error, 'error') ?? field(error, 'code') ?? field(error, 'name')
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? ` ${code}` : ''
}

/**
 * Sign-in with email and password, and with an OpenID provider if one is configured. The cookie contains only the ids of account and
 * session, encrypted. Every request checks in the database whether the session still exists.
 */
export function nextAuthOptions(deps: NextAuthDeps): NextAuthOptions {
  const { accounts, provider, secret, publicUrl, address, header, refused, reportFault } = deps
  const visit = (): SignInVisit => ({
    address: address(),
    limitKey: limitKeyOf(address()),
    userAgent: header('user-agent'),
    locale: localeOfRequest(header),
  })
  /** Opens a session, and translates a refusal into next-auth's error. Null for wrong credentials. */
  async function authorized(open: () => Promise<OpenSession | undefined>) {
    try {
      const opened = await open()
      if (opened) return { id: opened.accountId, sid: opened.sessionId }
      refused('sign_in_failed')
      return null
    } catch (error) {
      const { code, text } = refusalOf(error)
      refused(code)
      if (!(Problem.is(error) || error instanceof SecondFactorRefusal)) reportFault(error)
      // next-auth puts the message into its response.
      throw new Error(text, { cause: error })
    }
  }
  const maxAge = sessionLife / 1000
  const isSecure = publicUrl.startsWith('https:')
  return {
    secret: sessionSecret(secret),
    session: { strategy: 'jwt', maxAge },
    jwt: { maxAge },
    useSecureCookies: isSecure,
    cookies: {
      sessionToken: {
        name: sessionCookieName(publicUrl),
        options: { httpOnly: true, sameSite: 'lax', path: '/', secure: isSecure },
      },
    },
    // next-auth's own logger prints its arguments. An unreadable cookie is not an error of ours.
    logger: {
      error: (code, cause) =>
        code !== 'JWT_SESSION_ERROR' && reportFault(new Error(`next-auth: ${code}${protocolCode(cause)}`)),
      warn() {},
      debug() {},
    },
    pages: { signIn: '/sign-in', error: '/sign-in', signOut: '/account' },
    providers: [
      {
        id: 'credentials',
        type: 'credentials',
        name: 'Password',
        credentials: { email: { type: 'email' }, password: { type: 'password' }, code: { type: 'text' } },
        async authorize(given) {
          const { email, password, code } = given ?? {}
          if (typeof email !== 'string' || typeof password !== 'string') return null
          return authorized(() =>
            accounts.signIn({ email, password, code: typeof code === 'string' ? code : undefined }, visit()),
          )
        },
      },
      {
        id: passkeyProviderId,
        type: 'credentials',
        name: 'Passkey',
        credentials: { response: { type: 'text' } },
        async authorize(given) {
          const response = given?.response
          return typeof response === 'string' ? authorized(() => accounts.signInWithPasskey(response, visit())) : null
        },
      },
      ...(provider ? [identityProvider(provider)] : []),
    ],
    callbacks: {
      // Called only after the provider's response was validated; a refusal is the address to redirect to.
      signIn: ({ user, account, profile }) =>
        account?.provider !== providerId || identitySignIn(deps, { user, profile, visit: visit() }),
      jwt: ({ token, user }) => (user && 'sid' in user ? { sub: user.id, sid: user.sid } : token),
      session: ({ session }) => ({ expires: session.expires }),
    },
    events: {
      async signOut({ token }) {
        if (typeof token?.sid === 'string') await accounts.closeSession(token.sid, address())
      },
    },
  }
}
