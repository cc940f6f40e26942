import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { control } from './control.ts'
import { origin, readCredentials } from './credentials.ts'
import { linkInEmailTo } from './emails.ts'
import { alive, complaintsOf, fillSignIn, registerJourneyAgent, signOutInBrowser } from './journey.ts'

/** The headers of the console's own pages. */
const headers = { Origin: origin, 'Sec-Fetch-Site': 'same-origin' }
const Filed = z.object({ data: z.object({ state: z.string(), waiting_until: z.string() }) })

test('a waiting erasure is shown on every page, cancelled by its button and by its email, and finally carried out', async ({
  page,
  request,
}) => {
  const { leaving } = readCredentials()
  const complaints = complaintsOf(page)
  const banner = page.getByRole('region', { name: 'Scheduled deletions' })
  const keep = banner.getByRole('button', { name: 'Keep my data' })
  const agent = await registerJourneyAgent(request, 'Leaves with its owner')
  const tokenWorks = async () =>
    (await request.get('/v1/knowledge', { headers: { Authorization: `Bearer ${agent.token}` } })).ok()
  const ask = async (grace: string) => {
    const data = { kinds: ['erasure'], grace, password: leaving.password }
    const answer = await page.request.post('/api/privacy/requests', { headers, data })
    expect(answer.status()).toBe(201)
    return Filed.parse(await answer.json()).data
  }
  const signIn = async (on: Page) => {
    await on.goto('/sign-in')
    await fillSignIn(on, leaving)
  }

  await test.step('without an erasure there is no banner', async () => {
    await signIn(page)
    await expect(page).toHaveURL('/overview')
    await expect(banner).toHaveCount(0)
    const claimed = await page.request.post('/api/agents/claim', { headers, data: { token: agent.token } })
    expect(claimed.status()).toBe(200)
    expect(await tokenWorks()).toBe(true)
  })

  let cancelLink = ''
  await test.step('the banner shows the time in the reader’s zone, and the tokens are rejected', async () => {
    const { waiting_until } = await ask('24h')
    expect(await tokenWorks()).toBe(false)
    const answer = await page.goto('/')
    expect(await answer?.text()).toContain('Keep my data')
    const shown = new Intl.DateTimeFormat('en', {
      timeZone: 'Europe/Berlin',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    }).format(new Date(waiting_until))
    const time = banner.getByRole('time')
    await expect(time).toContainText(shown)
    await expect(time).toHaveAttribute('title', new RegExp(`${waiting_until.slice(0, 16).replace('T', ' ')} UTC`))
    await expect(banner).toContainText(/\(in (23|24) hours|in 1 day|tomorrow\)/)
    await expect(banner).toContainText('Your agents’ tokens are paused')
    await page.setViewportSize({ width: 360, height: 800 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await expect(page.locator('html')).toHaveClass(colorScheme)
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
      const { violations } = await new AxeBuilder({ page }).analyze()
      expect(violations.map(({ id }) => id)).toEqual([])
    }
    cancelLink = await linkInEmailTo(leaving.email, /http\S+\/privacy\/confirm#cancel\.\w+/g)
  })

  await test.step('the banner is shown immediately after signing in', async () => {
    await page.setViewportSize({ width: 1280, height: 800 })
    await signOutInBrowser(page)
    await expect(page.getByRole('banner').getByRole('link', { name: 'Sign in' })).toBeVisible()
    await expect(banner).toHaveCount(0)
    await signIn(page)
    await expect(page).toHaveURL('/overview')
    await expect(keep).toBeVisible()
  })

  await test.step('one click cancels the erasure', async () => {
    await alive(page)
    await keep.click()
    await expect(banner.getByText('Deletion cancelled: your data is kept.')).toBeVisible()
    await expect(keep).toHaveCount(0)
    expect(await tokenWorks()).toBe(true)
    await page.goto('/')
    await expect(banner).toHaveCount(0)
  })

  await test.step('the link in the email cancels a second erasure once', async () => {
    await ask('7d')
    const link = await linkInEmailTo(leaving.email, /http\S+\/privacy\/confirm#cancel\.\w+/g, [cancelLink])
    await page.goto(link)
    await expect(keep).toBeVisible()
    await alive(page)
    expect(await tokenWorks()).toBe(false)
    await page.getByRole('main').getByRole('button', { name: 'Keep my data' }).click()
    await expect(page.getByRole('status').filter({ hasText: 'Deletion cancelled. Nothing was deleted.' })).toBeFocused()
    await expect(banner).toHaveCount(0)
    await expect(page).toHaveURL('/privacy/confirm')
    expect(await tokenWorks()).toBe(true)
    expect(complaints).toEqual([])
    for (const spent of [cancelLink, link]) {
      await page.goto(spent)
      await alive(page)
      await page.getByRole('main').getByRole('button', { name: 'Keep my data' }).click()
      await expect(page.getByText('This link no longer works')).toBeVisible()
      await expect(page.getByRole('main').getByRole('button')).toHaveCount(0)
      await expect(page.locator('main :focus').getByRole('link', { name: 'your account' })).toBeVisible()
      complaints.length = 0 // the browser logs the 410
    }
  })

  await test.step('an erasure without a grace period ends the session, and a receipt exists', async () => {
    await ask('now')
    await control.work()
    const receipt = await linkInEmailTo(leaving.email, /http\S+\/receipts\/rcpt_\w+/g)
    expect(await tokenWorks()).toBe(false)
    await page.goto('/account')
    await expect(page).toHaveURL('/sign-in?callbackUrl=%2Faccount')
    await expect(banner).toHaveCount(0)
    await fillSignIn(page, leaving)
    await expect(page.getByRole('alert').filter({ hasText: 'Wrong email or password' })).toBeVisible()
    complaints.length = 0 // the browser logs the 401
    await page.goto(receipt)
    await expect(page.getByText('found none of them')).toBeVisible()
    await expect(page.getByText(/^usr_/).first()).toBeAttached()
  })
  expect(complaints).toEqual([])
})
