import { readFileSync } from 'node:fs'
import { expect, test } from '@playwright/test'
import { z } from 'zod'
import { sessionOf } from './control.ts'
import { asAdmin } from './counted-work.ts'
import { alive, eraseOne, registerJourneyAgent, unitOf } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Made = z.object({ data: z.object({ id: z.string() }) })

test('an admin finds the request of a person by email address', async ({ browser }) => {
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.open('Requests', 'Privacy requests')
    await admin.fill(page.getByLabel('Name, email or ID'), 'kim@example.org')
    await expect(page).toHaveURL(/q=kim/)
    const requests = page.getByRole('table', { name: 'Privacy requests' })
    await expect(requests.getByRole('link', { name: 'Kim Example' }).first()).toBeVisible()
    await admin.click(requests.getByRole('link', { name: 'Kim Example' }).first())
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Kim Example')
    await admin.finish()
  })
})

test('an admin sees by name who read a unit', async ({ browser, request }) => {
  const [author, reader] = [
    await registerJourneyAgent(request, 'Author of the read unit'),
    await registerJourneyAgent(request, 'Reader of the unit'),
  ]
  const stored = await request.post('/v1/knowledge', {
    headers: { Authorization: `Bearer ${author.token}` },
    data: unitOf('A unit that somebody else reads', 'network'),
  })
  expect(stored.status(), await stored.text()).toBe(201)
  const { id } = Made.parse(await stored.json()).data
  const read = await request.get(`/v1/knowledge/${id}`, { headers: { Authorization: `Bearer ${reader.token}` } })
  expect(read.status()).toBe(200)
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.find(id, 'A unit that somebody else reads')
    await expect(page.getByRole('heading', { level: 1, name: 'A unit that somebody else reads' })).toBeVisible()
    await admin.click(page.getByText('Show', { exact: true }).last())
    const activity = page.getByRole('table', { name: 'Reads and changes' })
    await expect(activity.getByRole('row', { name: /Read.*Reader of the unit/ })).toBeVisible()
    await expect(activity.getByRole('row', { name: /Stored.*Author of the read unit/ })).toBeVisible()
    await admin.finish()
  })
})

test('an admin sets a legal hold on an agent found by its name', async ({ browser, request }) => {
  await registerJourneyAgent(request, 'Agent on hold')
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.open('Legal holds', 'Legal holds')
    await admin.click(page.getByRole('button', { name: 'Set hold' }))
    const dialog = page.getByRole('dialog')
    await admin.fill(dialog.getByRole('combobox', { name: 'Target', exact: true }), 'Agent on hold')
    await admin.click(dialog.getByRole('option', { name: 'Agent on hold' }))
    // The button stays visible in a dialog that is longer than the window.
    await page.setViewportSize({ width: 1280, height: 480 })
    await expect(dialog.getByRole('button', { name: 'Set hold' })).toBeInViewport({ ratio: 1 })
    await admin.fill(dialog.getByLabel('Reason'), 'Case 17/2026')
    await admin.click(dialog.getByRole('button', { name: 'Set hold' }))
    await expect(page.getByRole('table', { name: 'Legal holds' })).toContainText('Case 17/2026')
    await admin.finish()
  })
})

test('an admin sets a legal hold on a person from the page of the person', async ({ browser }) => {
  const reason = 'Case 20/2026'
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.find('yu@example.org', /Yu/)
    await admin.click(page.getByRole('link', { name: 'Set legal hold' }))
    const dialog = page.getByRole('dialog')
    await expect(dialog.getByLabel('Target type')).toHaveValue('account')
    await expect(dialog.getByRole('combobox', { name: 'Target', exact: true })).toHaveValue(/^Yu/)
    await admin.fill(dialog.getByLabel('Reason'), reason)
    await admin.click(dialog.getByRole('button', { name: 'Set hold' }))
    await expect(
      page.getByRole('table', { name: 'Legal holds' }).getByRole('row', { name: /Yu.*Person/ }),
    ).toContainText(reason)
    await expect(page).toHaveURL('/admin/holds')
    await admin.finish()
  })
  // The other journeys share the installation.
  const Holds = z.object({ data: z.array(z.object({ id: z.string(), reason: z.string() })) })
  const api = await requestContext(await sessionOf(people.admin))
  const { data } = Holds.parse(await (await api.get('/v1/holds?active=true&limit=100')).json())
  for (const { id } of data.filter((hold) => hold.reason === reason))
    expect((await api.post(`/v1/holds/${id}/release`)).ok()).toBe(true)
  await api.dispose()
})

