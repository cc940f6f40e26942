import { expect, test } from '@playwright/test'
import { sessionOf } from './control.ts'
import { asAdmin } from './counted-work.ts'
import { alive, registerJourneyAgent } from './journey.ts'
import { people, requestContext } from './requests.ts'

test('an admin revokes a leaked token after seeing which one it is', async ({ browser, request }) => {
  const agent = await registerJourneyAgent(request, 'Leaky journey agent')
  const status = async () =>
    (await request.get('/v1/auth/me', { headers: { Authorization: `Bearer ${agent.token}` } })).status()
  expect(await status()).toBe(200)
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.open('All tokens', 'All tokens')
    await admin.click(page.getByRole('button', { name: 'Revoke leaked token' }))
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('First 11 characters of the token').fill(agent.token.slice(0, 5))
    await expect(dialog).toContainText('6 more characters needed.')
    await admin.fill(dialog.getByLabel('First 11 characters of the token'), agent.token.slice(0, 11))
    const match = dialog.getByRole('region', { name: 'Matching token' })
    await expect(match).toContainText('Leaky journey agent')
    await expect(match).toContainText('unclaimed')
    expect(await status()).toBe(200)
    await admin.click(dialog.getByRole('button', { name: 'Revoke token' }))
    await expect(page.getByText(`${agent.token.slice(0, 11)} revoked`)).toBeVisible()
    expect(await status()).toBe(401)
    await admin.finish()
  })
})

test('a success note stays until the next action', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  await page.clock.install()
  await page.goto('/admin/requests/form')
  await alive(page)
  const note = page.getByText('Origins saved')
  await page.getByRole('button', { name: 'Save origins' }).click()
  await expect(note).toBeVisible()
  await page.clock.fastForward('10:00')
  await expect(note).toBeVisible()
  const first = await note.elementHandle()
  await page.getByRole('button', { name: 'Save origins' }).click()
  // Its note must be there before the next action, or it would appear after it.
  await expect.poll(() => first?.evaluate((element) => element.isConnected)).toBe(false)
  await expect(note).toHaveCount(1)
  await page.getByRole('link', { name: 'Holds' }).click()
  await expect(note).toHaveCount(0)
  await context.close()
})

test('an admin previews which units new retention periods would delete', async ({ browser }) => {
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.open('Retention', 'Retention')
    await admin.fill(page.getByLabel('Private: days'), '30')
    await admin.click(page.getByRole('button', { name: 'Preview' }))
    const records = page.getByRole('table', { name: 'Units and skills expired or expiring within 30 days' })
    // The first row is the head.
    await expect(records.getByRole('row').nth(1)).toBeVisible()
    await expect(page.getByText('Nothing was deleted.')).toBeVisible()
    await admin.finish()
  })
})

test('an admin invites ten people at once and sees the outcome for each address', async ({ browser }) => {
  const addresses = Array.from({ length: 10 }, (_, index) => `invited-${index}@example.org`)
  await asAdmin(
    browser,
    async (admin) => {
      const { page } = admin
      await admin.open('Users', 'Users')
      await admin.click(page.getByRole('button', { name: 'Invite users' }))
      const dialog = page.getByRole('dialog')
      await expect(dialog).toContainText('No mail server is set up')
      await page.setViewportSize({ width: 1280, height: 640 })
      await expect(dialog.getByRole('button', { name: 'Invite people' })).toBeInViewport({ ratio: 1 })
      // One of them already has an account.
      await admin.fill(dialog.getByLabel('Email addresses'), [...addresses, people.person].join('\n'))
      await admin.click(dialog.getByRole('button', { name: 'Invite 11 people' }))
      await expect(dialog.getByText('10 of 11 invitations stored, not sent')).toBeVisible()
      await expect(dialog.getByText(`${people.person}: Already has an account`)).toBeVisible()
      for (const address of addresses) await expect(dialog.getByText(`${address}: Stored, not sent`)).toBeVisible()
      await admin.finish()
    },
    /409 \(Conflict\)/,
  )
})

test('an admin sees why a control needs review, what to do, and the evidence', async ({ browser }) => {
  const api = await requestContext(await sessionOf(people.admin))
  const openReading = async (anonymous_reading: boolean) =>
    expect((await api.patch('/v1/settings', { data: { anonymous_reading } })).status()).toBe(200)
  await openReading(true)
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.open('Compliance', 'Compliance')
    const control = page.locator('[data-line="by_design"]')
    await expect(control).toContainText('Needs review')
    await expect(control).toContainText('Anyone can read units that are visible to everyone.')
    await expect(control).toContainText('Turn off anonymous reading if you don’t want it.')
    await admin.click(control.getByRole('link', { name: 'Evidence' }).first())
    await expect(page.getByRole('heading', { level: 1, name: 'All tokens' })).toBeVisible()
    await admin.finish()
  })
  await openReading(false)
  await api.dispose()
})

test('an admin follows the problems of a control to lists of exactly these records, with their causes', async ({
  browser,
}) => {
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.open('Compliance', 'Compliance')
    const failed = page.locator('[data-line="access"] [data-problem="exports.failed"]')
    const count = Number(/\d+/.exec((await failed.textContent()) ?? '')?.[0])
    await admin.click(failed.getByRole('link'))
    await expect(page.getByRole('heading', { level: 1, name: 'Prepared copies' })).toBeVisible()
    const copies = page.getByRole('table').getByRole('row')
    await expect(copies).toHaveCount(count + 1)
    await expect(copies.nth(1)).toContainText(/didn’t answer|unexpected error/)
    await page.goBack()
    const late = page.locator('[data-line="erasure"] [data-problem="requests.late"]')
    await admin.click(late.getByRole('link'))
    await expect(page).toHaveURL(/due=late/)
    await expect(page.getByRole('table').getByRole('row').nth(1)).toContainText('Legal hold')
    await admin.finish()
  })
})

test('an admin sees that the form of a legal hold has a restored draft, and discards it', async ({ browser }) => {
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.open('Legal holds', 'Legal holds')
    const dialog = page.getByRole('dialog')
    await admin.click(page.getByRole('button', { name: 'Set hold' }))
    await expect(dialog.getByText('Restored draft')).toHaveCount(0)
    await admin.fill(dialog.getByLabel('Reason'), 'Case 31/2026')
    await admin.click(dialog.getByRole('button', { name: 'Cancel' }))
    await admin.click(page.getByRole('button', { name: 'Set hold' }))
    await expect(dialog.getByText('Restored draft')).toBeVisible()
    await expect(dialog.getByLabel('Reason')).toHaveValue('Case 31/2026')
    await admin.click(dialog.getByRole('button', { name: 'Discard' }))
    await expect(dialog.getByLabel('Reason')).toHaveValue('')
    await expect(dialog.getByText('Restored draft')).toHaveCount(0)
    await admin.finish()
  })
})
