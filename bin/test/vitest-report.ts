import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'
import { z } from 'zod'

/** The report of a Vitest run for bin/test.ts. Durations in milliseconds, summed over all workers. */
export const VitestReport = z.object({
  passed: z.number(),
  failed: z.number(),
  skipped: z.number(),
  /** Loading test files and their imports. */
  imports: z.number(),
  /** Hooks and tests. */
  tests: z.number(),
})
export type VitestReport = z.output<typeof VitestReport>

/** Writes a {@link VitestReport} to the file in `KP_VITEST_REPORT`. */
export default class ReportWriter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const report: VitestReport = { passed: 0, failed: 0, skipped: 0, imports: 0, tests: 0 }
    for (const module of modules) {
      const { collectDuration, duration } = module.diagnostic()
      report.imports += collectDuration
      report.tests += duration
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        report[state === 'passed' || state === 'failed' ? state : 'skipped'] += 1
      }
    }
    const { KP_VITEST_REPORT } = process.env
    if (KP_VITEST_REPORT !== undefined) writeFileSync(KP_VITEST_REPORT, JSON.stringify(report))
  }
}
