import type { NextAuthOptions } from 'next-auth'
import { type Locale, localeOf, sessionLife } from '#lib/domains/accounts/rules.ts'
import type { OpenSession, Visit } from '#lib/domains/accounts/sign-in.ts'
import type { OpenIdProvider } from '#lib/env.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { limitKeyOf } from './client-address.ts'
import { type IdentityAccounts, identityProvider, identitySignIn, providerId } from './openid.ts'
import { sessionCookieName, sessionSecret } from './sessions.ts'

export interface NextAuthParts {
  accounts: IdentityAccounts & {
    signIn(credentials: { email: string; password: string }, visit: Visit): Promise<OpenSession | undefined>
    closeSession(sessionId: string, address: string): Promise<void>
  }
  /** Beside the password. */
  provider?: OpenIdProvider | undefined
  /** The installation's. */
  secret: string
  publicUrl: string
  /** The address of the client whose request is being answered, and its headers. */
  address(): string
  header(name: string): string
  /** Counts a refusal by its code. */
  refused(code: string): void
  /** Writes a bug to the log. */
  reportFault(error: unknown): void
}

const localeOfRequest = (header: NextAuthParts['header']): Locale => {
  const chosen = /(?:^|;\s*)locale=(en|zh)(?:;|$)/.exec(header('cookie'))?.[1]
  return chosen === 'en' || chosen === 'zh' ? chosen : localeOf(header('accept-language'))
}

/** What the sign-in page reads of a refusal: the problem's code, and after how many seconds to try again. */
const refusalText = ({ code, headers }: Problem): string => `${code}:${headers['Retry-After'] ?? ''}`

/** What an identity provider, or the check of its answer, calls the fault (RFC 6749 §5.2); its own words may hold anything. */
function protocolCode(cause: unknown): string {
  const field = (of: unknown, name: string): unknown =>
    typeof of === 'object' && of !== null ? Object.getOwnPropertyDescriptor(of, name)?.value : undefined
  const error = field(cause, 'error') ?? cause
  const code = field(error, 'error') ?? field(error, 'code') ?? field(error, 'name')
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? ` ${code}` : ''
}

/**
 * Sign-in with e-mail and password, and with an OpenID provider where there is one. The cookie carries the account's and the session's id, encrypted, and nothing else; whether
 * the session still stands is asked of the database on every request.
 */
export function nextAuthOptions(parts: NextAuthParts): NextAuthOptions {
  const { accounts, provider, secret, publicUrl, address, header, refused, reportFault } = parts
  const visit = (): Visit => ({
    address: address(),
    limitKey: limitKeyOf(address()),
    userAgent: header('user-agent'),
    locale: localeOfRequest(header),
  })
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
    // Its own logger prints what it was given; a cookie that cannot be read is no fault of ours.
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
        credentials: { email: { type: 'email' }, password: { type: 'password' } },
        async authorize(given) {
          if (typeof given?.email !== 'string' || typeof given.password !== 'string') return null
          try {
            const opened = await accounts.signIn({ email: given.email, password: given.password }, visit())
            if (opened) return { id: opened.accountId, sid: opened.sessionId }
            refused('sign_in_failed')
            return null
          } catch (error) {
            refused(Problem.is(error) ? error.code : 'internal')
            if (!Problem.is(error)) reportFault(error)
            // next-auth puts the message into its answer.
            throw new Error(Problem.is(error) ? refusalText(error) : 'internal:', { cause: error })
          }
        },
      },
      ...(provider ? [identityProvider(provider)] : []),
    ],
    callbacks: {
      // Only after the provider's answer was checked; a refusal is the address to go to.
      signIn: ({ user, account, profile }) =>
        account?.provider !== providerId || identitySignIn(parts, { user, profile, visit: visit() }),
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
