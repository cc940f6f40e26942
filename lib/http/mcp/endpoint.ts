import type { AuthInfo, McpHttpHandler } from '@modelcontextprotocol/server'
import type { Access } from '#lib/access/access.ts'
import type { RateLimitWindow } from '#lib/access/limiter.ts'
import { tokenScopes } from '#lib/domains/tokens/rules.ts'
import { readBytes } from '#lib/http/api-request.ts'
import { memoize } from '#lib/kernel/concurrency.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'
import type { ApiRequest, ApiResponse } from '../api-request.ts'
import { type Handle, isOwnName, plainHeaders, refusalResponse } from '../handle.ts'
import { type CallParts, type Refusal, type ToolCalls, ToolRefused } from './tools.ts'

export const mcpPath = '/mcp'
/** RFC 9728 §3.1: the path of the resource follows the well-known name. Clients also try it without the path. */
export const resourceMetadataPaths = [
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-protected-resource',
] as const

export type PlainEndpoint = (request: ApiRequest, address: string) => Promise<ApiResponse>

/** The size of a message around a unit or skill, in bytes. */
const envelope = 64 * 1024
/** Long-lived streams of one process. Tools do not change, so that none is ever sent a message. */
const maxStreams = 64

const textsOf = (part: unknown): [string, string][] =>
  Object.entries(part ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** The body as text; undefined if it is longer than `max` bytes. */
async function textOf(body: ApiResponse['body'], max = Number.POSITIVE_INFINITY): Promise<string | undefined> {
  if (body === null || typeof body === 'string') return body ?? ''
  const parts: Uint8Array[] = []
  let size = 0
  for await (const piece of body instanceof Uint8Array ? [body] : body) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    size += bytes.byteLength
    // Leaving the loop closes the cursor of the stream.
    if (size > max) return undefined
    parts.push(bytes)
  }
  return Buffer.concat(parts).toString('utf8')
}

function refusalOf(text: string, headers: Record<string, string>): Refusal {
  const { code, detail, title, issues, instance } = JSON.parse(text) as Record<string, string>
  const after = Number(headers['Retry-After'] ?? Number.NaN)
  return {
    code: code ?? 'unknown',
    detail: detail ?? title ?? 'The registry refused the call.',
    ...(issues !== undefined && { issues }),
    request_id: instance,
    ...(Number.isFinite(after) && { retry_after: after }),
  }
}

/** Calls operations as HTTP would, with the token of the request: identity, limits, body bounds, pipeline and audit. */
function inProcess(
  handle: Handle,
  useCases: ReadonlyMap<string, UseCase>,
  authorization: string,
  address: string,
): ToolCalls {
  async function open<O extends OperationShape>(operation: O, { params, query, body }: CallParts<O>) {
    const useCase = useCases.get(operation.id)
    if (!useCase) throw new Error(`The tool calls ${operation.id}, which the application does not have.`)
    const search = new URLSearchParams(textsOf(query))
    const headers = new Headers({ authorization, 'content-type': 'application/json' })
    const response = await handle(
      useCase,
      {
        method: operation.method.toUpperCase(),
        url: `${operation.path}${search.size > 0 ? `?${search}` : ''}`,
        headers,
        body: body === undefined ? null : pieces(Buffer.from(JSON.stringify(body))),
        hasArrived: () => true,
      },
      { params: Object.fromEntries(textsOf(params)), address },
    )
    if (response.status >= 400)
      throw new ToolRefused(refusalOf((await textOf(response.body)) ?? '{}', response.headers))
    return response
  }
  return {
    call: async (operation, parts = {}) => {
      const { body } = await open(operation, parts)
      return { body: JSON.parse((await textOf(body)) ?? 'null') }
    },
    read: async (operation, parts, max) => textOf((await open(operation, parts)).body, max),
  }
}

/** @throws Problem if a page of another site sent the message, or if the name is not one of this server (DNS rebinding) */
function refuseForeign({ headers }: ApiRequest, origin: string): void {
  const host = headers.get('host')?.toLowerCase() ?? ''
  const isOurs =
    host === new URL(origin).host || (URL.canParse(`http://${host}`) && isOwnName(new URL(`http://${host}`)))
  if (!isOurs)
    throw new Problem(
      'misdirected',
      'This server does not serve MCP for this host. If it is the right name, set KP_URL.',
    )
  const from = headers.get('origin')
  if (from === null || from === origin) return
  const page = URL.canParse(from) ? new URL(from) : undefined
  if (page && page.host === host && isOwnName(page)) return
  throw new Problem('cross_site', 'The message came from a page of another website.')
}

/** A tool of the process answers with the response of the web; the API server sends it piece by piece. */
async function* streamed(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) yield piece
}

/**
 * `/mcp`: Streamable HTTP for clients of revision 2026-07-28 and, without sessions, for those of 2025. Every message needs a token
 * of the registry.
 */
