import type { NextAuthOptions } from 'next-auth'
import { type Locale, localeOf, sessionLife } from '#lib/domains/accounts/rules.ts'
import type { OpenSession, Visit } from '#lib/domains/accounts/sign-in.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { limitKeyOf } from './client-address.ts'
import { sessionSecret } from './sessions.ts'

export interface NextAuthParts {
  accounts: {
    signIn(credentials: { email: string; password: string }, visit: Visit): Promise<OpenSession | undefined>
    closeSession(sessionId: string, address: string): Promise<void>
  }
  /** The installation's. */
  secret: string
  publicUrl: string
  /** The address of the client whose request is being answered. */
  address(): string
  /** Counts a refusal by its code. */
  refused(code: string): void
  /** Writes a bug to the log. */
  reportFault(error: unknown): void
}

const headerText = (headers: Record<string, unknown> | undefined, name: string): string => {
  const value = headers?.[name]
  return typeof value === 'string' ? value : ''
}
const localeOfRequest = (headers: Record<string, unknown> | undefined): Locale => {
  const chosen = /(?:^|;\s*)locale=(en|zh)(?:;|$)/.exec(headerText(headers, 'cookie'))?.[1]
  return chosen === 'en' || chosen === 'zh' ? chosen : localeOf(headerText(headers, 'accept-language'))
}

/** What the sign-in page reads of a refusal: the problem's code, and after how many seconds to try again. */
const refusalText = ({ code, headers }: Problem): string => `${code}:${headers['Retry-After'] ?? ''}`

/**
 * Sign-in with e-mail and password. The cookie carries the account's and the session's id, encrypted, and nothing else; whether
 * the session still stands is asked of the database on every request.
 */
export function nextAuthOptions(parts: NextAuthParts): NextAuthOptions {
  const { accounts, secret, publicUrl, address, refused, reportFault } = parts
  const maxAge = sessionLife / 1000
  return {
    secret: sessionSecret(secret),
    session: { strategy: 'jwt', maxAge },
    jwt: { maxAge },
    useSecureCookies: publicUrl.startsWith('https:'),
    // Its own logger prints what it was given; a cookie that cannot be read is no fault of ours.
    logger: {
      error: (code) => code !== 'JWT_SESSION_ERROR' && reportFault(new Error(`next-auth: ${code}`)),
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
        async authorize(given, request) {
          if (typeof given?.email !== 'string' || typeof given.password !== 'string') return null
          const visit = {
            address: address(),
            limitKey: limitKeyOf(address()),
            userAgent: headerText(request.headers, 'user-agent'),
            locale: localeOfRequest(request.headers),
          }
          try {
            const opened = await accounts.signIn({ email: given.email, password: given.password }, visit)
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
    ],
    callbacks: {
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
