import { expect, test } from '@playwright/test'
import { sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { people } from './requests.ts'

test('a sweep deletes what the dry run of the new periods announced', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto('/admin/retention')
  await alive(page)
  await page.getByLabel('Private: days').fill('20')
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByRole('button', { name: 'Save periods' }).click()
  const dialog = page.getByRole('dialog')
  const announced = dialog.getByText(/The next sweep/)
  await expect(announced).toContainText(/skills: \d/)
  const expected = Number(/skills: (\d+)/.exec((await announced.textContent()) ?? '')?.[1])
  expect(expected).toBeGreaterThan(3)
  await dialog.getByRole('button', { name: 'Save periods' }).dblclick()
  await expect(page.getByText('Periods saved')).toBeVisible()

  await page.getByRole('button', { name: 'Sweep now' }).click()
  await expect(dialog).toContainText(`The sweep will delete expired units and skills: ${expected}.`)
  await dialog.getByRole('button', { name: 'Sweep now' }).dblclick()
  await expect(page.getByText(`Sweep finished: ${expected} deleted`)).toBeVisible()

  await page.getByRole('button', { name: 'Sweep now' }).click()
  await expect(dialog).toContainText('Nothing has expired')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(complaints).toEqual([])
  await context.close()
})