test('an admin answers a request with a template', async ({ browser }) => {
  const api = await requestContext(await sessionOf(people.admin))
  const received_at = new Date(Date.now() - 3_600_000).toISOString()
  const filed = await api.post('/api/admin/privacy/requests', {
    data: { email: 'yu@example.org', kinds: ['objection'], statement: 'Please stop.', received_at },
  })
  expect(filed.ok(), await filed.text()).toBe(true)
  const { id } = Made.parse(await filed.json()).data
  const verified = await api.post(`/api/admin/privacy/requests/${id}/verify`, { data: { note: 'Called back' } })
  expect(verified.ok(), await verified.text()).toBe(true)
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    const open = page
      .getByRole('navigation')
      .getByRole('link', { name: /^Requests/ })
      .locator('[aria-hidden]')
      .last()
    const countOpen = async () => Number(await open.textContent())
    await expect(open).toHaveText(/^\d+$/)
    const before = await countOpen()
    await admin.find(id, 'Objection')
    await expect(page.getByRole('heading', { level: 1, name: /^Objection/ })).toBeVisible()
    await admin.click(page.getByRole('button', { name: 'Answer and close' }))
    const dialog = page.getByRole('dialog')
    await admin.choose(dialog.getByLabel('Template'), { label: 'Objection upheld' })
    await expect(dialog.getByLabel('Answer to the requester')).not.toHaveValue('')
    await admin.click(dialog.getByRole('button', { name: 'Answer and close' }))
    await expect(page.getByRole('dialog')).toHaveCount(0)
    await expect(page.getByRole('heading', { level: 1 }).locator('..')).toContainText('Completed')
    await expect(page.getByText('Request answered').first()).toBeVisible()
    await expect(page.getByText('No deadline')).toHaveCount(0)
    // It was received an hour before it was recorded.
    await expect(page.locator('#timeline').getByText(/ recorded the request$/)).toBeVisible()
    await expect(page.locator('#timeline').getByText(/ made the request$/)).toHaveCount(0)
    // Without the action, the count would be polled once a minute.
    await expect.poll(countOpen, { timeout: 20_000 }).toBe(before - 1)
    await admin.finish()
  })
  await api.dispose()
})

test('an answer with a placeholder is not sent, and the placeholder is selected', async ({ browser }) => {
  const api = await requestContext(await sessionOf(people.admin))
  const filed = await api.post('/api/admin/privacy/requests', {
    data: {
      email: 'mara@example.org',
      kinds: ['rectification'],
      statement: 'My name is spelled Marah.',
      received_at: new Date(Date.now() - 3_600_000).toISOString(),
    },
  })
  expect(filed.ok(), await filed.text()).toBe(true)
  const { id } = Made.parse(await filed.json()).data
  const verified = await api.post(`/api/admin/privacy/requests/${id}/verify`, { data: { note: 'Called back' } })
  expect(verified.ok(), await verified.text()).toBe(true)
  await asAdmin(browser, async ({ page }) => {
    await page.goto(`/admin/requests/${id}`)
    await alive(page)
    await page.getByRole('button', { name: 'Answer and close' }).click()
    const dialog = page.getByRole('dialog')
    const answer = dialog.getByLabel('Answer to the requester')
    const send = dialog.getByRole('button', { name: 'Answer and close' })
    await dialog.getByLabel('Template').selectOption({ label: 'Corrected' })
    await expect(dialog).not.toContainText('objection')
    await send.click()
    await expect(answer).toBeFocused()
    await expect(answer).toHaveAccessibleDescription('Fill in [what] first.')
    await page.keyboard.type('your name')
    await expect(answer).toHaveValue('Dear Mara Example,\n\nWe corrected your name as you asked.')
    await send.click()
    await expect(dialog).toHaveCount(0)
    await expect(page.getByRole('heading', { level: 1 }).locator('..')).toContainText('Completed')
  })
  await api.dispose()
})

