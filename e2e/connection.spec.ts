import { type BrowserContext, expect, type Page, test } from '@playwright/test'
import { control, sessionOf } from './control.ts'
import { readCredentials } from './credentials.ts'
import { alive, fillSignIn, signOutInBrowser } from './journey.ts'
import { people } from './requests.ts'

const text = 'They write that their name is wrong.'

/** The form that files a request, with typed text. */
async function openForm(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  await page.goto('/admin/requests/new')
  await alive(page)
  await page.getByRole('textbox').last().fill(text)
  return page
}

test('without a server, links and the router stay on the page with its text, and work when the server is back', async ({
  browser,
}) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await openForm(context)
  await page.clock.install()
  await page.reload()
  await alive(page)
  const words = page.getByRole('textbox').last()
  await expect(words).toHaveValue(text)
  let failed = 0
  page.on('requestfailed', (request) => {
    if (new URL(request.url()).pathname.startsWith('/api/')) failed++
  })
  await control.down()
  try {
    // The page may not know of the outage yet: then the router waits instead of leaving the page.
    await page.getByRole('link', { name: 'Overview' }).click()
    await expect(page.getByText('Server unreachable').first()).toBeVisible()
    await expect(words).toHaveValue(text)
    await page.getByRole('link', { name: 'Audit log' }).click()
    await expect(page.getByRole('button', { name: 'Try now' })).toBeFocused()
    await expect(page).toHaveURL('/admin/requests/new')
    await expect(words).toHaveValue(text)
    // A poll of the navigation's counts fails, with its retries: its old answer and its error are both kept.
    const before = failed
    await page.clock.fastForward(61_000)
    await expect.poll(() => failed - before).toBeGreaterThanOrEqual(3)
  } finally {
    await control.up()
  }
  // The page checks at growing intervals of up to 30 s.
  await expect(page.getByText('Connected again.')).toBeVisible({ timeout: 60_000 })
  await page.getByRole('link', { name: 'Overview' }).click()
  await expect(page).toHaveURL('/overview')
  await page.goBack()
  await expect(page.getByRole('textbox').last()).toHaveValue(text)
  await page.reload()
  await expect(page.getByRole('textbox').last()).toHaveValue(text)
  await context.close()
})

test('another tab says that the session has ended, and shows no navigation beside the sign-in form', async ({
  browser,
}) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await openForm(context)
  const other = await context.newPage()
  await other.goto('/overview')
  await alive(other)
  await signOutInBrowser(other)
  await expect(other).toHaveURL('/')
  await expect(page.getByText('You were signed out.')).toBeVisible()
  await expect(page.getByRole('textbox').last()).toHaveValue(text)
  await page.getByRole('link', { name: 'Audit log' }).click()
  await expect(page).toHaveURL(/\/sign-in/)
  await expect(page.getByText('You were signed out.')).toBeVisible()
  await expect(page.getByRole('link', { name: 'Audit log' })).toHaveCount(0)
  await context.close()
})

test('after a sign-out in another tab, the link of the banner returns to the page with its filters', async ({
  browser,
}) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.auditor) })
  const page = await context.newPage()
  await page.goto('/admin/audit?action=delete&resource_type=knowledge')
  await alive(page)
  const other = await context.newPage()
  await other.goto('/overview')
  await alive(other)
  await signOutInBrowser(other)
  const opening = context.waitForEvent('page')
  await page.getByRole('status').filter({ hasText: 'You were signed out.' }).getByRole('link').click()
  const opened = await opening
  await fillSignIn(opened, { email: people.auditor, password: readCredentials().password })
  await expect(opened).toHaveURL('/admin/audit?action=delete&resource_type=knowledge')
  await context.close()
})

test('the focus stays on the page after a navigation', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  await page.goto('/admin/users')
  await alive(page)
  await page.getByRole('table').getByRole('link').first().click()
  await expect(page).toHaveURL(/\/admin\/users\/.+/)
  await expect(page.locator('body')).not.toBeFocused()
  await expect.poll(() => page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true)
  await context.close()
})
