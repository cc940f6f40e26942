import './runtime.ts'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { findBrowser } from '../e2e/browser.ts'
import { checks, passes } from './checks.ts'

const reports = mkdtempSync(join(tmpdir(), 'kp-reports-'))
const total = { passed: 0, failed: 0, skipped: 0 }
/** A Node of its own; resolves to its status. */
const ended = (args: string[], env: Record<string, string> = {}): Promise<number | null> =>
  new Promise((resolve, reject) => {
    spawn(process.execPath, args, { stdio: 'inherit', env: { ...process.env, ...env } })
      .once('error', reject)
      .once('exit', resolve)
  })

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

const Vitest = z.object({ numPassedTests: z.number(), numFailedTests: z.number(), numPendingTests: z.number() })
/** Runs projects of vitest.config.ts. */
async function run(name: string, projects: readonly string[], options: readonly string[] = []): Promise<void> {
  const file = join(reports, `${name}.json`)
  const status = await ended(
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      ...projects.map((project) => `--project=${project}`),
      ...options,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${file}`,
    ],
    // What hundreds of processes load is compiled once.
    { NODE_COMPILE_CACHE: join(reports, 'compiled') },
  )
  const report = readReport(file, Vitest)
  count(
    name,
    status,
    report && { passed: report.numPassedTests, failed: report.numFailedTests, skipped: report.numPendingTests },
  )
}
await Promise.all([
  run('unit and integration', ['unit', 'integration']),
  run('outages and kills', ['waiting'], ['--maxWorkers=1']),
])

const browser = findBrowser()
if (browser === undefined) {
  console.log(
    'No browser was found or could be installed. Install Chromium (on Debian: apt-get install chromium) and run npm test again.',
  )
  total.failed += 1
} else {
  const browserReport = join(reports, 'browser.json')
  const journeys = await ended(['node_modules/@playwright/test/cli.js', 'test', '--reporter=list,json'], {
    PLAYWRIGHT_JSON_OUTPUT_NAME: browserReport,
    KP_BROWSER: browser,
  })
  const Playwright = z.object({
    stats: z.object({ expected: z.number(), unexpected: z.number(), flaky: z.number(), skipped: z.number() }),
  })
  const stats = readReport(browserReport, Playwright)?.stats
  count(
    'browser journeys',
    journeys,
    stats && { passed: stats.expected, failed: stats.unexpected + stats.flaky, skipped: stats.skipped },
  )
}

rmSync(reports, { recursive: true, force: true })
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`)
process.exitCode = total.failed > 0 ? 1 : 0
