import { expect, it } from 'vitest'
import type { RequestRow } from '#lib/domains/privacy-requests/requests.ts'
import type { RunView } from '#lib/kernel/erasure-run.ts'
import { causesOfRequest } from './causes.ts'

const now = new Date('2026-03-20T12:00:00Z')
const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000)

/** A request whose erasure was due 200 hours ago and ended now. */
const late = (begunAt: number, outcome: object = {}) =>
  ({
    ...{ state: 'completed', verifiedAt: ago(300), waitingUntil: ago(200), closedAt: now },
    parts: [
      { kind: 'access', state: 'done', outcome },
      { kind: 'erasure', state: 'done', startedAt: ago(begunAt), outcome: {} },
    ],
  }) as unknown as RequestRow
const events = (...names: string[]) => names.map((event) => ({ event })) as never
const run = {
  ...{ createdAt: ago(200), plannedAt: ago(199), erasedAt: ago(20), finishedAt: ago(1) },
  steps: [
    { store: 'postgresql', startedAt: ago(199), finishedAt: ago(198) },
    { store: 'graph', startedAt: ago(198), finishedAt: ago(20) },
  ],
} as unknown as RunView
const codes = (row: RequestRow, names: string[], of?: RunView) =>
  causesOfRequest(row, { events: events(...names), run: of }, now).map(({ code, store }) => [code, store])

it.each([
  ['a pause and a legal hold', late(200), ['paused', 'kept_whole', 'partly_completed'], ['paused', 'legal_hold']],
  ['a copy that was downloaded late', late(20, { export_id: 'exp_1' }), [], ['copy']],
  ['a start without a worker', late(20), [], ['late_start']],
  ['no recorded cause', late(200), ['verified', 'running'], []],
])('causesOfRequest of an erasure that was late because of %s', (_, row, names, expected) => {
  expect(codes(row, names)).toEqual(expected.map((code) => [code, null]))
})

it('causesOfRequest names the store of the longest step when the timeline has no cause', () => {
  expect(codes(late(200), [], run)).toEqual([['slow_step', 'graph']])
})

it('causesOfRequest names the stored error of a failed copy of an open request', () => {
  const row = {
    ...{ state: 'failed', closedAt: null },
    parts: [{ kind: 'access', state: 'failed', outcome: { copy: 'failed', fault: 'unavailable' } }],
  } as unknown as RequestRow
  expect(causesOfRequest(row, { events: [], run: undefined }, now)).toEqual([
    { code: 'copy_failed', store: null, fault: 'unavailable' },
  ])
})
