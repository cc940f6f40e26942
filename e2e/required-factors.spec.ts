import { type Browser, expect, type Page, test } from '@playwright/test'
import { sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { people, requestContext } from './requests.ts'

/** Chromium's own virtual authenticator (WebAuthn WebDriver extension). */
async function withAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}
async function pageOf(browser: Browser, email: string): Promise<Page> {
  const context = await browser.newContext({ storageState: await sessionOf(email) })
  const page = await context.newPage()
  await withAuthenticator(page)
  return page
}
async function addPasskey(page: Page): Promise<void> {
  const factors = page.locator('#factors')
  await expect(factors).toBeVisible()
  await alive(page)
  await factors.getByRole('button', { name: 'Add passkey' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('dialog', { name: 'Recovery codes' }).getByRole('button', { name: 'I saved the codes' }).click()
  await expect(factors.getByRole('listitem')).toHaveCount(1)
}
async function chooseRequirement(page: Page, who: string): Promise<void> {
  await alive(page)
  await page.getByRole('button', { name: 'Change requirement' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(who).check()
  await dialog.getByRole('button', { name: 'Save' }).click()
}

test.afterAll(async () => {
  // The other journeys share the installation.
  const api = await requestContext(await sessionOf(people.admin))
  await api.put('/api/admin/second-factors', { data: { required_of: 'nobody' } })
  await api.dispose()
})

test('an admin requires second factors, and a person adds one before anything else', async ({ browser }) => {
  const admin = await pageOf(browser, people.admin)
  const complaints = complaintsOf(admin)

  await test.step('the admin needs one first', async () => {
    await admin.goto('/admin/security')
    await chooseRequirement(admin, 'Everybody')
    await expect(admin.getByText('Add a second factor to your own account first.')).toBeVisible()
    complaints.length = 0 // the browser logs the 409
    await admin.goto('/account')
    await addPasskey(admin)
    await admin.goto('/admin/security')
    await chooseRequirement(admin, 'Everybody')
    await expect(admin.getByRole('link', { name: /^\d+ of \d+ accounts$/ })).toBeVisible()
  })

  const person = await pageOf(browser, people.person)
  await test.step('the person reaches their own data and the page that adds one', async () => {
    await expect(async () => {
      await person.goto('/agents')
      await expect(person).toHaveURL('/account/second-factor', { timeout: 5_000 })
    }).toPass()
    await person.getByRole('link', { name: 'your data' }).click()
    await expect(person).toHaveURL('/settings/privacy')
    await expect(person.getByText('Your account must have a second factor.')).toBeVisible()
    await person.goto('/settings/privacy/delete')
    await expect(person.getByRole('heading', { name: 'What happens to your data' })).toBeVisible()
    await person.goto('/settings/privacy')
    await person.getByRole('link', { name: 'Add second factor' }).click()
    await addPasskey(person)
    await person.getByRole('link', { name: 'Continue' }).click()
    await expect(person).toHaveURL('/overview')
  })

  await test.step('the admin ends the requirement, and both remove their passkeys', async () => {
    await chooseRequirement(admin, 'Nobody')
    await expect(admin.locator('#factors').getByText('Nobody')).toBeVisible()
    for (const page of [admin, person]) {
      await page.goto('/account')
      await alive(page)
      await page.locator('#factors').getByRole('listitem').first().getByRole('button').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
      await expect(page.locator('#factors').getByRole('listitem')).toHaveCount(0)
    }
  })
  expect(complaints).toEqual([])
})
