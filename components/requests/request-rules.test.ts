import { describe, expect, it } from 'vitest'
import { english } from '#lib/domains/privacy-requests/emails/emails-english.ts'
import { states } from '#lib/domains/privacy-requests/rules.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import {
  isRetryable,
  leadOf,
  type RequestSaying,
  requestPollInterval,
  requestSayingOf,
  type ShownTimelineEvent,
  signedReceiptOf,
} from './request-rules.ts'
import { handOf, spanOf, timeLeftOf } from './time-left-rules.ts'
import { eventTextOf, timelineActs } from './timeline-rules.ts'

const now = new Date('2026-03-10T12:00:00Z')
type Given = Parameters<typeof requestSayingOf>[0]
const request = (more: Partial<Given> = {}): Given => ({
  state: 'received',
  kinds: ['erasure'],
  subject: 'person',
  parts: [],
  paused: null,
  waiting_until: null,
  ...more,
})
const part = (
  kind: 'access' | 'rectification' | 'erasure',
  state: 'pending' | 'running' | 'partly_done' | 'failed',
  outcome = {},
) => ({
  kind,
  state,
  started_at: null,
  finished_at: null,
  outcome,
})
const event = (name: string, details: ShownTimelineEvent['details'] = {}): ShownTimelineEvent => ({
  at: now.toISOString(),
  by: 'system',
  event: name,
  details,
  note: null,
})
const inAnHour = new Date(now.getTime() + 3_600_000).toISOString()
const anHourAgo = new Date(now.getTime() - 3_600_000).toISOString()

describe('sayingOf', () => {
  const cases: [RequestSaying, Given, ShownTimelineEvent[]?][] = [
    ['received', request()],
    ['paused', request({ paused: { since: anHourAgo, reason: 'Who are you?' } })],
    ['verified', request({ state: 'verified' })],
    ['waitingPerson', request({ state: 'waiting', waiting_until: inAnHour })],
    ['waitingAgent', request({ state: 'waiting', waiting_until: inAnHour, subject: 'agent' })],
    ['duePerson', request({ state: 'waiting', waiting_until: anHourAgo })],
    [
      'copyFirst',
      request({
        state: 'waiting',
        waiting_until: anHourAgo,
        parts: [part('access', 'running', { export_id: 'exp_1', copy: 'ready' })],
      }),
    ],
    ['blocked', request({ state: 'waiting', waiting_until: anHourAgo }), [event('blocked')]],
    ['erasingAgent', request({ state: 'running', subject: 'agent', parts: [part('erasure', 'running')] })],
    ['running', request({ state: 'running', kinds: ['access'], parts: [part('access', 'running')] })],
    [
      'address',
      request({
        state: 'running',
        kinds: ['rectification'],
        parts: [part('rectification', 'running', { waits_for: 'address' })],
      }),
    ],
    ['verifyingPerson', request({ state: 'verifying' })],
    ['erased', request({ state: 'completed' }), [event('completed', { receipt_id: 'rcpt_1' })]],
    ['completed', request({ state: 'completed', kinds: ['access'] }), [event('completed')]],
    ['moot', request({ state: 'completed', kinds: ['access'] }), [event('completed', { by: 'erasure' })]],
    ['partly', request({ state: 'partly_completed', parts: [part('erasure', 'partly_done')] })],
    [
      'keptWhole',
      request({ state: 'partly_completed', parts: [part('erasure', 'partly_done', { nothing_erased: true })] }),
    ],
    ['cancelledErasure', request({ state: 'cancelled' }), [event('cancelled')]],
    ['cancelled', request({ state: 'cancelled', kinds: ['access'] }), [event('cancelled')]],
    ['moot', request({ state: 'cancelled' }), [event('cancelled', { by: 'erasure' })]],
    ['taken', request({ state: 'cancelled' }), [event('cancelled', { request_id: 'preq_1' })]],
    ['expired', request({ state: 'cancelled' }), [event('received'), event('expired')]],
    ['rejected', request({ state: 'rejected' })],
    ['failedErasure', request({ state: 'failed', parts: [part('erasure', 'failed')] })],
    // Only the copy failed: the erasure began without it.
    ['erasingPerson', request({ state: 'failed', parts: [part('access', 'failed'), part('erasure', 'running')] })],
    ['failed', request({ state: 'failed', kinds: ['access'], parts: [part('access', 'running')] })],
  ]
  it.each(cases)('returns %s', (saying, given, timeline = []) =>
    expect(requestSayingOf(given, timeline, now)).toBe(saying),
  )

  it('returns only keys that have a translation in both languages', () => {
    for (const words of [en, zh]) {
      for (const [saying] of cases) expect(words.requests.request.says).toHaveProperty(saying)
      for (const [saying] of cases) {
        const lead = leadOf(saying)
        if (lead) expect(words.requests.request.leads).toHaveProperty(lead)
      }
      for (const state of states) expect(words.requestNames.states).toHaveProperty(state)
    }
  })
})

it('signedReceipt returns the reserved id only after an erasure that erased something', () => {
  const done = { receipt_id: 'rcpt_1', parts: [part('erasure', 'partly_done', { receipt_id: 'rcpt_1' })] }
  for (const state of ['received', 'waiting', 'running', 'verifying', 'failed'] as const)
    expect(signedReceiptOf({ state, ...done })).toBeNull()
  for (const state of ['completed', 'partly_completed'] as const)
    expect(signedReceiptOf({ state, ...done })).toBe('rcpt_1')
  const kept = { receipt_id: 'rcpt_1', parts: [part('erasure', 'partly_done', { nothing_erased: true })] }
  expect(signedReceiptOf({ state: 'partly_completed', ...kept })).toBeNull()
})

