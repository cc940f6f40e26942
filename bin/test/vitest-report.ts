import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { z } from 'zod'
import { TestCounts } from './test-counts.ts'

/** The report of a Vitest run for bin/test.ts. Durations in milliseconds, summed over all workers. */
export const VitestReport = TestCounts.extend({
  /** Loading test files and their imports. */
  imports: z.number(),
  /** Hooks and tests. */
  tests: z.number(),
})
export type VitestReport = z.output<typeof VitestReport>

const firstLine = (errors: readonly { message: string }[] | undefined) => errors?.[0]?.message.split('\n', 1)[0] ?? ''

/** Writes a {@link VitestReport} to the file in `KP_VITEST_REPORT`. */
export default class ReportWriter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly { message: string }[]): void {
    const report: VitestReport = { files: {}, failures: [], imports: 0, tests: 0 }
    for (const module of modules) {
      const file = relative(process.cwd(), module.moduleId)
      const { collectDuration, duration } = module.diagnostic()
      report.imports += collectDuration
      report.tests += duration
      report.files[file] ??= { passed: 0, failed: 0, skipped: 0 }
      const counts = report.files[file]
      const errors = module.errors()
      if (errors.length > 0) report.failures.push({ file, name: 'the file itself', reason: firstLine(errors) })
      for (const test of module.children.allTests()) {
        const result = test.result()
        counts[result.state === 'pending' ? 'skipped' : result.state] += 1
        if (result.state === 'failed')
          report.failures.push({ file, name: test.fullName, reason: firstLine(result.errors) })
      }
      for (const suite of module.children.allSuites()) {
        const errors = suite.errors()
        if (errors.length > 0) report.failures.push({ file, name: suite.fullName, reason: firstLine(errors) })
      }
    }
    for (const error of unhandledErrors)
      report.failures.push({ file: '', name: 'outside tests', reason: firstLine([error]) })
    const { KP_VITEST_REPORT } = process.env
    if (KP_VITEST_REPORT !== undefined) writeFileSync(KP_VITEST_REPORT, JSON.stringify(report))
  }
}
