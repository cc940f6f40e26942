import { createHash, createHmac, randomUUID } from 'node:crypto'
import type { Access } from '#lib/access/access.ts'
import { type Caller, permittedTo } from '#lib/access/actor.ts'
import { limitHeaders } from '#lib/access/limit-headers.ts'
import { challenge } from '#lib/access/token-lookup.ts'
import type { Actor, Context, GatePorts } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import type { OperationShape, RawInput } from '#lib/kernel/operation.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mostMembers } from '#lib/kernel/storable.ts'
import type { Answer, UseCase } from '#lib/kernel/use-case.ts'
import { type BodyBounds, readJson, uploaded } from './body.ts'
import type { DoorAnswer, DoorRequest, Via } from './door.ts'
import type { Metrics } from './metrics.ts'

export interface HandlerParts {
  access: Access
  gate: GatePorts
  metrics: Metrics
  /** Our own origin, against requests that another site makes in a person's browser. */
  origin: string
  /** Keys the hashes of bodies that idempotency records keep. */
  hashKey: () => Uint8Array
  /** Told of what was carried out, once it has committed; it neither waits nor throws. */
  observe?:
    | ((
        operationId: string,
        actor: Actor,
        answered: { input: Pick<RawInput, 'body' | 'query'>; body: unknown },
      ) => void)
    | undefined
}
export type Handle = (useCase: UseCase, request: DoorRequest, via: Via) => Promise<DoorAnswer>

const defaultBodyLimit = 64 * 1024
const requestIdForm = /^[\w.:-]{1,128}$/
const keyForm = /^[\x20-\x7e]{1,255}$/

/** A batch may be as large as so many units, within what one transaction can do in its time. */
const largestBatch = 8 * 1024 * 1024

function bodyBounds({ bodyLimit = defaultBodyLimit }: OperationShape, { actor: { quota } }: Caller): BodyBounds {
  if (bodyLimit === 'unit') return { bytes: quota.unitBytes }
  if (bodyLimit === 'batch')
    return {
      bytes: Math.min(quota.unitBytes * quota.batch, largestBatch),
      members: mostMembers * Math.min(quota.batch, 100),
      isCheckedLater: true,
    }
  return { bytes: bodyLimit }
}

const queryOf = (url: string): Record<string, string> => {
  const at = url.indexOf('?')
  if (at < 0) return {}
  const query: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(url.slice(at + 1))) {
    if (Object.hasOwn(query, name)) throw invalid(['query', name], 'is given twice')
    if (value.includes('\0')) throw invalid(['query', name], 'holds a NUL character')
    query[name] = value
  }
  return query
}

const declaredOf = ({ headers }: DoorRequest): string =>
  `${headers.get('content-type') ?? ''}\n${headers.get('content-length') ?? ''}`

const headersOf = (operation: OperationShape, request: DoorRequest): Record<string, string> => {
  const named: Record<string, string> = {}
  for (const name of Object.keys(operation.headers?.shape ?? {})) {
    const value = request.headers.get(name)
    if (value !== null) named[name] = value
  }
  return named
}

