import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { sessionOf } from './control.ts'
import { alive } from './journey.ts'
import { people } from './requests.ts'

async function openPalette(page: Page): Promise<void> {
  await expect(async () => {
    await page.keyboard.press('Control+k')
    await expect(page.getByRole('combobox', { name: 'Search' })).toBeFocused({ timeout: 3_000 })
  }).toPass()
}
const options = (page: Page) => page.getByRole('option')

test('the palette finds a person by name and opens the page with the keyboard alone', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  await page.goto('/overview')
  await alive(page)
  await openPalette(page)
  await page.keyboard.type('kim')
  await expect(page.getByRole('option', { selected: true })).toContainText('kim@example.org')
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  expect(violations.map(({ id }) => id)).toEqual([])
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/admin\/users\//)
  await context.close()
})

test('the palette of a person contains their pages and actions, and no other people', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  await page.goto('/overview')
  await alive(page)
  await openPalette(page)
  await expect(options(page).first()).toBeVisible()
  await expect(options(page).filter({ hasText: 'Audit log' })).toHaveCount(0)
  // The search drops a word that no record contains once its list of words is complete, so skills may match.
  const answered = page.waitForResponse((response) => response.url().endsWith('/api/search?q=example.org'))
  await page.keyboard.type('example.org')
  const { data } = z.object({ data: z.array(z.object({ kind: z.string() })) }).parse(await (await answered).json())
  expect(data.map(({ kind }) => kind)).not.toContain('person')
  await page.getByRole('combobox', { name: 'Search' }).fill('zqxwvj')
  await expect(page.getByText('No results.')).toBeVisible()
  await expect(options(page)).toHaveCount(0)
  await page.getByRole('combobox', { name: 'Search' }).fill('create token')
  await expect(page.getByRole('option', { selected: true })).toContainText(/create token/i)
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/tokens/)
  await context.close()
})

test('the palette finds actions by other words, and lists no page that only a link opens', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  await page.goto('/overview')
  await alive(page)
  await openPalette(page)
  await expect(options(page).first()).toBeVisible()
  for (const hidden of ['Turn off emails', 'Privacy request (embedded)'])
    await expect(options(page).filter({ hasText: hidden })).toHaveCount(0)
  const search = page.getByRole('combobox', { name: 'Search' })
  for (const words of ['revoke', 'leaked key']) {
    await search.fill(words)
    await expect(options(page).filter({ hasText: 'Revoke a token' })).toBeVisible()
  }
  await search.fill('two-factor')
  await options(page).filter({ hasText: 'Require second factors' }).click()
  await expect(page).toHaveURL(/\/admin\/security$/)
  await context.close()
})
