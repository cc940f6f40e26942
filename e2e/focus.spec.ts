import { expect, type Page, test } from '@playwright/test'
import { sessionOf } from './control.ts'
import { alive, closeWithEscape, complaintsOf } from './journey.ts'
import { addresses, people } from './requests.ts'

const opened = (page: Page) => page.locator('[role=dialog], [role=menu]').first()

/** The buttons that open something on the pages of an admin's daily tasks. */
const buttons = {
  requests: ['Saved views', 'View', /^Status/],
  request: ['Actions', 'Answer and close'],
  audit: ['Export', 'Saved views'],
  holds: ['Set hold', 'View', /^Status/],
  retention: ['Sweep now'],
  users: ['Invite users', 'View', /^Role/],
  tiers: ['Revoke leaked token', 'Invite agent'],
  erasures: ['View'],
  overview: ['Search', 'Account'],
} as const

test('closing a dialog, a menu or a drawer returns the focus to its button', async ({ browser }) => {
  test.setTimeout(240_000)
  const at = await addresses()
  const context = await browser.newContext({
    storageState: await sessionOf(people.admin),
    viewport: { width: 1280, height: 800 },
  })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  for (const [name, openers] of Object.entries(buttons))
    await test.step(name, async () => {
      await page.goto(at[name as keyof typeof buttons])
      await alive(page)
      for (const label of openers) {
        const button = page.getByRole('button', { name: label, exact: typeof label === 'string' }).first()
        await button.focus()
        await page.keyboard.press('Enter')
        await expect(opened(page), `${name}: ${label}`).toBeVisible()
        await closeWithEscape(page)
        await expect(page.locator('[role=dialog], [role=menu]'), `${name}: ${label}`).toHaveCount(0)
        await expect(button, `${name}: ${label}`).toBeFocused()
      }
    })
  await test.step('the drawer of an audit entry', async () => {
    await page.goto(at.audit)
    await alive(page)
    const row = page.locator('[data-row="0"] button')
    await row.focus()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('dialog')).toBeVisible()
    await closeWithEscape(page)
    await expect(page.getByRole('dialog')).toHaveCount(0)
    await expect(row).toBeFocused()
  })
  await test.step('a deleted saved view and its return', async () => {
    await page.goto(`${at.requests}?state=failed`)
    await alive(page)
    await page.getByRole('button', { name: 'Saved views' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('View name').fill('Failed ones')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.getByRole('button', { name: 'Delete view Failed ones' }).click()
    await expect(dialog.getByRole('link', { name: 'Failed ones' })).toHaveCount(0)
    await expect(dialog.getByRole('button', { name: 'Undo' })).toBeFocused()
    await page.keyboard.press('Enter')
    await expect(dialog.getByRole('link', { name: 'Failed ones' })).toBeVisible()
    await expect(dialog.getByRole('button', { name: 'Undo' })).toHaveCount(0)
    await expect(dialog.locator(':focus')).toContainText('Failed ones')
    await closeWithEscape(page)
    await expect(page.getByRole('button', { name: 'Saved views' })).toBeFocused()
  })
  expect(complaints).toEqual([])
  await context.close()
})

test('the pages of daily tasks fit a window at 200 % zoom', async ({ browser }) => {
  test.setTimeout(240_000)
  const at = await addresses()
  // A window of 1280 × 800 at 200 % zoom.
  const context = await browser.newContext({
    storageState: await sessionOf(people.admin),
    viewport: { width: 640, height: 400 },
    deviceScaleFactor: 2,
  })
  const page = await context.newPage()
  const more = ['compliance', 'filing', 'deletionLog', 'outbox', 'knowledge', 'tokens', 'stores', 'report'] as const
  for (const name of [...(Object.keys(buttons) as (keyof typeof buttons)[]), ...more] as const)
    await test.step(name, async () => {
      await page.goto(at[name])
      await alive(page)
      const width = () => page.evaluate(() => document.documentElement.scrollWidth)
      await expect.poll(width, name).toBeLessThanOrEqual(640)
      // Nobody reads a table sideways: its rows are cards.
      const sideways = () =>
        page.evaluate(
          () =>
            [...document.querySelectorAll('main :has(> table)')].filter((one) => one.scrollWidth > one.clientWidth + 1)
              .length,
        )
      await expect.poll(sideways, name).toBe(0)
      // Sticky parts must leave room for the content.
      const covered = () =>
        page.evaluate(() =>
          [...document.querySelectorAll('body *')]
            .filter((one) => ['sticky', 'fixed'].includes(getComputedStyle(one).position) && one.checkVisibility())
            .filter((one) => one.getBoundingClientRect().width > 320)
            .reduce((sum, one) => sum + one.getBoundingClientRect().height, 0),
        )
      await expect.poll(covered, name).toBeLessThan(200)
    })
  await context.close()
})

/** The spacing that readers may choose (WCAG 1.4.12). */
const spacing =
  '* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-bottom: 2em !important }'

test('pages fit 320 pixels, also with wide spacing of letters, words and lines', async ({ browser }) => {
  const at = await addresses()
  const views = {
    nobody: ['home', 'publicForm', 'receipt', 'verify', 'signIn'],
    person: ['privacy', 'deletion', 'ownReceipts', 'welcome', 'overview'],
    admin: ['report', 'stores', 'requests', 'request', 'user', 'erasure', 'holds'],
  } as const
  for (const who of ['nobody', 'person', 'admin'] as const) {
    const context = await browser.newContext({
      viewport: { width: 320, height: 640 },
      ...(who !== 'nobody' && { storageState: await sessionOf(people[who]) }),
    })
    const page = await context.newPage()
    for (const name of views[who])
      await test.step(name, async () => {
        await page.goto(at[name])
        await alive(page)
        const width = () => page.evaluate(() => document.documentElement.scrollWidth)
        await expect.poll(width, name).toBe(320)
        await page.evaluate((css) => {
          const sheet = new CSSStyleSheet()
          sheet.replaceSync(css)
          document.adoptedStyleSheets.push(sheet)
        }, spacing)
        await expect.poll(width, `${name}, spaced`).toBe(320)
        // Text beside its box would cover the next control of the bar.
        const spilled = () =>
          page
            .getByRole('banner')
            .locator(':not(.sr-only)')
            .evaluateAll((all) =>
              all
                .filter((one) => getComputedStyle(one).overflowX === 'visible')
                .filter(({ clientWidth, scrollWidth }) => clientWidth > 1 && scrollWidth > clientWidth + 1)
                .map((one) => one.textContent ?? '')
                // A badge with a number is as narrow as its number.
                .filter((text) => /\D/.test(text)),
            )
        await expect.poll(spilled, name).toEqual([])
      })
    await context.close()
  }
})
