import { expect, it } from 'vitest'
import type { RequestRow } from '#lib/domains/privacy-requests/requests.ts'
import type { RunView } from '#lib/kernel/erasure-run.ts'
import { causesOfRequest } from './request-causes.ts'

const now = new Date('2026-03-20T12:00:00Z')
const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000)

/** A request whose erasure was due 200 hours ago and ended now. */
const late = (begunAt: number, outcome: object = {}) =>
  ({
    state: 'completed',
    verifiedAt: ago(300),
    waitingUntil: ago(200),
    closedAt: now,
    parts: [
      { kind: 'access', state: 'done', outcome },
      { kind: 'erasure', state: 'done', startedAt: ago(begunAt), outcome: {} },
    ],
  }) as unknown as RequestRow
/** A timeline of events, each with the hours that have passed since. */
const timeline = (passed: [string, number][]) =>
  passed.map(([event, hours]) => ({ event, at: ago(hours), details: { kind: 'access' } })) as never
/** A run that waited for the graph from 178 hours before to 20 hours before now. */
const run = {
  createdAt: ago(200),
  plannedAt: ago(199),
  erasedAt: ago(20),
  finishedAt: ago(19),
  steps: [
    { store: 'postgresql', startedAt: ago(199), finishedAt: ago(178) },
    { store: 'graph', startedAt: ago(178), finishedAt: ago(20) },
  ],
} as unknown as RunView
const codes = (row: RequestRow, events: [string, number][], of?: RunView) =>
  causesOfRequest(row, { events: timeline(events), run: of }, now).map(({ code }) => code)
const copy = { export_id: 'exp_1', copy: 'fetched' }

const cases: [string, RequestRow, [string, number][], string[]][] = [
  [
    'a pause until after it was due',
    late(150),
    [
      ['paused', 250],
      ['resumed', 150],
    ],
    ['paused'],
  ],
  [
    'a pause, and then no worker',
    late(20),
    [
      ['paused', 250],
      ['resumed', 150],
    ],
    ['late_start', 'paused'],
  ],
  [
    'no pause that lasted until it was due',
    late(200),
    [
      ['paused', 290],
      ['resumed', 289],
    ],
    [],
  ],
  [
    'a legal hold',
    late(200),
    [
      ['kept_whole', 199],
      ['running', 20],
    ],
    ['legal_hold'],
  ],
  [
    'a missing admin',
    late(20),
    [
      ['blocked', 200],
      ['running', 20],
    ],
    ['last_admin'],
  ],
  [
    'a copy that was downloaded late',
    late(20, copy),
    [
      ['copy_ready', 290],
      ['copy_fetched', 20],
    ],
    ['copy'],
  ],
  [
    'a copy that was prepared late',
    late(20, copy),
    [
      ['copy_ready', 20.5],
      ['copy_fetched', 20],
    ],
    ['copy_preparing'],
  ],
  [
    'no copy that was downloaded before',
    late(20, copy),
    [
      ['copy_ready', 290],
      ['copy_fetched', 280],
    ],
    ['late_start'],
  ],
  ['a copy that was never ready', late(20, { export_id: 'exp_1' }), [['running', 20]], ['copy_preparing']],
  ['a start without a worker', late(20), [['running', 20]], ['late_start']],
  [
    'no recorded cause',
    late(200),
    [
      ['verified', 300],
      ['running', 200],
    ],
    [],
  ],
]
it.each(cases)('causesOfRequest of an erasure that was late because of %s', (_, row, events, expected) => {
  expect(codes(row, events)).toEqual(expected)
})

it('causesOfRequest names the longest step beside the delays, without their time', () => {
  expect(codes(late(200), [], run)).toEqual(['slow_step'])
  expect(causesOfRequest(late(200), { events: [], run }, now)[0]?.store).toBe('graph')
  const held = timeline([
    ['kept_whole', 177],
    ['running', 21],
  ])
  expect(causesOfRequest(late(200), { events: held, run }, now)).toEqual([
    { code: 'legal_hold', store: null, fault: null },
    { code: 'slow_step', store: 'postgresql', fault: null },
  ])
})

it.each([
  ['ready', ['copy']],
  [null, ['copy_preparing']],
  ['fetched', []],
])('causesOfRequest of an erasure that waits for a copy in the state %s', (state, expected) => {
  const row = {
    state: 'waiting',
    waitingUntil: ago(1),
    closedAt: null,
    parts: [{ kind: 'access', state: 'running', outcome: { export_id: 'exp_1', copy: state } }],
  } as unknown as RequestRow
  expect(codes(row, [])).toEqual(expected)
})

it('causesOfRequest names the stored error of a failed copy of an open request', () => {
  const row = {
    state: 'failed',
    closedAt: null,
    parts: [{ kind: 'access', state: 'failed', outcome: { copy: 'failed', fault: 'unavailable' } }],
  } as unknown as RequestRow
  expect(causesOfRequest(row, { events: [], run: undefined }, now)).toEqual([
    { code: 'copy_failed', store: null, fault: 'unavailable' },
  ])
})

it('causesOfRequest of a request whose confirmation was withdrawn names the confirmation and the open decision', () => {
  const row = {
    state: 'received',
    closedAt: null,
    parts: [
      { kind: 'objection', state: 'running', outcome: { waits_for: 'admin' } },
      { kind: 'erasure', state: 'pending', outcome: {} },
    ],
  } as unknown as RequestRow
  expect(codes(row, [['doubted', 1]])).toEqual(['unverified', 'decision'])
})
