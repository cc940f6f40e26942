import { type Browser, expect, test } from '@playwright/test'
import { sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { people } from './requests.ts'

const opened = async (browser: Browser) => {
  const context = await browser.newContext({
    storageState: await sessionOf(people.admin),
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  return context.newPage()
}

test('notifications link to their subjects, and are marked as read on every device', async ({ browser }) => {
  const [page, other] = [await opened(browser), await opened(browser)]
  const complaints = complaintsOf(page)
  await page.goto('/admin/holds')
  await alive(page)
  const bell = page.getByRole('button', { name: /^Notifications: \d+ unread$/ })
  await expect(bell).toBeVisible()
  await bell.click()
  const dialog = page.getByRole('dialog', { name: 'Notifications' })
  const item = dialog.getByRole('listitem').filter({ hasText: 'is assigned to you' }).first()
  await expect(item).toContainText('Unread')
  const marked = page.waitForResponse('**/api/notifications/read')
  await item.getByRole('link').click()
  await page.waitForURL(/\/admin\/requests\/preq_/)
  await marked
  await expect(dialog).toHaveCount(0)
  await other.goto('/admin/holds')
  await alive(other)
  await other.getByRole('button', { name: /^Notifications/ }).click()
  const there = other.getByRole('dialog', { name: 'Notifications' })
  await expect(there.getByRole('listitem').filter({ hasText: 'is assigned to you' }).first()).not.toContainText(
    'Unread',
  )
  await there.getByRole('button', { name: 'Mark all as read' }).click()
  await expect(there.getByText('Unread')).toHaveCount(0)
  await page.reload()
  await expect(page.getByRole('button', { name: 'Notifications: none unread' })).toBeVisible()
  expect(complaints).toEqual([])
  await page.context().close()
  await other.context().close()
})

test('a saved view is there in another browser, and its link opens it', async ({ browser }) => {
  const [page, other] = [await opened(browser), await opened(browser)]
  await page.goto('/admin/requests?due=overdue')
  await alive(page)
  await page.getByRole('button', { name: 'Saved views' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('View name').fill('Overdue, for all')
  await dialog.getByRole('button', { name: 'Save', exact: true }).click()
  await dialog.getByRole('button', { name: 'Copy link to Overdue, for all' }).click()
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toMatch(/\/admin\/requests\?due=overdue$/)
  await other.goto('/admin/requests')
  await alive(other)
  await other.getByRole('button', { name: 'Saved views' }).click()
  await other.getByRole('link', { name: 'Overdue, for all' }).click()
  await other.waitForURL(/\/admin\/requests\?due=overdue$/)
  await other.getByRole('button', { name: 'Saved views' }).click()
  await other.getByRole('button', { name: 'Delete view Overdue, for all' }).click()
  await expect(other.getByRole('link', { name: 'Overdue, for all' })).toHaveCount(0)
  await page.context().close()
  await other.context().close()
})

test('the overview explains how to set up emails, and sends a test email', async ({ browser }) => {
  const page = await opened(browser)
  await page.goto('/overview')
  await alive(page)
  const row = page.getByRole('listitem').filter({ hasText: 'Mail server' })
  await row.locator('summary').click()
  await expect(row.getByText(/^KP_SMTP_URL=/)).toBeVisible()
  await row.getByRole('button', { name: 'Send me a test email' }).click()
  await expect(row.getByRole('status').filter({ hasText: 'outbox folder' })).toBeVisible()
  const regions = page.getByRole('listitem').filter({ hasText: 'Regions of all stores' })
  await regions.locator('summary').click()
  await regions.getByRole('button', { name: 'Check the stores' }).click()
  await expect(regions.getByText(/^\d+ of \d+ stores responded\./)).toBeVisible()
  await page.context().close()
})
