import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { App } from '#lib/app.ts'

// Node returns all exports of a CommonJS package as the default import. Bundlers return `exports.default`, as the
// types say.
const NextAuth: typeof import('next-auth').default = createRequire(import.meta.url)('next-auth').default

const cookiesOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    (headers.cookie ?? '')
      .split(';')
      .filter((pair) => pair.includes('='))
      .map((pair) => [pair.slice(0, pair.indexOf('=')).trim(), decodeURIComponent(pair.slice(pair.indexOf('=') + 1))]),
  )

/** Replaces Next for sign-in in tests: the real next-auth answers `/api/auth/…`, and everything else returns 404. */
export const authPages =
  (app: App) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    if (!url.pathname.startsWith('/api/auth/')) {
      response.writeHead(404).end('a page')
      return
    }
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += String(piece)
    const unused = () => {
      throw new Error('next-auth does not use this')
    }
    const asked = Object.assign(request, {
      query: { ...Object.fromEntries(url.searchParams), nextauth: url.pathname.split('/').slice(3) },
      cookies: cookiesOf(request),
      body: Object.fromEntries(new URLSearchParams(text)),
      env: {},
    })
    const answer = Object.assign(response, {
      status(code: number) {
        response.statusCode = code
        return answer
      },
      json(body: unknown) {
        response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body))
      },
      send(body: unknown) {
        if (typeof body === 'string' || body === undefined) response.end(body)
        else answer.json(body)
      },
      redirect: unused,
      setDraftMode: unused,
      setPreviewData: unused,
      clearPreviewData: unused,
      revalidate: unused,
    })
    await NextAuth(asked, answer, app.authOptions({ get: (name) => String(request.headers[name] ?? '') }))
  }
