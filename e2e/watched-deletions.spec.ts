import { expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { control, sessionOf } from './control.ts'
import { origin, readCredentials } from './credentials.ts'
import { alive, complaintsOf, hasAllLeft } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Account = z.object({ data: z.object({ account_id: z.string() }) })
const Filed = z.object({ data: z.object({ id: z.string(), receipt_id: z.string() }) })

/** Requests the deletion of a person without a grace period. Returns the address that the console opens then. */
async function deletionOf(email: string, password = readCredentials().password): Promise<string> {
  const api = await requestContext(await sessionOf(email, password))
  const data = { kinds: ['erasure'], grace: 'now', password }
  const answer = await api.post('/api/privacy/requests', { data })
  expect(answer.status(), await answer.text()).toBe(201)
  const { id, receipt_id } = Filed.parse(await answer.json()).data
  await api.dispose()
  return `/settings/privacy/delete?${new URLSearchParams({ step: 'done', request: id, begin: 'now', receipt: receipt_id })}`
}
const places = (page: Page) => page.getByRole('list', { name: 'Places with data' }).getByRole('listitem')

test('a deletion that waits for a store shows this in every tab, after a reload and a lost connection, and ends with the receipt', async ({
  browser,
}) => {
  const context = await browser.newContext({ baseURL: origin })
  const [first, second] = [await context.newPage(), await context.newPage()]
  const complaints = complaintsOf(second)
  try {
    await control.silence('plan')
    const address = await deletionOf('emil@example.org')
    await control.work()
    const isWaiting = async (page: Page) => {
      await expect(places(page)).toHaveCount(1)
      await expect(places(page)).toContainText(
        /^side.*Store not answering since .*The deletion resumes when it answers/,
      )
      await expect(page.getByRole('main')).not.toContainText('0 of 0')
    }
    for (const page of [first, second]) {
      await page.goto(address)
      await isWaiting(page)
    }
    await first.reload()
    await isWaiting(first)

    await test.step('forty places fit the narrowest phone', async () => {
      const names = Array.from({ length: 40 }, (_, n) => `${n % 2 === 0 ? 'מאגר '.repeat(20) : 'store'.repeat(20)}${n}`)
      const progress = {
        state: 'erasing',
        places: names.map((store, n) => ({
          store,
          records: 1_000 + n,
          remaining: n,
          held: 0,
          found_again: null,
          waiting_since: null,
        })),
      }
      const third = await context.newPage()
      await third.setViewportSize({ width: 320, height: 640 })
      await third.route('**/progress/events', (route) =>
        route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(progress)}\n\n` }),
      )
      await third.route('**/progress', (route) => route.fulfill({ json: { data: progress } }))
      await third.addInitScript(() => {
        const seen: string[] = []
        Object.assign(window, { seen })
        new MutationObserver(() => {
          for (const place of document.querySelectorAll('main li')) seen.push(place.textContent ?? '')
        }).observe(document, { subtree: true, childList: true, characterData: true })
      })
      await third.goto(address)
      await expect(places(third)).toHaveCount(40)
      // The page opened during the deletion, so the place that is empty does not fall to zero again.
      await expect(places(third).first()).toContainText('Deleted. Searching again.')
      await expect(places(third).nth(1)).toContainText('Deleting')
      const seen = z.array(z.string()).parse(await third.evaluate(() => Reflect.get(window, 'seen')))
      expect(seen.length).toBeGreaterThan(0)
      expect(seen.filter((text) => hasAllLeft.test(text))).toEqual([])
      expect(await third.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
      await third.close()
    })

    await control.down()
    // The page keeps the last state that it knows.
    await isWaiting(first)
    await control.up()
    complaints.length = 0 // the browser logs the lost connection
    await control.silence(null)
    await control.advance(1)
    for (const page of [first, second]) {
      await expect(page).toHaveURL(/\/receipts\/rcpt_\w+$/, { timeout: 90_000 })
      await expect(page.getByText(/^\d+ items about this person were deleted from \d+ places?/)).toBeVisible()
    }
    // The browser may log a lost connection after the server is back.
    expect(complaints.filter((complaint) => !complaint.includes('net::ERR_'))).toEqual([])
  } finally {
    await control.up()
    await control.silence(null)
    await context.close()
  }
})

test('a page that slept while its deletion waited shows the present state when it wakes, and then the receipt', async ({
  browser,
}) => {
  const { sleeping } = readCredentials()
  const context = await browser.newContext({ baseURL: origin })
  const page = await context.newPage()
  // The first stream falls silent after its first event, without an error: its connection did not survive the sleep.
  await page.addInitScript(() => {
    let isFirst = true
    const Stream = window.EventSource
    window.EventSource = class extends Stream {
      #isSilent = isFirst
      #seen = 0
      constructor(address: string | URL) {
        super(address)
        isFirst = false
      }
      override set onmessage(listen: ((event: MessageEvent) => void) | null) {
        this.addEventListener('message', (event) => {
          if (!this.#isSilent || this.#seen++ === 0) listen?.(event)
        })
      }
    }
  })
  await page.clock.install()
  try {
    await control.silence('plan')
    const address = await deletionOf(sleeping.email, sleeping.password)
    await control.work()
    await page.goto(address)
    await expect(places(page)).toContainText('Store not answering since')
    await alive(page)
    // A refresh of the page, which follows every 15 s, would show the receipt without the state before it.
    await page.route('**/settings/privacy/delete?*', (route) =>
      route.request().headers().rsc === undefined ? route.continue() : route.abort(),
    )
    await control.silence(null)
    await control.advance(1)
    await page.clock.fastForward('08:00:00')
    await expect(page.getByText('nothing found').first()).toBeVisible()
    await page.unroute('**/settings/privacy/delete?*')
    await page.clock.fastForward(60_000)
    await expect(page).toHaveURL(/\/receipts\/rcpt_\w+$/)
  } finally {
    await control.silence(null)
    await context.close()
  }
})

test('a legal hold that is set while the confirmation is open keeps the data, and the page reports the hold', async ({
  browser,
}) => {
  const email = 'ivo@example.org'
  const [session, office] = [await sessionOf(email), await requestContext(await sessionOf(people.admin))]
  const own = await requestContext(session)
  const { data } = Account.parse(await (await own.get('/api/account')).json())
  const context = await browser.newContext({ baseURL: origin, storageState: session })
  const page = await context.newPage()
  await page.goto('/settings/privacy/delete?step=confirm&grace=now')
  await alive(page)
  const target = { kind: 'account', target_id: data.account_id, reason: 'Case 37/2026' }
  expect((await office.post('/v1/holds', { data: target })).status()).toBe(201)
  await page.getByLabel('Type DELETE to confirm').fill('DELETE')
  await page.getByLabel('Password').fill(readCredentials().password)
  await page.getByRole('button', { name: 'Delete my data' }).click()
  await expect(page).toHaveURL(/step=done/)
  await control.work()
  await expect(page.getByRole('main')).toContainText(/legal hold/i, { timeout: 60_000 })
  await expect(page.getByRole('main')).not.toContainText('nothing found')
  const kept = await office.get(`/api/admin/users/${data.account_id}`)
  expect(kept.status()).toBe(200)
  await Promise.all([own.dispose(), office.dispose(), context.close()])
})
