import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page, test } from '@playwright/test'
import { type PageEntry, type PageName, pages } from '#components/frame/pages.ts'
import { type Session, sessionOf } from './control.ts'
import { origin } from './credentials.ts'
import { complaintsOf } from './journey.ts'
import { addresses, areaOf, people } from './places.ts'

const languages = [
  { locale: 'en-GB', lang: 'en' },
  { locale: 'zh-CN', lang: 'zh' },
] as const
const themes = ['light', 'dark'] as const

let at: Record<PageName, string>
const sessions: Partial<Record<PageEntry['area'], Session>> = {}
test.beforeAll(async () => {
  // The whole reference takes axe a minute; a part of it has all of its elements.
  at = { ...(await addresses()), reference: '/docs/api?q=receipt' }
  sessions.you = await sessionOf(people.person)
  sessions.admin = await sessionOf(people.admin)
})

/** Nothing is wider than the screen, in either theme nothing is hard to read, and whoever cannot see it is told the same. */
async function looksRight(page: Page): Promise<void> {
  await page.setViewportSize({ width: 360, height: 800 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth), 'width at 360 px').toBeLessThanOrEqual(360)
  await page.setViewportSize({ width: 1280, height: 900 })
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
    await expect(page.locator('html')).toHaveClass(theme)
    // In the page itself, for none has frames, and nothing is told of what is as it should be: a third of the time.
    const { violations } = await new AxeBuilder({ page })
      .setLegacyMode()
      .options({ resultTypes: ['violations'] })
      .analyze()
    const found = violations.map(({ id, nodes }) => ({
      id,
      at: nodes.map(({ html }) => html.slice(0, 160)).slice(0, 3),
    }))
    expect(found, theme).toEqual([])
  }
}

for (const area of ['public', 'you', 'admin'] as const)
  test(`pages of the area ${area}, in either language: accessible in both themes, whole at 360 px, nothing on the console`, async ({
    browser,
  }) => {
    test.setTimeout(900_000)
    const session = sessions[area]
    // Two readers at the same time, each in a browser of their own.
    const readAll = async ({ locale, lang }: (typeof languages)[number]): Promise<void> => {
      const context = await browser.newContext({
        baseURL: origin,
        locale,
        timezoneId: 'Europe/Berlin',
        reducedMotion: 'reduce',
        ...(session && { storageState: session }),
      })
      await context.addCookies([{ name: 'tz', value: 'Europe/Berlin', url: origin }])
      const page = await context.newPage()
      const complaints = complaintsOf(page)
      for (const { name } of pages.filter((entry) => areaOf(entry) === area)) {
        const what = `${name} in ${lang}`
        await test.step(what, async () => {
          const response = await page.goto(at[name], { waitUntil: 'load' })
          expect.soft(response?.status(), what).toBe(200)
          await expect.soft(page.locator('html'), what).toHaveAttribute('lang', lang)
          await expect.soft(page, what).toHaveTitle(/KnowledgePulse/)
          await expect.soft(page.getByRole('heading', { level: 1 }), what).toHaveCount(1)
          await looksRight(page).catch((error: unknown) => expect.soft(String(error), what).toBe('as it should be'))
          expect.soft(complaints.splice(0), what).toEqual([])
        })
      }
      await context.close()
    }
    await Promise.all(languages.map(readAll))
  })
