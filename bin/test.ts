import './runtime.ts'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { findBrowser } from '../e2e/browser.ts'
import { checks, generateClient, runCheck } from './checks.ts'
import { cpuTimeTable, measureCpuTime, minutes } from './test/cpu-time.ts'
import { temporaryFolder } from './test/temporary-folder.ts'
import { afterRepetition, filesToRepeat, playwrightCounts, sum, type TestCounts } from './test/test-counts.ts'
import { VitestReport } from './test/vitest-report.ts'

const stopMeasuring = measureCpuTime()
const temporary = temporaryFolder()
const reports = join(temporary, 'reports')
mkdirSync(reports)
const sampleReport = join(reports, 'samples.jsonl')
/** The seed depends only on the code: the same code gets the same samples everywhere. */
function seedOfCode(): number {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD:lib'], { encoding: 'utf8' })
  const seed = Number.parseInt(stdout?.slice(0, 7) ?? '', 16)
  return Number.isNaN(seed) ? Date.now() % 2 ** 31 : seed
}
const seed = process.env.KP_SEED ?? String(seedOfCode())
const total = { passed: 0, failed: 0, skipped: 0 }
const summary: string[] = []

const env = {
  ...process.env,
  TMPDIR: temporary,
  KP_SEED: seed,
  KP_SAMPLE_REPORT: sampleReport,
  // Hundreds of processes load the same modules; each module is compiled once.
  NODE_COMPILE_CACHE: join(reports, 'compiled'),
}

/** Runs Node. Resolves to its exit code and, unless `isShown`, its output. */
const run = (
  args: string[],
  { isShown = true, more = {} }: { isShown?: boolean; more?: Record<string, string> } = {},
): Promise<{ status: number | null; output: string }> =>
  new Promise((resolve, reject) => {
    const stdio = isShown ? 'inherit' : 'pipe'
    const child = spawn(process.execPath, args, { stdio: ['ignore', stdio, stdio], env: { ...env, ...more } })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    child.once('error', reject).once('close', (status) => resolve({ status, output }))
  })

function readReport<T>(file: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}

/** Runs tests, all or those of some files. `report` is undefined if the run crashed. */
type RunTests = (files?: string[]) => Promise<{ status: number | null; report: TestCounts | undefined }>
/** Repetitions of failed files, which run after everything else. */
const repetitions: (() => Promise<void>)[] = []

/**
 * Runs tests and adds them to the totals. The failed files are repeated alone, because many servers share two cores
 * during the run; a test that fails only then is named as unstable.
 */
async function runTests(name: string, tests: RunTests): Promise<TestCounts | undefined> {
  const { status, report } = await tests()
  const again = report ? filesToRepeat(report) : []
  if (report === undefined || again.length === 0) count(name, status, report)
  else
    repetitions.push(async () => {
      console.log(`Repeating alone what failed: ${again.join(' ')}`)
      const repeated = await tests(again)
      const counts = repeated.status === 0 && repeated.report ? afterRepetition(report, repeated.report) : report
      count(name, counts === report ? status : 0, counts)
      if (counts === report) return
      summary.push('Unstable, because these failed once and passed when their files ran alone. Mend them first:')
      for (const { file, name, reason } of report.failures) summary.push(`  ${file} › ${name}: ${reason}`)
    })
  return report
}
function count(name: string, status: number | null, report: TestCounts | undefined): void {
  const counts = sum(report?.files ?? {})
  // A run that crashed, or failed in a hook, reports no failed test but has failed.
  if (status !== 0 && counts.failed === 0) counts.failed = 1
  for (const outcome of ['passed', 'failed', 'skipped'] as const) total[outcome] += counts[outcome]
  summary.push(
    `${name}: ${report ? `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped` : 'wrote no report'}`,
  )
  for (const { file, name, reason } of report?.failures ?? []) summary.push(`  ✗ ${file} › ${name}: ${reason}`)
}

/** Wall time by part, for the end of the run. */
const walls: string[] = []
async function timed(name: string, work: () => Promise<string | undefined>): Promise<void> {
  const started = performance.now()
  const more = await work()
  walls.push(`${name} ${minutes((performance.now() - started) / 1000)} min${more ?? ''}`)
}

async function vitest(): Promise<string | undefined> {
  const file = join(reports, 'vitest.json')
  let report: VitestReport | undefined
  await runTests('unit and integration tests', async (files = []) => {
    rmSync(file, { force: true })
    const { status } = await run(
      [
        'node_modules/vitest/vitest.mjs',
        'run',
        '--reporter=default',
        '--reporter=./bin/test/vitest-report.ts',
        ...files,
      ],
      { more: { KP_VITEST_REPORT: file } },
    )
    const read = readReport(file, VitestReport)
    report ??= read
    return { status, report: read }
  })
  return (
    report &&
    ` (all workers together: imports ${minutes(report.imports / 1000)}, tests ${minutes(report.tests / 1000)})`
  )
}

/** Includes the production build. */
async function browserTests(): Promise<undefined> {
  const browser = findBrowser()
  if (browser === undefined) {
    summary.push(
      'No browser was found or could be installed. Install Chromium (on Debian: apt-get install chromium) and run npm test again.',
    )
    total.failed += 1
    return
  }
  const file = join(reports, 'browser.json')
  await runTests('browser tests', async (files = []) => {
    rmSync(file, { force: true })
    const { status, output } = await run(
      ['node_modules/@playwright/test/cli.js', 'test', '--reporter=list,json', ...files],
      { isShown: false, more: { PLAYWRIGHT_JSON_OUTPUT_NAME: file, KP_BROWSER: browser } },
    )
    // Printed as one block, because Vitest prints at the same time.
    console.log(output)
    return { status, report: readReport(file, playwrightCounts) }
  })
}

async function staticChecks(): Promise<undefined> {
  for (const check of checks) total[(await runCheck(check)) ? 'passed' : 'failed'] += 1
}

const Sample = z.object({ subject: z.string(), ran: z.number(), of: z.number() })
/** One line for each long test that ran a sample of its cases. */
function sampleLines(): string[] {
  if (!existsSync(sampleReport)) return []
  const lines = readFileSync(sampleReport, 'utf8').trim().split('\n')
  const samples = new Map(lines.map((line) => Sample.parse(JSON.parse(line))).map((one) => [one.subject, one]))
  const partial = [...samples.values()].filter(({ ran, of }) => ran < of)
  if (partial.length === 0) return []
  return [
    `Sampled with KP_SEED=${seed}; KP_FULL=1 npm test runs every case:`,
    ...partial.map(({ subject, ran, of }) => `  ${subject}: ${ran} of ${of}`),
  ]
}

console.log(`KP_SEED=${seed}`)
// Everything else imports the generated database client.
total[(await runCheck(generateClient)) ? 'passed' : 'failed'] += 1
await Promise.all([
  timed('Vitest', vitest),
  timed('checks', staticChecks).then(() => timed('build and browser tests', browserTests)),
])
for (const repeat of repetitions) await repeat()

const lines = [cpuTimeTable(stopMeasuring()), `Wall time: ${walls.join(', ')}.`, '', ...summary, ...sampleLines()]
rmSync(temporary, { recursive: true, force: true })
console.log(lines.join('\n'))
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`)
process.exitCode = total.failed > 0 ? 1 : 0
