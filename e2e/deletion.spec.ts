import { expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { type BrowserSession, control, sessionOf } from './control.ts'
import { readCredentials } from './credentials.ts'
import { alive, complaintsOf, fillSignIn, hasAllLeft } from './journey.ts'
import { people, requestContext } from './requests.ts'

/** A person of the demo who appears in no other journey. */
const email = 'hana@example.org'
const most = { clicks: 8, words: 700 }

/** Counts clicks, and the visible words of each page. */
function effort(page: Page) {
  const words: [page: string, count: number][] = []
  let clicks = 0
  return {
    words,
    total: () => ({ clicks, words: words.reduce((sum, [, count]) => sum + count, 0) }),
    /** A click that another function made. */
    count() {
      clicks++
    },
    async click(target: ReturnType<Page['locator']>) {
      clicks++
      await target.click()
    },
    async read(name: string) {
      // A selection contains only visible text.
      const text = await page.getByRole('main').evaluate((element) => {
        const selection = getSelection()
        selection?.selectAllChildren(element)
        const visible = String(selection)
        selection?.removeAllRanges()
        return visible
      })
      words.push([name, text.trim().split(/\s+/).length])
    },
  }
}
const PreparedExports = z.object({ data: z.array(z.object({ id: z.string() })) })
/** Leaves the person with one prepared copy that nobody has downloaded. */
async function prepareOnlyCopy(session: BrowserSession): Promise<void> {
  const api = await requestContext(session)
  const at = '/api/privacy/exports'
  for (const { id } of PreparedExports.parse(await (await api.get(at)).json()).data) await api.delete(`${at}/${id}`)
  const prepared = await api.post(at, { data: {} })
  expect(prepared.status(), await prepared.text()).toBe(202)
  await control.work()
  await api.dispose()
}
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })

test('a person goes from the front page to a verified receipt in at most 8 clicks and 700 words', async ({ page }) => {
  const complaints = complaintsOf(page)
  const done = effort(page)
  await page.goto('/')
  await expect(page.getByRole('main')).toBeVisible()
  await done.read('home')
  await done.click(page.getByRole('main').getByRole('link', { name: 'See my data' }))
  await expect(page.getByLabel('Password')).toBeVisible()
  await done.read('sign-in')
  await fillSignIn(page, { email, password: readCredentials().password })
  done.count()
  await expect(page).toHaveURL('/settings/privacy')
  await expect(heading(page, 'Privacy')).toBeVisible()
  // A job of the sign-in may add a record.
  await control.work()
  await page.reload()
  await alive(page)
  const summary = page.getByText(/^We hold \d+ items about you, in \d+ places?$/)
  const records = Number(/\d+/.exec((await summary.textContent()) ?? '')?.[0])
  await done.read('privacy')

  await test.step('overview, inventory, plan and the first step have the same number of records', async () => {
    const numberAt = async (path: string, shape: z.ZodType<number>) =>
      shape.parse(await (await page.request.get(path)).json())
    const overview = z.object({ data: z.object({ held: z.object({ records: z.number() }) }) })
    const held = await numberAt(
      '/api/overview',
      overview.transform(({ data }) => data.held.records),
    )
    const plan = await numberAt(
      '/api/privacy/plan',
      z.object({ data: z.object({ total: z.number() }) }).transform(({ data }) => data.total),
    )
    expect([held, plan]).toEqual([records, records])
  })

  const retained = page.locator('#retained-list + dl dt')
  const announced = await retained.allTextContents()
  expect(announced.length).toBeGreaterThan(5)

  await done.click(page.getByRole('link', { name: 'Delete my data' }))
  await expect(heading(page, 'What happens to your data')).toBeVisible()
  await expect(page.getByText(`${records} items`, { exact: true })).toBeVisible()
  await done.read('review')
  expect(await retained.allTextContents()).toEqual(announced)
  await done.click(page.getByRole('button', { name: 'Continue' }))
  await expect(heading(page, 'Copy and keys')).toBeFocused()
  await done.read('copy')
  await done.click(page.getByRole('button', { name: 'Continue' }))
  await expect(heading(page, 'Confirm deletion')).toBeFocused()
  await page.getByLabel('Type DELETE to confirm').fill('DELETE')
  await page.getByLabel('Password').fill(readCredentials().password)
  await done.click(page.getByText('Now', { exact: true }))
  await expect(page.getByText('Starts within a minute and can’t be cancelled.')).toBeVisible()
  await done.read('confirm')
  // The result is visible for two seconds only, so the page itself notes what it shows from now on.
  const shown = await page.evaluateHandle(() => {
    const texts: string[] = []
    const note = () => {
      for (const { textContent } of document.querySelectorAll('main, [role=status]')) texts.push(textContent ?? '')
    }
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true })
    return texts
  })
  await done.click(page.getByRole('button', { name: 'Delete my data' }))

  await test.step('the progress ends in the receipt without a click', async () => {
    await control.work()
    await expect(page).toHaveURL(/\/receipts\/rcpt_\w+$/, { timeout: 60_000 })
    const texts = await shown.jsonValue()
    for (const text of ['Database', 'Searched again: nothing found', 'The receipt is signed.'])
      expect(
        texts.some((one) => one.includes(text)),
        text,
      ).toBe(true)
    // Its numbers begin with all records, also when the deletion was faster than the page.
    expect(texts.some((one) => hasAllLeft.test(one))).toBe(true)
    // The sessions end with the account: nobody is asked to sign in again.
    expect(texts.filter((one) => one.includes('You were signed out.'))).toEqual([])
    await expect(page.getByRole('main')).toContainText('rcpt_')
    await expect(page.getByText(/^\d+ items about this person were deleted from \d+ places?/)).toBeVisible()
    // An agent of this person was under a hold that has ended: the deletion preserved no copies for it.
    await expect(page.getByText(/^Includes records added after the confirmation, such as the/)).toBeVisible()
    await expect(heading(page, 'What stays, and why')).toBeVisible()
    await done.read('receipt')
    await page.getByText('All details', { exact: true }).click()
    const signed = page.getByRole('region', { name: 'Retained' }).locator('td:first-child > span:last-child')
    expect(await signed.allTextContents()).toEqual(announced)
  })
  await done.click(
    page
      .getByRole('main')
      .getByRole('link', { name: /verify/i })
      .first(),
  )
  await expect(page).toHaveURL(/\/verify/)
  await expect(page.getByText('Valid signature')).toBeVisible()
  await done.read('verify')
  console.log(JSON.stringify({ ...done.total(), pages: done.words }))
  expect(done.total().clicks).toBeLessThanOrEqual(most.clicks)
  expect(done.total().words).toBeLessThanOrEqual(most.words)
  // The frame asks once a minute for running work, and the session has ended with the account.
  expect(complaints.filter((complaint) => !complaint.includes('401 (Unauthorized)'))).toEqual([])
})

