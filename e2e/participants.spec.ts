import { AxeBuilder } from '@axe-core/playwright'
import { expect, test } from '@playwright/test'
import { z } from 'zod'
import { control, sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { addParticipant, people, requestContext } from './requests.ts'

const Made = z.object({ data: z.object({ id: z.string() }) })

test('an owner finds a participant, sees the plan of their erasure and files it', async ({ browser }) => {
  const session = await sessionOf(people.person)
  const api = await requestContext(session)
  const { data: project } = Made.parse(
    await (await api.post('/api/projects', { data: { name: 'The harbor project' } })).json(),
  )
  const author = { external_id: 'user-1', name: 'Wilhelmina Thistlewood', email: 'wilhelmina@example.org' }
  const id = await addParticipant(api, project.id, author, ['One question.', 'Another question.'])
  await addParticipant(api, project.id, { external_id: 'user-2', name: 'Pat Quill' })
  const context = await browser.newContext({ storageState: session, viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  const complaints = complaintsOf(page)

  await page.goto(`/projects/${project.id}`)
  await alive(page)
  await page.getByRole('link', { name: /^Participants/ }).click()
  await expect(page.getByRole('row')).toHaveCount(3)
  await page.getByRole('searchbox').fill('thistle')
  await expect(page).toHaveURL(/q=thistle/)
  await expect(page.getByRole('row')).toHaveCount(2)
  await expect(page.getByRole('row', { name: /Thistlewood/ })).toContainText('wilhelmina@example.org')
  const isAccessible = async () => {
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
    expect(violations.map((violation) => violation.id)).toEqual([])
  }
  await isAccessible()

  await page.getByRole('link', { name: 'Wilhelmina Thistlewood' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Wilhelmina Thistlewood')
  await alive(page)
  await page.getByLabel(/^Deletion/).check()
  await expect(page.getByText('4 records to delete')).toBeVisible()
  await isAccessible()
  await page.getByLabel('Now').check()
  await page.getByRole('button', { name: 'Delete data …' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('can’t be cancelled or undone')
  await dialog.getByRole('button', { name: 'Delete data' }).click()
  const receipt = page.getByRole('link', { name: /view the (signed )?receipt/i }).first()
  await expect(receipt).toHaveAttribute('href', /^\/receipts\/rcpt_/)
  const address = (await receipt.getAttribute('href')) ?? ''
  await control.work()
  await page.goto(address)
  await expect(page.getByText('Wilhelmina')).toHaveCount(0)
  await expect(page.getByText('found none of them')).toBeVisible()
  expect(complaints).toEqual([])
  expect((await api.get(`/api/projects/${project.id}/participants/${id}`)).status()).toBe(404)
  await api.dispose()
  await context.close()
})

test('an owner finds and confirms an address that an agent reported after it had written', async ({ browser }) => {
  const session = await sessionOf(people.person)
  const api = await requestContext(session)
  const { data: project } = Made.parse(
    await (await api.post('/api/projects', { data: { name: 'The lighthouse project' } })).json(),
  )
  await addParticipant(api, project.id, { external_id: 'user-3' }, ['One question.'])
  await addParticipant(api, project.id, { external_id: 'user-4' }, ['Another question.'])
  const id = await addParticipant(api, project.id, { external_id: 'user-3', email: 'three@example.org' })
  const context = await browser.newContext({ storageState: session, viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  const isAccessible = async () => {
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
    expect(violations.map((violation) => violation.id)).toEqual([])
  }
  await page.goto('/overview')
  await alive(page)
  await page
    .getByRole('region', { name: 'Addresses to confirm' })
    .getByRole('link', { name: 'The lighthouse project' })
    .click()
  await expect(page.getByRole('row')).toHaveCount(2)
  await isAccessible()
  await page.getByRole('button', { name: 'Clear' }).click()
  await expect(page.getByRole('row')).toHaveCount(3)
  await page.getByRole('link', { name: 'user-3' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toContainText('user-3')
  await alive(page)
  const badge = page.getByText('Address not confirmed', { exact: true }).first()
  await expect(badge).toBeVisible()
  await isAccessible()
  const refusal = { status: 503, contentType: 'application/problem+json' }
  await page.route(`**/participants/${id}`, (route) =>
    route.request().method() === 'PATCH'
      ? route.fulfill({ ...refusal, body: JSON.stringify({ title: 'Unavailable', status: 503, code: 'unavailable' }) })
      : route.continue(),
  )
  await page.getByRole('button', { name: 'Confirm address …' }).press('Enter')
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('Does three@example.org belong to this participant?')
  await dialog.getByRole('button', { name: 'Confirm address' }).press('Enter')
  await expect(dialog.getByText('Nothing was changed. Try again shortly.')).toBeVisible()
  await page.unroute(`**/participants/${id}`)
  await isAccessible()
  await dialog.getByRole('button', { name: 'Confirm address' }).press('Enter')
  await expect(dialog).toBeHidden()
  await expect(badge).toBeHidden()
  await page.goto(`/projects/${project.id}?tab=participants&unconfirmed=true`)
  await expect(page.getByText('No matching participants')).toBeVisible()
  // The refusal of this test.
  expect(complaints.filter((one) => !one.includes('status of 503'))).toEqual([])
  await api.dispose()
  await context.close()
})
