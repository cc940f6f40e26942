import { describe, expect, it, test } from 'vitest'
import type { State } from '#lib/domains/privacy-requests/rules.ts'
import { askedIn, askedStanding } from './asked-rules.ts'

const request = `preq_${'a'.repeat(22)}`
const receipt = `rcpt_${'b'.repeat(22)}`

describe('an address', () => {
  it('names what was asked for', () =>
    expect(
      askedIn({ step: 'done', request, receipt, begin: 'now', until: '2026-11-22T12:00:00.000Z', joined: '1' }),
    ).toEqual({
      ...{ requestId: request, receiptId: receipt, agent: undefined, until: '2026-11-22T12:00:00.000Z' },
      ...{ isJoined: true, isAtOnce: true },
    }))

  it.each([
    { step: 'confirm', request },
    { step: 'done' },
    { step: 'done', request: 'preq_<script>' },
    { step: 'done', request: [request, request] },
    {},
  ])('%j names nothing', (query) => expect(askedIn(query)).toBeUndefined())

  it('has nothing in it that is none of ours', () =>
    expect(askedIn({ step: 'done', request, receipt: '../../x', until: 'soon', agent: '<b>' })).toMatchObject({
      ...{ receiptId: undefined, until: undefined, agent: undefined, isAtOnce: false },
    }))
})

const now = new Date('2026-11-21T12:00:00.000Z')
const later = '2026-11-22T12:00:00.000Z'
const told = { until: undefined, isSigned: false }
const detail = (state: State, waiting_until: string | null = null, outcome: Record<string, string> = {}) => ({
  ...{ state, waiting_until, erasure: { fenced_at: later } },
  parts: [{ kind: 'access' as const, state: 'running' as const, started_at: null, finished_at: null, outcome }],
})

test.each([
  ['received', 'link'],
  ['running', 'running'],
  ['verifying', 'running'],
  ['completed', 'done'],
  ['partly_completed', 'held'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['rejected', 'cancelled'],
] as const)('%s is shown as %s', (state, standing) => expect(askedStanding(detail(state), told, now)).toBe(standing))

test('what waits, waits for its grace, and then for the copy alone', () => {
  const copy = { export_id: 'exp_1' }
  expect(askedStanding(detail('waiting', later, copy), told, now)).toBe('waiting')
  expect(askedStanding(detail('waiting', now.toISOString(), copy), told, now)).toBe('afterCopy')
  expect(askedStanding(detail('waiting', now.toISOString(), { ...copy, copy: 'fetched' }), told, now)).toBe('waiting')
})

test('where a hold covers all of it, nothing was fenced', () =>
  expect(askedStanding({ ...detail('partly_completed'), erasure: { fenced_at: null } }, told, now)).toBe('heldWhole'))

test.each([
  [{ until: later, isSigned: false }, 'waitingOut'],
  [{ until: now.toISOString(), isSigned: false }, 'running'],
  [{ until: undefined, isSigned: false }, 'running'],
  [{ until: later, isSigned: true }, 'done'],
] as const)('whose session has ended, with %j, is told that it is %s', (known, standing) =>
  expect(askedStanding(undefined, known, now)).toBe(standing),
)
