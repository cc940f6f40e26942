import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AxeBuilder } from '@axe-core/playwright'
import { type Browser, expect, type Locator, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { sessionOf } from './control.ts'
import { origin } from './credentials.ts'
import { linkInEmailTo } from './emails.ts'
import { alive, complaintsOf } from './journey.ts'
import { addParticipant, people, requestContext } from './requests.ts'

const Made = z.object({ data: z.object({ id: z.string() }) })

const answer = 'We searched all our systems and process no data about you.'

async function changeForm(form: { is_on: boolean; origins: string[] }): Promise<void> {
  const office = await requestContext(await sessionOf(people.admin))
  expect((await office.patch('/v1/settings', { data: { request_form: form } })).status()).toBe(200)
  await office.dispose()
}

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let pressed = 0; pressed < 40; pressed++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  await expect(target).toBeFocused()
}

async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 120))])).toEqual([])
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
}

const phone = (browser: Browser, locale: string) =>
  browser.newContext({ baseURL: origin, locale, timezoneId: 'Europe/Berlin', viewport: { width: 320, height: 800 } })

/** Fills in and sends the form with the keyboard alone. */
async function sendByKeyboard(page: Page, email: string): Promise<void> {
  await page.goto('/request')
  await alive(page)
  await expectAccessible(page)
  await tabTo(page, page.getByLabel('Email address'))
  await page.keyboard.type(email)
  await tabTo(page, page.getByLabel('Name (optional)'))
  await page.keyboard.type('Ada Example')
  await tabTo(page, page.getByRole('radio', { name: 'Access' }))
  await page.keyboard.press('Space')
  await tabTo(page, page.getByLabel('Description (optional)'))
  await page.keyboard.type('I used your support chat.')
  await tabTo(page, page.getByRole('button', { name: 'Send request' }))
  await page.keyboard.press('Enter')
  await expect(page.getByRole('status').filter({ hasText: 'Wait for the link' })).toBeFocused()
  await expectAccessible(page)
}