test('the tokens of an agent whose deletion is pending are shown as suspended', async ({ browser }) => {
  await asAdmin(browser, async ({ page }) => {
    await page.goto('/admin/tokens/ward-roster')
    await expect(page.locator('#tokens')).toContainText('Suspended: a deletion is pending.')
    const tokens = page.getByRole('table', { name: 'Tokens', exact: true })
    await expect(tokens.getByText('Suspended', { exact: true }).first()).toBeVisible()
    await expect(tokens.getByText('Active', { exact: true })).toHaveCount(0)
    await page.goto('/admin/tokens/ward-roster?period=7d')
    await expect(tokens.getByRole('columnheader', { name: 'Requests, 7 days' })).toBeVisible()
  })
})

test('the overview names whose storage it shows, counts expiring records beside the next deletion and words activity', async ({
  browser,
}) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const own = await context.newPage()
  await own.goto('/overview')
  await expect(own.getByRole('heading', { name: 'Organization storage' })).toBeVisible()
  const tile = (label: string) => own.locator('dl > div').filter({ hasText: label })
  await expect(tile('Next automatic deletion')).toHaveText(/^Next automatic deletion.+\d items? within \d+ days$/)
  await context.close()
  await asAdmin(browser, async ({ page }) => {
    await page.goto('/overview')
    const heading = page.getByRole('heading', { name: 'Recent activity' })
    const activity = page.locator('section').filter({ has: heading }).last().getByRole('listitem')
    // A sentence with a name, and neither ids nor event codes.
    await expect(activity.first().getByRole('link').first()).toHaveText(/^\p{Lu}\S+ .*\p{Ll}+ .+$/u)
    await expect(activity.first()).not.toContainText(/[a-z]_[a-z]|preq_/)
    await expect(activity.filter({ hasText: 'Session' })).toHaveCount(0)
  })
})

test('an admin exports the audit log of a month', async ({ browser }) => {
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.open('Audit log', 'Audit log')
    await admin.click(page.getByRole('button', { name: 'Export', exact: true }))
    const dialog = page.getByRole('dialog')
    await admin.choose(dialog.getByLabel('Period'), { index: 1 })
    const download = page.waitForEvent('download')
    await admin.click(dialog.getByRole('link', { name: 'Download' }))
    const file = await download
    expect(file.suggestedFilename()).toMatch(/^audit-\d{4}-\d\d\.csv$/)
    const lines = readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\n')
    expect(lines.length).toBeGreaterThan(10)
    await expect(page.getByText('Download started')).toBeVisible()
    await admin.finish()
  })
})

test('an admin checks one receipt', async ({ browser, request }) => {
  const agent = await registerJourneyAgent(request, 'Agent with a receipt')
  const { receipt } = await eraseOne(request, agent.token)
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.find(receipt, receipt)
    await expect(page).toHaveURL(new RegExp(receipt))
    await admin.click(page.getByRole('main').getByRole('link', { name: 'Verify' }).first())
    await expect(page.getByText('Valid signature')).toBeVisible()
    await admin.finish()
  })
})

test('a search without results reports this and keeps the focus in its field', async ({ browser }) => {
  await asAdmin(browser, async (admin) => {
    const { page } = admin
    await admin.open('Requests', 'Privacy requests')
    await admin.fill(page.getByLabel('Name, email or ID'), 'nobody of this name')
    await expect(page.getByText('No request matches these filters.')).toBeVisible()
    await expect(page.getByLabel('Name, email or ID')).toBeFocused()
    await admin.finish()
  })
})
