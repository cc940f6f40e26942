import { createHash, createHmac, type Hmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { z } from 'zod'
import { type Access, type Caller, challenge, permittedTo } from '#lib/access/access.ts'
import type { RateLimitWindow } from '#lib/access/limiter.ts'
import { limitHeaders, uncountedWindow } from '#lib/access/limiter.ts'
import { localeOf } from '#lib/domains/accounts/rules.ts'
import type { AdmittedServer } from '#lib/domains/erasure/ledger/restored-database.ts'
import type { AdmittedWrite, StorageAdmission, StorageUsage } from '#lib/domains/quotas/admission.ts'
import type { Actor, Context, PipelinePorts } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { maxMembers } from '#lib/kernel/json.ts'
import { customerNetworkOf } from '#lib/kernel/network-keys.ts'
import { type OperationShape, type Pool, poolOf, type RawInput } from '#lib/kernel/operation.ts'
import { invalid, Problem, problems } from '#lib/kernel/problem.ts'
import { traceRequest } from '#lib/kernel/tracing.ts'
import type { Answer, FixedContent, UseCase } from '#lib/kernel/use-case.ts'
import { asProblem } from '#lib/stores/postgres/problems.ts'
import type { Admission } from './admission.ts'
import {
  type ApiRequest,
  type ApiResponse,
  acceptedEncoding,
  type BodyBounds,
  observedUpload,
  readJson,
  uploaded,
  type Via,
} from './api-request.ts'
import type { Metrics } from './metrics.ts'

const keyForm = /^[\x20-\x7e]{1,255}$/

/** The headers that identify a streamed body. */
const declaredOf = ({ headers }: ApiRequest): string =>
  `${headers.get('content-type') ?? ''}\n${headers.get('content-length') ?? ''}`

/** Keyed, because a plain hash of a body could reveal guessable contents. */
const hashOfRequest = ({ id }: OperationShape, { url }: ApiRequest, hashKey: Uint8Array): Hmac =>
  createHmac('sha256', hashKey).update(`${id}\n${url.replace(/^https?:\/\/[^/]+/, '')}\n`)

/** @throws Problem `bad_request` if the Idempotency-Key is malformed */
function idempotencyOf(
  operation: OperationShape,
  request: ApiRequest,
  caller: Caller,
  body: Uint8Array,
  hashKey: Uint8Array,
): Context['idempotency'] {
  if (operation.method !== 'post') return undefined
  const key = request.headers.get('idempotency-key')
  if (key === null) return undefined
  if (!keyForm.test(key))
    throw new Problem('bad_request', 'An Idempotency-Key must have 1 to 255 printable ASCII characters.')
  const requestHash = hashOfRequest(operation, request, hashKey).update(body).digest()
  // The key is chosen by the client, so only its hash is stored.
  const keyHash = createHmac('sha256', hashKey).update(key).digest('hex')
  const { actor, limitKey } = caller
  // Callers without a token are distinguished by address and body. A rotated token shares the rate limit with its successor, but not
  // idempotency keys.
  const own = actor.tokenId === undefined ? limitKey : `token:${actor.tokenId}`
  const scope = actor.kind === 'anonymous' ? `${limitKey}:${requestHash.toString('hex')}` : own
  return { scope, key: keyHash, requestHash }
}

/** What a request may store: bytes and number of records. Undefined if it stores nothing. */
function storedBy(
  { stores, upload }: OperationShape,
  request: ApiRequest,
  body: Uint8Array,
  value: unknown,
): StorageUsage | undefined {
  if (!stores) return undefined
  const length = Number(request.headers.get('content-length') ?? 0)
  const bytes = upload ? (Number.isSafeInteger(length) && length > 0 ? length : 0) : body.byteLength
  if (typeof stores === 'string') return { bytes, rows: stores === 'one record' ? 1 : 0 }
  const list: unknown =
    typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, stores.each)?.value : []
  return { bytes, rows: Array.isArray(list) ? list.length : 0 }
}
/** Returns the refusal of a storage quota. Rethrows any other error. */
function overQuota(error: unknown): Problem {
  if (Problem.is(error, 'quota_exceeded')) return error
  throw error
}

