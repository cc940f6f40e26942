import { expect, test } from 'vitest'
import { checkClockSkew, checkFreeSpace, checkMode } from './health.ts'

const mebibyte = 1024 * 1024
test.each([
  [100 * mebibyte, 'fault'],
  [1024 * mebibyte, 'warning'],
  [50 * 1024 * mebibyte, 'ok'],
])('judgeSpace of %i bytes returns %s', (free, state) => expect(checkFreeSpace('disk', free, 'var').state).toBe(state))

test.each([
  [0, 'ok', 'as the'],
  [-4000, 'ok', 'as the'],
  [60_000, 'warning', 'ahead of'],
  [-60_000, 'warning', 'behind'],
  [3_600_000, 'fault', 'ahead of'],
])('judgeSkew of a clock %i ms ahead returns %s', (ahead, state, words) => {
  const check = checkClockSkew('clock', ahead)
  expect(check.state).toBe(state)
  expect(check.found).toContain(words)
})

test('checkClockSkew names the machine that it compares with', () => {
  expect(checkClockSkew('database clock', -90_000, 'the database').found).toBe('90 s behind the database’s')
})

test.each([
  [0o100600, 'ok'],
  [0o100700, 'ok'],
  [0o100640, 'fault'],
  [0o100604, 'fault'],
])('judgeMode of %o returns %s', (mode, state) => expect(checkMode('secret', 'var/secret', mode).state).toBe(state))
