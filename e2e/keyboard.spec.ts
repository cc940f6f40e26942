import { expect, type Locator, type Page, test } from '@playwright/test'
import { control, sessionOf } from './control.ts'
import { readCredentials } from './credentials.ts'
import { alive, closeWithEscape, complaintsOf } from './journey.ts'
import { addresses, people } from './requests.ts'

/** What is wrong with the visible focus of the page; empty if a reader sees where it is. */
const faultsOfFocus = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const at = document.activeElement
    // The browser draws the focus in the parts of a date field itself.
    if (!(at instanceof HTMLElement) || at === document.body || at.matches('main, [type=date]')) return ''
    const box = at.getBoundingClientRect()
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at)
    const hasRing = (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1) || boxShadow !== 'none'
    const isSeen =
      box.width > 1 &&
      box.height > 1 &&
      box.bottom > 0 &&
      box.top < innerHeight &&
      box.right > 0 &&
      box.left < innerWidth
    if (hasRing && isSeen) return ''
    return `${at.tagName} “${(at.getAttribute('aria-label') ?? at.textContent ?? '').slice(0, 40)}”: ${hasRing ? 'outside the window' : 'no ring'}`
  })

/** A window may still be scrolling to the focus. */
const expectVisibleFocus = (page: Page, what?: string): Promise<void> =>
  expect.poll(() => faultsOfFocus(page), what === undefined ? {} : { message: what }).toBe('')

