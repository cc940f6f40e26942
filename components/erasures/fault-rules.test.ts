import { expect, it } from 'vitest'
import { faultParts } from './fault-rules.ts'

it.each([
  [null, { code: 'internal', thread: null }],
  ['unavailable', { code: 'unavailable', thread: null }],
  ['conflict', { code: 'conflict', thread: null }],
  ['conflict:', { code: 'conflict', thread: null }],
  ['conflict:user:17', { code: 'conflict', thread: 'user:17' }],
  ['other:user:17', { code: 'other', thread: null }],
])('a step’s fault %s is %o', (fault, parts) => {
  expect(faultParts(fault)).toEqual(parts)
})
