import { expect, test } from 'vitest'
import { gcsRefusal } from './gcs.ts'
import { s3Refusal } from './s3-errors.ts'

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