/** Presses Tab until the element has the focus. Every element on the way must show its focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let n = 0; n < 90; n++) {
    await page.keyboard.press('Tab')
    await expectVisibleFocus(page)
    if (await target.evaluate((one) => one === document.activeElement)) return
  }
  throw new Error(`No Tab leads to ${target}`)
}
async function choose(page: Page, target: Locator): Promise<void> {
  await expect(target).toBeVisible()
  await alive(page)
  await tabTo(page, target)
  await page.keyboard.press('Enter')
}
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })

test('a person sees, downloads and deletes their data and verifies the receipt with the keyboard alone', async ({
  page,
}) => {
  const { typing } = readCredentials()
  const main = page.getByRole('main')
  const complaints = complaintsOf(page)
  await page.goto('/')
  await choose(page, main.getByRole('link', { name: 'See my data' }))
  await expect(page.getByLabel('Password')).toBeVisible()
  await alive(page)
  await tabTo(page, page.getByLabel('Email', { exact: true }))
  await page.keyboard.type(typing.email)
  await tabTo(page, page.getByLabel('Password'))
  await page.keyboard.type(typing.password)
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL('/settings/privacy')

  await choose(page, main.getByRole('link', { name: 'Download', exact: true }))
  await expect(page).toHaveURL(/tab=download/)
  const prepare = page.getByRole('button', { name: 'Prepare all data' })
  await choose(page, prepare)
  await control.work()
  const link = page.getByRole('list', { name: 'Your exports' }).getByRole('link', { name: /^Download: All data/ })
  await expect(link).toBeVisible()
  // The new list does not take the focus from the button.
  await expect(prepare).toBeFocused()
  await tabTo(page, link)
  const download = page.waitForEvent('download')
  await page.keyboard.press('Enter')
  await download

  await page.goto('/settings/privacy')
  await choose(page, main.getByRole('link', { name: 'Delete my data' }))
  await expect(heading(page, 'What happens to your data')).toBeVisible()
  await choose(page, page.getByRole('button', { name: 'Continue' }))
  await expect(heading(page, 'Copy and keys')).toBeFocused()
  await choose(page, page.getByRole('button', { name: 'Continue' }))
  await expect(heading(page, 'Confirm deletion')).toBeFocused()
  await tabTo(page, page.getByRole('radio', { checked: true }))
  const now = page.getByRole('radio', { name: /^Now/ })
  for (let n = 0; n < 3 && !(await now.isChecked()); n++) await page.keyboard.press('ArrowDown')
  await expect(now).toBeChecked()
  await tabTo(page, page.getByLabel('Type DELETE to confirm'))
  await page.keyboard.type('DELETE')
  const password = page.getByLabel('Password')
  await tabTo(page, password)
  await page.keyboard.type('a wrong password')
  await page.keyboard.press('Enter')
  await expect(page.getByText('Wrong password. Nothing was changed.')).toBeVisible()
  await expect(password).toBeFocused()
  complaints.length = 0 // the browser logs the refusal
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type(typing.password)
  await tabTo(page, page.getByRole('button', { name: 'Delete my data' }))
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/step=done|\/receipts\//)
  await control.work()
  await expect(page).toHaveURL(/\/receipts\/rcpt_\w+$/, { timeout: 60_000 })
  await choose(page, main.getByRole('link', { name: /verify/i }).first())
  await expect(page.getByText('Valid signature')).toBeVisible()
  expect(complaints).toEqual([])
})

test('an admin opens, closes and answers a request with the keyboard alone, and every control shows its focus', async ({
  browser,
}) => {
  const context = await browser.newContext({
    storageState: await sessionOf(people.admin),
    viewport: { width: 1280, height: 800 },
  })
  const page = await context.newPage()
  const at = await addresses()
  await page.goto('/overview')
  await alive(page)
  await page.keyboard.press('?')
  await expect(page.getByRole('dialog')).toBeVisible()
  await closeWithEscape(page)
  await expect(page.getByRole('dialog')).toHaveCount(0)
  // On a busy machine, the two keys of a sequence can arrive too far apart.
  await expect(async () => {
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await expect(page).toHaveURL(/\/admin\/requests/, { timeout: 10_000 })
  }).toPass()
  await alive(page)
  await expect(page.getByRole('table').locator('tbody a').first()).toBeVisible()
  await expect(async () => {
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(/\/admin\/requests\/preq_/, { timeout: 10_000 })
  }).toPass()

  await page.goto(at.request)
  const answer = page.getByRole('button', { name: 'Answer and close' })
  await choose(page, answer)
  const dialog = page.getByRole('dialog')
  await expect(dialog).toBeVisible()
  const hasFocus = () => dialog.evaluate((one) => one.contains(document.activeElement))
  await expect.poll(hasFocus).toBe(true)
  // The focus stays within the dialog.
  for (let n = 0; n < 12; n++) {
    await page.keyboard.press('Tab')
    await expectVisibleFocus(page)
    expect(await hasFocus()).toBe(true)
  }
  await closeWithEscape(page)
  await expect(dialog).toHaveCount(0)
  await expect(answer).toBeFocused()

  for (const name of ['user', 'compliance', 'deletionLog', 'audit'] as const)
    await test.step(name, async () => {
      await page.goto(at[name])
      await alive(page)
      for (let n = 0; n < 60; n++) {
        await page.keyboard.press('Tab')
        await expectVisibleFocus(page, name)
      }
    })
  await context.close()
})

test('the controls of a table’s header show their focus on a phone, where rows are cards', async ({ browser }) => {
  const context = await browser.newContext({
    storageState: await sessionOf(people.admin),
    viewport: { width: 390, height: 844 },
  })
  const page = await context.newPage()
  await page.goto('/admin/users')
  await alive(page)
  const sort = page.getByRole('table').getByRole('button', { name: /^Created/ })
  await tabTo(page, sort)
  await expect(sort).toBeInViewport()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('table').locator('th[aria-sort]')).toHaveCount(1)
  await context.close()
})

test('a cell names its column where rows are cards, and not in a table', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  await page.goto('/tokens')
  await alive(page)
  const label = page.getByRole('table').locator('tbody span[aria-hidden]').filter({ hasText: 'Agent' }).first()
  for (const [width, isCards] of [
    [1280, false],
    [640, true],
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    await expect(label).toBeVisible({ visible: isCards })
  }
  await context.close()
})
