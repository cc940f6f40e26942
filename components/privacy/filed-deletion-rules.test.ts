import { describe, expect, it, test } from 'vitest'
import { requestSayingOf } from '#components/requests/request-rules.ts'
import type { RequestState } from '#lib/domains/privacy-requests/rules.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { agentsNotYetFiled, filedDeletionIn, filedDeletionStatus } from './filed-deletion-rules.ts'

const request = `preq_${'a'.repeat(22)}`
const receipt = `rcpt_${'b'.repeat(22)}`

describe('askedIn', () => {
  it('returns the filed request that the address names', () =>
    expect(
      filedDeletionIn({ step: 'done', request, receipt, begin: 'now', until: '2026-11-22T12:00:00.000Z', joined: '1' }),
    ).toEqual({
      requestId: request,
      receiptId: receipt,
      agent: undefined,
      until: '2026-11-22T12:00:00.000Z',
      isJoined: true,
      isAtOnce: true,
    }))

  it.each([
    { step: 'confirm', request },
    { step: 'done' },
    { step: 'done', request: 'preq_<script>' },
    { step: 'done', request: [request, request] },
    {},
  ])('returns undefined for %j', (query) => expect(filedDeletionIn(query)).toBeUndefined())

  it('drops values that are not valid ids or dates', () =>
    expect(filedDeletionIn({ step: 'done', request, receipt: '../../x', until: 'soon', agent: '<b>' })).toMatchObject({
      receiptId: undefined,
      until: undefined,
      agent: undefined,
      isAtOnce: false,
    }))
})

const now = new Date('2026-11-21T12:00:00.000Z')
const later = '2026-11-22T12:00:00.000Z'
type Given = Parameters<typeof requestSayingOf>[0]
const standing = (state: RequestState, more: Partial<Given> = {}) => {
  const part = { kind: 'erasure' as const, started_at: null, finished_at: null, outcome: {} }
  const hasBegun = state === 'running' || state === 'failed'
  const parts = [{ ...part, state: hasBegun ? ('running' as const) : ('pending' as const) }]
  const request = { state, kinds: ['erasure' as const], subject: 'person' as const, paused: null, waiting_until: later }
  return filedDeletionStatus(requestSayingOf({ ...request, parts, ...more }, [], now))
}

test.each([
  ['received', 'link'],
  ['waiting', 'waiting'],
  ['running', 'running'],
  ['verifying', 'running'],
  ['completed', 'done'],
  ['partly_completed', 'held'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['rejected', 'rejected'],
] as const)('askedStanding maps the state %s to %s', (state, shown) => expect(standing(state)).toBe(shown))

test('askedStanding returns waiting during the grace period, afterCopy until the copy is fetched, and undefined otherwise', () => {
  const part = { kind: 'access' as const, state: 'running' as const, started_at: null, finished_at: null }
  const copy = { export_id: 'exp_1' }
  const ended = { waiting_until: now.toISOString() }
  expect(standing('waiting', { parts: [{ ...part, outcome: copy }] })).toBe('waiting')
  expect(standing('waiting', { ...ended, parts: [{ ...part, outcome: copy }] })).toBe('afterCopy')
  expect(standing('waiting', { ...ended, parts: [{ ...part, outcome: { ...copy, copy: 'fetched' } }] })).toBeUndefined()
  const notBegun = { ...part, kind: 'erasure' as const, state: 'pending' as const, outcome: {} }
  expect(standing('failed', { parts: [notBegun] })).toBeUndefined()
  expect(standing('waiting', { paused: { since: later, reason: '' } })).toBeUndefined()
})

test.each([
  ['signed', later, 'done'],
  ['signed_held', later, 'held'],
  ['under_way', undefined, 'running'],
  ['held', undefined, 'heldWhole'],
  [undefined, later, 'aheadOut'],
  [undefined, now.toISOString(), 'begunOut'],
  [undefined, undefined, 'begunOut'],
] as const)('standingOut with receipt state %s and start %s returns %s', (receipt, until, shown) =>
  expect(agentsNotYetFiled(receipt, until, now)).toBe(shown),
)

test.each(['aheadOut', 'begunOut'] as const)(
  'the text of %s leaves open whether the deletion was cancelled',
  (status) => {
    expect(en.deletion.done.states[status].text).toMatch(/^(Unless|If not) cancelled/)
    expect(zh.deletion.done.states[status].text).toMatch(/^如未取消/)
  },
)