export function createMcp(deps: {
  access: Pick<Access, 'identify'>
  /** Throws while nothing may be served. */
  admit(): Promise<unknown>
  /** Counts a message in the rate limit of its address. Calls of tools also count in the limits of the token. */
  countPage(address: string): Promise<RateLimitWindow>
  handle: Handle
  origin: string
  version: string
  useCases(): readonly UseCase[]
}) {
  const { access, admit, countPage, handle, origin, version } = deps
  const named = memoize(() => new Map(deps.useCases().map((useCase) => [useCase.operation.id, useCase])))
  const callers = new WeakMap<AuthInfo, ToolCalls>()
  let isOpen = false
  /** Loaded with the first message: most processes serve none. */
  const handler = memoize(async (): Promise<McpHttpHandler> => {
    const [{ createMcpHandler }, { mcpServer }] = await Promise.all([
      import('@modelcontextprotocol/server'),
      import('./server.ts'),
    ])
    isOpen = true
    return createMcpHandler(
      ({ authInfo }) => {
        const calls = authInfo && callers.get(authInfo)
        if (!calls) throw new Error('A message without its caller reached the MCP server.')
        return mcpServer(calls, { origin, version })
      },
      // Bounded before: by the size that the tier of the token allows.
      { maxRequestBodySize: Number.MAX_SAFE_INTEGER, maxSubscriptions: maxStreams },
    )
  })
  const metadata = JSON.stringify({
    resource: `${origin}${mcpPath}`,
    resource_name: 'KnowledgePulse',
    resource_documentation: `${origin}/docs/api`,
    bearer_methods_supported: ['header'],
    scopes_supported: tokenScopes,
  })
  const challengeOf = ({ headers }: Problem): Record<string, string> => ({
    'WWW-Authenticate': `${headers['WWW-Authenticate'] ?? 'Bearer realm="KnowledgePulse"'}, resource_metadata="${origin}${resourceMetadataPaths[0]}"`,
  })

  async function answer(request: ApiRequest, address: string): Promise<ApiResponse> {
    const window = await countPage(address)
    if (!window.allowed)
      throw new Problem('rate_limited', {
        detail: `One network address may send ${window.limit.toLocaleString('en')} messages per minute. Wait, then try again.`,
        headers: { 'Retry-After': String(Math.max(1, Math.ceil((window.resetAt.getTime() - Date.now()) / 1000))) },
      })
    refuseForeign(request, origin)
    await admit()
    // Only tokens: a browser sends the session of a person by itself.
    const authorization = request.headers.get('authorization')
    if (authorization === null)
      throw new Problem('token_missing', 'Send the token of an agent as "Authorization: Bearer kp_…".')
    const only = { headers: { get: (name: string) => (name === 'authorization' ? authorization : null) } }
    const { actor } = await access.identify(only, address, {
      id: 'mcp',
      method: 'post',
      permission: 'mcp:self',
    })
    if (request.method !== 'POST')
      throw new Problem('method_not_allowed', {
        detail: 'Send messages with POST. This server has no sessions and no stream of its own messages.',
        headers: { Allow: 'POST' },
      })
    const bytes = await readBytes(request, actor.quota.unitBytes + envelope)
    const headers = new Headers()
    for (const name of ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'host', 'origin']) {
      const value = request.headers.get(name)
      if (value !== null) headers.set(name, value)
    }
    const asked = new Request(`${origin}${mcpPath}`, { method: 'POST', headers, body: new Uint8Array(bytes) })
    const authInfo: AuthInfo = { token: authorization, clientId: actor.id, scopes: [...actor.scopes] }
    callers.set(authInfo, inProcess(handle, named(), authorization, address))
    const made = await (await handler()).fetch(asked, { authInfo })
    return {
      status: made.status,
      headers: { ...Object.fromEntries(made.headers), ...plainHeaders(newId('req')), 'KP-Content-Trust': 'untrusted' },
      body: made.body && streamed(made.body),
    }
  }

  const endpoint: PlainEndpoint = (request, address) =>
    answer(request, address).catch((error: unknown) => {
      const requestId = newId('req')
      const challenge = Problem.is(error) && error.status === 401 ? challengeOf(error) : {}
      const refused = refusalResponse(error, 'mcp', requestId, plainHeaders(requestId))
      return { ...refused, headers: { ...refused.headers, ...challenge } }
    })

  return {
    endpoint,
    /** Says which tokens `/mcp` takes (RFC 9728). Public, and without a lookup. */
    metadata: async (): Promise<ApiResponse> => ({
      status: 200,
      headers: {
        ...plainHeaders(newId('req')),
        'Content-Type': 'application/json',
        'Cache-Control': 'public, max-age=300',
        'Access-Control-Allow-Origin': '*',
      },
      body: metadata,
    }),
    close: async (): Promise<void> => {
      if (isOpen) await (await handler()).close()
    },
  }
}
