import { randomBytes } from 'node:crypto'
import { type NextRequest, NextResponse } from 'next/server'
import { publicUrl, readEnv } from '#lib/env.ts'

let known: { isSecure: boolean; isDevelopment: boolean } | undefined
const installation = () => {
  if (known) return known
  const env = readEnv()
  known = { isSecure: publicUrl(env).startsWith('https:'), isDevelopment: env.NODE_ENV === 'development' }
  return known
}

/** Scripts and styles come from us, and inline ones carry this answer's nonce; nothing is loaded from, or sent to, anybody else. */
const policy = (nonce: string, { isSecure, isDevelopment }: { isSecure: boolean; isDevelopment: boolean }): string =>
  [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? " 'unsafe-eval'" : ''}`,
    `style-src 'self' ${isDevelopment ? "'unsafe-inline'" : `'nonce-${nonce}'`}`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    ...(isSecure ? ['upgrade-insecure-requests'] : []),
  ].join('; ')

/** Headers of every page. It decides nothing about who may see what. */
export function proxy(request: NextRequest) {
  const nonce = randomBytes(18).toString('base64')
  const settings = installation()
  const csp = policy(nonce, settings)
  const headers = new Headers(request.headers)
  headers.set('x-nonce', nonce)
  // Where to come back to after signing in.
  headers.set('x-path', `${request.nextUrl.pathname}${request.nextUrl.search}`)
  headers.set('content-security-policy', csp)
  const response = NextResponse.next({ request: { headers } })
  response.headers.set('content-security-policy', csp)
  response.headers.set('x-frame-options', 'DENY')
  response.headers.set('x-content-type-options', 'nosniff')
  // A receipt's address is the right to read it: it goes to no other site.
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
