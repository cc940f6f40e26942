import { createHmac, type Hmac } from 'node:crypto'
import type { Caller } from '#lib/access/actor.ts'
import type { Context } from '#lib/kernel/context.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ApiRequest } from './api-request.ts'

const keyForm = /^[\x20-\x7e]{1,255}$/

/** The headers that identify a streamed body. */
export const declaredOf = ({ headers }: ApiRequest): string =>
  `${headers.get('content-type') ?? ''}\n${headers.get('content-length') ?? ''}`

/** Keyed, because a plain hash of a body could reveal guessable contents. */
export const hashOfRequest = ({ id }: OperationShape, { url }: ApiRequest, hashKey: Uint8Array): Hmac =>
  createHmac('sha256', hashKey).update(`${id}\n${url.replace(/^https?:\/\/[^/]+/, '')}\n`)

/** @throws Problem `bad_request` if the Idempotency-Key is malformed */
export function idempotencyOf(
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
