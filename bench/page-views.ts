import type { Browser, BrowserContextOptions } from '@playwright/test'
import { z } from 'zod'

const PATIENCE = 30_000

/**
 * When the page becomes interactive: the time from the start of the navigation to the first frame in which all
 * controls of the main part (or of the header when there are none) have React's handlers. Runs in the browser and
 * measures itself. Also notes the largest contentful paint.
 */
const watch = `(() => {
  const isAlive = (element) => Object.keys(element).some((key) => key.startsWith('__reactProps$'))
  const look = () => {
    const inMain = [...document.querySelectorAll('main :is(button, input, select, textarea)')]
    const all = inMain.length > 0 ? inMain : [...document.querySelectorAll('header :is(button, a)')]
    const isStreaming = document.readyState === 'loading' || document.querySelector('main [aria-busy=true]') !== null
    if (all.length > 0 && !isStreaming && all.every(isAlive)) window.aliveAt = performance.now()
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
  window.paintedAt = 0
  new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) window.paintedAt = startTime
  }).observe({ type: 'largest-contentful-paint', buffered: true })
})()`

/**
 * Follows the first link to an address and measures the time from the click to the first frame after which the address and the heading have
 * changed. Runs in the browser.
 */
const follow = (path: string) => `new Promise((resolve, reject) => {
  const link = document.querySelector('nav a[href="${path}"]')
  const before = document.querySelector('main h1')
  const began = performance.now()
  const look = () => {
    const heading = document.querySelector('main h1')
    const isThere = location.pathname === '${path}' && heading !== null && heading !== before
    if (isThere) resolve(performance.now() - began)
    else if (performance.now() - began > ${PATIENCE}) reject(new Error('The page ${path} did not appear.'))
    else requestAnimationFrame(look)
  }
  link.click()
  requestAnimationFrame(look)
})`

/** The first view of a page in a browser with an empty cache. Times are in milliseconds from the start of the navigation. */
export interface FirstView {
  /** Largest contentful paint. */
  painted: number
  interactive: number
  /** Requests until the network is idle. */
  requests: number
  /** Bytes on the wire, with headers. */
  bytes: { scripts: number; all: number }
}
const Transferred = z.array(z.object({ type: z.string(), bytes: z.number() }))
const transferred = `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .map((entry) => ({ type: entry.name.split('?')[0].endsWith('.js') ? 'script' : 'other', bytes: entry.transferSize }))`

/** Opens a page in a new browser context. */
export async function firstView(browser: Browser, options: BrowserContextOptions, address: string): Promise<FirstView> {
  const context = await browser.newContext(options)
  try {
    const page = await context.newPage()
    await page.addInitScript(watch)
    let requests = 0
    page.on('request', () => {
      requests++
    })
    const answer = await page.goto(address)
    if (answer?.status() !== 200) throw new Error(`${address} answered ${answer?.status()}`)
    const alive = await page.waitForFunction(() => Reflect.get(globalThis, 'aliveAt'), undefined, { timeout: PATIENCE })
    const interactive = z.number().parse(await alive.jsonValue())
    // Requests after that moment still belong to the first view.
    await page.waitForLoadState('networkidle')
    const painted = z.number().parse(await page.evaluate('window.paintedAt'))
    const entries = Transferred.parse(await page.evaluate(transferred))
    const sum = (of: typeof entries) => of.reduce((total, { bytes }) => total + bytes, 0)
    const scripts = sum(entries.filter(({ type }) => type === 'script'))
    return { painted, interactive, requests, bytes: { scripts, all: sum(entries) } }
  } finally {
    await context.close()
  }
}

/** The milliseconds of a navigation from one page to another by the sidebar. The pointer rests on the link before, as a person's does. */
export async function navigation(
  browser: Browser,
  options: BrowserContextOptions,
  from: string,
  path: string,
): Promise<number> {
  const context = await browser.newContext(options)
  try {
    const page = await context.newPage()
    await page.goto(from)
    await page.waitForLoadState('networkidle')
    await page.locator(`nav a[href="${path}"]`).first().hover()
    await page.waitForLoadState('networkidle')
    return z.number().parse(await page.evaluate(follow(path)))
  } finally {
    await context.close()
  }
}
