import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import { type PartErasureSaying, paceOf, partErasureSayingOf } from './part-erasure-rules.ts'

const step = (state: 'waiting' | 'running' | 'done' | 'stuck', fault: string | null = null) => ({
  holder: 'graph.episodes',
  store: 'graph',
  state,
  planned: 1,
  erased: 0,
  held: [],
  residue: null,
  results: {},
  attempts: 0,
  fault,
  waiting_since: null,
  started_at: null,
  finished_at: null,
  verified_at: null,
})

it.each([
  ['erasing', ['done', 'running'], 0, 'erasing'],
  ['erasing', ['done', 'stuck'], 0, 'stuck'],
  ['verifying', ['stuck'], 0, 'stuck'],
  ['held', ['done'], 0, 'held'],
  ['failed', ['stuck'], 0, 'failed'],
  ['done', ['done'], 0, 'done'],
  ['done', ['done'], 2, 'doneLate'],
] as const)(
  'sayingOf an erasure in state %s with steps %j and %d late writes returns %s',
  (state, states, late, saying) => {
    const said: PartErasureSaying = partErasureSayingOf({
      state,
      steps: states.map((one) => step(one)),
      waits_for: [],
      late_found: late,
    })
    expect(said).toBe(saying)
    expect(en.projects.erasure.title).toHaveProperty(said)
  },
)

const waits_for = [{ store: 'graph', since: '2026-01-31T12:00:00.000Z' }]
const undecided = step('stuck', 'conflict:thread/17')
it.each([
  ['waiting', 'erasing', [step('waiting')]],
  ['waiting', 'planning', []],
  ['undecided', 'erasing', [step('done'), undecided]],
  ['stuck', 'erasing', [undecided, step('stuck', 'internal')]],
  ['done', 'done', [step('done')]],
] as const)('sayingOf returns %s for an erasure in state %s that waits for a store', (saying, state, steps) => {
  expect(partErasureSayingOf({ state, steps: [...steps], waits_for, late_found: 0 })).toBe(saying)
  expect(en.projects.erasure.title).toHaveProperty(saying)
})

it('the explanation of the second search names every store', () => {
  for (const store of ['graph', 'threads', 'cache', 'files'])
    expect(en.projects.erasure.recheck.ahead.toLowerCase()).toContain(store)
})

it.each([
  ['erasing', 'running', null, 2_000],
  ['erasing', 'stuck', null, 20_000],
  ['held', 'done', null, 20_000],
  ['done', 'done', null, 2_000],
  ['done', 'done', 'rcpt_1', false],
] as const)(
  'paceOf an erasure in state %s with a step in state %s and the receipt %j returns %s',
  (state, own, receipt, pace) => {
    expect(paceOf({ state, steps: [step(own)], waits_for: [], late_found: 0, receipt_id: receipt })).toBe(pace)
  },
)
