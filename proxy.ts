import { randomBytes } from 'node:crypto'
import { type NextRequest, NextResponse } from 'next/server'
import { toastStyleHashes } from '#components/ui/toast-policy.ts'
import { publicUrl, readEnv } from '#lib/config/env.ts'

let known: { isSecure: boolean; isDevelopment: boolean } | undefined
const installation = () => {
  if (known) return known
  const env = readEnv()
  known = { isSecure: publicUrl(env).startsWith('https:'), isDevelopment: env.NODE_ENV === 'development' }
  return known
}

const toastStyles = toastStyleHashes.map((hash) => `'${hash}'`).join(' ')

/** Content Security Policy: resources only from this origin, and inline scripts and styles only with the nonce of this response. */
const policy = (
  nonce: string,
  { isSecure, isDevelopment }: { isSecure: boolean; isDevelopment: boolean },
  framedBy: readonly string[],
): string =>
  [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? " 'unsafe-eval'" : ''}`,
    `style-src 'self' ${isDevelopment ? "'unsafe-inline'" : `'nonce-${nonce}' ${toastStyles}`}`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    `frame-ancestors ${framedBy.length === 0 ? "'none'" : framedBy.join(' ')}`,
    ...(isSecure ? ['upgrade-insecure-requests'] : []),
  ].join('; ')

/** Origins that may show this page in a frame: those that an admin listed for the embedded request form, and none for all other pages. */
async function framingOrigins(path: string): Promise<readonly string[]> {
  if (path !== '/embed/request') return []
  // Without the application or its database, nobody may.
  const settings = await globalThis.knowledgePulse?.settings.requestForm().catch(() => undefined)
  return settings?.is_on ? settings.origins : []
}

/** Sets the headers of every page. Does not check access. */
export async function proxy(request: NextRequest) {
  const nonce = randomBytes(18).toString('base64')
  const settings = installation()
  const framedBy = await framingOrigins(request.nextUrl.pathname)
  const csp = policy(nonce, settings, framedBy)
  const headers = new Headers(request.headers)
  headers.set('x-nonce', nonce)
  // The page to return to after sign-in.
  headers.set('x-path', `${request.nextUrl.pathname}${request.nextUrl.search}`)
  headers.set('content-security-policy', csp)
  const response = NextResponse.next({ request: { headers } })
  response.headers.set('content-security-policy', csp)
  if (framedBy.length === 0) response.headers.set('x-frame-options', 'DENY')
  response.headers.set('x-content-type-options', 'nosniff')
  // Anyone with a receipt's URL may read the receipt, so other sites must not receive it.
  response.headers.set('referrer-policy', 'same-origin')
  response.headers.set('cross-origin-opener-policy', 'same-origin')
  response.headers.set(
    'permissions-policy',
    'camera=(), geolocation=(), microphone=(), payment=(), usb=(), interest-cohort=()',
  )
  if (settings.isSecure) response.headers.set('strict-transport-security', 'max-age=63072000; includeSubDomains')
  return response
}

export const config = {
  matcher: [
    '/((?!v1/|api/|_next/static|_next/image|openapi\\.json|\\.well-known|health$|ready$|metrics$|icon\\.svg).*)',
  ],
}
