import { expect, test } from '@playwright/test'
import { browserInstallation, sessionOf } from './control.ts'
import { alive } from './journey.ts'
import { people } from './requests.ts'

test('the front page offers people their data without commands, and developers three commands', async ({ page }) => {
  await page.goto('/')
  const own = page.getByRole('region', { name: 'My data' })
  await expect(own.getByRole('link', { name: 'See my data' })).toBeVisible()
  await expect(own.locator('pre')).toHaveCount(0)
  await expect(page.getByRole('region', { name: 'I run agents' }).locator('pre')).toHaveCount(3)
})

test('a new request leads to the form of each right', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  const forms = {
    Access: '/settings/privacy?tab=download',
    'Portable copy': '/settings/privacy?tab=download',
    Correction: '/settings/privacy?tab=correct',
    Restriction: '/settings/privacy?tab=restrict',
    Objection: '/settings/privacy?tab=restrict#object',
    Deletion: '/settings/privacy/delete',
  }
  for (const [right, address] of Object.entries(forms)) {
    await page.goto('/settings/privacy/requests')
    await alive(page)
    await page.getByRole('button', { name: 'New request' }).first().click()
    await page.getByRole('menuitem', { name: right, exact: true }).click()
    await expect(page).toHaveURL(address)
  }
  await context.close()
})

test('a saved correction keeps its note and shows the saved name in the form', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf('wim@example.org') })
  const page = await context.newPage()
  await page.goto('/settings/privacy?tab=correct')
  await alive(page)
  const form = page.getByRole('form', { name: 'Account' })
  await form.getByLabel('Name').fill('Wim Corrected')
  await form.getByLabel('Password').fill(browserInstallation().password)
  const renewed = page.waitForResponse((response) => response.url().includes('_rsc'))
  await form.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Saved.')).toBeVisible()
  await renewed
  await expect(form.getByLabel('Password')).toHaveValue('')
  await expect(form.getByLabel('Name')).toHaveValue('Wim Corrected')
  await expect(page.getByText('Saved.')).toBeVisible()
  await context.close()
})
