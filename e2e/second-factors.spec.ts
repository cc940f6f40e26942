import { expect, type Route, test } from '@playwright/test'
import { Secret, TOTP } from 'otpauth'
import { readCredentials } from './credentials.ts'
import { alive, complaintsOf, fillSignIn, signOutInBrowser } from './journey.ts'

/** What the server answers when the session is older than ten minutes. */
const askToConfirm = (route: Route) => {
  const problem = {
    type: 'about:blank',
    title: 'Confirm',
    status: 403,
    code: 'step_up_required',
    request_id: 'req',
  }
  return route.fulfill({ status: 403, contentType: 'application/problem+json', body: JSON.stringify(problem) })
}

test('a person adds a passkey and an app, signs in with each, and removes both', async ({ page }) => {
  // A person of their own: the sign-ins of one person are limited per minute.
  const person = { email: 'fay@example.org', password: readCredentials().password }
  const complaints = complaintsOf(page)
  // Chromium's own virtual authenticator (WebAuthn WebDriver extension).
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
  await page.goto('/sign-in?callbackUrl=%2Faccount')
  await fillSignIn(page, person)
  const factors = page.locator('#factors')
  await expect(factors).toBeVisible()
  await alive(page)

  await test.step('the first second factor comes with recovery codes', async () => {
    await factors.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Laptop')
    await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click()
    const codes = page.getByRole('dialog', { name: 'Recovery codes' })
    await expect(codes.locator('code, pre').first()).toContainText(/([a-z2-9]{5}-){3}[a-z2-9]{5}/)
    await codes.getByRole('button', { name: 'I saved the codes' }).click()
    await expect(factors.getByRole('listitem').filter({ hasText: 'Laptop' })).toBeVisible()
  })

  const app = await test.step('an authenticator app is confirmed with its first code', async () => {
    await factors.getByRole('button', { name: 'Add authenticator app' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await expect(dialog.getByRole('img')).toBeVisible()
    const secret = await dialog.locator('code, pre').first().textContent()
    const totp = new TOTP({ secret: Secret.fromBase32((secret ?? '').trim()) })
    await dialog.getByLabel('Code', { exact: true }).fill('000000')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await expect(dialog.getByText('Wrong code.')).toBeVisible()
    complaints.length = 0 // the browser logs the 422
    await dialog.getByLabel('Code', { exact: true }).fill(totp.generate())
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await expect(factors.getByRole('listitem')).toHaveCount(2)
    return totp
  })

  await test.step('the password alone is not enough', async () => {
    await signOutInBrowser(page)
    await expect(page).toHaveURL('/')
    await page.goto('/sign-in?callbackUrl=%2Faccount')
    await fillSignIn(page, person)
    await expect(page.getByLabel('Code')).toBeFocused()
    complaints.length = 0 // the browser logs the 401
    // Each code works once. The next one is already valid, and for at least 30 s more.
    await page.getByLabel('Code').fill(app.generate({ timestamp: Date.now() + 30_000 }))
    await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click()
    await expect(page).toHaveURL('/account')
  })

  await test.step('a passkey is enough', async () => {
    await signOutInBrowser(page)
    await expect(page).toHaveURL('/')
    await page.goto('/sign-in?callbackUrl=%2Faccount')
    await alive(page)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await expect(page).toHaveURL('/account')
    await expect(factors).toBeVisible()
    await alive(page)
  })

  await test.step('a change after ten minutes needs the password and a second factor', async () => {
    // The session is younger than that, so the test answers for the server once.
    await page.route('**/api/account/recovery-codes', askToConfirm, { times: 1 })
    await factors.getByRole('button', { name: 'Replace recovery codes' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replace recovery codes' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm your password' })
    await dialog.getByLabel('Password').fill(person.password)
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await expect(dialog.getByLabel('Code')).toBeVisible()
    complaints.length = 0 // the browser logs the 403 and the 422
    await dialog.getByRole('button', { name: 'Use a passkey' }).click()
    const codes = page.getByRole('dialog', { name: 'Recovery codes' })
    await codes.getByRole('button', { name: 'I saved the codes' }).click()
  })

  await test.step('without the second factor, a deletion waits for the confirmation with a link', async () => {
    await page.route('**/api/privacy/requests', (route) =>
      route.request().postData()?.includes('"password"') ? askToConfirm(route) : route.fallback(),
    )
    await page.goto('/settings/privacy/delete')
    await alive(page)
    const main = page.getByRole('main')
    await main.getByRole('button', { name: 'Continue' }).click()
    await expect(main.getByRole('heading', { name: 'Copy and keys', exact: true })).toBeFocused()
    await main.getByRole('button', { name: 'Continue' }).click()
    await main.getByLabel('Type DELETE to confirm').fill('DELETE')
    await main.getByLabel('Password').fill(person.password)
    await main.getByRole('button', { name: 'Delete my data' }).click()
    await page.getByRole('dialog', { name: 'Confirm your password' }).getByRole('button', { name: 'Cancel' }).click()
    await expect(main.getByText('Not confirmed. Nothing was filed.')).toBeVisible()
    complaints.length = 0 // the browser logs the 403
    await main.getByRole('button', { name: 'Create link instead' }).click()
    await expect(main.getByText('Confirm with a link', { exact: true })).toBeVisible()
    const filed = `/api/privacy/requests/${new URL(page.url()).searchParams.get('request')}`
    expect(await (await page.request.get(filed)).json()).toMatchObject({
      data: { kinds: ['erasure'], state: 'received' },
    })
    await page.goto(filed.replace('/api/privacy', '/settings/privacy'))
    await alive(page)
    await main.getByRole('button', { name: 'Confirm with password' }).click()
    const confirming = page.getByRole('dialog', { name: 'Confirm' })
    await confirming.getByLabel('Password').fill(person.password)
    await confirming.getByRole('button', { name: 'Cancel' }).click()
    await expect(main.getByRole('button', { name: 'Confirm with password' })).toBeFocused()
    const cancelled = await page.evaluate(
      async (path) => (await fetch(path, { method: 'POST' })).status,
      `${filed}/cancel`,
    )
    expect(cancelled).toBe(200)
    await page.goto('/account')
    await expect(factors).toBeVisible()
    await alive(page)
  })

  await test.step('without second factors, the password is enough again', async () => {
    for (const left of [1, 0]) {
      await factors.getByRole('listitem').first().getByRole('button').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
      await expect(factors.getByRole('listitem')).toHaveCount(left)
    }
    await signOutInBrowser(page)
    await expect(page).toHaveURL('/')
    await page.goto('/sign-in?callbackUrl=%2Faccount')
    await fillSignIn(page, person)
    await expect(page).toHaveURL('/account')
  })
  expect(complaints).toEqual([])
})
