import fc from 'fast-check'
import { expect, it } from 'vitest'
import { nextStep, shortestStep } from './steps.ts'

const hour = 3_600_000

it.each([
  ['quick', 10, hour * 4],
  ['neither quick nor slow', 500, hour],
  ['slow', 2_000, hour / 4],
  ['timed out', undefined, hour / 16],
] as const)('nextStep after a step that was %s', (_, took, milliseconds) => {
  expect(nextStep({ milliseconds: hour }, took)).toEqual({ milliseconds })
})

it('nextStep reaches the shortest step and stays there when every step times out', () => {
  fc.assert(
    fc.property(fc.integer({ min: shortestStep, max: 90 * 24 * hour }), (milliseconds) => {
      let step = { milliseconds }
      for (let n = 0; n < 12; n++) step = nextStep(step, undefined)
      return step.milliseconds === shortestStep
    }),
  )
})