/** RFC 9110 §13.1.2: weak comparison. */
const matches = (header: string | null, etag: string): boolean =>
  header !== null &&
  (header.trim() === '*' ||
    header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag.replace(/^W\//, '')))

/** A browser sends a session by itself: only our own pages may make it write. */
function refuseCrossSite(request: DoorRequest, caller: Caller, origin: string): void {
  if (caller.actor.kind !== 'person' || request.method === 'GET' || request.method === 'HEAD') return
  const from = request.headers.get('origin')
  const site = request.headers.get('sec-fetch-site')
  if (from === origin || (from === null && site === 'same-origin')) return
  throw new Problem('cross_site', 'This request did not come from a page of this installation.')
}

function idempotencyOf(
  operation: OperationShape,
  request: DoorRequest,
  caller: Caller,
  body: Uint8Array,
  hashKey: Uint8Array,
): Context['idempotency'] {
  if (operation.method !== 'post') return undefined
  const key = request.headers.get('idempotency-key')
  if (key === null) return undefined
  if (!keyForm.test(key)) throw new Problem('bad_request', 'An Idempotency-Key is 1 to 255 printable ASCII characters.')
  // Keyed: a body may hold what its plain hash would let somebody guess.
  const requestHash = createHmac('sha256', hashKey)
    .update(`${operation.id}\n${request.url.replace(/^https?:\/\/[^/]+/, '')}\n`)
    .update(body)
    .digest()
  // The key is the client's own words: what is kept of it is a hash.
  const keyHash = createHmac('sha256', hashKey).update(key).digest('hex')
  const { actor, limitKey } = caller
  // Who has no token yet is told apart by address and body. A successor by rotation shares windows with its token, and no keys.
  const own = actor.tokenId === undefined ? limitKey : `token:${actor.tokenId}`
  const scope = actor.kind === 'anonymous' ? `${limitKey}:${requestHash.toString('hex')}` : own
  return { scope, key: keyHash, requestHash }
}

function present(
  operation: OperationShape,
  request: DoorRequest,
  made: Answer,
  common: Record<string, string>,
): DoorAnswer {
  const headers: Record<string, string> = { ...common, ...made.headers }
  if (made.stream) return { status: made.status, headers, body: made.stream }
  if (made.body === undefined) return { status: made.status, headers, body: null }
  const isText = operation.produces && typeof made.body === 'string'
  const text = isText ? String(made.body) : JSON.stringify(made.body)
  headers['Content-Type'] ??= isText ? (operation.produces?.[0] ?? 'text/plain') : 'application/json'
  if (operation.method === 'get' && made.status === 200) {
    headers.ETag ??= `"${createHash('sha1').update(text).digest('base64url')}"`
    if (matches(request.headers.get('if-none-match'), headers.ETag)) {
      const { 'Content-Type': _, ...rest } = headers
      return { status: 304, headers: rest, body: null }
    }
  }
  return { status: made.status, headers, body: text }
}

/** What every answer carries, whoever gives it. */
export const plainHeaders = (requestId: string): Record<string, string> => ({
  'KP-Schema-Version': 'v1',
  'X-Request-Id': requestId,
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
})

/** Agents read these answers as part of their prompt: what others contributed is data and no order. */
const contributed = /^\/v1\/(?:knowledge|skills|sop|quarantine)(?:\/|$)/
const trustHeader = (path: string): Record<string, string> =>
  contributed.test(path) ? { 'KP-Content-Trust': 'untrusted' } : {}

/** The one way from a request to an answer: who, how often, what, done. Both doors call it. */
export function createHandle({ access, gate, metrics, origin, hashKey, observe }: HandlerParts): Handle {
  const answer: Handle = async (useCase, request, via) => {
    const { operation } = useCase
    const sent = request.headers.get('x-request-id')
    const requestId = sent !== null && requestIdForm.test(sent) ? sent : `req_${randomUUID()}`
    const common: Record<string, string> = {
      ...plainHeaders(requestId),
      ...trustHeader(operation.path),
      ...(origin.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=63072000; includeSubDomains' }),
    }
    try {
      const requestClass = operation.limit === 'write' ? 'write' : 'read'
      // A request that no window counts still says what the windows of its address are.
      Object.assign(common, limitHeaders(access.uncounted(requestClass), requestClass))
      const known = await access.identify(request, via.address, operation)
      // Who says who they are is judged by that, here as elsewhere.
      const isOpen = operation.isOpenToLocal && via.isLocal && known.actor.kind === 'anonymous'
      const caller = isOpen ? permittedTo(known, operation.permission) : known
      refuseCrossSite(request, caller, origin)
      const turnedAway = caller.actor.kind === 'anonymous' && !caller.actor.can(operation.permission)
      if (operation.limit !== 'exempt' && !turnedAway) {
        const window = await access.count(caller, requestClass)
        Object.assign(common, limitHeaders(window, requestClass))
        if (!window.allowed) {
          const revoked = await access.recordRefusal(caller, requestClass, window, via.address)
          throw new Problem('rate_limited', {
            detail: `${window.limit.toLocaleString('en')} ${requestClass}s a minute are allowed.${revoked ? ' It was the third refusal within an hour: this token is now revoked.' : ''}`,
          })
        }
      }
      // Whoever may not do it at all is refused by the gate, before anything of a body is read.
      const { value, bytes } =
        operation.body && caller.actor.can(operation.permission)
          ? await readJson(request, bodyBounds(operation, caller))
          : // What is read while it arrives is told apart by what is said of it.
            { value: undefined, bytes: Buffer.from(operation.upload ? declaredOf(request) : '') }
      const idempotency = idempotencyOf(operation, request, caller, bytes, hashKey())
      const ctx: Context = {
        actor: caller.actor,
        ip: via.address,
        requestId,
        gate,
        now: gate.clock.now(),
        ...(idempotency && { idempotency }),
      }
      const query = queryOf(request.url)
      const made = await useCase.execute(ctx, {
        params: via.params,
        query,
        headers: headersOf(operation, request),
        body: value,
        // As with a body: whoever may not do it at all is refused by the gate.
        ...(operation.upload &&
          caller.actor.can(operation.permission) && { upload: uploaded(request, operation.upload) }),
      })
      if (made.headers['Idempotency-Replayed'] === undefined)
        observe?.(operation.id, caller.actor, { input: { body: value, query }, body: made.body })
      return present(operation, request, made, common)
    } catch (error) {
      metrics.refused(Problem.is(error) ? error.code : 'internal')
      return refusal(error, operation.id, requestId, common)
    }
  }
  return async (useCase, request, via) => {
    const made = await answer(useCase, request, via)
    metrics.answered(useCase.operation.id, made.status)
    return made
  }
}

/** Any error as an RFC 9457 answer; one that nobody expected is logged, and answered without its text. */
export function refusal(
  error: unknown,
  operationId: string,
  requestId: string,
  common: Record<string, string>,
): DoorAnswer {
  const problem = Problem.is(error)
    ? error
    : new Problem('internal', `Nothing more is told here; the log has it under ${requestId}.`)
  if (problem !== error) logFault(error, { operationId, requestId })
  else if (problem.status >= 500 && problem.cause !== undefined) logFault(problem.cause, { operationId, requestId })
  return {
    status: problem.status,
    headers: {
      ...common,
      ...(problem.status === 401 && challenge()),
      ...problem.headers,
      'Content-Type': 'application/problem+json',
    },
    body: JSON.stringify({ ...problem.toJSON(), instance: requestId }),
  }
}
