import '../bin/runtime.ts'
import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Browser, type BrowserContext, chromium, type Page } from '@playwright/test'
import sharp from 'sharp'
import { sampleFolder } from '../bin/demo/sample-folder.ts'
import { type PageEntry, type PageName, pages } from '../components/frame/pages.ts'
import { findBrowser } from './browser.ts'
import { makeDemoInstallation } from './demo-installation.ts'

// Screenshots of every page of a demo installation: npm run screenshots [-- --only <page> …] [--look <look> …] [--readme]
const root = resolve(import.meta.dirname, '..')
const folder = join(root, 'var/screenshots')
/** The pages that the README and docs/for-data-protection-officers.md show. */
const main: readonly PageName[] = [
  'home',
  'receipt',
  'verify',
  'overview',
  'privacy',
  'deletion',
  'requests',
  'audit',
  'compliance',
  'user',
  'report',
  'storeSearch',
]
const forReadme = join(root, 'docs/screenshots')

const looks = {
  desktop: { viewport: { width: 1280, height: 860 }, locale: 'en-GB', colorScheme: 'light' },
  phone: { viewport: { width: 360, height: 780 }, locale: 'en-GB', colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 860 }, locale: 'en-GB', colorScheme: 'dark' },
  chinese: { viewport: { width: 1280, height: 860 }, locale: 'zh-CN', colorScheme: 'light' },
} as const
type Look = keyof typeof looks

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    look: { type: 'string', multiple: true, default: Object.keys(looks) },
    port: { type: 'string', default: '3315' },
    readme: { type: 'boolean', default: false },
    data: { type: 'string', default: sampleFolder },
  },
})
const port = Number(values.port)
const demo = await makeDemoInstallation({ port, data: values.data })
const { startInstallation } = await import('./installation.ts')
const installation = await startInstallation({ env: demo.env, controlPort: port + 1 })
const { control, orderAt: askAt, setInstallation, sessionOf } = await import('./control.ts')
setInstallation({ origin: demo.origin, password: demo.password, ask: askAt(port + 1) })
const { addresses, areaOf, people } = await import('./requests.ts')

const executablePath = findBrowser()
const browser: Browser = await chromium.launch({
  ...(executablePath !== undefined && { executablePath }),
  args: ['--no-sandbox', '--disable-gpu'],
})
const chosen = pages.filter(({ name }) => (values.readme ? main.includes(name) : (values.only?.includes(name) ?? true)))

async function contextOf(
  area: PageEntry['area'],
  look: Look,
  who: string = area === 'admin' ? people.admin : people.person,
): Promise<BrowserContext> {
  const context = await browser.newContext({
    baseURL: demo.origin,
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
    ...looks[look],
    ...(area !== 'public' && { storageState: await sessionOf(who) }),
  })
  await context.addCookies([{ name: 'tz', value: 'Europe/Berlin', url: demo.origin }])
  return context
}

/** What a reader does on a page before it shows anything. */
const firstSteps: Partial<Record<PageName, (page: Page) => Promise<void>>> = {
  async verify(page) {
    await page
      .getByRole('textbox')
      .first()
      .fill(at.receipt.split('/').at(-1) ?? '')
    await page.locator('main form button[type=submit]').click()
    await page.locator('main a[href^="/receipts/"]').first().waitFor()
  },
  async storeSearch(page) {
    await control.remember('support-77', 'Kim Example asked about the delivery of March, kim@example.org')
    await page.getByRole('textbox').first().fill('Kim Example\nkim@example.org')
    await page.locator('main form button[type=submit]').click()
    await page.getByRole('main').getByRole('table').first().waitFor()
    await page.waitForLoadState('networkidle')
  },
}

/** The area whose person the picture shows: the README shows the overview of an admin. */
const shownTo = (page: PageEntry & { name: PageName }): PageEntry['area'] =>
  values.readme && page.name === 'overview' ? 'admin' : areaOf(page)

/** Writes a picture for the README with a palette: about 40 percent of the bytes, and the same to the eye. */
const writeForReadme = async (name: string, picture: Buffer): Promise<void> => {
  await sharp(picture)
    .png({ palette: true, compressionLevel: 9, effort: 10 })
    .toFile(join(forReadme, `${name}.png`))
}

/** A deletion while its numbers fall. Nobody else needs this demo person afterwards. */
async function shootDeletion(): Promise<void> {
  const context = await contextOf('you', 'desktop', 'cleo@example.org')
  const page = await context.newPage()
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  // A page that is loaded during the deletion begins with the present numbers.
  await page.goto('/settings/privacy/delete?step=confirm&grace=now', { waitUntil: 'networkidle' })
  await page.locator('input[name=word]').fill('DELETE')
  await page.locator('main input[type=password]').fill(demo.password)
  await page.locator('main button[type=submit]').click()
  await page.getByRole('list', { name: 'Places with data' }).getByRole('listitem').first().waitFor()
  await page.waitForFunction(() => {
    const [shown, of] = [...document.querySelectorAll('main li p span')].map((one) =>
      Number(/\d+/.exec(one.textContent ?? '')?.[0]),
    )
    return shown !== undefined && of !== undefined && shown < of * 0.9
  })
  await writeForReadme('deletion-progress', await page.screenshot())
  await context.close()
}

async function shoot(look: Look): Promise<number> {
  let shot = 0
  for (const area of ['public', 'you', 'admin'] as const) {
    const here = chosen.filter((page) => shownTo(page) === area)
    if (here.length === 0) continue
    const context = await contextOf(area, look)
    const page = await context.newPage()
    for (const { name } of here) {
      const response = await page.goto(at[name], { waitUntil: 'networkidle' })
      if (response?.status() !== 200) console.log(`✗ ${name} answered ${response?.status()}`)
      await firstSteps[name]?.(page)
      if (values.readme) await writeForReadme(name, await page.screenshot({ animations: 'disabled' }))
      else await page.screenshot({ path: join(folder, look, `${name}.png`), fullPage: true, animations: 'disabled' })
      shot++
    }
    await context.close()
  }
  return shot
}

const at = await addresses()
try {
  if (!values.readme && values.only === undefined) rmSync(folder, { recursive: true, force: true })
  mkdirSync(values.readme ? forReadme : folder, { recursive: true })
  for (const look of values.readme
    ? (['desktop'] as const)
    : (Object.keys(looks) as Look[]).filter((look) => values.look.includes(look)))
    console.log(`${look}: ${await shoot(look)} pages`)
  if (values.readme) await shootDeletion()
  console.log(`They are in ${values.readme ? forReadme : folder}.`)
} finally {
  await browser.close()
  await installation.stop()
  await demo.remove()
}
process.exit()
