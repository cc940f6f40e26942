import { Agent as HttpAgent } from 'node:http'
import { type BrowserContext, chromium, type Page } from '@playwright/test'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { createAccount } from '#lib/domains/accounts/service.ts'
import { createOrganisation } from '#lib/domains/accounts/writes.ts'
import { encodeCursor } from '#lib/kernel/pages.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { findBrowser } from '../e2e/browser.ts'
import { type BenchInstallation, makeAdmin, registerBenchAgent, startCluster } from './installation.ts'
import { percentile, timeRequest } from './latency.ts'
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, type Server, startApiServer } from './server.ts'

const ENTRIES = 1_000_000
const DAYS = 80
/** Rows to scroll through from the top: 900 pages, within one person's requests per minute. */
const ROWS = 90_000
/** Depths in days that are opened by a link and then scrolled. */
const DEPTHS = [20, 40, 60, 79]
const ROWS_AT_DEPTH = 2_000
const JUMPS = 40
const PAGES = 300
const LONGEST_TASK = 100
const LONGEST_PAGE = 50
/** Rows per frame, as fast as a spinning mouse wheel. */
const ROWS_A_FRAME = 30
const ROW = 36
const dayMs = 86_400_000

const person = { email: 'admin@bench.example', password: 'only for the databases of one measurement' }

/** Fills 80 days with equally many entries. Each partition is created before its entries. */
async function fill({ ownerUrl }: BenchInstallation, entries: number): Promise<void> {
  await withConnection(ownerUrl, async (owner) => {
    await owner.query('SET synchronous_commit = off')
    await owner.query(`DO $$
      DECLARE day date;
      BEGIN
        FOR i IN 1..${DAYS + 1} LOOP
          day := (now() AT TIME ZONE 'UTC')::date - i;
          EXECUTE format('CREATE TABLE %I PARTITION OF audit_entries FOR VALUES FROM (%L) TO (%L)',
            'audit_entries_' || to_char(day, 'YYYYMMDD'), day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
        END LOOP;
      END $$`)
    await owner.query(
      `INSERT INTO audit_entries (id, at, action, agent_id, resource_type, resource_id, ip, details)
       SELECT gen_random_uuid(), now() - interval '${DAYS} days' * (1 - n / $1::float8), CASE WHEN n % 5 = 0 THEN 'create' ELSE 'read' END,
         'agent-' || n % 500, 'knowledge', 'kp:trace:' || md5((n % 20000)::text), '127.0.0.1', '{"operation":"readUnit"}'
       FROM generate_series(1, $1::int) AS n`,
      [entries],
    )
    await owner.query('VACUUM (ANALYZE) audit_entries')
    await owner.query('CHECKPOINT')
  })
}

async function makePerson({ env }: BenchInstallation): Promise<void> {
  const app = createApp({ env: readEnv(env) })
  try {
    await app.db.transaction(async (tx) => {
      const now = new Date()
      const organisationId = await createOrganisation(tx, 'An organization', now)
      await createAccount(tx, {
        ...person,
        name: 'An admin',
        organisationId,
        role: 'admin',
        mustChangePassword: false,
        now,
      })
    })
  } finally {
    await app.close()
  }
}

async function signIn(context: BrowserContext, { email, password }: typeof person): Promise<void> {
  const { csrfToken } = await (await context.request.get('/api/auth/csrf')).json()
  const answered = await context.request.post('/api/auth/callback/credentials', {
    form: { email, password, csrfToken, json: 'true' },
  })
  if (!answered.ok() || !(await context.request.get('/api/account')).ok())
    throw new Error('the admin could not sign in')
}

/** Durations of the page's main-thread tasks of 50 ms or more since the last call, in milliseconds. */
const tasksOf = (page: Page): Promise<number[]> =>
  page.evaluate(() => {
    const tasks: number[] = Reflect.get(globalThis, 'longTasks')
    return tasks.splice(0)
  })
const watchTasks = () => {
  const tasks: number[] = []
  Reflect.set(globalThis, 'longTasks', tasks)
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(duration)
  }).observe({ type: 'longtask' })
}

async function open(page: Page, query = ''): Promise<void> {
  await page.goto(`/admin/audit${query}`)
  await page.locator('[data-audit-rows] [data-row="0"]').waitFor()
  // The first view is measured elsewhere.
  await page.waitForTimeout(1_000)
  await tasksOf(page)
}

/** Scrolls down frame by frame until this many rows have passed or none remains. Waits for pages that are loading. */
const scrollDown = (page: Page, rows: number): Promise<{ passed: number; drawn: number }> =>
  page.evaluate(
    async ({ wanted, step }) => {
      const scroller = document.querySelector('[data-audit-rows]')
      if (!scroller) throw new Error('there are no rows')
      const frame = () => new Promise((next) => requestAnimationFrame(next))
      let drawn = 0
      let waited = performance.now()
      for (;;) {
        const last = Math.max(
          ...[...document.querySelectorAll('[data-row]')].map((row) => Number(row.getAttribute('data-row'))),
        )
        if (last >= wanted) return { passed: last, drawn }
        const before = scroller.scrollTop
        scroller.scrollTop += step
        await frame()
        drawn = Math.max(drawn, document.querySelectorAll('[data-row]').length)
        if (scroller.scrollTop !== before) waited = performance.now()
        else if (performance.now() - waited > 70_000) return { passed: last, drawn }
      }
    },
    { wanted: rows, step: ROWS_A_FRAME * ROW },
  )

