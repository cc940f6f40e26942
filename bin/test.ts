import './runtime.ts'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { findBrowser } from '../e2e/browser.ts'
import { checks, passes } from './checks.ts'

const reports = mkdtempSync(join(tmpdir(), 'kp-reports-'))
const total = { passed: 0, failed: 0, skipped: 0 }
const node = (args: string[], env: Record<string, string> = {}) =>
  spawnSync(process.execPath, args, { stdio: 'inherit', env: { ...process.env, ...env } })

function readReport<T>(file: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}

function count(
  name: string,
  status: number | null,
  report: { passed: number; failed: number; skipped: number } | undefined,
): void {
  total.passed += report?.passed ?? 0
  total.skipped += report?.skipped ?? 0
  total.failed += report?.failed ?? 0
  // A run that ended badly without naming a failed test (a crash, a hook) has failed all the same.
  if (status !== 0 && (report?.failed ?? 0) === 0) total.failed += 1
  console.log(
    `${name}: ${report ? `${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped` : 'gave no report'}`,
  )
}

for (const check of checks) total[passes(check) ? 'passed' : 'failed'] += 1

const vitestReport = join(reports, 'vitest.json')
const vitest = node(
  [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${vitestReport}`,
  ],
  // What hundreds of processes load is compiled once.
  { NODE_COMPILE_CACHE: join(reports, 'compiled') },
)
const Vitest = z.object({ numPassedTests: z.number(), numFailedTests: z.number(), numPendingTests: z.number() })
const units = readReport(vitestReport, Vitest)
count(
  'unit and integration',
  vitest.status,
  units && { passed: units.numPassedTests, failed: units.numFailedTests, skipped: units.numPendingTests },
)

const browser = findBrowser()
if (browser === undefined) {
  console.log(
    'No browser was found or could be installed. Install Chromium (on Debian: apt-get install chromium) and run npm test again.',
  )
  total.failed += 1
} else {
  const browserReport = join(reports, 'browser.json')
  const journeys = node(['node_modules/@playwright/test/cli.js', 'test', '--reporter=list,json'], {
    PLAYWRIGHT_JSON_OUTPUT_NAME: browserReport,
    KP_BROWSER: browser,
  })
  const Playwright = z.object({
    stats: z.object({ expected: z.number(), unexpected: z.number(), flaky: z.number(), skipped: z.number() }),
  })
  const stats = readReport(browserReport, Playwright)?.stats
  count(
    'browser journeys',
    journeys.status,
    stats && { passed: stats.expected, failed: stats.unexpected + stats.flaky, skipped: stats.skipped },
  )
}

rmSync(reports, { recursive: true, force: true })
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`)
process.exitCode = total.failed > 0 ? 1 : 0
