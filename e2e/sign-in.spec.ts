import { expect, type Page, test } from '@playwright/test'
import { origin, port, readCredentials } from './credentials.ts'
import { alive, complaintsOf, fillSignIn, registerJourneyAgent, signOutInBrowser } from './journey.ts'

const chosen = 'a quiet harbour at noon'

test('the first admin signs in, chooses a password, ends another session and claims an agent', async ({
  page,
  browser,
  request,
  baseURL,
}) => {
  const { admin } = readCredentials()
  const complaints = complaintsOf(page)

  await test.step('the account page redirects to the sign-in', async () => {
    await page.goto('/account')
    await expect(page).toHaveURL('/sign-in?callbackUrl=%2Faccount')
  })

  await test.step('a wrong password is reported, and the address is kept', async () => {
    await fillSignIn(page, { email: admin.email, password: 'not this one' })
    await expect(page.getByRole('alert').filter({ hasText: 'Wrong email or password' })).toBeVisible()
    await expect(page.getByLabel('Email', { exact: true })).toHaveValue(admin.email)
    await expect(page.getByLabel('Password')).toBeFocused()
    complaints.length = 0 // the browser logs the 401
  })

  await test.step('with a one-time password every page redirects to choosing a password', async () => {
    await fillSignIn(page, admin)
    await expect(page).toHaveURL('/account/password')
    await expect(page.getByText('Choose your own password')).toBeVisible()
    await page.goto('/account')
    await expect(page).toHaveURL('/account/password')
    expect((await page.request.get('/api/agents')).status()).toBe(403)
  })

  const change = async (current: string, next: string, again: string) => {
    await alive(page)
    await page.getByLabel('Current password').fill(current)
    await page.getByLabel('New password', { exact: true }).fill(next)
    await page.getByLabel('Repeat new password').fill(again)
    await page.getByRole('button', { name: 'Change password' }).click()
  }
  await test.step('an invalid value is reported at its field', async () => {
    await change(admin.password, chosen, `${chosen}!`)
    await expect(page.getByText('The new passwords don’t match.')).toBeVisible()
    await change(admin.password, 'aaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaa')
    await expect(page.getByText('Too repetitive.')).toBeVisible()
    await change('wrong', chosen, chosen)
    await expect(page.getByText('Wrong password.')).toBeVisible()
    await expect(page.getByLabel('Current password')).toBeFocused()
    complaints.length = 0 // the browser logs the 422
  })

  await test.step('a valid password opens the account', async () => {
    await change(admin.password, chosen, chosen)
    await expect(page.getByText('Password changed')).toBeVisible()
    await page.goto('/account')
    await expect(page.getByText(/^Signed in /)).toHaveCount(1)
  })

  await test.step('another session is listed, ended, and rejected at its next request', async () => {
    const elsewhere = await browser.newContext({ ...(baseURL !== undefined && { baseURL }), locale: 'en-GB' })
    const other = await elsewhere.newPage()
    await other.goto('/sign-in')
    await fillSignIn(other, { email: admin.email, password: chosen })
    await expect(other).toHaveURL('/overview')
    await page.reload()
    await expect(page.getByText(/^Signed in /)).toHaveCount(2)
    await alive(page)
    await page.getByRole('button', { name: /^End session/ }).dblclick()
    await expect(page.getByText(/^Signed in /)).toHaveCount(1)
    await expect(page.getByRole('button', { name: /^End session/ })).toHaveCount(0)
    expect((await other.request.get('/api/account')).status()).toBe(401)
    await other.goto('/account')
    await expect(other).toHaveURL('/sign-in?callbackUrl=%2Faccount')
    await elsewhere.close()
  })

  await test.step('an agent is claimed by its token, and not by another text', async () => {
    const agent = await registerJourneyAgent(request, 'Build helper')
    await page.goto('/agents')
    await alive(page)
    const token = page.getByLabel('Agent token')
    await token.fill('kp_nonsense')
    await page.getByRole('button', { name: 'Claim agent' }).click()
    await expect(page.getByText('No agent has this token')).toBeVisible()
    await expect(token).toHaveValue('kp_nonsense')
    complaints.length = 0 // the browser logs the 404
    await token.fill(agent.token)
    await page.getByRole('button', { name: 'Claim agent' }).dblclick()
    await expect(page.getByText(/You now own .?Build helper/)).toBeVisible()
    await expect(page.getByRole('row', { name: /Build helper/ })).toBeVisible()
    await expect(token).toHaveValue('')
    await page.reload()
    await expect(page.getByRole('link', { name: /Build helper/ }).first()).toBeVisible()
  })

  await test.step('a cookie from before signing out is rejected', async () => {
    const cookies = await page.context().cookies()
    const session = cookies.find(({ name }) => name.endsWith('next-auth.session-token'))
    expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax', secure: false })
    await signOutInBrowser(page)
    await expect(page).toHaveURL('/')
    await expect(page.getByRole('banner').getByRole('link', { name: 'Sign in' })).toBeVisible()
    await page.context().addCookies(cookies)
    await page.goto('/account')
    await expect(page).toHaveURL('/sign-in?callbackUrl=%2Faccount')
  })
  expect(complaints).toEqual([])
})