interface CountedRequest {
  operation: OperationShape
  requestClass: 'read' | 'write'
  address: string
  /** Receives the headers of the counted window. */
  common: Record<string, string>
}

const tooManyFrom = ({ limit }: RateLimitWindow): Problem =>
  new Problem(
    'rate_limited',
    `One network address may send ${limit.toLocaleString('en')} requests per minute. Wait, then try again.`,
  )

/** Counts requests in the rate limits of addresses and callers. */
const requestLimits = ({
  access,
  countPage,
}: {
  access: Access
  countPage(address: string): Promise<RateLimitWindow>
}) => ({
  /** @throws Problem `rate_limited` */
  async countAddress(
    { operation, requestClass, address, common }: CountedRequest,
    perAddress: NonNullable<OperationShape['perAddress']>,
  ): Promise<void> {
    const window = await (perAddress === 'page'
      ? countPage(address)
      : access.countAddress(operation.id, address, perAddress))
    if (window.allowed) return
    Object.assign(common, limitHeaders(window, requestClass))
    throw tooManyFrom(window)
  },
  /** @throws Problem `rate_limited` */
  async countRequest({ requestClass, address, common }: CountedRequest, caller: Caller): Promise<void> {
    const window = await access.count(caller, requestClass)
    Object.assign(common, limitHeaders(window, requestClass))
    if (window.allowed) return
    const revoked = await access.recordRefusal(caller, requestClass, window, address)
    throw new Problem('rate_limited', {
      detail: `The limit is ${window.limit.toLocaleString('en')} ${requestClass}s per minute.${revoked ? ' You exceeded it three times within an hour, so this token is now revoked.' : ' Wait, then try again.'}`,
    })
  },
})

