import { encode } from 'next-auth/jwt'
import type { z } from 'zod'
import { sessionSecret } from '#lib/access/sessions.ts'
import type { App } from '#lib/app.ts'
import type { RequestInput } from '#lib/client/request.ts'
import { publicUrl } from '#lib/config/env.ts'
import type { Locale } from '#lib/domains/accounts/rules.ts'
import type { ApiRequest, ApiResponse } from '#lib/http/api-request.ts'
import { limitKeyOf } from '#lib/kernel/network-keys.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'

/** Credentials and address of a client. */
export interface Visitor {
  token?: string
  cookie?: string
  address: string
}

/** A response with a status other than 2xx. The story expects some. */
export class Refused extends Error {
  readonly status: number
  readonly code: string
  constructor(operation: string, status: number, code: string, text: string) {
    super(`${operation} answered ${status}: ${text}`)
    this.status = status
    this.code = code
  }
}

async function textOf(body: ApiResponse['body']): Promise<string> {
  if (body === null || typeof body === 'string') return body ?? ''
  if (body instanceof Uint8Array) return Buffer.from(body).toString('utf8')
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(typeof piece === 'string' ? Buffer.from(piece) : piece)
  return Buffer.concat(pieces).toString('utf8')
}
async function* sent(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
const codeOf = (text: string): string => /"code":\s*"(\w+)"/.exec(text)?.[1] ?? 'unknown'

/**
 * Sends requests like a client, but without a socket: authentication, limits, the pipeline and audit entries are those
 * of the production server.
 */
export function visits(app: App) {
  const useCases = new Map(app.useCases.map((useCase) => [useCase.operation.id, useCase]))
  const origin = publicUrl(app.env)

  return async function ask<const O extends OperationShape>(
    { token, cookie, address }: Visitor,
    operation: O,
    parts: RequestInput<O> & { upload?: { mediaType: string; bytes: string } } = {},
  ): Promise<z.output<O['output']>> {
    const {
      params = {},
      query = {},
      body,
      upload,
    }: {
      params?: object | undefined
      query?: object | undefined
      body?: unknown
      upload?: { mediaType: string; bytes: string }
    } = parts
    const useCase = useCases.get(operation.id)
    if (!useCase) throw new Error(`nothing offers ${operation.id}`)
    const given: Record<string, string> = Object.fromEntries(
      Object.entries(params).map(([name, value]) => [name, String(value)]),
    )
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(given[name] ?? ''))
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
    ).toString()
    const text = upload?.bytes ?? (body === undefined ? undefined : JSON.stringify(body))
    const headers = new Headers({
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(cookie !== undefined && { cookie, origin }),
      ...(text !== undefined && {
        'content-type': upload?.mediaType ?? 'application/json',
        'content-length': String(Buffer.byteLength(text)),
      }),
    })
    const request: ApiRequest = {
      method: operation.method.toUpperCase(),
      url: search === '' ? path : `${path}?${search}`,
      headers,
      body: text === undefined ? null : sent(text),
    }
    const answer = await app.handle(useCase, request, { params: given, address })
    const told = await textOf(answer.body)
    if (answer.status >= 400) throw new Refused(operation.id, answer.status, codeOf(told), told)
    // The demo reads only JSON responses.
    if (operation.produces || answer.status === 204) return undefined as z.output<O['output']>
    return operation.output.parse(told === '' ? undefined : JSON.parse(told)) as z.output<O['output']>
  }
}
export type VisitCall = ReturnType<typeof visits>

export interface Signing {
  email: string
  password: string
  address: string
  locale: Locale
}
/** Signs a person in with the password, like the sign-in page. Returns the cookie. The session expires by the story's clock. */
export async function signInForVisit(
  app: App,
  secret: string,
  { email, password, address, locale }: Signing,
): Promise<{ cookie: string; expiresAt: Date }> {
  const visit = { address, limitKey: limitKeyOf(address), userAgent: browser, locale }
  const opened = await app.accounts.signIn({ email, password }, visit)
  if (!opened) throw new Error('a person of the demo cannot sign in')
  const token = { sub: opened.accountId, sid: opened.sessionId }
  const value = await encode({ token, secret: sessionSecret(secret), maxAge: 86_400 })
  return { cookie: `next-auth.session-token=${value}`, expiresAt: opened.expiresAt }
}
const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