test('sign-in does not redirect to another site', async ({ page }) => {
  await page.goto('/sign-in?callbackUrl=https%3A%2F%2Fevil.example%2F')
  await fillSignIn(page, readCredentials().person)
  await expect(page).toHaveURL('/overview')
})

test('a form keeps its input when the session ends', async ({ page }) => {
  await page.goto('/sign-in?callbackUrl=%2Fagents')
  await fillSignIn(page, readCredentials().person)
  await expect(page).toHaveURL('/agents')
  await expect(page.getByLabel('Agent token')).toBeVisible()
  await alive(page)
  await page.getByLabel('Agent token').fill('kp_typed before')
  await page.context().clearCookies({ name: 'next-auth.session-token' })
  await page.getByRole('button', { name: 'Claim agent' }).click()
  await expect(page.getByText('You’re not signed in.').first()).toBeVisible()
  await expect(page.getByLabel('Agent token')).toHaveValue('kp_typed before')
  const beside = page.waitForEvent('popup')
  await page.getByRole('link', { name: 'Sign in (new tab)' }).first().click()
  await expect(await beside).toHaveURL('/sign-in?callbackUrl=%2Fagents')
})

test('the sign-in form keeps its input without a response', async ({ page }) => {
  await page.goto('/sign-in')
  await page.route('**/api/auth/**', (route) => route.abort())
  await fillSignIn(page, { email: 'somebody@example.org', password: 'whatever it is' })
  await expect(page.getByText('Server unreachable')).toBeVisible()
  await expect(page.getByLabel('Email', { exact: true })).toHaveValue('somebody@example.org')
  await expect(page.getByLabel('Password')).toHaveValue('whatever it is')
})

test('the sign-in page at another address links to the configured address', async ({ page }) => {
  await page.goto('/sign-in?callbackUrl=%2Fagents')
  await expect(page.getByLabel('Password')).toBeVisible()
  await expect(page.getByText('Wrong address')).toHaveCount(0)
  await page.goto(`http://127.0.0.1:${port}/sign-in?callbackUrl=%2Fagents`)
  await page.getByRole('status').getByRole('link', { name: origin }).click()
  await expect(page).toHaveURL(`${origin}/sign-in?callbackUrl=%2Fagents`)
  await expect(page.getByText('Wrong address')).toHaveCount(0)
})

test('a password is never added to the address, even before the page is interactive', async ({ browser, baseURL }) => {
  const context = await browser.newContext({
    ...(baseURL !== undefined && { baseURL }),
    javaScriptEnabled: false,
    locale: 'en-GB',
  })
  const page = await context.newPage()
  await page.goto('/sign-in')
  await page.getByLabel('Email', { exact: true }).fill('somebody@example.org')
  await page.getByLabel('Password').fill('whatever it is')
  const posted = page.waitForRequest((request) => request.method() === 'POST')
  await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click()
  expect((await posted).url()).not.toContain('whatever')
  await page.waitForLoadState()
  expect(page.url()).not.toContain('whatever')
  await context.close()
})

/** Guesses until an attempt is delayed. The minute of earlier sign-ins may end between two guesses, and another five are then allowed. */
const refusalTo = async (page: Page, email: string): Promise<string> => {
  await page.goto('/sign-in')
  const wrong = page.getByRole('alert').filter({ hasText: 'Wrong email or password' })
  const delayed = page.getByRole('status').filter({ hasText: 'Too many attempts' })
  for (let guess = 0; guess < 12; guess++) {
    await fillSignIn(page, { email, password: 'a wrong password' })
    await expect(wrong.or(delayed)).toBeVisible()
    if (await delayed.isVisible()) break
    await expect(page.getByLabel('Password')).toBeFocused()
  }
  await expect(delayed).toBeVisible()
  return ((await delayed.textContent()) ?? '').replace(/\d+ seconds?/, '… seconds')
}
test('too many sign-ins are delayed in the same way for known and unknown addresses', async ({ page }) => {
  const known = await refusalTo(page, readCredentials().person.email)
  expect(known).toContain('Try again in … seconds')
  expect(await refusalTo(page, 'nobody@example.org')).toBe(known)
})
