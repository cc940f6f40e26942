import { expect, test } from '@playwright/test'
import { z } from 'zod'
import { sessionOf } from './control.ts'
import { alive, closeWithEscape } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Made = z.object({ data: z.object({ id: z.string() }) })
const other = 'otto@example.org'

test('an admin who acts after another admin sees the new status, keeps the typed text and does not act twice', async ({
  browser,
}) => {
  const [session, api] = await Promise.all([
    sessionOf(people.admin),
    sessionOf(other).then((admin) => requestContext(admin)),
  ])
  const filed = await api.post('/api/admin/privacy/requests', {
    data: {
      email: 'emil@example.org',
      kinds: ['objection'],
      statement: 'Please stop.',
      received_at: new Date(Date.now() - 3_600_000).toISOString(),
    },
  })
  expect(filed.ok(), await filed.text()).toBe(true)
  const { id } = Made.parse(await filed.json()).data
  const verified = await api.post(`/api/admin/privacy/requests/${id}/verify`, { data: { note: 'Called back' } })
  expect(verified.ok(), await verified.text()).toBe(true)

  const context = await browser.newContext({ storageState: session })
  const page = await context.newPage()
  await page.goto(`/admin/requests/${id}`)
  await alive(page)
  await page.getByRole('button', { name: 'Answer and close' }).click()
  const dialog = page.getByRole('dialog')
  const answer = dialog.getByLabel('Answer to the requester')
  await answer.fill('We agree with your objection.')
  const first = await api.post(`/api/admin/privacy/requests/${id}/complete`, {
    data: { kind: 'objection', note: 'Upheld by the other admin.' },
  })
  expect(first.ok(), await first.text()).toBe(true)
  await dialog.getByRole('button', { name: 'Answer and close' }).click()
  await expect(dialog.getByText(/^Not done: no part of this type is waiting for a decision/)).toBeVisible()
  await expect(answer).toHaveValue('We agree with your objection.')
  await closeWithEscape(page)
  await expect(dialog).toHaveCount(0)
  await expect(page.locator('body')).not.toBeFocused()
  const Events = z.object({ data: z.object({ timeline: z.array(z.object({ event: z.string() })) }) })
  const { timeline } = Events.parse(await (await api.get(`/api/admin/privacy/requests/${id}`)).json()).data
  expect(timeline.filter(({ event }) => event === 'part_done')).toHaveLength(1)
  await api.dispose()
  await context.close()
})

test('a page of an admin whose role changes meanwhile refuses the next action and then access', async ({ browser }) => {
  const [session, api] = await Promise.all([
    sessionOf(other),
    sessionOf(people.admin).then((admin) => requestContext(admin)),
  ])
  const Users = z.object({ data: z.array(z.object({ account_id: z.string(), email: z.string() })) })
  const { data } = Users.parse(await (await api.get(`/api/admin/users?q=${other}`)).json())
  const account = data.find(({ email }) => email === other)?.account_id
  const giveRole = async (role: string) => {
    const given = await api.patch(`/api/admin/users/${account}`, { data: { role } })
    expect(given.ok(), await given.text()).toBe(true)
  }
  const context = await browser.newContext({ storageState: session })
  const page = await context.newPage()
  await page.goto('/admin/holds')
  await alive(page)
  await page.getByRole('button', { name: 'Set hold' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('combobox', { name: 'Target', exact: true }).fill('build-helper')
  await dialog.getByLabel('Reason').fill('Case 18/2026')
  await giveRole('auditor')
  try {
    await dialog.getByRole('button', { name: 'Set hold' }).click()
    await expect(page.getByText('This page is only for the role Admin. Your role is Auditor.')).toBeVisible()
    const holds = await api.get('/v1/holds?active=true&limit=100')
    expect(await holds.text()).not.toContain('Case 18/2026')
    await page.goto('/admin/audit')
    await expect(page.getByRole('heading', { level: 1, name: 'Audit log' })).toBeVisible()
    await expect(page.getByRole('navigation').getByRole('link', { name: 'Legal holds' })).toHaveCount(0)
  } finally {
    await giveRole('admin')
  }
  await api.dispose()
  await context.close()
})
