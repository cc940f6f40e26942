import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page, test } from '@playwright/test'
import { type PageEntry, type PageName, pages } from '#components/frame/pages.ts'
import { sampled, sampleSeed } from '#lib/testing/sampling.ts'
import { type BrowserSession, sessionOf } from './control.ts'
import { origin } from './credentials.ts'
import { alive, complaintsOf } from './journey.ts'
import { addresses, areaOf, people } from './requests.ts'

const languages = [
  { locale: 'en-GB', lang: 'en' },
  { locale: 'zh-CN', lang: 'zh' },
] as const
const themes = ['light', 'dark'] as const

let at: Record<PageName, string>
const sessions: Partial<Record<PageEntry['area'], BrowserSession>> = {}
test.beforeAll(async () => {
  at = await addresses()
  sessions.you = await sessionOf(people.person)
  sessions.admin = await sessionOf(people.admin)
})

/** A page in one language and one theme. */
interface PageView {
  name: PageName
  language: (typeof languages)[number]
  theme: (typeof themes)[number]
}

/** Checks that the page fits a phone and a desktop, is accessible in this theme, sets its text in the way of its language, and logs nothing to the console. */
async function checkView(page: Page, { name, language, theme }: PageView): Promise<void> {
  const view = `${name} in ${language.lang}, ${theme}`
  const complaints = complaintsOf(page)
  await page.setViewportSize({ width: 360, height: 800 })
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
  const response = await page.goto(at[name], { waitUntil: 'load' })
  expect.soft(response?.status(), view).toBe(200)
  await expect.soft(page.locator('html'), view).toHaveAttribute('lang', language.lang)
  await expect.soft(page, view).toHaveTitle(/KnowledgePulse/)
  await expect.soft(page.getByRole('heading', { level: 1 }), view).toHaveCount(1)
  await expect.soft(page.locator('html'), view).toHaveClass(theme)
  await alive(page)
  await expect
    .configure({ soft: true })
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth), `${view}: width at 360 px`)
    .toBeLessThanOrEqual(360)
  await page.setViewportSize({ width: 1280, height: 900 })
  // Full-width punctuation contains its space.
  const text = (await page.getByRole('main').textContent()) ?? ''
  expect.soft(text.match(/.{0,20}[。？！，、：；] +\p{Script=Han}.{0,10}/gu), view).toBeNull()
  const heights = await page
    .locator('main > header :is(a, button).rounded-lg')
    .evaluateAll((controls) => [...new Set(controls.map((one) => Math.round(one.getBoundingClientRect().height)))])
  expect.soft(heights.length, `${view}: heights of the controls in its header: ${heights}`).toBeLessThanOrEqual(1)
  // Legacy mode runs axe in the page itself, which has no frames; reporting only violations takes a third less time.
  const { violations } = await new AxeBuilder({ page })
    .setLegacyMode()
    .options({ resultTypes: ['violations'] })
    .analyze()
  const found = violations.map(({ id, nodes }) => ({
    id,
    at: nodes.map(({ html }) => html.slice(0, 160)).slice(0, 3),
  }))
  expect.soft(found, view).toEqual([])
  expect.soft(complaints, view).toEqual([])
}

for (const area of ['public', 'you', 'admin'] as const) {
  const views: PageView[] = pages
    .filter((entry) => areaOf(entry) === area)
    .flatMap(({ name }) => languages.flatMap((language) => themes.map((theme) => ({ name, language, theme }))))
  const chosen = sampled(`browser: ${area} pages by language and theme`, views, Math.ceil(views.length / 15))

  test(`${area} pages are accessible, fit 360 px and log nothing in both languages and themes (KP_SEED=${sampleSeed})`, async ({
    browser,
  }) => {
    test.setTimeout(1_800_000)
    const session = sessions[area]
    for (const language of languages) {
      const context = await browser.newContext({
        baseURL: origin,
        locale: language.locale,
        timezoneId: 'Europe/Berlin',
        reducedMotion: 'reduce',
        ...(session && { storageState: session }),
      })
      await context.addCookies([{ name: 'tz', value: 'Europe/Berlin', url: origin }])
      for (const view of chosen.filter((one) => one.language === language)) {
        const page = await context.newPage()
        await test.step(`${view.name} in ${language.lang}, ${view.theme}`, () => checkView(page, view))
        await page.close()
      }
      await context.close()
    }
  })
}
