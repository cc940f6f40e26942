import { describe, expect, it } from 'vitest'
import { requestKinds, states } from '#lib/domains/privacy-requests/rules.ts'
import { actsOf, extendedBy, longestExtension } from './acts.ts'
import { countByStretch, dueOf } from './due.ts'
import type { AdminRequest } from './endpoints.ts'
import { isQueueFiltered, loadQueueFilters, type QueueFilterValues, queueQueryOf } from './filters.ts'
import { eventName, isNewestAssignment } from './timeline-events.ts'

const day = 86_400
const request = (more: Partial<AdminRequest> = {}): AdminRequest => ({
  id: `preq_${'0'.repeat(22)}`,
  kinds: ['erasure'],
  parts: [{ kind: 'erasure', state: 'pending', started_at: null, finished_at: null, outcome: {} }],
  channel: 'console',
  state: 'waiting',
  subject: 'person',
  agent_id: null,
  participant_id: null,
  grace: '24h',
  redact: false,
  received_at: '2026-01-31T12:00:00.000Z',
  verified_by: 'password',
  verified_at: '2026-01-31T12:00:00.000Z',
  waiting_until: '2026-02-01T12:00:00.000Z',
  started_at: null,
  due_at: '2026-02-04T12:00:00.000Z',
  legal_due_at: '2026-02-28T12:00:00.000Z',
  due: 'ok',
  seconds_left: 4 * day,
  extended: false,
  paused: null,
  closed_at: null,
  receipt_id: null,
  can_cancel: true,
  for_member: false,
  account_id: `usr_${'0'.repeat(22)}`,
  filed_by: null,
  assigned_to: null,
  subject_name: null,
  assigned_name: null,
  ...more,
})

describe('due dates', () => {
  it.each([
    ['ok', 4 * day, 'left', 'plain'],
    ['near', 5 * day, 'left', 'plain'],
    ['ok', 2 * day - 1, 'left', 'amber'],
    ['overdue', -3_600, 'over', 'red'],
    ['paused', 3_600, 'paused', 'plain'],
    ['paused', -3_600, 'pausedOver', 'plain'],
    ['stopped', null, 'stopped', 'plain'],
  ] as const)(
    'dueOf a request in due state %s with %s seconds left returns %s in tone %s',
    (due, seconds_left, says, tone) => {
      expect(dueOf(request({ due, seconds_left }))).toMatchObject({ says, tone })
    },
  )

  it('dueOf returns the earlier limit, and no date for a closed request', () => {
    expect(dueOf(request())).toMatchObject({ at: '2026-02-04T12:00:00.000Z', clock: 'ours' })
    expect(dueOf(request({ due_at: null }))).toMatchObject({ at: '2026-02-28T12:00:00.000Z', clock: 'legal' })
    expect(dueOf(request({ due: 'stopped', seconds_left: null })).at).toBeNull()
  })

  it('countByStretch counts every request once', () => {
    const seconds = [-1, 0, day, day + 1, 3 * day, 7 * day, 8 * day, 32 * day]
    const all = [
      ...seconds.map((seconds_left) => request({ seconds_left, due: seconds_left < 0 ? 'overdue' : 'ok' })),
      request({ due: 'paused' }),
      request({ due: 'stopped', seconds_left: null }),
    ]
    expect(countByStretch(all)).toEqual({ overdue: 1, week: 5, later: 2, still: 2 })
  })
})

describe('eventName', () => {
  const received = '2026-01-31T12:00:00.000Z'
  it.each([
    ['received', '2026-01-31T12:00:20.000Z', 'received'],
    ['received', '2026-01-31T11:59:59.000Z', 'received'],
    ['received', '2026-01-31T12:01:00.000Z', 'recorded'],
    ['received', '2026-02-02T09:00:00.000Z', 'recorded'],
    ['verified', '2026-02-02T09:00:00.000Z', 'verified'],
    ['unheard_of', received, undefined],
  ])('names the event %s at %s, of a request received on 31 January at noon, %s', (event, at, name) => {
    expect(eventName({ event, at, details: {} }, received)).toBe(name)
  })
})

