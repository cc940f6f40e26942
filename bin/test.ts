import './runtime.ts'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { findBrowser } from '../e2e/browser.ts'
import { checks, generateClient, runCheck } from './checks.ts'
import { cpuTimeTable, measureCpuTime, minutes } from './test/cpu-time.ts'
import { temporaryFolder } from './test/temporary-folder.ts'
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

interface Counts {
  passed: number
  failed: number
  skipped: number
}
function count(name: string, status: number | null, report: Counts | undefined): void {
  total.passed += report?.passed ?? 0
  total.skipped += report?.skipped ?? 0
  total.failed += report?.failed ?? 0
  // A run that crashed, or failed in a hook, reports no failed test but has failed.
  if (status !== 0 && (report?.failed ?? 0) === 0) total.failed += 1
  summary.push(
    `${name}: ${report ? `${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped` : 'wrote no report'}`,
  )
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
  const { status } = await run(
    ['node_modules/vitest/vitest.mjs', 'run', '--reporter=default', '--reporter=./bin/test/vitest-report.ts'],
    { more: { KP_VITEST_REPORT: file } },
  )
  const report = readReport(file, VitestReport)
  count('unit and integration tests', status, report)
  return (
    report &&
    ` (all workers together: imports ${minutes(report.imports / 1000)}, tests ${minutes(report.tests / 1000)})`
  )
}

const PlaywrightReport = z.object({
  stats: z.object({ expected: z.number(), unexpected: z.number(), flaky: z.number(), skipped: z.number() }),
})
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
  const { status, output } = await run(['node_modules/@playwright/test/cli.js', 'test', '--reporter=list,json'], {
    isShown: false,
    more: { PLAYWRIGHT_JSON_OUTPUT_NAME: file, KP_BROWSER: browser },
  })
  // Printed as one block, because Vitest prints at the same time.
  console.log(output)
  const stats = readReport(file, PlaywrightReport)?.stats
  const counts = stats && { passed: stats.expected, failed: stats.unexpected + stats.flaky, skipped: stats.skipped }
  count('browser tests', status, counts)
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

const lines = [cpuTimeTable(stopMeasuring()), `Wall time: ${walls.join(', ')}.`, '', ...summary, ...sampleLines()]
rmSync(temporary, { recursive: true, force: true })
console.log(lines.join('\n'))
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`)
process.exitCode = total.failed > 0 ? 1 : 0