it('pace is short while an erasure runs and false for a closed request', () => {
  expect(requestPollInterval({ state: 'running' }, { state: 'erasing' })).toBe(3_000)
  expect(requestPollInterval({ state: 'waiting' }, null)).toBe(60_000)
  expect(requestPollInterval({ state: 'completed' }, { state: 'done' })).toBe(false)
})

describe('wordsOf', () => {
  it('returns a translated key for every event that a subject sees', () => {
    const others = ['added_to', 'taken_over', 'retried', 'copy_fetched', 'copy_gone']
    for (const name of [...Object.keys(english), ...others]) {
      const key = eventTextOf({ ...event(name), by: 'subject' })
      expect(key, name).not.toBe('other')
      for (const words of [en, zh]) expect(words.timeline.events).toHaveProperty(key)
    }
  })
  it('distinguishes events by their details', () => {
    expect(eventTextOf(event('running', { run_id: 'run_1' }))).toBe('running_erasure')
    expect(eventTextOf(event('completed', { by: 'erasure' }))).toBe('completed_moot')
    expect(eventTextOf(event('partly_completed', { nothing_erased: true }))).toBe('kept_whole')
    expect(eventTextOf(event('something new'))).toBe('other')
  })
})

describe('remaining time', () => {
  it.each([
    [90 * 60, 'minutes', 90],
    [2 * 3_600, 'hours', 2],
    [2 * 86_400 - 1, 'hours', 47],
    [2 * 86_400, 'days', 2],
    [-3 * 86_400, 'days', 3],
    [59, 'minutes', 0],
  ])('spanOf %i seconds returns a rounded-down number of %s', (seconds, unit, n) => {
    expect(spanOf(seconds)).toEqual({ unit, n })
  })
  it.each([
    [5 * 86_400, 'plain'],
    [2 * 86_400, 'plain'],
    [2 * 86_400 - 1, 'amber'],
    [-1, 'red'],
  ])('timeLeftOf %i seconds returns the tone %s, whatever share of the term has passed', (seconds, tone) => {
    for (const due of ['ok', 'near']) expect(timeLeftOf(due, seconds).tone).toBe(tone)
  })
  it('timeLeftOf returns the text of a passed and of a stopped clock', () => {
    expect(timeLeftOf('overdue', -60)).toEqual({ says: 'over', tone: 'red' })
    expect(timeLeftOf('stopped', null).says).toBe('stopped')
  })
  it('handOf returns the elapsed share of a limit', () => {
    expect(handOf(anHourAgo, inAnHour, now)).toEqual({ elapsed: 0.5, secondsLeft: 3_600 })
    expect(handOf(anHourAgo, anHourAgo, now).elapsed).toBe(1)
  })
})

it.each([
  ['a stuck step', { steps: ['stuck'], waits: 0 }, true],
  ['a store that does not answer', { steps: ['waiting'], waits: 1 }, true],
  ['neither', { steps: ['running', 'done'], waits: 0 }, false],
] as const)('isRetryable with %s returns the expected value', (_, { steps, waits }, expected) => {
  const step = { holder: 'h', store: 's', planned: 1, erased: 0, held: [], residue: null, results: {}, attempts: 0 }
  const times = { fault: null, waiting_since: null, started_at: null, finished_at: null, verified_at: null }
  const erasure = {
    state: 'erasing' as const,
    steps: steps.map((state) => ({ ...step, ...times, state })),
    waits_for: Array.from({ length: waits }, () => ({ store: 'graph', since: now.toISOString() })),
  }
  const given = { for_member: false, closed_at: null, parts: [], erasure }
  expect(isRetryable(given)).toBe(expected)
  expect(isRetryable({ ...given, for_member: true })).toBe(false)
  expect(isRetryable({ ...given, closed_at: now.toISOString() })).toBe(false)
})

describe('timelineActs', () => {
  const at = (minute: number, name: string, by: ShownTimelineEvent['by'] = 'system') => ({
    ...event(name),
    by,
    at: `2026-03-10T12:${String(minute).padStart(2, '0')}:00Z`,
  })
  const told = (events: ShownTimelineEvent[]) =>
    timelineActs(events).map(({ event: { event: name }, others, tries }) => [name, others.length, tries])

  it('shows the events of one transaction as one act, described by the one that causes the others', () => {
    expect(told([at(0, 'received', 'subject'), at(0, 'link_sent'), at(1, 'running'), at(1, 'rectified')])).toEqual([
      ['received', 1, 0],
      ['rectified', 1, 0],
    ])
  })

  it('shows nineteen events of one failure that is retried as one act, with the time of the latest attempt', () => {
    const attempts = [...Array(9).keys()].flatMap((n) => [at(2 * n, 'failed'), at(2 * n + 1, 'running')])
    const acts = timelineActs([at(0, 'verified', 'admin'), ...attempts.slice(2), at(30, 'failed')])
    expect(acts.map(({ event: { event: name }, tries }) => [name, tries])).toEqual([
      ['verified', 0],
      ['failed', 9],
    ])
    expect([acts[1]?.since, acts[1]?.event.at]).toEqual(['2026-03-10T12:02:00Z', '2026-03-10T12:30:00Z'])
  })

  it('counts attempts again after an act of a person, and never hides that act', () => {
    expect(
      told([at(0, 'failed'), at(1, 'failed'), at(2, 'retried', 'admin'), at(3, 'failed'), at(4, 'completed')]),
    ).toEqual([
      ['failed', 0, 2],
      ['retried', 0, 0],
      ['failed', 0, 1],
      ['completed', 0, 0],
    ])
  })
})