test('“Your data” lists records kept as proof, with purpose and legal basis', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  await page.goto('/settings/privacy')
  await alive(page)
  await page.getByText(/^Kept as proof or by law \(\d+\)$/).click()
  const list = page.getByRole('table', { name: /^Kept as proof or by law/ })
  await expect(list.getByRole('row', { name: /Audit/ }).getByRole('cell').first()).toHaveText(/[1-9]/)
  await list.getByRole('button', { name: /^Details: Audit/ }).click()
  await expect(page.getByRole('dialog')).toContainText('Legal basis')
  await context.close()
})

test('the confirmation states the current start of a deletion, also with a copy', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  await page.clock.install()
  await page.goto('/settings/privacy/delete?step=copy')
  await alive(page)
  await page.clock.fastForward('30:00')
  await page.getByRole('button', { name: 'Continue' }).click()
  const start = page.getByText('You can cancel until then.').locator('time')
  const distance = async () => {
    const now = await page.evaluate(() => Date.now())
    return Math.abs(Date.parse((await start.getAttribute('datetime')) ?? '') - now - 86_400_000)
  }
  await expect.poll(distance).toBeLessThan(20_000)
  await page.getByText('Now', { exact: true }).click()
  await expect(page.getByText('Starts within a minute and can’t be cancelled.')).toBeVisible()
  await page.goto('/settings/privacy/delete?step=confirm&grace=now&copy=with')
  await expect(page.getByText('Starts once your copy is downloaded or expires.')).toBeVisible()
  await expect(page.getByText('can’t be cancelled')).toHaveCount(0)
  await context.close()
})

test('the steps announce what happens to owned projects and to a copy that is not downloaded', async ({ browser }) => {
  const session = await sessionOf(people.person)
  await prepareOnlyCopy(session)
  const context = await browser.newContext({ storageState: session })
  const page = await context.newPage()
  await page.goto('/settings/privacy/delete')
  await alive(page)
  await expect(page.getByText(/^\d+ projects? stays?, because others use (it|them)\./)).toBeVisible()
  await expect(page.getByText('References to external systems (the data there isn’t deleted)')).toHaveCount(1)
  await page.getByRole('button', { name: 'Continue' }).click()
  const notice = page.getByText('Copy not downloaded yet')
  await expect(page.getByRole('radio', { name: 'No further copy' })).toBeChecked()
  await expect(notice).toBeVisible()
  await expect(
    page.getByText(/^Download your copy by .*\. It is deleted then or when the deletion starts\.$/),
  ).toBeVisible()
  const link = page.getByRole('link', { name: /^Download: All data, / }).first()
  await link.focus()
  expect((await page.request.get((await link.getAttribute('href')) ?? '')).status()).toBe(200)
  await expect(page.getByText('Downloaded', { exact: true })).toBeVisible({ timeout: 30_000 })
  await expect(link).toBeFocused()
  await page.reload()
  await expect(page.getByRole('radio', { name: 'No copy' })).toBeChecked()
  await expect(notice).toHaveCount(0)
  await context.close()
})
