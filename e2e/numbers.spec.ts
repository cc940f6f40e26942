import { type Browser, expect, type Page, test } from '@playwright/test'
import { sessionOf } from './control.ts'
import { origin } from './credentials.ts'
import { people } from './requests.ts'

// The same count is shown on several pages; people compare them. Sessions count as records, so pages are read in one session.

/** Repeats the comparison, because a job, for example of an email, may change a count between two pages. */
const agree = (compare: () => Promise<void>): Promise<void> => expect(compare).toPass({ timeout: 120_000 })

async function pageOf(browser: Browser, email: string): Promise<Page> {
  const context = await browser.newContext({
    baseURL: origin,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    storageState: await sessionOf(email),
  })
  return context.newPage()
}
const numberIn = (text: string | null): number =>
  Number(/\d[\d,]*/.exec(text ?? '')?.[0].replaceAll(',', '') ?? Number.NaN)
/** The number of the tile with this label on the open page. */
const tile = async (page: Page, label: string): Promise<number> => {
  const box = page.locator('dl > div').filter({ has: page.locator('dt').getByText(label, { exact: true }) })
  const number = box.first().locator('dd').first()
  await expect(number).toHaveText(/\d/)
  return numberIn(await number.textContent())
}
/** The number of a kind of waiting work on the overview: in a tile, or in the line below the tiles. */
const waiting = async (page: Page, label: string): Promise<number> => {
  const link = page.getByRole('link', { name: new RegExp(`^${label}: \\d`) })
  return (await link.count()) > 0 ? numberIn(await link.first().textContent()) : tile(page, label)
}
/** The number of rows that the first list of the page reports below itself. */
const shown = async (page: Page): Promise<number> => {
  const text = await page
    .getByText(/^(\d+ of )?\d+ shown$/)
    .first()
    .textContent()
  return numberIn(text?.replace(/^\d+ of /, '') ?? null)
}

test('open and overdue requests have the same count in the overview, the queue, its list and the navigation', async ({
  browser,
}) => {
  const page = await pageOf(browser, people.admin)
  await agree(async () => {
    await page.goto('/overview', { waitUntil: 'networkidle' })
    const [open, overdue, quarantined] = [
      await waiting(page, 'Open requests'),
      await waiting(page, 'Overdue requests'),
      await waiting(page, 'In quarantine'),
    ]
    expect(open).toBeGreaterThan(0)
    const emails = await waiting(page, 'Emails to forward')
    await page.goto('/admin/outbox', { waitUntil: 'networkidle' })
    expect([await tile(page, 'Stored emails'), emails > 0]).toEqual([emails, true])
    await page.goto('/admin/requests', { waitUntil: 'networkidle' })
    expect([await tile(page, 'Open'), await tile(page, 'Overdue'), await shown(page)]).toEqual([open, overdue, open])
    await expect(page.getByRole('link', { name: /^Requests/ }).first()).toContainText(String(open))
    await page.goto('/admin/requests?due=overdue', { waitUntil: 'networkidle' })
    expect(await shown(page)).toBe(overdue)
    await page.goto('/admin/safety', { waitUntil: 'networkidle' })
    expect([await tile(page, 'In quarantine'), await shown(page)]).toEqual([quarantined, quarantined])
  })
  await page.context().close()
})

test('records of a person have the same count in the overview, the privacy page and the deletion', async ({
  browser,
}) => {
  for (const email of [people.person, people.manager, people.auditor]) {
    const page = await pageOf(browser, email)
    await agree(async () => {
      await page.goto('/overview', { waitUntil: 'networkidle' })
      const records = await tile(page, 'Items about you')
      expect(await page.locator('main dl').first().locator(':scope > div').count(), email).toBeLessThanOrEqual(4)
      await page.goto('/settings/privacy', { waitUntil: 'networkidle' })
      expect(numberIn(await page.getByText(/^We hold [\d,]+ items about you/).textContent()), email).toBe(records)
      await page.goto('/settings/privacy/delete', { waitUntil: 'networkidle' })
      expect(numberIn(await page.getByText(/^[\d,]+ items$/).textContent()), email).toBe(records)
      // The tiles together are the records; a tile without records is left out.
      const parts = await page.locator('dl').first().locator('dd').allTextContents()
      expect(
        parts.reduce((sum, text) => sum + numberIn(text), 0),
        email,
      ).toBe(records)
    })
    await agree(async () => {
      await page.goto('/overview', { waitUntil: 'networkidle' })
      const agents = await tile(page, 'Agents')
      await page.goto('/agents', { waitUntil: 'networkidle' })
      expect(agents === 0 ? 0 : await shown(page), email).toBe(agents)
    })
    await page.context().close()
  }
})

test('users and deletions have the same count in tiles and lists', async ({ browser }) => {
  const page = await pageOf(browser, people.admin)
  await agree(async () => {
    await page.goto('/admin/users', { waitUntil: 'networkidle' })
    let users = 0
    for (const label of ['Active', 'Invited', 'Closed', 'Deletion pending']) users += await tile(page, label)
    expect(await shown(page)).toBe(users)
    await page.goto('/admin/erasures', { waitUntil: 'networkidle' })
    const held = await tile(page, 'On hold')
    await page.goto('/admin/erasures?state=held', { waitUntil: 'networkidle' })
    await expect(page.getByRole('table').first().getByRole('row')).toHaveCount(held + 1, { timeout: 5_000 })
  })
  await page.context().close()
})

test('the tabs of knowledge count the list below them, or nothing', async ({ browser }) => {
  const page = await pageOf(browser, people.person)
  const tab = page.getByRole('link', { name: /^Units/ }).first()
  await page.goto('/knowledge', { waitUntil: 'networkidle' })
  expect(numberIn(await tab.textContent())).toBe(await shown(page))
  await page.goto('/knowledge?show=all', { waitUntil: 'networkidle' })
  expect(await shown(page)).toBeGreaterThan(0)
  await expect(tab).toHaveText('Units')
  await page.context().close()
})
