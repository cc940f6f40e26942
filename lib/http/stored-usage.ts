import type { StorageUsage } from '#lib/domains/quotas/rules.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ApiRequest } from './api-request.ts'

/** What a request may store: bytes and number of records. Undefined if it stores nothing. */
export function storedBy(
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
export function overQuota(error: unknown): Problem {
  if (Problem.is(error, 'quota_exceeded')) return error
  throw error
}
