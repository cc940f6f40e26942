import { expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { control, sessionOf } from './control.ts'
import { readCredentials } from './credentials.ts'
import { alive, complaintsOf, fillSignIn } from './journey.ts'
import { people, requestContext } from './requests.ts'

// Journeys that move the clock are called time-… and run last, because the browser's own clock does not move. These
// people of the demo appear in no other journey.
const leaving = 'cleo@example.org'
const staying = 'lea@example.org'

/** Follows the console from the consequences to the button. Returns the id of the promised receipt. */
async function askForErasure(page: Page, grace: string): Promise<string | null> {
  await page.goto('/settings/privacy')
  await alive(page)
  await page.getByRole('link', { name: 'Delete my data' }).click()
  await expect(page).toHaveURL(/\/settings\/privacy\/delete/)
  await expect(page.getByRole('heading', { level: 1, name: 'Delete my data' })).toBeVisible()
  await expect(page.getByText('audit log 90 days')).toBeVisible()
  for (const title of ['Copy and keys', 'Confirm deletion']) {
    await page.getByRole('button', { name: 'Continue' }).click()
    await expect(page.getByRole('heading', { level: 2, name: title })).toBeFocused()
  }
  await page.getByText(grace).click()
  const button = page.getByRole('button', { name: 'Delete my data' })
  await expect(page.getByLabel('Type DELETE to confirm')).toHaveAccessibleDescription('')
  await page.getByLabel('Type DELETE to confirm').fill('delete it')
  await page.getByLabel('Password').fill('not this one')
  await button.click()
  await expect(page.getByText('Type DELETE to continue.')).toBeVisible()
  await page.getByLabel('Type DELETE to confirm').fill('DELETE')
  await button.click()
  await expect(page.getByLabel('Password')).toBeFocused()
  await expect(page.getByLabel('Type DELETE to confirm')).toHaveValue('DELETE')
  await page.getByLabel('Password').fill(readCredentials().password)
  // A double click must have one effect.
  await button.dblclick()
  await expect(page.getByRole('heading', { name: 'Deletion scheduled' })).toBeVisible()
  await expect(
    page.getByText('No mail server is set up, so our emails stay in a folder: ask an admin for them.'),
  ).toBeVisible()
  await expect(page).toHaveURL(/receipt=rcpt_/)
  return new URL(page.url()).searchParams.get('receipt')
}

test('a person erased in the console cannot be found after the grace period, and the receipt verifies', async ({
  browser,
}) => {
  const { password } = readCredentials()
  const context = await browser.newContext({ storageState: await sessionOf(leaving) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  const own = await requestContext(await sessionOf(leaving))
  const { account_id: accountId } = z
    .object({ data: z.object({ account_id: z.string() }) })
    .parse(await (await own.get('/api/account')).json()).data
  const Units = z.object({ data: z.array(z.object({ id: z.string() })), total: z.number() })
  const Users = z.object({ total: z.number() })
  const shared = Units.parse(await (await own.get('/v1/knowledge?agent_id=triage-bot&visibility=network')).json())
  expect(shared.total).toBeGreaterThan(0)

  const receipt = await askForErasure(page, 'In 24 hours')
  expect(receipt).toMatch(/^rcpt_/)
  complaints.length = 0 // the browser logs the 422 of the wrong password
  const Requests = z.object({ data: z.array(z.object({ kinds: z.array(z.string()), state: z.string() })) })
  const asked = Requests.parse(await (await own.get('/api/privacy/requests')).json()).data
  expect(asked.filter(({ kinds, state }) => kinds.includes('erasure') && state === 'waiting')).toHaveLength(1)
  await page.goto('/overview')
  await expect(page.getByRole('region', { name: 'Scheduled deletions' })).toBeVisible()
  expect(complaints).toEqual([])

  await control.advance(25)

  await test.step('their sign-in is rejected', async () => {
    // Other tests may have used up the sign-ins of this minute from this network.
    await expect(async () => {
      await page.goto('/sign-in')
      await fillSignIn(page, { email: leaving, password })
      await expect(page.getByRole('alert').filter({ hasText: 'Wrong email or password' })).toBeVisible({
        timeout: 15_000,
      })
    }).toPass({ intervals: [10_000] })
  })
  await test.step('no search, admin page or id finds them', async () => {
    const neighbour = await requestContext(await sessionOf(people.person))
    const admin = await requestContext(await sessionOf(people.admin))
    const found = Units.parse(await (await neighbour.get('/v1/knowledge?agent_id=triage-bot')).json())
    expect(found.total).toBe(0)
    for (const { id } of shared.data) expect((await neighbour.get(`/v1/knowledge/${id}`)).status()).toBe(404)
    const usersFound = async (email: string) =>
      Users.parse(await (await admin.get(`/api/admin/users?${new URLSearchParams({ q: email })}`)).json()).total
    expect(await usersFound(people.person)).toBe(1)
    expect(await usersFound(leaving)).toBe(0)
    expect(await (await admin.get('/admin/users')).text()).not.toContain(leaving)
    // The 404 was determined after the headers were sent, so it is in the body.
    expect(await (await admin.get(`/admin/users/${accountId}`)).text()).toContain('NEXT_HTTP_ERROR_FALLBACK;404')
    await neighbour.dispose()
    await admin.dispose()
  })
  await test.step('an admin finds the deletion by its receipt, and sees that the name was deleted', async () => {
    const admin = await browser.newContext({ storageState: await sessionOf(people.admin) })
    const desk = await admin.newPage()
    await desk.goto(`/admin/erasures?q=${encodeURIComponent(leaving)}`)
    await expect(desk.getByText('search by receipt or request ID', { exact: false })).toBeVisible()
    await desk.goto(`/admin/erasures?q=${receipt}`)
    await desk.getByRole('table').getByRole('link').first().click()
    await expect(desk.getByText(/^\d+ of \d+: name removed$/).first()).toBeVisible()
    await expect(desk.getByText(/^\d+ of \d+ deleted$/).first()).toBeVisible()
    // Only the trail in the bar names the section.
    await expect(desk.getByRole('navigation', { name: 'Breadcrumbs' })).toHaveText('Deletions')
    await admin.close()
  })
  await test.step('the receipt can be read and verified without signing in', async () => {
    await context.clearCookies()
    complaints.length = 0 // the browser logs the 401
    await page.goto(`/receipts/${receipt}`)
    await expect(page.getByText('found none of them')).toBeVisible()
    const keys = page.waitForEvent('download')
    await page.getByText('Files and offline verification', { exact: true }).click()
    await page.getByRole('link', { name: 'Public keys', exact: true }).click()
    expect((await keys).suggestedFilename()).toBe('public-keys.json')
    await page.goto('/verify')
    await alive(page)
    await page.getByRole('textbox', { name: 'Receipt' }).fill(receipt ?? '')
    await page.getByRole('button', { name: 'Verify', exact: true }).click()
    await expect(page.getByText('Valid signature')).toBeVisible()
    await page.getByText('Receipt and key').click()
    const field = page.getByRole('textbox', { name: 'Receipt' })
    await expect(field).toHaveValue(/"deleted": 1\b/)
    await field.fill((await field.inputValue()).replace(/"deleted": 1\b/, '"deleted": 2'))
    await page.getByRole('button', { name: 'Verify', exact: true }).click()
    await expect(page.getByText('Changed after signing')).toBeVisible()
    // The address of another receipt on the same page.
    await page.evaluate((id) => window.location.assign(`#${id}`), receipt)
    await expect(page.getByText('Changed after signing')).toHaveCount(0)
    await expect(page.getByText('Valid signature')).toBeVisible()
  })
  expect(complaints).toEqual([])
  await own.dispose()
  await context.close()
})

test('an erasure cancelled in its grace period changes nothing', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(staying) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await askForErasure(page, 'In 7 days')
  complaints.length = 0 // the browser logs the 422 of the wrong password
  await page.goto('/overview')
  await alive(page)
  await page
    .getByRole('region', { name: 'Scheduled deletions' })
    .getByRole('button', { name: 'Keep my data' })
    .dblclick()
  await expect(page.getByText('Deletion cancelled: your data is kept.')).toBeVisible()
  await page.reload()
  await expect(page.getByRole('region', { name: 'Scheduled deletions' })).toHaveCount(0)
  expect(complaints).toEqual([])
  await context.close()
  await control.advance(8 * 24)
  const again = await browser.newContext({ storageState: await sessionOf(staying) })
  expect((await again.request.get('/api/account')).status()).toBe(200)
  await again.close()
})
