import type { Profile, User } from 'next-auth'
import type { OAuthConfig } from 'next-auth/providers/oauth'
import type { OpenIdProvider } from '#lib/config/env.ts'
import type { Identified, IdentityRefusal } from '#lib/domains/accounts/identities.ts'
import type { OpenSession, SignInVisit } from '#lib/domains/accounts/sign-in.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { isOneFactor } from './authentication-methods.ts'

/** Part of the redirect URI: `/api/auth/callback/oidc`. */
export const providerId = 'oidc'

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
export async function identitySignIn(
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
