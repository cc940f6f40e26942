import { expect, test } from '@playwright/test'
import { z } from 'zod'
import { control, sessionOf } from './control.ts'
import { readCredentials } from './credentials.ts'
import { alive } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Units = z.object({ data: z.array(z.object({ id: z.string() })) })

test('a cancelled password confirmation releases no hold and reports no error', async ({ browser }) => {
  const session = await sessionOf(people.admin)
  const api = await requestContext(session)
  const [unit] = Units.parse(await (await api.get('/v1/knowledge?visibility=network&limit=1')).json()).data
  const body = { kind: 'unit', target_id: unit?.id, reason: 'Case 31/2026' }
  expect((await api.post('/v1/holds', { data: body })).status()).toBe(201)
  await control.advance(1)
  const context = await browser.newContext({ storageState: session })
  const page = await context.newPage()
  await page.goto('/admin/holds')
  await alive(page)
  const row = page.getByRole('table', { name: 'Legal holds' }).getByRole('row', { name: /31\/2026/ })
  await row.getByRole('button', { name: /^Release hold/ }).click()
  const release = page.getByRole('dialog', { name: 'Release hold' })
  await release.getByRole('button', { name: 'Release hold' }).click()
  const confirmation = page.getByRole('dialog', { name: 'Confirm your password' })
  await confirmation.getByRole('button', { name: 'Cancel' }).click()
  await expect(confirmation).toHaveCount(0)
  await expect(release.getByRole('button', { name: 'Release hold' })).toBeEnabled()
  await expect(release.getByRole('alert')).toHaveCount(0)

  await release.getByRole('button', { name: 'Release hold' }).click()
  await confirmation.getByLabel('Password').fill(readCredentials().password)
  await confirmation.getByRole('button', { name: 'Confirm' }).click()
  await expect(row).toHaveCount(0)
  await context.close()
  await api.dispose()
})
