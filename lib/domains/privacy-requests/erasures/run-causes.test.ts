import { expect, it } from 'vitest'
import type { RunView, StepView } from '#lib/kernel/erasure-run.ts'
import { causesOfRun } from './run-causes.ts'

const now = new Date('2026-03-20T12:00:00Z')
const hour = 3_600_000
const run = (given: Partial<RunView>, ...steps: Partial<StepView>[]) =>
  ({
    fault: null,
    recheckAt: null,
    waits: [],
    refusedBy: [],
    ...given,
    steps: steps.map((step) => ({ store: 'graph', state: 'done', fault: null, residue: 0, ...step })),
  }) as unknown as RunView
const overdue = new Date(now.getTime() - 7 * hour)
const cases: [string, RunView, [string, string | null, string | null][]][] = [
  [
    'failed because data was found again',
    run({ state: 'failed' }, { residue: 2 }, { residue: 1 }, { store: 'cache' }),
    [['residue_left', 'graph', null]],
  ],
  [
    'refused by a store in verification',
    run({ state: 'verifying', fault: 'store_refuses:credentials', refusedBy: ['objects'] }),
    [['store_refuses', 'objects', 'credentials']],
  ],
  [
    'refused by a store in planning that is not recorded',
    run({ state: 'planning', fault: 'store_refuses:missing' }),
    [['planning', null, 'missing']],
  ],
  [
    'done with a thread that needs a decision',
    run({ state: 'done', recheckAt: now }, { fault: 'conflict:thread_1', residue: 1 }),
    [['thread_undecided', 'graph', null]],
  ],
  ['done with residue', run({ state: 'done', recheckAt: now }, { residue: 1 }), [['residue', 'graph', null]]],
  [
    'done with a second search that failed',
    run({ state: 'done', recheckAt: overdue }, { fault: 'internal' }),
    [['search_failed', 'graph', 'internal']],
  ],
  [
    'done with a second search that nothing tried',
    run({ state: 'done', recheckAt: overdue }, { fault: 'conflict:thread_1', residue: 1 }),
    [
      ['thread_undecided', 'graph', null],
      ['second_search', null, null],
    ],
  ],
  ['erasing after a failed attempt', run({ state: 'erasing' }, { state: 'waiting', fault: 'internal' }), []],
]
it.each(cases)('causesOfRun of a run that is %s', (_, given, expected) => {
  expect(causesOfRun(given, now).map(({ code, store, fault }) => [code, store, fault])).toEqual(expected)
})
