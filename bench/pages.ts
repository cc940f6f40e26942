import { gzipSync } from 'node:zlib'
import { type Browser, type BrowserContextOptions, chromium } from '@playwright/test'
import { z } from 'zod'
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
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, startApiServer } from './server.ts'

const ROUNDS = 5
/** Limits of a page's first view: median milliseconds, and kilobytes of JavaScript after gzip. */
const MOST = { milliseconds: 1_000, kilobytes: 200 }
const PATIENCE = 30_000

/**
 * When the page becomes interactive: the time from the start of the navigation to the first frame in which all
 * controls of the main part (or of the header when there are none) have React's handlers. Runs in the browser and
 * measures itself.
 */
const watchHydration = `(() => {
  const isAlive = (element) => Object.keys(element).some((key) => key.startsWith('__reactProps$'))
  const look = () => {
    const inMain = [...document.querySelectorAll('main :is(button, input, select, textarea)')]
    const all = inMain.length > 0 ? inMain : [...document.querySelectorAll('header :is(button, a)')]
    const isStreaming = document.readyState === 'loading' || document.querySelector('main [aria-busy=true]') !== null
    if (all.length > 0 && !isStreaming && all.every(isAlive)) window.aliveAt = performance.now()
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
})()`

/** Each console page in a fresh browser: time until it is interactive, and size of its JavaScript. */
export const run = (): Promise<BenchRow[]> => withScope(measure)

interface View {
  milliseconds: number
  bytes: number
}

async function view(browser: Browser, options: BrowserContextOptions, address: string): Promise<View> {
  const context = await browser.newContext(options)
  try {
    const page = await context.newPage()
    await page.addInitScript(watchHydration)
    const bodies: Promise<number>[] = []
    page.on('response', (response) => {
      if (response.request().resourceType() === 'script' && response.ok())
        bodies.push(
          response.body().then(
            (body) => gzipSync(body).byteLength,
            () => 0,
          ),
        )
    })
    const answer = await page.goto(address)
    if (answer?.status() !== 200) throw new Error(`${address} answered ${answer?.status()}`)
    const alive = await page.waitForFunction(() => Reflect.get(globalThis, 'aliveAt'), undefined, { timeout: PATIENCE })
    const milliseconds = z.number().parse(await alive.jsonValue())
    // Requests after that moment still belong to the first view.
    await page.waitForLoadState('networkidle')
    const bytes = (await Promise.all(bodies)).reduce((sum, size) => sum + size, 0)
    return { milliseconds, bytes }
  } finally {
    await context.close()
  }
}

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
  for (const entry of pages as readonly (PageEntry & { name: PageName })[]) {
    const { name, path } = entry
    const storageState = sessions[areaOf(entry)]
    const options = { ...(storageState && { storageState }), locale: 'en-GB', reducedMotion: 'reduce' as const }
    const address = origin + at[name]
    await view(browser, options, address) // the server's first render does not count
    const views: View[] = []
    for (let round = 0; round < ROUNDS; round++) views.push(await view(browser, options, address))
    const milliseconds = Math.round(median(views.map((one) => one.milliseconds)))
    const kilobytes = Math.round(median(views.map(({ bytes }) => bytes)) / 1024)
    rows.push(
      {
        name: `${path}: interactive`,
        value: milliseconds,
        unit: 'ms',
        bar: `under ${MOST.milliseconds} ms`,
        met: milliseconds < MOST.milliseconds,
      },
      {
        name: `${path}: JavaScript, gzip`,
        value: kilobytes,
        unit: 'KiB',
        bar: `under ${MOST.kilobytes} KiB`,
        met: kilobytes < MOST.kilobytes,
      },
    )
  }
  return rows
}
