import { describe, expect, it, test } from 'vitest'
import { sayingOf } from '#components/requests/request-rules.ts'
import type { State } from '#lib/domains/privacy-requests/rules.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { askedIn, askedStanding, standingOut } from './asked-rules.ts'

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
type Given = Parameters<typeof sayingOf>[0]
const standing = (state: State, more: Partial<Given> = {}) => {
  const part = { kind: 'erasure' as const, started_at: null, finished_at: null, outcome: {} }
  const hasBegun = state === 'running' || state === 'failed'
  const parts = [{ ...part, state: hasBegun ? ('running' as const) : ('pending' as const) }]
  const request = { state, kinds: ['erasure' as const], subject: 'person' as const, paused: null, waiting_until: later }
  return askedStanding(sayingOf({ ...request, parts, ...more }, [], now))
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
] as const)('%s is shown as %s', (state, shown) => expect(standing(state)).toBe(shown))

test('what waits, waits for its grace, and then for the copy alone; else the request’s own words are taken', () => {
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
] as const)('whose session has ended, with %s and %s, is told that it is %s', (receipt, until, shown) =>
  expect(standingOut(receipt, until, now)).toBe(shown),
)

test('where nothing began, nothing is told as if it were known', () => {
  for (const whom of ['person', 'agent'] as const) {
    for (const standing of ['aheadOut', 'begunOut'] as const) {
      expect(en.deletion.done[whom][standing].title).toMatch(/^(Unless|If) it (is|was not) called off/)
      expect(zh.deletion.done[whom][standing].title).toContain('未')
    }
  }
})
