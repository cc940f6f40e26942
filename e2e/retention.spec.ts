import { expect, test } from '@playwright/test'
import { sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { people } from './requests.ts'

test('shorter periods wait and can be cancelled, and a sweep deletes only what has expired', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto('/admin/retention')
  await alive(page)
  await page.getByLabel('Private: days').fill('20')
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByRole('button', { name: 'Save periods' }).click()
  const dialog = page.getByRole('dialog')
  const announced = dialog.getByText(/first sweep after 24 hours/)
  await expect(announced).toContainText(/periods: \d/)
  const expected = Number(/periods: (\d+)/.exec((await announced.textContent()) ?? '')?.[1])
  expect(expected).toBeGreaterThan(3)
  await dialog.getByRole('button', { name: 'Save periods' }).dblclick()
  await expect(page.getByText('Periods saved')).toBeVisible()

  await expect(page.getByText(/^20 days from/)).toBeVisible()
  await page.getByRole('button', { name: 'Sweep now' }).click()
  const due = dialog.getByText(/The sweep will delete|Nothing has expired/)
  await expect(due).toBeVisible()
  const now = Number(/skills: (\d+)/.exec((await due.textContent()) ?? '')?.[1] ?? 0)
  expect(now).toBeLessThan(expected)
  await dialog.getByRole('button', { name: 'Sweep now' }).dblclick()
  await expect(page.getByText(`Sweep finished: ${now} deleted`)).toBeVisible()
  await page.getByRole('button', { name: 'Cancel change' }).click()
  await expect(page.getByText(/^20 days from/)).toHaveCount(0)

  await page.getByRole('button', { name: 'Sweep now' }).click()
  await expect(dialog).toContainText('Nothing has expired')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(complaints).toEqual([])
  await context.close()
})
