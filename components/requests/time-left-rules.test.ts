import { expect, it } from 'vitest'
import { legalSecondsLeft } from './time-left-rules.ts'

const at = (day: number) => `2026-03-${String(day).padStart(2, '0')}T12:00:00.000Z`
const day = 86_400

it.each([
  ['our own deadline passed two days ago', { seconds_left: -2 * day, due_at: at(3), legal_due_at: at(28) }, 23 * day],
  ['both deadlines are the same', { seconds_left: day, due_at: at(28), legal_due_at: at(28) }, day],
  ['our own deadline has not begun', { seconds_left: 5 * day, due_at: null, legal_due_at: at(28) }, 5 * day],
  ['no deadline applies', { seconds_left: null, due_at: at(3), legal_due_at: at(28) }, null],
] as const)('legalSecondsLeft counts until the legal deadline when %s', (_when, clocks, expected) => {
  expect(legalSecondsLeft(clocks)).toBe(expected)
})
