import { readFileSync } from 'node:fs'
import { expect, type Page, test } from '@playwright/test'
import { sessionOf } from './control.ts'
import { alive, closeWithEscape, complaintsOf } from './journey.ts'
import { people } from './requests.ts'

/** The number of rows, and the first ones, when the page is interactive. */
async function rowsOf(page: Page): Promise<{ count: number; first: string[] }> {
  await expect(page.locator('[data-known]')).toContainText('All ')
  await expect.poll(() => page.locator('[data-row]').count()).toBeGreaterThan(4)
  const count = Number(await page.locator('[data-known]').getAttribute('data-known'))
  return { count, first: (await page.locator('[data-row]').allInnerTexts()).slice(0, 4) }
}

test('filters of the audit log are in the address, and a reload, another reader and the file show the same rows', async ({
  browser,
}) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.auditor) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto('/admin/audit')
  await alive(page)
  await expect(async () => {
    await page.keyboard.press('/')
    await expect(page.locator('[data-filter]')).toBeFocused({ timeout: 5_000 })
  }).toPass()
  await page.keyboard.press('Escape')
  await page.getByRole('combobox', { name: 'Action', exact: true }).selectOption('delete')
  await page.getByText('More filters').click()
  await page.getByLabel('Resource type').selectOption('Knowledge unit')
  await page.getByRole('button', { name: 'Apply' }).click()
  await expect(page).toHaveURL(/action=delete/)
  await expect(page).toHaveURL(/resource_type=knowledge/)
  // Pins the end time in the address, so that later entries do not change the rows.
  await page.getByRole('button', { name: 'Hide newer entries' }).click()
  await expect(page).toHaveURL(/to=/)
  const rows = await rowsOf(page)
  expect(rows.count).toBeGreaterThan(4)

  await page.reload()
  await alive(page)
  await expect.poll(() => rowsOf(page)).toEqual(rows)
  const other = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const beside = await other.newPage()
  await beside.goto(page.url())
  await expect.poll(() => rowsOf(beside)).toEqual(rows)
  await other.close()

  await test.step('an entry is opened and closed by keyboard', async () => {
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('dialog')).toContainText(/deleted .*knowledge unit/)
    await page.getByRole('dialog').getByText('IDs and stored entries').click()
    await expect(page.getByRole('dialog').getByRole('heading', { name: 'Stored entry' })).toBeVisible()
    await expect(page).toHaveURL(/entry=/)
    await closeWithEscape(page)
    await expect(page.getByRole('dialog')).toHaveCount(0)
  })
  await test.step('the file contains exactly these rows', async () => {
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByLabel('Format').selectOption('jsonl')
    await page.getByRole('link', { name: 'Download' }).click()
    const lines = readFileSync(await (await download).path(), 'utf8')
      .trim()
      .split('\n')
    // A row is an act, which may have several entries.
    const entries = Number(/([\d,.]+) entr/.exec((await page.getByText(/^\d+ entr.* up to/).textContent()) ?? '')?.[1])
    expect(lines).toHaveLength(entries)
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ action: 'delete', resourceType: 'knowledge' })
  })
  expect(complaints).toEqual([])
  await context.close()
})

test('the activity of a shared unit names the searches and lists that may have shown it', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.auditor) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto('/knowledge?show=all&visibility=network')
  await alive(page)
  await page.getByRole('table').getByRole('link').first().click()
  await page.getByRole('region', { name: 'Reads and changes' }).getByText('Show').click()
  await expect(page.getByText(/Searches and lists may have shown this record too/)).toBeVisible()
  await page.getByRole('link', { name: /^Knowledge \(\d/ }).click()
  await expect(page).toHaveURL(/resource_type=knowledge&resource_id=query&from=.*reads=true/)
  await expect(page.locator('[data-row]').first()).toContainText('listed or searched knowledge units')
  expect(complaints).toEqual([])
  await context.close()
})
