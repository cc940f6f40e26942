import { expect, test } from '@playwright/test'
import { z } from 'zod'
import { control, sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Units = z.object({ data: z.array(z.object({ id: z.string() })) })

test('a form reports an unreachable server, keeps its input and works when it is back', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  await page.clock.install()
  await page.goto('/agents')
  await alive(page)
  const field = page.getByLabel('Agent token')
  await field.fill('kp_typed before the server went away')
  let checks = 0
  page.on('requestfailed', (request) => {
    if (request.url().endsWith('/health')) checks++
  })
  // Wait: the router prefetches the page again, and a request that the outage cuts off would reload it.
  await page.waitForLoadState('networkidle')
  await control.down()
  try {
    await page.getByRole('button', { name: 'Claim agent' }).click()
    await expect(page.getByText('Server unreachable').first()).toBeVisible()
    await expect(field).toHaveValue('kp_typed before the server went away')
    // After five checks, the page waits 30 s until the next one, so that the button is still shown when the server is back.
    await expect
      .poll(async () => {
        await page.clock.fastForward(15_000)
        return checks
      })
      .toBeGreaterThanOrEqual(5)
  } finally {
    await control.up()
  }
  await page.getByRole('button', { name: 'Try now' }).click()
  await expect(page.getByText('Connected again.')).toBeVisible()
  await expect(field).toHaveValue('kp_typed before the server went away')
  await page.getByRole('button', { name: 'Claim agent' }).click()
  await expect(page.getByText('No agent has this token, or it no longer works.')).toBeVisible()
  await context.close()
})

test('a form keeps everything that was typed when the session ends, also after a reload of the page', async ({
  browser,
}) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  await page.goto('/admin/requests/new')
  await alive(page)
  const words = page.getByRole('textbox').last()
  await words.fill('They write that their name is wrong.')
  await context.clearCookies({ name: 'next-auth.session-token' })
  await page.reload()
  await expect(page).toHaveURL(/\/sign-in\?callbackUrl=%2Fadmin%2Frequests%2Fnew/)
  await context.addCookies((await sessionOf(people.admin)).cookies)
  await page.goto('/admin/requests/new')
  await expect(page.getByRole('textbox').last()).toHaveValue('They write that their name is wrong.')
  await context.close()
})

test('the page of an erased unit reports the erasure, and shows the receipt only to its owner', async ({ browser }) => {
  const session = await sessionOf('mara@example.org')
  const api = await requestContext(session)
  const [unit] = Units.parse(
    await (await api.get('/v1/knowledge?agent_id=warehouse-scout&visibility=network')).json(),
  ).data
  if (!unit) throw new Error('there is no unit to erase')
  const erased = await api.delete(`/v1/knowledge/${unit.id}`)
  expect(erased.status()).toBe(204)
  const receipt = z.string().parse(erased.headers()['x-deletion-receipt'])
  const context = await browser.newContext({ storageState: session })
  const page = await context.newPage()
  await page.goto(`/knowledge/${encodeURIComponent(unit.id)}`)
  await expect(page.getByText('Deleted', { exact: true })).toBeVisible()
  await page
    .getByRole('main')
    .getByRole('link', { name: /receipt/i })
    .first()
    .click()
  await expect(page).toHaveURL(`/receipts/${receipt}`)
  const other = await browser.newContext({ storageState: await sessionOf(people.person) })
  const beside = await other.newPage()
  await beside.goto(`/knowledge/${encodeURIComponent(unit.id)}`)
  await expect(beside.getByRole('heading', { level: 1 })).toBeVisible()
  await expect(beside.getByText(receipt)).toHaveCount(0)
  await expect(beside.getByText('Deleted', { exact: true })).toHaveCount(0)
  await other.close()
  await api.dispose()
  await context.close()
})

const texts = {
  'ten thousand characters': 'm'.repeat(10_000),
  'right to left': 'اسمي مكتوب خطأ في وحدة زميلي ‫123‬',
  HTML: '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><b>bold</b>',
}
for (const [name, text] of Object.entries(texts))
  test(`${name} in every field of every form is accepted or rejected with a message, never executed or lost`, async ({
    browser,
  }) => {
    const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
    const page = await context.newPage()
    const complaints = complaintsOf(page)
    const forms = [
      '/agents',
      '/knowledge',
      '/settings/privacy',
      '/admin/requests/new',
      '/admin/audit',
      '/admin/holds',
      '/admin/retention',
      '/admin/users',
      '/verify',
    ]
    for (const path of forms)
      await test.step(path, async () => {
        await page.setViewportSize({ width: 360, height: 800 })
        await page.goto(path)
        await alive(page)
        const fields = page.locator('main').locator('input[type=text], input[type=search], input:not([type]), textarea')
        for (const field of await fields.all()) {
          if (!(await field.isVisible()) || !(await field.isEditable())) continue
          await field.fill(text)
          await field.press('Tab')
        }
        await expect
          .poll(() => page.evaluate(() => document.documentElement.scrollWidth), path)
          .toBeLessThanOrEqual(360)
        const submit = page.locator('main form').first().locator('[type=submit]').first()
        if ((await submit.count()) > 0 && (await submit.isVisible())) await submit.click({ force: true })
        await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
        expect(await page.evaluate(() => 'hacked' in window), path).toBe(false)
      })
    // The browser logs every response that rejects input. Nothing else may be logged.
    expect(complaints.filter((said) => !/status of 4\d\d/.test(said))).toEqual([])
    await context.close()
  })
