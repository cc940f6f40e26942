import { chromium } from '@playwright/test'
import { addresses, areaOf, people } from '#e2e/requests.ts'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { runJobs } from '#lib/jobs/runner.ts'
import { materialIn } from '../bin/demo/material.ts'
import { buildDemo } from '../bin/demo/story.ts'
import { signInForVisit } from '../bin/demo/visits.ts'
import { type PageEntry, type PageName, pages } from '../components/frame/pages.ts'
import { findBrowser } from '../e2e/browser.ts'
import { sessionOf, setInstallation } from '../e2e/control.ts'
import { untilAtRest } from '../e2e/rest.ts'
import { startCluster } from './installation.ts'
import { type FirstView, firstView, navigation } from './page-views.ts'
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, startApiServer } from './server.ts'

const ROUNDS = 5
/** Limits of a first view at the median page (milliseconds) and at each page, and of each navigation (milliseconds). */
const MOST = { painted: 500, interactive: 800, kibibytes: 150, requests: 30, navigation: 150 }

type NamedPage = PageEntry & { name: PageName }

const limited = (name: string, value: number, unit: string, max: number): BenchRow => ({
  name,
  value,
  unit,
  bar: `at most ${max} ${unit}`,
  met: value <= max,
})
const medianOf = (views: readonly FirstView[], part: (view: FirstView) => number): number =>
  Math.round(median(views.map(part)))

/** The rows of one page. Times have a bar at the median page only. */
function rowsOf({ path }: PageEntry, views: readonly FirstView[]): BenchRow[] {
  const kibibytes = (part: (view: FirstView) => number) => Math.round(medianOf(views, part) / 1024)
  return [
    { name: `${path}: largest paint`, value: medianOf(views, (one) => one.painted), unit: 'ms' },
    { name: `${path}: interactive`, value: medianOf(views, (one) => one.interactive), unit: 'ms' },
    limited(
      `${path}: requests`,
      medianOf(views, (one) => one.requests),
      'requests',
      MOST.requests,
    ),
    limited(
      `${path}: JavaScript on the wire`,
      kibibytes(({ bytes }) => bytes.scripts),
      'KiB',
      MOST.kibibytes,
    ),
    { name: `${path}: all on the wire`, value: kibibytes(({ bytes }) => bytes.all), unit: 'KiB' },
  ]
}

/** Each console page in a fresh browser: times, requests and bytes of the first view, and the navigation to it from the sidebar. */
export const run = (): Promise<BenchRow[]> => withScope(measure)

async function measure(scope: AsyncDisposableStack): Promise<BenchRow[]> {
  const executablePath = findBrowser()
  if (executablePath === undefined) throw new Error('There is no browser here to measure with.')
  await buildPages()
  const cluster = await startCluster(scope)
  const installation = await cluster.open('kp_pages')
  const settings = readEnv({ NODE_ENV: 'production', ...installation.env })
  const { password } = await buildDemo({
    env: settings,
    material: materialIn(settings.KP_DATA_DIR),
    until: new Date(),
  })
  const apiServer = await startApiServer(scope, installation.env)
  const app = createApp({ env: settings })
  scope.defer(() => app.close())
  const runner = await runJobs(app.db, app.pipeline, app.jobs)
  scope.defer(() => runner.stop())
  let visits = 0
  // The installation's own origin, because it accepts changes only from its own pages.
  const origin = `http://localhost:${new URL(apiServer.url).port}`
  setInstallation({
    origin,
    password,
    async ask(order) {
      if (order.do === 'work') return untilAtRest(app.db)
      if (order.do !== 'sign-in') throw new Error(`${order.do} is for the journeys`)
      const visit = { address: `192.0.2.${++visits}`, locale: 'en' } as const
      const { cookie } = await signInForVisit(app, settings.KP_SECRET ?? '', { ...order, ...visit })
      return { cookie: cookie.slice(cookie.indexOf('=') + 1) }
    },
  })
  const at = await addresses()
  const sessions = { public: undefined, you: await sessionOf(people.person), admin: await sessionOf(people.admin) }
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  scope.defer(() => browser.close())
  const rows: BenchRow[] = []
  const all: FirstView[] = []
  for (const entry of pages as readonly NamedPage[]) {
    const storageState = sessions[areaOf(entry)]
    const options = { ...(storageState && { storageState }), locale: 'en-GB', reducedMotion: 'reduce' as const }
    const address = origin + at[entry.name]
    await firstView(browser, options, address) // the server's first render does not count
    const views: FirstView[] = []
    for (let round = 0; round < ROUNDS; round++) views.push(await firstView(browser, options, address))
    all.push(...views)
    rows.push(...rowsOf(entry, views))
    if (!entry.isInNavigation || entry.name === 'overview') continue
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++)
      times.push(await navigation(browser, options, `${origin}/overview`, entry.path))
    rows.push(limited(`${entry.path}: navigation`, Math.round(median(times)), 'ms', MOST.navigation))
  }
  return [
    limited(
      'largest paint, median of all views',
      medianOf(all, (one) => one.painted),
      'ms',
      MOST.painted,
    ),
    limited(
      'interactive, median of all views',
      medianOf(all, (one) => one.interactive),
      'ms',
      MOST.interactive,
    ),
    ...rows,
  ]
}