describe('actsOf', () => {
  it.each([
    ['received', ['verify', 'pause', 'extend', 'refuse', 'assign', 'comment']],
    ['waiting', ['expedite', 'pause', 'extend', 'refuse', 'assign', 'comment']],
    ['running', ['extend', 'assign', 'comment']],
    ['verifying', ['extend', 'assign', 'comment']],
    ['partly_completed', ['assign', 'comment']],
    ['completed', ['assign', 'comment']],
    ['rejected', ['assign', 'comment']],
  ] as const)('returns the applicable actions in state %s', (state, expected) => {
    expect(actsOf(request({ state }))).toEqual(expected)
  })

  it('returns resume and not pause for a paused request', () => {
    const paused = { since: '2026-02-01T00:00:00.000Z', reason: 'They look for their passport.' }
    expect(actsOf(request({ paused }))).toEqual(['resume', 'extend', 'refuse', 'assign', 'comment'])
  })

  it('returns complete for a part that needs a decision', () => {
    const parts: AdminRequest['parts'] = [
      { kind: 'objection', state: 'running', started_at: null, finished_at: null, outcome: {} },
    ]
    expect(actsOf(request({ state: 'running', parts }))).toEqual(['complete', 'extend', 'refuse', 'assign', 'comment'])
  })

  it('returns retry only for a request with a failed part', () => {
    const failed: AdminRequest['parts'] = [
      { kind: 'access', state: 'failed', started_at: null, finished_at: null, outcome: {} },
    ]
    expect(actsOf(request({ state: 'failed', parts: failed }))).toContain('retry')
    for (const state of states) expect([state, actsOf(request({ state })).includes('retry')]).toEqual([state, false])
  })

  it('returns nothing for a closed request whose subject was erased', () => {
    expect(actsOf(request({ state: 'completed', account_id: null }))).toEqual([])
  })
})

describe('an extension of the legal limit', () => {
  const now = new Date('2026-02-10T00:00:00Z')
  it('extendedBy counts from the current limit and allows two months after the first one', () => {
    expect(extendedBy(request(), 10, now)).toEqual(new Date('2026-03-10T12:00:00Z'))
    expect(longestExtension(request(), now)).toBe(61)
    expect(extendedBy(request(), 62, now)).toBe('beyond_law')
  })
  it('longestExtension allows one extension, and only within the first month', () => {
    expect(longestExtension(request({ extended: true }), now)).toBe(0)
    expect(longestExtension(request(), new Date('2026-03-01T00:00:00Z'))).toBe(0)
  })
})

describe('queryOf', () => {
  const me = `usr_${'1'.repeat(22)}`
  const read = async (query: string): Promise<QueueFilterValues> => loadQueueFilters(new URLSearchParams(query))

  it('defaults to open requests sorted by due date', async () => {
    expect(queueQueryOf(await read(''), me)).toEqual({ open: 'true', sort: 'due', limit: '50' })
    expect(queueQueryOf(await read('open=all&sort=received'), me)).toEqual({ sort: 'received', limit: '50' })
  })
  it('passes every filter to the API', async () => {
    const query = `state=waiting&kind=${requestKinds[5]}&channel=mail&due=week&assignee=me&q=preq_1&open=false`
    expect(queueQueryOf(await read(query), me)).toEqual({
      open: 'false',
      state: 'waiting',
      kind: 'erasure',
      channel: 'mail',
      due: 'week',
      assignee: me,
      q: 'preq_1',
      sort: 'due',
      limit: '50',
    })
    expect(isQueueFiltered(await read(query))).toBe(true)
    expect(isQueueFiltered(await read('open=all'))).toBe(false)
  })
  it('ignores invalid values', async () => {
    const wrong = await read('state=nowhere&q=%20&assignee=somebody&hold=1&open=perhaps')
    expect(queueQueryOf(wrong, me)).toEqual({ open: 'true', sort: 'due', limit: '50' })
  })
})

it('only the newest assignment of a request names the current assignee', () => {
  const event = (name: string, details: Record<string, boolean> = {}) => ({ event: name, details })
  const [first, second, comment] = [
    event('assigned', { assigned: true }),
    event('assigned', { assigned: true }),
    event('comment'),
  ]
  const newest = (timeline: ReturnType<typeof event>[]) => timeline.map((entry) => isNewestAssignment(entry, timeline))
  expect(newest([first, second, comment])).toEqual([false, true, false])
  expect(newest([first, event('assigned', { assigned: false })])).toEqual([false, false])
})
