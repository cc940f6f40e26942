import { expect, test } from '@playwright/test'
import { sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { people } from './requests.ts'

test('an admin gets a digest instead of single emails, and a changed link turns nothing off', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto('/account')
  await alive(page)
  const safety = page.locator('#emails').getByLabel('Content safety')
  await expect(safety).toHaveValue('never')
  const saved = page.waitForResponse((response) => response.url().endsWith('/api/account/emails/safety'))
  await safety.selectOption('Daily digest')
  expect((await saved).status()).toBe(200)
  await page.reload()
  await expect(safety).toHaveValue('daily')
  await alive(page)
  const restored = page.waitForResponse((response) => response.url().endsWith('/api/account/emails/safety'))
  await safety.selectOption('Never')
  expect((await restored).status()).toBe(200)
  expect(complaints).toEqual([])

  await page.goto('/emails/unsubscribe#bm9ib2R5.AAAA')
  await expect(page.getByText('This link isn’t valid')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Turn off' })).toHaveCount(0)
  await context.close()
})
