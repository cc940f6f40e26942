import { expect, it } from 'vitest'
import { progressBar } from './progress-bar.ts'

it.each([
  [0, '░░░░░░░░░░░░░░░░░░░░   0 %'],
  [0.5, '██████████░░░░░░░░░░  50 %'],
  [0.999, '████████████████████  99 %'],
  [1, '████████████████████ 100 %'],
  [1.7, '████████████████████ 100 %'],
  [-1, '░░░░░░░░░░░░░░░░░░░░   0 %'],
])('progressBar draws %d as %s', (share, drawn) => {
  expect(progressBar(share)).toBe(drawn)
})
