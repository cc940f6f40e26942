import { RequestRefused } from './request.ts'

type SignInRefusal =
  | 'wrong'
  | 'cookies'
  | 'second_factor_needed'
  | 'second_factor_wrong'
  | 'passkey'
  | 'rate_limited'
  | 'unavailable'
  | 'fenced'
  | 'closed'
  | 'uninvited'
  | 'unverified'
  | 'unlinked'
  | 'unaccepted'
  | 'provider'
  | 'unreachable'
  | 'internal'

/** Why a sign-in failed. `retryAfter`: seconds until a retry is useful. */
export class SignInRefused extends Error {
  readonly reason: SignInRefusal
  readonly retryAfter: number | undefined
  constructor(reason: SignInRefusal, retryAfter?: number) {
    super(reason)
    this.name = 'SignInRefused'
    this.reason = reason
    this.retryAfter = retryAfter
  }
}

/** Where to sign in. By default the current page's origin. A program passes the origin and a fetch function that stores cookies. */
export interface SignInTarget {
  baseUrl: string
  fetch: typeof fetch
}

async function answer(
  path: string,
  target: SignInTarget | undefined,
  init?: RequestInit,
): Promise<Record<string, unknown>> {
  try {
    const response = await (target?.fetch ?? fetch)((target?.baseUrl ?? '') + path, init)
    const body: unknown = await response.json()
    return typeof body === 'object' && body !== null ? { ...body } : {}
  } catch (cause) {
    throw new RequestRefused({ title: 'No response', status: 0, code: 'unreachable' }, { cause })
  }
}

/** next-auth requires a form with its CSRF token and answers with the URL to open. */
async function post(path: string, fields: Record<string, string>, target: SignInTarget | undefined): Promise<URL> {
  const { csrfToken } = await answer('/api/auth/csrf', target)
  const body = new URLSearchParams({ ...fields, csrfToken: String(csrfToken), json: 'true' })
  const { url } = await answer(path, target, { method: 'POST', body })
  const next = new URL(String(url ?? ''), target?.baseUrl ?? window.location.origin)
  // Without its cookie, next-auth redirects to its own form.
  if (next.searchParams.has('csrf')) throw new SignInRefused('cookies')
  return next
}

/**
 * Opens a session. The browser or the given fetch then has its cookie. `code`: of an authenticator app, or a recovery code, after a
 * refusal with the reason `second_factor_needed`. @throws SignInRefused
 */
export const signInWithPassword = (
  { code, ...credentials }: { email: string; password: string; code?: string | undefined },
  target?: SignInTarget,
): Promise<void> => signIn('credentials', { ...credentials, ...(code !== undefined && { code }) }, target)

/** Opens a session with the JSON of a passkey's response. @throws SignInRefused */
export const signInWithPasskey = (response: string, target?: SignInTarget): Promise<void> =>
  signIn('passkey', { response }, target)

async function signIn(
  provider: 'credentials' | 'passkey',
  fields: Record<string, string>,
  target: SignInTarget | undefined,
): Promise<void> {
  let next: URL
  try {
    next = await post(`/api/auth/callback/${provider}`, fields, target)
  } catch (error) {
    throw error instanceof SignInRefused ? error : new SignInRefused('unreachable')
  }
  const error = next.searchParams.get('error')
  if (error === null) return
  throw provider === 'passkey' && error === 'CredentialsSignin' ? new SignInRefused('passkey') : signInRefusal(error)
}

/** next-auth's codes for errors of an identity provider. */
const providerFaults = new Set(['OAuthSignin', 'OAuthCallback', 'Callback', 'AccessDenied', 'provider'])

const namedRefusals = [
  'second_factor_needed',
  'second_factor_wrong',
  'fenced',
  'uninvited',
  'unverified',
  'unlinked',
  'unaccepted',
] as const

/** Why a sign-in failed, from the `error` parameter of the sign-in page. */
export function signInRefusal(error: string): SignInRefused {
  const [code = '', seconds = ''] = error.split(':')
  if (code === 'CredentialsSignin') return new SignInRefused('wrong')
  if (code === 'rate_limited' || code === 'unavailable') return new SignInRefused(code, Number(seconds) || undefined)
  if (code === 'forbidden') return new SignInRefused('closed')
  if (providerFaults.has(code)) return new SignInRefused('provider')
  return new SignInRefused(namedRefusals.find((one) => one === code) ?? 'internal')
}

/** The identity provider's URL. After the sign-in, the browser returns to the path `next`. @throws SignInRefused */
export async function providerAddress(next: string): Promise<string> {
  const url = await post('/api/auth/signin/oidc', { callbackUrl: next }, undefined)
  const error = url.searchParams.get('error')
  if (url.origin === window.location.origin && error !== null) throw signInRefusal(error)
  return url.href
}

/** Ends the session in the browser and on the server. */
export async function signOut(target?: SignInTarget): Promise<void> {
  await post('/api/auth/signout', {}, target)
}