/** RFC 9110 §13.1.2: weak comparison. */
const matches = (header: string | null, etag: string): boolean =>
  header !== null &&
  (header.trim() === '*' ||
    header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag.replace(/^W\//, '')))

/** Nothing of the content is computed for a request. */
function presentFixed(
  { mediaType, etag, encodings }: FixedContent,
  request: ApiRequest,
  common: Record<string, string>,
): ApiResponse {
  const headers = { ...common, ETag: etag, Vary: 'Accept-Encoding' }
  if (matches(request.headers.get('if-none-match'), etag)) return { status: 304, headers, body: null }
  const encoding = acceptedEncoding(request.headers.get('accept-encoding'))
  return {
    status: 200,
    headers: {
      ...headers,
      'Content-Type': mediaType,
      ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
    },
    body: encodings[encoding],
  }
}

/** Turns the answer of an operation into a response. */
function present(
  operation: OperationShape,
  request: ApiRequest,
  made: Answer,
  common: Record<string, string>,
): ApiResponse {
  const headers: Record<string, string> = { ...common, ...made.headers }
  if (made.fixed) return presentFixed(made.fixed, request, headers)
  if (made.stream) return { status: made.status, headers, body: made.stream }
  if (made.body === undefined) return { status: made.status, headers, body: null }
  const isText = operation.produces && typeof made.body === 'string'
  const text = isText ? String(made.body) : JSON.stringify(made.body)
  headers['Content-Type'] ??= isText ? (operation.produces?.[0] ?? 'text/plain') : 'application/json'
  if (operation.method === 'get' && made.status === 200) {
    // Weak, because all encodings share it (RFC 9110 §8.8.3.3).
    headers.ETag ??= `W/"${createHash('sha1').update(text).digest('base64url')}"`
    if (matches(request.headers.get('if-none-match'), headers.ETag)) {
      const { 'Content-Type': _, ...rest } = headers
      return { status: 304, headers: rest, body: null }
    }
  }
  return { status: made.status, headers, body: text }
}

interface HandlerDeps {
  access: Access
  /** Throws while nothing may be served, because a restored database still contains erased data. */
  admit(): Promise<AdmittedServer>
  /** Throws if another database server began to answer since then: it may still contain erased data. */
  confirm(admission: AdmittedServer): void
  pipeline: PipelinePorts
  metrics: Metrics
  /** Bound how many operations of each kind run at once; further ones are rejected before they slow each other down. */
  pools: Readonly<Record<Pool, Admission>>
  /** Counts a request in the rate limit that pages have per address. */
  countPage(address: string): Promise<RateLimitWindow>
  /** Our own origin, to reject requests that another site makes in a person's browser. */
  origin: string
  /** The key for the hashes of bodies in idempotency records. */
  hashKey: () => Uint8Array
  /** @throws `quota_exceeded` if the write exceeds the storage quota */
  admitStorage: StorageAdmission['admit']
  /** Authorizes operations that are open to monitoring. */
  metricsToken?: string | undefined
  /** Called after an operation has committed; it neither waits nor throws. */
  observe?:
    | ((
        operationId: string,
        actor: Actor,
        answered: { input: Pick<RawInput, 'body' | 'query'>; body: unknown },
      ) => void)
    | undefined
}
export type Handle = (useCase: UseCase, request: ApiRequest, via: Via) => Promise<ApiResponse>

const defaultBodyLimit = 64 * 1024
const requestIdForm = /^[\w.:-]{1,128}$/

/** The maximum size of a batch in bytes: what one transaction can process within its time limit. */
const largestBatch = 8 * 1024 * 1024

function bodyBounds({ bodyLimit = defaultBodyLimit }: OperationShape, { actor: { quota } }: Caller): BodyBounds {
  if (bodyLimit === 'unit') return { bytes: quota.unitBytes }
  if (bodyLimit === 'batch')
    return {
      bytes: Math.min(quota.unitBytes * quota.batch, largestBatch),
      members: maxMembers * Math.min(quota.batch, 100),
      isCheckedLater: true,
    }
  return { bytes: bodyLimit }
}

const queryOf = (url: string): Record<string, string> => {
  const at = url.indexOf('?')
  if (at < 0) return {}
  const query: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(url.slice(at + 1))) {
    if (Object.hasOwn(query, name)) throw invalid(['query', name], 'was sent twice')
    if (value.includes('\0')) throw invalid(['query', name], 'contains a NUL character')
    query[name] = value
  }
  return query
}

/** Zod reads an empty text as the number 0. */
function refuseEmptyNumbers({ query: declared }: OperationShape, query: Record<string, string>): void {
  for (const [name, type] of Object.entries(declared?.shape ?? {})) {
    if (query[name]?.trim() !== '') continue
    let inner: unknown = type
    while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap()
    if (inner instanceof z.ZodNumber) throw invalid(['query', name], 'must be a number')
  }
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

const headersOf = (operation: OperationShape, request: ApiRequest): Record<string, string> => {
  const named: Record<string, string> = {}
  for (const name of Object.keys(operation.headers?.shape ?? {})) {
    const value = request.headers.get(name)
    if (value !== null) named[name] = value
  }
  return named
}

/** The key of the callers whose requests share one part of a pool: the organization, the token or the network address. */
const partyOf = (pool: Pool, { storage, limitKey }: Caller, address: string): string => {
  if (pool === 'registrations') return customerNetworkOf(address)
  return storage ? `${storage.kind}:${storage.id}` : limitKey
}

/** Who shares a slot of the pool; see {@link OperationShape.isStoredTogether}. */
const sharingOf = (
  { isStoredTogether }: OperationShape,
  { actor }: Caller,
  idempotency: Context['idempotency'],
  body: unknown,
): string | undefined =>
  isStoredTogether && !idempotency && !(typeof body === 'object' && body !== null && 'id' in body)
    ? actor.id
    : undefined

/** Browsers send the session cookie automatically, so writes with it must come from our own pages. */
function refuseCrossSite(request: ApiRequest, caller: Caller, origin: string): void {
  if (caller.actor.kind !== 'person' || request.method === 'GET' || request.method === 'HEAD') return
  const from = request.headers.get('origin')
  const site = request.headers.get('sec-fetch-site')
  if (from === origin || (from === null && site === 'same-origin')) return
  throw new Problem('cross_site', 'The request came from another website. Send it from a page of this installation.')
}

/** Whether the host is an IP address or a name of this machine. Another site's DNS record cannot make either lead to this server. */
export const isOwnName = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname.endsWith('.localhost') || hostname.startsWith('[') || isIPv4(hostname)

/**
 * A page of another site whose name leads to this server (DNS rebinding) passes for one of ours in a browser: its origin is the requested
 * host. Other clients send no origin, so they may use any name of this server.
 */
function refuseRebound(request: ApiRequest, ours: string): void {
  const from = request.headers.get('origin')
  if (from === null || from === ours || !URL.canParse(from)) return
  const page = new URL(from)
  if (page.host !== request.headers.get('host')?.toLowerCase() || isOwnName(page) || page.host === new URL(ours).host)
    return
  throw new Problem(
    'misdirected',
    'This server does not serve pages of this host. If it is the right name, set KP_URL to it and restart. Nothing was changed.',
  )
}

/** Headers of every response. */
export const plainHeaders = (requestId: string): Record<string, string> => ({
  'KP-Schema-Version': 'v1',
  'X-Request-Id': requestId,
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
})

/** Identifies the caller: the token of monitoring, or a token, a session or nobody. */
function callerOf({ access, metricsToken }: Pick<HandlerDeps, 'access' | 'metricsToken'>) {
  const monitoring = metricsToken === undefined ? undefined : sha256(`Bearer ${metricsToken}`)
  const isMonitoringToken = ({ headers }: ApiRequest): boolean =>
    monitoring !== undefined && timingSafeEqual(monitoring, sha256(headers.get('authorization') ?? ''))

  return (operation: OperationShape, request: ApiRequest, via: Via): Promise<Caller> =>
    operation.isOpenToMonitoring && (via.isMonitoring || isMonitoringToken(request))
      ? access.anonymous(via.address).then((known) => permittedTo(known, operation.permission))
      : access.identify(request, via.address, operation)
}

/** A request whose caller is identified and counted, and whose storage is admitted. */
interface AdmittedRequest {
  request: ApiRequest
  via: Via
  requestId: string
  caller: Caller
  value: unknown
  idempotency: Context['idempotency']
  /** The bytes that the request announced. */
  announced: number
  admitted: AdmittedWrite | Problem | undefined
  /** Undefined for operations that are open before a replay. */
  admission: AdmittedServer | undefined
}

/** Runs the operation, in its pool if it has one. */
async function runOperation(
  { hashKey, observe, pipeline, pools }: HandlerDeps,
  useCase: UseCase,
  { request, via, requestId, caller, value, idempotency, announced, admitted }: AdmittedRequest,
): Promise<Answer> {
  const { operation } = useCase
  // As with a body: if the caller lacks the permission, the pipeline rejects the request.
  const upload =
    operation.upload && caller.actor.can(operation.permission) ? uploaded(request, operation.upload) : undefined
  let arrivedBytes = 0
  const observed =
    upload &&
    observedUpload(upload, {
      hash: hashOfRequest(operation, request, hashKey()).update(`whole\n${upload.mediaType}\n`),
      async arrived(more) {
        const before = Math.max(arrivedBytes, announced)
        arrivedBytes += more
        if (arrivedBytes > before && !Problem.is(admitted)) await admitted?.add(arrivedBytes - before)
      },
    })
  const ctx: Context = {
    actor: caller.actor,
    ip: via.address,
    requestId,
    pipeline,
    now: pipeline.clock.now(),
    ...(idempotency && { idempotency: { ...idempotency, ...(observed && { wholeHash: observed.digest }) } }),
    ...(Problem.is(admitted) && { overQuota: admitted }),
  }
  const query = queryOf(request.url)
  refuseEmptyNumbers(operation, query)
  const input: RawInput = {
    params: via.params,
    query,
    headers: headersOf(operation, request),
    body: value,
    ...(observed && { upload: observed.upload }),
  }
  const work = (slot?: string) => useCase.execute(slot === undefined ? ctx : { ...ctx, slot }, input)
  const pool = poolOf(operation)
  const made = await (pool
    ? pools[pool].run(partyOf(pool, caller, via.address), work, sharingOf(operation, caller, idempotency, value))
    : work())
  if (made.headers['Idempotency-Replayed'] === undefined)
    observe?.(operation.id, caller.actor, { input: { body: value, query }, body: made.body })
  return made
}

/**
 * Whether the answer may be refused after the operation ran: it reads, or it erases, which is safe to repeat. Any other write is committed by
 * then, and its answer must say so.
 */
export const mayBeRefusedAfterwards = ({ method, audit, deletes }: OperationShape): boolean =>
  method === 'get' || ('action' in audit && audit.action === 'read') || (deletes !== undefined && 'by' in deletes)

/**
 * Passes each piece on after it is confirmed. Ending it ends the source at once, also while a piece is awaited; a generator would wait for that
 * piece, and the stream of a reader that left would keep its place.
 */
function confirmedPieces<P>(pieces: AsyncIterable<P>, confirm: () => void): AsyncIterable<P> {
  return {
    [Symbol.asyncIterator]() {
      const source = pieces[Symbol.asyncIterator]()
      return {
        async next() {
          const piece = await source.next()
          try {
            if (piece.done !== true) confirm()
          } catch (error) {
            await source.return?.()
            throw error
          }
          return piece
        },
        return: async () => (await source.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}

/**
 * Turns a request into a response: identifies the caller, counts the request, and runs the operation. The API server and the route
 * handlers both call it.
 */
export function createHandle(deps: HandlerDeps): Handle {
  const { admit, admitStorage, confirm, hashKey, metrics, origin } = deps
  const identify = callerOf(deps)
  const limits = requestLimits(deps)

  /** Runs the operation. Returns what it read only if the server that was admitted still answers. */
  async function confirmed(useCase: UseCase, admittedRequest: AdmittedRequest): Promise<Answer> {
    const made = await runOperation(deps, useCase, admittedRequest)
    const { admission } = admittedRequest
    if (!admission || !mayBeRefusedAfterwards(useCase.operation)) return made
    confirm(admission)
    return made.stream ? { ...made, stream: confirmedPieces(made.stream, () => confirm(admission)) } : made
  }

  /** Adds the headers of the rate limits to `common`, even if it throws. */
  async function respond(
    useCase: UseCase,
    request: ApiRequest,
    via: Via,
    { requestId, common }: { requestId: string; common: Record<string, string> },
  ): Promise<ApiResponse> {
    const { operation } = useCase
    const requestClass = operation.limit === 'write' ? 'write' : 'read'
    // A request that counts in no window still gets limit headers.
    Object.assign(common, limitHeaders(uncountedWindow(requestClass), requestClass))
    refuseRebound(request, origin)
    const admission = operation.isOpenBeforeReplay ? undefined : await admit()
    if (operation.perAddress !== undefined)
      await limits.countAddress({ operation, requestClass, common, address: via.address }, operation.perAddress)
    const hasArrived = request.hasArrived?.() === true
    const first = await identify(operation, request, via)
    refuseCrossSite(request, first, origin)
    const mayBegin = first.actor.can(operation.permission)
    if (operation.limit !== 'exempt' && (mayBegin || first.actor.kind !== 'anonymous'))
      await limits.countRequest({ operation, requestClass, common, address: via.address }, first)
    // A client decides when its body arrives, and the caller can lose a session, a token or a role meanwhile.
    const isDelayed = operation.body !== undefined && mayBegin && !hasArrived
    // If the caller lacks the permission, the pipeline rejects the request before the body is read.
    const { value, bytes } =
      operation.body && mayBegin
        ? await readJson(request, bodyBounds(operation, first))
        : // A streamed body is identified by its headers, because its bytes are not known yet.
          { value: undefined, bytes: Buffer.from(operation.upload ? declaredOf(request) : '') }
    const caller = isDelayed ? await identify(operation, request, via) : first
    const isPermitted = caller.actor.can(operation.permission)
    const idempotency = idempotencyOf(operation, request, caller, bytes, hashKey())
    const wanted = storedBy(operation, request, bytes, value)
    const admitted =
      wanted && caller.storage && isPermitted ? await admitStorage(caller.storage, wanted).catch(overQuota) : undefined
    const announced = wanted?.bytes ?? 0
    const admittedRequest = { request, via, requestId, caller, value, idempotency, announced, admitted, admission }
    const answer = async () => present(operation, request, await confirmed(useCase, admittedRequest), common)
    if (Problem.is(admitted)) {
      if (!idempotency) throw admitted
      return answer()
    }
    if (admitted?.warning !== undefined) common['KP-Storage-Used'] = `${admitted.warning}%`
    try {
      return await answer()
    } finally {
      admitted?.end()
    }
  }

  return async (useCase, request, via) => {
    const { operation } = useCase
    const sent = request.headers.get('x-request-id')
    const requestId = sent !== null && requestIdForm.test(sent) ? sent : `req_${randomUUID()}`
    const common: Record<string, string> = {
      ...plainHeaders(requestId),
      ...(operation.contributed && { 'KP-Content-Trust': 'untrusted' }),
      ...(origin.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=63072000; includeSubDomains' }),
    }
    const begun = performance.now()
    const attributes = {
      'http.request.method': operation.method.toUpperCase(),
      'http.route': operation.path,
      'kp.operation': operation.id,
    }
    const made = await traceRequest(
      `${attributes['http.request.method']} ${operation.path}`,
      // A client may choose an id that says something about a person.
      requestId === sent ? attributes : { ...attributes, 'kp.request_id': requestId },
      request.headers.get('traceparent'),
      () =>
        respond(useCase, request, via, { requestId, common }).catch((error: unknown) => {
          const problem = asProblem(error)
          metrics.refused(Problem.is(problem) ? problem.code : 'internal')
          return refusalResponse(error, operation.id, requestId, common, request.headers.get('accept-language'))
        }),
    )
    metrics.answered(operation.id, made.status, (performance.now() - begun) / 1000)
    return made
  }
}

/** Turns any error into an RFC 9457 response, with a title in the language of the client. Unexpected errors are logged, and the response does not contain their text. */
export function refusalResponse(
  error: unknown,
  operationId: string,
  requestId: string,
  common: Record<string, string>,
  acceptLanguage: string | null = null,
): ApiResponse {
  const isChinese = acceptLanguage !== null && localeOf(acceptLanguage) === 'zh'
  const known = asProblem(error)
  const problem = Problem.is(known)
    ? known
    : new Problem('internal', `The server log has the details under the request id ${requestId}.`)
  if (problem !== known) logFault(error, { operationId, requestId })
  else if (problem.status >= 500 && problem.cause !== undefined) logFault(problem.cause, { operationId, requestId })
  return {
    status: problem.status,
    headers: {
      ...common,
      ...(problem.status === 401 && challenge()),
      ...problem.headers,
      'Content-Type': 'application/problem+json',
    },
    body: JSON.stringify({
      ...problem.toJSON(),
      ...(isChinese && { title: problems[problem.code][2] }),
      instance: requestId,
    }),
  }
}
