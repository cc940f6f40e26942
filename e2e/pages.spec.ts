import { AxeBuilder } from '@axe-core/playwright'
import { expect, test } from '@playwright/test'
import { alive, eraseOne, registerJourneyAgent } from './journey.ts'

let receipt: string
let unit: string
test.beforeAll(async ({ playwright, baseURL }) => {
  const origin = baseURL === undefined ? {} : { baseURL }
  const request = await playwright.request.newContext(origin)
  const agent = await registerJourneyAgent(request, 'For the receipt')
  ;({ receipt, unit } = await eraseOne(request, agent.token))
  await request.dispose()
})

test('an unknown address returns an accessible page with status 404', async ({ page, baseURL }) => {
  // Without a known time zone, the page would be sent again while it is read.
  await page.context().addCookies([{ name: 'tz', value: 'Europe/Berlin', url: baseURL ?? '' }])
  expect((await page.goto('/nothing/here', { waitUntil: 'networkidle' }))?.status()).toBe(404)
  await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  expect(violations.map(({ id }) => id)).toEqual([])
})

test('pages have a strict content security policy with a new nonce each time', async ({ request }) => {
  const policies = await Promise.all(
    ['/', '/', '/nothing'].map(async (path) => (await request.get(path)).headers()['content-security-policy'] ?? ''),
  )
  expect(new Set(policies).size).toBe(3)
  for (const policy of policies) {
    expect(policy).toMatch(/script-src 'self' 'nonce-[\w+/]{24}' 'strict-dynamic';/)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(policy).toContain("frame-ancestors 'none'")
  }
  const headers = (await request.get('/')).headers()
  expect(headers).toMatchObject({
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
  })
  expect(headers).not.toHaveProperty('x-powered-by')
})

test('a receipt is readable by its address and excluded from search engines', async ({ page }) => {
  // A crawler reads the text of the response. In the page, the tag may appear twice during hydration.
  const answer = await page.goto(`/receipts/${receipt}`)
  expect(await answer?.text()).toContain('<meta name="robots" content="noindex, nofollow"/>')
  await expect(page.getByText('found none of them')).toBeVisible()
  await expect(page.getByText(unit).first()).toBeAttached()
  await page.emulateMedia({ media: 'print' })
  await expect(page.getByRole('navigation')).toBeHidden()
  await expect(page.getByRole('button').first()).toBeHidden()
  await expect(page.getByText(/\(\d{4}-\d\d-\d\d \d\d:\d\d UTC\)/).first()).toBeVisible()
  await expect(page.getByText(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/)).toBeVisible()
  await page.emulateMedia({ media: 'screen' })
  for (const id of ['rcpt_0000000000000000000000', 'nonsense', '%00'])
    expect((await page.goto(`/receipts/${id}`))?.status()).toBeGreaterThanOrEqual(400)
})

test('the reference is searched by its address, and each error code has an anchor', async ({ page }) => {
  await page.goto('/docs/api')
  const filter = page.getByRole('searchbox').or(page.getByRole('textbox'))
  // The key works once the page has its effects. A second press in the focused field would be text.
  await alive(page)
  await expect(async () => {
    await page.keyboard.press('/')
    await expect(filter).toBeFocused({ timeout: 5_000 })
  }).toPass()
  await page.keyboard.type('receipt')
  await expect(page).toHaveURL('/docs/api?q=receipt')
  await expect(page.getByText(/^\d+ operations$/)).toBeVisible()
  await page
    .getByRole('navigation', { name: 'Operations' })
    .getByRole('link', { name: '/v1/receipts/{id}' })
    .first()
    .click()
  await expect(page).toHaveURL(/\/docs\/api\/receipts#\w+$/)
  await expect(page.getByRole('article').first()).toBeVisible()
  await page.goto('/docs/api#not_found')
  await expect(page.locator('#not_found')).toBeInViewport()
})

test('an anchor of an operation leads to the page of its group', async ({ page }) => {
  await page.goto('/docs/api#changePassword')
  await expect(page).toHaveURL('/docs/api/account#changePassword')
  await expect(page.locator('#changePassword')).toBeInViewport()
})

test('the language is kept, also without scripts', async ({ browser, baseURL }) => {
  const context = await browser.newContext({
    ...(baseURL !== undefined && { baseURL }),
    javaScriptEnabled: false,
    locale: 'en-GB',
  })
  const page = await context.newPage()
  await page.goto('/docs/api?q=token')
  await page.getByRole('button', { name: '中文' }).click()
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh')
  await page.goto('/')
  await expect(page.getByRole('heading', { level: 1 })).toContainText('智能体')
  await context.close()
})

test('the theme can be chosen and is kept', async ({ page }) => {
  await page.goto('/')
  await alive(page)
  const button = page.getByRole('button', { name: /^Theme/ })
  await button.click()
  await expect(page.locator('html')).toHaveClass('light')
  await button.click()
  await expect(page.locator('html')).toHaveClass('dark')
  await page.reload()
  await expect(page.locator('html')).toHaveClass('dark')
})

test('the first keyboard stop leads to the content', async ({ page }) => {
  await page.goto('/')
  await page.keyboard.press('Tab')
  await expect(page.getByRole('link', { name: 'Skip to content' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.locator('#content')).toBeFocused()
})