async function answerAsAdmin(browser: Browser): Promise<void> {
  const context = await browser.newContext({ baseURL: origin, storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  await page.goto('/admin/requests?channel=form')
  await alive(page)
  await page.getByRole('link', { name: 'Ada Example' }).first().click()
  await expect(page.getByText('Only the email address is confirmed.', { exact: false }).first()).toBeVisible()
  await expect(page.getByText('No account or participant has this email address', { exact: false })).toBeVisible()
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Answer to the requester').fill(answer)
  await dialog.getByRole('button', { name: 'Answer', exact: true }).click()
  await expect(page.getByText('Answer recorded. Forward it from the email outbox.')).toBeVisible()
  await context.close()
}

test('a stranger sends a request with the keyboard of a phone, confirms it, and follows its status until the answer', async ({
  browser,
}) => {
  await changeForm({ is_on: true, origins: [] })
  const email = `stranger-${Date.now()}@example.org`
  const context = await phone(browser, 'en-GB')
  const page = await context.newPage()
  const complaints = complaintsOf(page)

  await sendByKeyboard(page, email)
  await page.goto(await linkInEmailTo(email, /http\S+\/request\/confirm#\w+/g))
  await alive(page)
  await expectAccessible(page)
  await tabTo(page, page.getByRole('button', { name: 'Confirm request' }))
  await page.keyboard.press('Enter')
  await expect(page.getByRole('status').filter({ hasText: 'Request submitted' })).toBeFocused()

  const link = await linkInEmailTo(email, /http\S+\/request\/status#\w+/g)
  await page.goto(link)
  await expect(page.getByText('In review')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Withdraw request' })).toBeVisible()
  await expectAccessible(page)
  expect(await (await page.request.get('/request/status')).text()).toContain('noindex')

  await answerAsAdmin(browser)
  await page.reload()
  await expect(page.getByText('Answered', { exact: true })).toBeVisible()
  await expect(page.getByText(answer)).toBeVisible()
  await expect(page.getByRole('button', { name: 'Withdraw request' })).toHaveCount(0)
  await linkInEmailTo(email, /process no data about you/g)

  const chinese = await phone(browser, 'zh-CN')
  const other = await chinese.newPage()
  for (const address of ['/request', link, '/request/confirm#wrong']) {
    await other.goto(address)
    await expect(other.locator('html')).toHaveAttribute('lang', 'zh')
    await alive(other)
    await expectAccessible(other)
  }
  expect(complaints).toEqual([])
  await chinese.close()
  await context.close()
})

test('a wrong or missing link shows an error, and an unknown address gets the same answer', async ({ page }) => {
  await page.goto('/request/status#wrong')
  await expect(page.getByText('This link has expired or is invalid')).toBeVisible()
  await alive(page)
  await page.getByLabel('Email address').fill('nobody@example.org')
  await page.getByRole('button', { name: 'Get links' }).click()
  await expect(page.getByText('If this address has open requests', { exact: false })).toBeVisible()
  await page.goto('/request/confirm')
  await expect(page.getByText('Incomplete link')).toBeVisible()
})

test('only listed origins embed the form, without cookies, in the height that it reports', async ({ browser }) => {
  const site = createServer((_, response) =>
    response.setHeader('Content-Type', 'text/html').end(`<!doctype html><title>Site</title>
      <script>addEventListener('message', ({ data }) => { if (data?.height > 300) document.title = data.type })</script>
      <iframe src="${origin}/embed/request?lang=zh" width="360" height="200"></iframe>`),
  )
  await new Promise<void>((done) => site.listen(0, () => done()))
  const address = `http://localhost:${(site.address() as AddressInfo).port}`
  const context = await browser.newContext()
  const page = await context.newPage()
  try {
    await changeForm({ is_on: true, origins: [] })
    await expect(async () => {
      const closed = await page.request.get(`${origin}/embed/request`)
      expect(closed.headers()).toMatchObject({ 'x-frame-options': 'DENY' })
      expect(closed.headers()['content-security-policy']).toContain("frame-ancestors 'none'")
    }).toPass()
    await changeForm({ is_on: true, origins: [address] })
    await expect(async () => {
      const open = await page.request.get(`${origin}/embed/request`)
      expect(open.headers()['content-security-policy']).toContain(`frame-ancestors ${address}`)
      expect(open.headers()).not.toHaveProperty('x-frame-options')
    }).toPass()
    for (const path of ['/', '/request', '/sign-in', '/embed/request/x'])
      expect((await page.request.get(`${origin}${path}`)).headers()['content-security-policy']).toContain(
        "frame-ancestors 'none'",
      )
    await page.goto(address)
    await expect(page).toHaveTitle('privacy-request-height')
    const frame = page.frameLocator('iframe')
    await frame.getByLabel('邮箱地址').fill(`framed-${Date.now()}@example.org`)
    await frame.getByRole('radio', { name: '删除' }).check()
    await frame.getByRole('button', { name: '提交请求' }).click()
    await expect(frame.getByText('请等待链接')).toBeVisible()
    expect(await context.cookies()).toEqual([])
    await page.goto(address.replace('localhost', '127.0.0.1'))
    await expect(page.frameLocator('iframe').getByLabel('邮箱地址')).toHaveCount(0)
  } finally {
    site.close()
    await context.close()
  }
})

test('the form keeps what was typed while the server does not respond, and sends it afterwards', async ({ page }) => {
  await changeForm({ is_on: true, origins: [] })
  await page.goto('/request')
  await alive(page)
  await page.getByLabel('Email address').fill(`patient-${Date.now()}@example.org`)
  await page.getByLabel('Name (optional)').fill('Pat Patient')
  await page.getByRole('radio', { name: 'Correction' }).check()
  await page.getByLabel('What must be corrected?').fill('My name is misspelled.')
  await page.route('**/api/privacy/form', (route) => route.abort())
  await page.getByRole('button', { name: 'Send request' }).click()
  await expect(page.getByRole('alert').first()).toBeVisible()
  await expect(page.getByLabel('What must be corrected?')).toHaveValue('My name is misspelled.')
  await expect(page.getByRole('radio', { name: 'Correction' })).toBeChecked()
  await page.unroute('**/api/privacy/form')
  await page.getByRole('button', { name: 'Send request' }).click()
  await expect(page.getByText('Wait for the link')).toBeVisible()
})

/** Connects the open request on the page to the participant. */
async function connectTo(page: Page, name: string): Promise<void> {
  await page.getByRole('listitem').filter({ hasText: name }).getByRole('button', { name: 'Connect' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Connect' }).click()
  await expect(page.getByRole('button', { name: 'Disconnect' })).toBeVisible()
}

test('an admin undoes a wrong connection, and a participant downloads the copy once the identity is verified', async ({
  browser,
}) => {
  test.setTimeout(240_000)
  await changeForm({ is_on: true, origins: [] })
  const email = `participant-${Date.now()}@example.org`
  const own = await requestContext(await sessionOf(people.person))
  const made = await own.post('/api/projects', { data: { name: 'With a participant' } })
  const { id: projectId } = Made.parse(await made.json()).data
  await addParticipant(own, projectId, { external_id: email, name: 'Petra Part', email }, ['What I asked.'])
  await own.dispose()
  const outside = await requestContext()
  // The tests before this one used the ten attempts that a network has in a minute.
  const send = (path: string, data: object, status: number) =>
    expect
      .poll(async () => (await outside.post(`/api/privacy/form${path}`, { data })).status(), {
        timeout: 75_000,
        intervals: [10_000],
      })
      .toBe(status)
  await send('', { email, kind: 'access', locale: 'en' }, 202)
  const [, token] = (await linkInEmailTo(email, /http\S+\/request\/confirm#\w+/g)).split('#')
  await send('/confirm', { token }, 200)
  await outside.dispose()
  const early = await linkInEmailTo(email, /http\S+\/request\/status#\w+/g)

  const office = await browser.newContext({ baseURL: origin, storageState: await sessionOf(people.admin) })
  const admin = await office.newPage()
  await admin.goto(`/admin/requests?q=${encodeURIComponent(email)}`)
  await alive(admin)
  await admin.getByRole('table', { name: 'Privacy requests' }).getByRole('link').first().click()
  await connectTo(admin, 'Petra Part')
  await admin.getByRole('button', { name: 'Disconnect' }).click()
  await admin.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click()
  await expect(admin.getByRole('dialog')).toBeHidden()
  await expect.poll(() => admin.evaluate(() => document.activeElement !== document.body)).toBe(true)
  await connectTo(admin, 'Petra Part')
  await admin.getByRole('button', { name: 'Confirm identity' }).click()
  await admin.getByRole('dialog').getByLabel('Evidence').fill('Called back on a known number.')
  await admin.getByRole('dialog').getByRole('button', { name: 'Confirm identity' }).click()
  await expect(admin.getByText('Completed').first()).toBeVisible()
  await office.close()

  const visitor = await phone(browser, 'en-GB')
  const page = await visitor.newPage()
  const newest = await linkInEmailTo(email, /http\S+\/request\/status#\w+/g, [early])
  await page.goto(newest)
  await alive(page)
  await expect(page.getByRole('button', { name: 'Download copy' })).toBeVisible()
  await expectAccessible(page)
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download copy' }).click()
  const path = await (await download).path()
  expect(readFileSync(path, 'utf8')).toContain('What I asked.')
  await page.goto(early)
  await page.reload()
  await expect(page.getByText('Ask the organization for the download link', { exact: false })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Download copy' })).toHaveCount(0)
  await visitor.close()
})

test('the form is off until an admin turns it on in the console', async ({ browser }) => {
  await changeForm({ is_on: false, origins: [] })
  const context = await browser.newContext({ baseURL: origin, storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  await page.goto('/request')
  await expect(page.getByText('The request form is not available')).toBeVisible()
  await page.goto('/admin/requests')
  await alive(page)
  await page.getByRole('link', { name: 'Request form' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Request form' })).toBeVisible()
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Turn on' }).click()
  await expect(page.getByRole('button', { name: 'Turn off' })).toBeVisible()
  await page.getByLabel('Allowed origins').fill('https://www.example.org\nnot an origin')
  await page.getByRole('button', { name: 'Save origins' }).click()
  await expect(page.getByText('Not an origin: not an origin')).toBeVisible()
  await page.getByLabel('Allowed origins').fill('https://www.example.org')
  await page.getByRole('button', { name: 'Save origins' }).click()
  await expect(page.getByText('<iframe id="privacy-request"', { exact: false })).toBeVisible()
  await page.goto('/privacy')
  await page.getByRole('link', { name: 'request form' }).click()
  await expect(page.getByLabel('Email address')).toBeVisible()
  await context.close()
})
