import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, unusableStore } from '#lib/kernel/store-refusal.ts'

/** S3's name of the error, without any part of the request, which has a signature and contains the key. */
export function s3ErrorName(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault'
  const code = errorCode(error) ?? error.name
  return /^[A-Za-z0-9_.]{1,64}$/.test(code) ? code : 'unknown fault'
}
/** Maps the code of an S3 error. A wrong clock, a full disk and an expired key are resolved elsewhere, so they are not refusals. */
export function s3Refusal(name: string): StoreRefusal | undefined {
  if (/^(InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|NotSignedUp|XAdminUserNotFound)$/.test(name))
    return 'credentials'
  if (/^(AccessDenied|AllAccessDisabled|AccountProblem|Forbidden|403)$/.test(name)) return 'access_denied'
  if (name === 'NoSuchBucket') return 'missing'
  if (/^(QuotaExceeded|XMinioAdminBucketQuotaExceeded)$/.test(name)) return 'quota_exceeded'
  return undefined
}
export const asS3Problem = (error: unknown): Problem =>
  Problem.is(error)
    ? error
    : unusableStore(s3Refusal(s3ErrorName(error)), {
        detail: `The object store (S3) rejected the request (${s3ErrorName(error)}). No data was lost. Try again later.`,
      })
/** The server rejects the object for what it is: its key, metadata, tags, size or the key with which it is encrypted. */
const ofObject = /^(InvalidTag|InvalidURI|KeyTooLongError|MetadataTooLarge|EntityTooLarge)$/
/** The key with which the store encrypts the object is disabled or deleted. A key service that is busy answers again later. */
const ofKey = /^KMS\.(?:Disabled|NotFound|KMSInvalidState|InvalidKeyUsage)Exception$/
/**
 * The object is encrypted with a key of a customer, which only the customer can send, or with a key that is disabled or deleted. Servers
 * have no code for the former: they use that of any invalid request, with a message about the encryption.
 */
export const isUndecryptable = (error: unknown): boolean =>
  ofKey.test(s3ErrorName(error)) ||
  (/^(InvalidRequest|BadRequest)$/.test(s3ErrorName(error)) &&
    error instanceof Error &&
    /stored using a form of server.side encryption/i.test(error.message))
/** The problem of a change of one object. Another object may be changed nevertheless. */
export const asChangeProblem = (error: unknown): Problem =>
  !Problem.is(error) && (ofObject.test(s3ErrorName(error)) || ofKey.test(s3ErrorName(error)))
    ? new Problem('bad_request', `The object store (S3) does not change this object (${s3ErrorName(error)}).`)
    : asS3Problem(error)
export const refusedVersions = (count: number): Problem =>
  unusableStore('locked', {
    detail: `The object store (S3) did not delete ${count} former versions: a lock, a retention rule or missing permissions prevent it. Remove the cause; the deletion is retried.`,
  })
/** @throws {Problem} `unavailable` if the request fails */
export const orProblem = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    throw asS3Problem(error)
  }
}
export async function* bytesOrProblem(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    throw asS3Problem(error)
  }
}
