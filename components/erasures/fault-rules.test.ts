import { expect, it } from 'vitest'
import { faultParts, hasThreads, isStuck, isUndecided } from './fault-rules.ts'

it.each([
  [null, { code: 'internal', thread: null, refusal: null }],
  ['unavailable', { code: 'unavailable', thread: null, refusal: null }],
  ['conflict', { code: 'conflict', thread: null, refusal: null }],
  ['conflict:', { code: 'conflict', thread: null, refusal: null }],
  ['conflict:user:17', { code: 'conflict', thread: 'user:17', refusal: null }],
  ['store_refuses:missing', { code: 'store_refuses', thread: null, refusal: 'missing' }],
  ['store_refuses:words', { code: 'store_refuses', thread: null, refusal: null }],
  ['other:user:17', { code: 'other', thread: null, refusal: null }],
])('faultParts(%s) returns %o', (fault, parts) => {
  expect(faultParts(fault)).toEqual(parts)
})

it.each([
  ['stuck', 'conflict:user:17', true, false],
  ['stuck', 'conflict', false, true],
  ['stuck', null, false, true],
  ['waiting', 'conflict:user:17', false, false],
  ['done', null, false, false],
] as const)('a step in state %s with the fault %s: isUndecided %s, isStuck %s', (state, fault, undecided, stuck) => {
  expect([isUndecided({ state, fault }), isStuck({ state, fault })]).toEqual([undecided, stuck])
})

it.each([
  ['erasing', 'checkpoints.threads', 1, 'stuck', true],
  ['erasing', 'checkpoints.threads', 1, 'waiting', true],
  ['erasing', 'checkpoints.threads', 0, 'waiting', false],
  ['erasing', 'checkpoints.threads', 1, 'done', false],
  ['erasing', 'checkpoints.messages', 1, 'stuck', false],
  ['done', 'checkpoints.threads', 1, 'done', false],
] as const)('hasThreads of an erasure in state %s with a step of %s (%i planned, %s) returns %s', (...told) => {
  const [state, holder, planned, own, expected] = told
  const step = { holder, store: 'checkpoints', state: own, planned, erased: 0, held: [], residue: null, results: {} }
  const times = { waiting_since: null, started_at: null, finished_at: null, verified_at: null }
  expect(hasThreads({ state, steps: [{ ...step, ...times, attempts: 0, fault: null }] })).toBe(expected)
})
