import { z } from 'zod'

const Counts = z.object({ passed: z.number(), failed: z.number(), skipped: z.number() })
type Counts = z.output<typeof Counts>

/** A failed test, hook or file. `file` is empty for errors outside all files; `reason` is the first line of the error. */
const Failure = z.object({ file: z.string(), name: z.string(), reason: z.string() })

/** What one run of tests reports. */
export const TestCounts = z.object({ files: z.record(z.string(), Counts), failures: z.array(Failure) })
export type TestCounts = z.output<typeof TestCounts>

export function sum(files: Record<string, Counts>): Counts {
  const total = { passed: 0, failed: 0, skipped: 0 }
  for (const { passed, failed, skipped } of Object.values(files)) {
    total.passed += passed
    total.failed += failed
    total.skipped += skipped
  }
  return total
}

/** More failed files than these have a common reason, which a repetition would not remove. */
const MOST_REPEATED = 3

/**
 * The files to repeat after a run, alone and once. Empty if nothing failed, or if a repetition cannot explain the
 * failure: too many files, or an error outside all files.
 */
export function filesToRepeat({ failures }: TestCounts): string[] {
  const files = [...new Set(failures.map(({ file }) => file))]
  return files.length > MOST_REPEATED || files.includes('') ? [] : files
}

/** The counts of a run whose failed files were repeated. A repetition with any failure leaves the first result. */
export function afterRepetition(first: TestCounts, repeated: TestCounts): TestCounts {
  const isComplete = filesToRepeat(first).every((file) => (repeated.files[file]?.passed ?? 0) > 0)
  if (repeated.failures.length > 0 || !isComplete) return first
  return { files: { ...first.files, ...repeated.files }, failures: [] }
}

const Test = z.object({
  status: z.enum(['expected', 'unexpected', 'flaky', 'skipped']),
  results: z.array(z.object({ error: z.object({ message: z.string().optional() }).optional() })),
})
interface Suite {
  file: string
  specs: { title: string; tests: z.output<typeof Test>[] }[]
  suites?: Suite[] | undefined
}
const Suite: z.ZodType<Suite> = z.lazy(() =>
  z.object({
    file: z.string(),
    specs: z.array(z.object({ title: z.string(), tests: z.array(Test) })),
    suites: z.array(Suite).optional(),
  }),
)
/** The part of Playwright's JSON report that is read here. */
const PlaywrightReport = z.object({
  suites: z.array(Suite),
  errors: z.array(z.object({ message: z.string().optional() })),
})

const ansiColors = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')
const firstLine = (message = '') => message.replaceAll(ansiColors, '').split('\n', 1)[0] ?? ''

/** Reads Playwright's JSON report. A test that passed only in a further attempt counts as failed. */
export const playwrightCounts = PlaywrightReport.transform(({ suites, errors }): TestCounts => {
  const counts: TestCounts = {
    files: {},
    failures: errors.map(({ message }) => ({ file: '', name: 'outside tests', reason: firstLine(message) })),
  }
  const read = ({ file, specs, suites = [] }: Suite): void => {
    counts.files[file] ??= { passed: 0, failed: 0, skipped: 0 }
    const ofFile = counts.files[file]
    for (const { title, tests } of specs)
      for (const { status, results } of tests) {
        const outcome = status === 'expected' ? 'passed' : status === 'skipped' ? 'skipped' : 'failed'
        ofFile[outcome] += 1
        if (outcome !== 'failed') continue
        const error = results.find((result) => result.error)?.error
        counts.failures.push({ file, name: title, reason: firstLine(error?.message) })
      }
    suites.forEach(read)
  }
  suites.forEach(read)
  return counts
})
