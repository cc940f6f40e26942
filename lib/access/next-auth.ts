import type { NextAuthOptions } from 'next-auth'
import type { OpenIdProvider } from '#lib/config/env.ts'
import { type Locale, localeOf, sessionLife } from '#lib/domains/accounts/rules.ts'
import { SecondFactorRefusal } from '#lib/domains/accounts/second-factors/verification.ts'
import type { OpenSession, SignInVisit } from '#lib/domains/accounts/sign-in.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { limitKeyOf } from './client-address.ts'
import { type IdentityAccounts, identityProvider, identitySignIn, providerId } from './openid.ts'
import { sessionCookieName, sessionSecret } from './sessions.ts'

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
