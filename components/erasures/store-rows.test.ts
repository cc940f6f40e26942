import { describe, expect, it } from 'vitest'
import en from '#messages/en.ts'
import { hasWork, progressOf, resultNames, resultsOf, type ShownStep, storeRows } from './store-rows.ts'

const step = (holder: string, more: Partial<ShownStep> = {}): ShownStep => ({
  holder,
  store: 'postgresql',
  state: 'waiting',
  planned: 0,
  erased: 0,
  held: [],
  residue: null,
  results: {},
  attempts: 0,
  fault: null,
  waiting_since: null,
  started_at: null,
  finished_at: null,
  verified_at: null,
  ...more,
})
const at = '2026-01-31T12:00:00.000Z'

describe('progress by store', () => {
  it('storeRows counts records under legal hold with those to erase', () => {
    const rows = storeRows([
      step('knowledge.units', { state: 'done', planned: 10, erased: 10 }),
      step('exports.files', { store: 'exports', planned: 2 }),
      step('agents', {
        planned: 3,
        erased: 1,
        state: 'running',
        held: [
          { hold_id: 'a', count: 2 },
          { hold_id: 'b', count: 1 },
        ],
      }),
    ])
    expect(rows.map(({ steps, ...row }) => [row, steps.length])).toEqual([
      [{ store: 'postgresql', records: 16, erased: 11, held: 3, state: 'running' }, 2],
      [{ store: 'exports', records: 2, erased: 0, held: 0, state: 'waiting' }, 1],
    ])
  })

  it('hasWork is false only for a store without records, residue and faults', () => {
    const has = (more: Partial<ShownStep>) => storeRows([step('x', more), step('y')]).map(hasWork)
    expect(has({})).toEqual([false])
    expect(has({ state: 'done', verified_at: at, residue: 0 })).toEqual([false])
    expect(has({ planned: 1 })).toEqual([true])
    expect(has({ held: [{ hold_id: 'a', count: 1 }] })).toEqual([true])
    expect(has({ state: 'done', verified_at: at, residue: 1 })).toEqual([true])
    expect(has({ state: 'stuck' })).toEqual([true])
    expect(has({ waiting_since: at })).toEqual([true])
  })

  it.each([
    [['done', 'stuck', 'running'], 'stuck'],
    [['waiting', 'waiting'], 'waiting'],
    [['done', 'waiting'], 'running'],
    [['done', 'done'], 'done'],
  ] as const)('storeRows with steps in states %j returns the state %s', (states, whole) => {
    expect(storeRows(states.map((state) => step('x', { state })))[0]?.state).toBe(whole)
  })

  it('storeRows returns undecided for a store with an undecided thread unless another step is stuck', () => {
    const undecided = step('x', { state: 'stuck', fault: 'conflict:thread/17' })
    expect(progressOf(undecided)).toBe('undecided')
    expect(storeRows([undecided, step('y', { state: 'done' })])[0]?.state).toBe('undecided')
    expect(storeRows([undecided, step('y', { state: 'stuck', fault: 'internal' })])[0]?.state).toBe('stuck')
  })

  it('storeRows returns blocked for a store that does not answer until a step is stuck', () => {
    const waiting = step('x', { state: 'running', fault: 'unavailable', waiting_since: at })
    expect(progressOf(waiting)).toBe('blocked')
    expect(storeRows([step('y', { state: 'done' }), waiting])[0]?.state).toBe('blocked')
    expect(progressOf({ ...waiting, state: 'stuck' })).toBe('stuck')
  })

  it('storeRows returns checked only when every step was verified without residue', () => {
    const checked = step('x', { state: 'done', verified_at: at, residue: 0 })
    expect(progressOf(checked)).toBe('checked')
    expect(progressOf({ ...checked, residue: 2 })).toBe('done')
    expect(storeRows([checked, step('y', { state: 'done' })])[0]?.state).toBe('done')
    expect(storeRows([checked, checked])[0]?.state).toBe('checked')
  })
})

it('resultsOf sums the counts of the steps, and every name has a translation', () => {
  expect(
    resultsOf([
      step('graph.episodes', { results: { entitiesDeleted: 2, objects: 0 } }),
      step('cache.entries', { results: { entitiesDeleted: 1, keys: 4, unheard: 3 } }),
    ]),
  ).toEqual([
    { name: 'entitiesDeleted', count: 3 },
    { name: 'keys', count: 4 },
  ])
  expect(Object.keys(en.storeProgress.results).sort()).toEqual([...resultNames].sort())
})
