import { RequestRefused } from './request.ts'

type SignInRefusal =
  | 'wrong'
  | 'cookies'
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

/** Why nobody was signed in. `retryAfter` in seconds, where waiting helps. */
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

/** Where to sign in: within our own pages, unless a program says where and brings a fetch that keeps cookies. */
export interface SignInPlace {
  baseUrl: string
  fetch: typeof fetch
}

async function answer(
  path: string,
  place: SignInPlace | undefined,
  init?: RequestInit,
): Promise<Record<string, unknown>> {
  try {
    const response = await (place?.fetch ?? fetch)((place?.baseUrl ?? '') + path, init)
    const body: unknown = await response.json()
    return typeof body === 'object' && body !== null ? { ...body } : {}
  } catch (cause) {
    throw new RequestRefused({ title: 'No answer', status: 0, code: 'unreachable' }, { cause })
  }
}

/** next-auth takes a form with its own token against requests from other sites, and answers with the address to go to. */
async function post(path: string, fields: Record<string, string>, place: SignInPlace | undefined): Promise<URL> {
  const { csrfToken } = await answer('/api/auth/csrf', place)
  const body = new URLSearchParams({ ...fields, csrfToken: String(csrfToken), json: 'true' })
  const { url } = await answer(path, place, { method: 'POST', body })
  const next = new URL(String(url ?? ''), place?.baseUrl ?? window.location.origin)
  // Without its cookie it sends to a form of its own.
  if (next.searchParams.has('csrf')) throw new SignInRefused('cookies')
  return next
}

/** Opens a session; the browser, or the place's fetch, has its cookie afterwards. Throws {@link SignInRefused}. */
export async function signIn(credentials: { email: string; password: string }, place?: SignInPlace): Promise<void> {
  let next: URL
  try {
    next = await post('/api/auth/callback/credentials', credentials, place)
  } catch (error) {
    throw error instanceof SignInRefused ? error : new SignInRefused('unreachable')
  }
  const error = next.searchParams.get('error')
  if (error === null) return
  throw signInRefusal(error)
}

/** What next-auth calls the faults of an identity provider, or of its answer. */
const providerFaults = new Set(['OAuthSignin', 'OAuthCallback', 'Callback', 'AccessDenied', 'provider'])

const identityRefusals = ['fenced', 'uninvited', 'unverified', 'unlinked', 'unaccepted'] as const

/** Why nobody was signed in, by what stands as `error` in the address of the sign-in page. */
export function signInRefusal(error: string): SignInRefused {
  const [code = '', seconds = ''] = error.split(':')
  if (code === 'CredentialsSignin') return new SignInRefused('wrong')
  if (code === 'rate_limited' || code === 'unavailable') return new SignInRefused(code, Number(seconds) || undefined)
  if (code === 'forbidden') return new SignInRefused('closed')
  if (providerFaults.has(code)) return new SignInRefused('provider')
  return new SignInRefused(identityRefusals.find((one) => one === code) ?? 'internal')
}

/** Where to go to sign in with the identity provider; from there the browser comes back to `next`, a path of ours. Throws {@link SignInRefused}. */
export async function providerAddress(next: string): Promise<string> {
  const url = await post('/api/auth/signin/oidc', { callbackUrl: next }, undefined)
  const error = url.searchParams.get('error')
  if (url.origin === window.location.origin && error !== null) throw signInRefusal(error)
  return url.href
}

/** Ends the session, on the server too. */
export async function signOut(place?: SignInPlace): Promise<void> {
  await post('/api/auth/signout', {}, place)
}
