import { readFileSync, statSync } from 'node:fs'
import { type Browser, expect, test } from '@playwright/test'
import { z } from 'zod'
import { type PageEntry, type PageName, pages } from '#components/frame/pages.ts'
import { sampled, sampleSeed } from '#lib/testing/sampling.ts'
import { type BrowserSession, sessionOf } from './control.ts'
import { origin } from './credentials.ts'
import { addresses, areaOf, people } from './requests.ts'

/**
 * Limits of the first view of a page: bytes of its scripts with Brotli, and requests until the network is idle. React, React DOM and Next's
 * router have 111 KiB of the scripts. The target is 150 KiB; this limit only prevents growth.
 */
const most = { scripts: 168 * 1024, requests: 20 }

const Routes = z.array(z.object({ route: z.string(), firstLoadChunkPaths: z.array(z.string()) }))

test(`no page loads more than ${most.scripts / 1024} KiB of scripts in its first view`, () => {
  const routes = Routes.parse(JSON.parse(readFileSync('.next/diagnostics/route-bundle-stats.json', 'utf8')))
  const sizes = routes.map(({ route, firstLoadChunkPaths }) => ({
    route,
    bytes: firstLoadChunkPaths.reduce((sum, path) => sum + statSync(`${path}.br`).size, 0),
  }))
  const known = new Set(sizes.map(({ route }) => route))
  expect(pages.filter(({ path }) => !known.has(path))).toEqual([])
  expect(sizes.filter(({ bytes }) => bytes > most.scripts)).toEqual([])
})

test('the icon is also served at the address that browsers request by default', async ({ request }) => {
  const answer = await request.get(`${origin}/favicon.ico`)
  expect(answer.status()).toBe(200)
  expect(answer.headers()['content-type']).toContain('image/svg+xml')
})

/**
 * The requests of a page, without its icon. The interface of a browser requests the icon, and as often as it likes: Chromium and Chrome request it
 * again after each navigation; the headless shell has no interface and requests it once.
 */
async function requestsOf(browser: Browser, address: string, session: BrowserSession | undefined): Promise<string[]> {
  const context = await browser.newContext({ baseURL: origin, ...(session && { storageState: session }) })
  try {
    // Without a known time zone, the page is refreshed, and the router requests again what it has already requested of the pages behind its links.
    await context.addCookies([{ name: 'tz', value: 'Europe/Berlin', url: origin }])
    const page = await context.newPage()
    const sent: string[] = []
    page.on('request', (request) => {
      const path = request.url().slice(origin.length)
      if (!/^\/(?:icon\.svg|favicon\.ico)/.test(path)) sent.push(`${request.method()} ${path}`)
    })
    expect((await page.goto(address))?.status(), address).toBe(200)
    await page.waitForLoadState('networkidle')
    return sent
  } finally {
    await context.close()
  }
}

test(`no page sends more than ${most.requests} requests in its first view (KP_SEED=${sampleSeed})`, async ({
  browser,
}) => {
  test.setTimeout(600_000)
  const at: Record<PageName, string> = await addresses()
  const sessions = { public: undefined, you: await sessionOf(people.person), admin: await sessionOf(people.admin) }
  const entries: readonly (PageEntry & { name: PageName })[] = pages
  for (const entry of sampled('browser: requests of pages', entries, 8)) {
    const sent = await requestsOf(browser, at[entry.name], sessions[areaOf(entry)])
    expect.soft(sent.length, `${entry.path}\n${sent.join('\n')}`).toBeLessThanOrEqual(most.requests)
    // A cold browser on a fast network: what a page requests twice, it could have requested once.
    expect.soft(new Set(sent).size, `${entry.path}\n${sent.join('\n')}`).toBe(sent.length)
  }
})
