import { expect, type Page, test } from '@playwright/test'
import { control, sessionOf } from './control.ts'
import { alive, closeWithEscape, complaintsOf } from './journey.ts'
import { people } from './requests.ts'

const isKey = /^kp_[0-9A-Za-z]{49}$/

/** Reads the key in the dialog, and closes it after confirming that the key is stored. */
async function storedKey(page: Page): Promise<string> {
  const dialog = page.getByRole('dialog')
  const shown = dialog.locator('code, pre').first()
  await expect(shown).toContainText(/kp_[0-9A-Za-z]{49}/)
  const key = ((await shown.textContent()) ?? '').trim()
  expect(key).toMatch(isKey)
  await closeWithEscape(page)
  await expect(dialog.getByText('Close without storing the token?')).toBeVisible()
  await dialog.getByLabel('I have stored the token').check()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await expect(dialog).toHaveCount(0)
  return key
}

test('a key is shown once, works for the chosen overlap after rotation, and is rejected when revoked', async ({
  browser,
}) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  const status = async (key: string) =>
    (await context.request.get('/v1/auth/me', { headers: { Authorization: `Bearer ${key}`, Cookie: '' } })).status()
  const act = async (name: RegExp) => {
    await alive(page)
    await page
      .getByRole('row', { name: /for the journey/ })
      .first()
      .getByRole('button', { name: /^Actions for/ })
      .click()
    await page.getByRole('menuitem', { name }).click()
  }

  await page.goto('/tokens')
  await alive(page)
  await page.getByRole('button', { name: 'Create token' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Agent').selectOption('release-notes')
  await form.getByLabel('Name (optional)').fill('for the journey')
  await form.getByRole('button', { name: 'Create token' }).dblclick()
  const first = await storedKey(page)
  expect(await status(first)).toBe(200)
  await expect(page.getByText('for the journey')).toHaveCount(1)
  await page.reload()
  expect(await page.content()).not.toContain(first)

  await act(/Replace/)
  await page.getByRole('dialog').getByLabel('Old token works for').selectOption('1h')
  await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).dblclick()
  const second = await storedKey(page)
  expect(second).not.toBe(first)
  expect(await status(first)).toBe(200)
  expect(await status(second)).toBe(200)
  await control.advance(1.1)
  expect(await status(first)).toBe(401)
  expect(await status(second)).toBe(200)

  await page.reload()
  await act(/Revoke/)
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).dblclick()
  await expect(page.getByRole('dialog')).toHaveCount(0)
  expect(await status(second)).toBe(401)
  expect(complaints).toEqual([])
  await context.close()
})
