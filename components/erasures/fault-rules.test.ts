import { expect, it } from 'vitest'
import { faultParts } from './fault-rules.ts'

it.each([
  [null, { code: 'internal', thread: null, refusal: null }],
  ['unavailable', { code: 'unavailable', thread: null, refusal: null }],
  ['conflict', { code: 'conflict', thread: null, refusal: null }],
  ['conflict:', { code: 'conflict', thread: null, refusal: null }],
  ['conflict:user:17', { code: 'conflict', thread: 'user:17', refusal: null }],
  ['store_refuses:missing', { code: 'store_refuses', thread: null, refusal: 'missing' }],
  ['store_refuses:words', { code: 'store_refuses', thread: null, refusal: null }],
  ['other:user:17', { code: 'other', thread: null, refusal: null }],
])('a step’s fault %s is %o', (fault, parts) => {
  expect(faultParts(fault)).toEqual(parts)
})
