import { expect, test } from 'vitest'
import { gcsRefusal, isUndecryptable as isGcsUndecryptable } from './gcs.ts'
import { isUndecryptable as isS3Undecryptable, s3Refusal } from './s3-errors.ts'

test.each([
  ['InvalidAccessKeyId', 'credentials'],
  ['SignatureDoesNotMatch', 'credentials'],
  ['AccessDenied', 'access_denied'],
  ['NoSuchBucket', 'missing'],
  ['QuotaExceeded', 'quota_exceeded'],
  ['SlowDown', undefined],
  ['InternalError', undefined],
  ['ServiceUnavailable', undefined],
  ['RequestTimeTooSkewed', undefined],
  ['ECONNREFUSED', undefined],
  ['TimeoutError', undefined],
])('s3Refusal maps the error %s to %s', (code, refusal) => {
  expect(s3Refusal(code)).toBe(refusal)
})

const answered = (code: number | string, reason: string) =>
  Object.assign(new Error('with the name of an object'), { code, errors: [{ reason, message: 'words' }] })
test.each([
  [401, 'authError', 'credentials'],
  [400, 'invalid_grant', 'credentials'],
  [403, 'forbidden', 'access_denied'],
  [403, 'userRateLimitExceeded', undefined],
  [404, 'notFound', 'missing'],
  [429, 'rateLimitExceeded', undefined],
  [503, 'backendError', undefined],
  ['ECONNREFUSED', '', undefined],
])('gcsRefusal maps the error %s %s to %s', (code, reason, refusal) => {
  expect(gcsRefusal(answered(code, reason))).toBe(refusal)
})

const message =
  'The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object.'
test.each([
  ['InvalidRequest', message, true],
  ['InvalidRequest', 'The authorization mechanism you have provided is not supported.', false],
  ['BadRequest', 'An error occurred when parsing the HTTP request.', false],
  ['InvalidArgument', 'Invalid version id specified', false],
  ['KMS.DisabledException', 'The key is disabled.', true],
  ['KMS.NotFoundException', 'The key does not exist.', true],
  ['KMS.ThrottlingException', 'Slow down.', false],
])('isUndecryptable returns for the S3 error %s "%s" %s', (name, text, isUndecryptable) => {
  expect(isS3Undecryptable(Object.assign(new Error(text), { name }))).toBe(isUndecryptable)
})
test.each([
  [400, 'resourceIsEncryptedWithCustomerEncryptionKey', 'Bad Request', true],
  [400, '', 'The target object is encrypted by a customer-supplied encryption key.', true],
  [400, 'cloudKmsDisabledKey', 'Bad Request', true],
  [400, 'cloudKmsDecryptionKeyNotFound', 'Bad Request', true],
  [400, 'invalid', 'Invalid long value: "x".', false],
  [400, '', 'No such parameter in encrypted/customer.txt', false],
  [403, 'cloudKmsDisabledKey', 'Forbidden', false],
])('isUndecryptable returns for the GCS error %s %s "%s" %s', (code, reason, text, isUndecryptable) => {
  expect(isGcsUndecryptable(Object.assign(new Error(text), { code, errors: [{ reason }] }))).toBe(isUndecryptable)
})
