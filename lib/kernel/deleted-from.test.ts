import { expect, it } from 'vitest'
import { deletedFrom, isErased } from './deleted-from.ts'
import type { StepView } from './erasure-run.ts'

const step = (store: string, more: Partial<StepView> = {}): StepView => ({
  holder: `some.${store}`,
  store,
  stage: 'derived',
  state: 'done',
  planned: 1,
  erased: 1,
  held: [],
  residue: 0,
  results: {},
  attempts: 0,
  fault: null,
  startedAt: null,
  finishedAt: null,
  verifiedAt: null,
  ...more,
})

it('deletedFrom returns the sums of all steps per store under the names of the API', () => {
  const steps = [
    step('graph', { results: { episodesDeleted: 2, entitiesDeleted: 1, factsDeleted: 7 } }),
    step('graph', { results: { entitiesOrphaned: 3, entitiesDeleted: 1 } }),
    step('checkpoints', { results: { threads: 1, messages: 4 } }),
    step('objects', { results: { objects: 5 } }),
    step('cache', { erased: 0, results: { keys: 0 } }),
    step('postgresql'),
  ]
  expect(deletedFrom({ state: 'done', steps })).toEqual({
    postgresql: true,
    graphiti: { episodesDeleted: 2, entitiesDeleted: 2, entitiesOrphaned: 3 },
    redis: true,
    checkpoints: { threads: 1, messages: 4 },
    objects: 5,
  })
})

it('deletedFrom reports a store as emptied only when all its steps are done without held items or residue', () => {
  expect(deletedFrom({ state: 'planning', steps: [] })).toMatchObject({ postgresql: false, redis: false })
  const waiting = [step('postgresql'), step('postgresql', { state: 'stuck' }), step('cache', { state: 'waiting' })]
  expect(deletedFrom({ state: 'erasing', steps: waiting })).toMatchObject({ postgresql: false, redis: false })
  const held = [step('postgresql', { held: [{ hold: 'hold_x', count: 1 }] })]
  expect(deletedFrom({ state: 'held', steps: held })).toMatchObject({ postgresql: false })
  const again = [step('postgresql', { residue: 2 })]
  expect(deletedFrom({ state: 'erasing', steps: again })).toMatchObject({ postgresql: false })
  expect(deletedFrom({ state: 'planning', steps: [step('postgresql')] })).toMatchObject({ postgresql: false })
})

it('isErased returns true only for the state done', () => {
  const states = ['planning', 'erasing', 'verifying', 'held', 'done', 'failed'] as const
  expect(states.filter((state) => isErased({ state }))).toEqual(['done'])
})