/** Jumps to positions among the loaded rows, including the first and the last. Waits until each is drawn. */
const jump = (page: Page, places: readonly number[]): Promise<number> =>
  page.evaluate(async (shares) => {
    const scroller = document.querySelector('[data-audit-rows]')
    if (!scroller) throw new Error('there are no rows')
    let missing = 0
    for (const share of shares) {
      scroller.scrollTop = share * (scroller.scrollHeight - scroller.clientHeight)
      const until = performance.now() + 5_000
      const isDrawn = () => {
        const buttons = scroller.querySelectorAll('[data-row] button').length
        return buttons > 0 && buttons === scroller.querySelectorAll('[data-row]').length
      }
      do await new Promise((next) => requestAnimationFrame(next))
      while (!isDrawn() && performance.now() < until)
      if (!isDrawn()) missing++
    }
    return missing
  }, places)

interface Browsing {
  origin: string
  who: typeof person
  rows: number
  depths: readonly number[]
}
interface Browsed {
  passed: number
  drawn: number
  scrolling: number[]
  jumping: number[]
  missing: number
  deep: number[]
}
/** Scrolls the audit browser like a person in a hurry. */
async function browse(scope: AsyncDisposableStack, { origin, who, rows, depths }: Browsing): Promise<Browsed> {
  const executablePath = findBrowser()
  const browser = await chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  scope.defer(() => browser.close())
  const context = await browser.newContext({ baseURL: origin, viewport: { width: 1280, height: 860 } })
  await context.addInitScript(watchTasks)
  await signIn(context, who)
  const page = await context.newPage()
  await open(page)
  const { passed, drawn } = await scrollDown(page, rows)
  const scrolling = await tasksOf(page)
  const missing = await jump(page, [0, 1, ...Array.from({ length: JUMPS - 3 }, Math.random), 0])
  const jumping = await tasksOf(page)
  const deep: number[] = []
  for (const days of depths) {
    await open(page, `?to=${new Date(Date.now() - days * dayMs).toISOString()}`)
    await scrollDown(page, ROWS_AT_DEPTH)
    deep.push(...(await tasksOf(page)))
  }
  return { passed, drawn, scrolling, jumping, missing, deep }
}

interface MeasureDeps {
  entries?: number
  rows?: number
  start?: (scope: AsyncDisposableStack, env: Record<string, string>) => Promise<Server>
}

/** The audit browser with a million entries in a real browser, and its pages through the API at any depth. */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    await buildPages()
    return measure(scope, {})
  })

export async function measure(
  scope: AsyncDisposableStack,
  { entries = ENTRIES, rows = ROWS, start = startApiServer }: MeasureDeps,
): Promise<BenchRow[]> {
  const installation = await (await startCluster(scope)).open('audit_browser')
  await makePerson(installation)
  await fill(installation, entries)
  const { url } = await start(scope, installation.env)
  const admin = await registerBenchAgent(url, installation)
  await makeAdmin(installation, admin)
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 })
  scope.defer(async () => agent.destroy())
  const pages: number[] = []
  for (let n = 0; n < PAGES + 20; n++) {
    const at = new Date(Date.now() - Math.random() * DAYS * dayMs)
    const cursor = encodeCursor(at, '00000000-0000-4000-8000-000000000000')
    const took = await timeRequest(agent, {
      url: `${url}/v1/audit?limit=100&to=${new Date().toISOString()}&cursor=${cursor}`,
      method: 'GET',
      headers: { Authorization: `Bearer ${admin.token}` },
      status: 200,
    })
    if (n >= 20) pages.push(took)
  }
  const origin = `http://localhost:${new URL(url).port}`
  const browsed = await browse(scope, { origin, who: person, rows, depths: DEPTHS })
  return rowsOf(browsed, pages, entries)
}

function rowsOf(
  { passed, drawn, scrolling, jumping, missing, deep }: Browsed,
  pages: number[],
  entries: number,
): BenchRow[] {
  const of = `audit browser over ${entries.toLocaleString('en')} entries`
  const longest = (name: string, tasks: readonly number[]): BenchRow => {
    const value = Math.round(Math.max(0, ...tasks))
    return {
      name: `${of}: longest task, ${name}`,
      value,
      unit: 'ms',
      bar: `under ${LONGEST_TASK} ms`,
      met: value < LONGEST_TASK,
    }
  }
  const p95 = percentile(pages, 0.95)
  return [
    longest(`scrolling from the top through ${passed.toLocaleString('en')} rows (0: none of 50 ms or more)`, scrolling),
    longest(`${JUMPS} jumps among them`, jumping),
    longest(`opened at ${DEPTHS.join(', ')} days’ depth and scrolled on`, deep),
    {
      name: `${of}: jumps whose rows did not come within 5 s`,
      value: missing,
      unit: 'jumps',
      bar: '0',
      met: missing === 0,
    },
    { name: `${of}: rows drawn at once, at most`, value: drawn, unit: 'rows', bar: 'at most 80', met: drawn <= 80 },
    {
      name: `${of}: a page of 100 at any depth, p95`,
      value: p95,
      unit: 'ms',
      bar: `under ${LONGEST_PAGE} ms`,
      met: p95 < LONGEST_PAGE,
    },
    { name: `${of}: a page of 100 at any depth, median`, value: median(pages), unit: 'ms' },
  ]
}
