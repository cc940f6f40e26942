import { expect, test } from 'vitest'
import { afterRepetition, filesToRepeat, playwrightCounts, sum, type TestCounts } from './test-counts.ts'

const counts = (passed: number, failed = 0, skipped = 0) => ({ passed, failed, skipped })
const failure = (file: string) => ({ file, name: 'a test', reason: 'expected 1 to be 2' })
const first: TestCounts = {
  files: { 'a.test.ts': counts(3), 'b.test.ts': counts(1, 1, 2) },
  failures: [failure('b.test.ts')],
}

test('failed files are repeated once, unless they are many or an error belongs to no file', () => {
  expect(filesToRepeat({ files: {}, failures: [] })).toEqual([])
  expect(filesToRepeat({ files: {}, failures: [failure('b'), failure('a'), failure('b')] })).toEqual(['b', 'a'])
  expect(filesToRepeat({ files: {}, failures: ['a', 'b', 'c', 'd'].map(failure) })).toEqual([])
  expect(filesToRepeat({ files: {}, failures: [failure('a'), failure('')] })).toEqual([])
})

test('a repetition that passes replaces the counts of its files', () => {
  const after = afterRepetition(first, { files: { 'b.test.ts': counts(4) }, failures: [] })
  expect(after.failures).toEqual([])
  expect(sum(after.files)).toEqual(counts(7))
})

test.each<[string, TestCounts]>([
  ['fails again', { files: { 'b.test.ts': counts(1, 1, 2) }, failures: [failure('b.test.ts')] }],
  ['fails in another test', { files: { 'b.test.ts': counts(3, 1) }, failures: [failure('b.test.ts')] }],
  ['runs nothing', { files: {}, failures: [] }],
  ['skips everything', { files: { 'b.test.ts': counts(0, 0, 4) }, failures: [] }],
])('a repetition that %s changes nothing', (_, repeated) => {
  expect(afterRepetition(first, repeated)).toBe(first)
})

test('reads the JSON report of Playwright with nested suites, colors and errors outside tests', () => {
  const spec = (title: string, status: string, message?: string) => ({
    title,
    tests: [{ status, results: [{ ...(message !== undefined && { error: { message } }) }] }],
  })
  const colored = '\u001b[31mTimed out\u001b[39m\nsecond line'
  const report = {
    suites: [
      {
        file: 'x.spec.ts',
        specs: [spec('one', 'expected'), spec('two', 'unexpected', colored)],
        suites: [{ file: 'x.spec.ts', specs: [spec('three', 'skipped'), spec('four', 'flaky', 'late')] }],
      },
    ],
    errors: [{ message: 'the server did not start' }],
  }
  expect(playwrightCounts.parse(report)).toEqual({
    files: { 'x.spec.ts': counts(1, 2, 1) },
    failures: [
      { file: '', name: 'outside tests', reason: 'the server did not start' },
      { file: 'x.spec.ts', name: 'two', reason: 'Timed out' },
      { file: 'x.spec.ts', name: 'four', reason: 'late' },
    ],
  })
})
