import { expect, test } from '@playwright/test'
import { z } from 'zod'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { browserInstallation, sessionOf } from './control.ts'
import { alive, complaintsOf, unitOf } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Born = z.object({ data: z.object({ api_key: z.string() }) })
const Filed = z.object({ data: z.object({ id: z.string() }) })

test('an admin finds, corrects and answers with eight actions, and the person’s page shows it', async ({ browser }) => {
  const wrong = 'The heron invoice of March was 12000 euros'
  // Neither the demo nor another test restricts the processing of this person, so the agent can contribute.
  const session = await sessionOf('wim@example.org')
  const person = await requestContext(session)
  const data = { agent_id: 'wims-ledger', consent: { policy_version: noticeVersion } }
  const born = await person.post('/api/agents', { data })
  expect(born.status(), await born.text()).toBe(201)
  const stored = await person.post('/v1/knowledge', {
    data: unitOf(wrong, 'network'),
    headers: { Authorization: `Bearer ${Born.parse(await born.json()).data.api_key}` },
  })
  expect(stored.status(), await stored.text()).toBe(201)
  const { account_id } = z
    .object({ data: z.object({ account_id: z.string() }) })
    .parse(await (await person.get('/api/account')).json()).data
  // The demo may already have an open request of this kind; a new one joins it.
  const filed = await person.post('/api/privacy/requests', {
    data: {
      kinds: ['rectification'],
      statement: 'The heron invoice has a digit too many.',
      password: browserInstallation().password,
    },
  })
  expect(filed.ok(), await filed.text()).toBe(true)
  const { id } = Filed.parse(await filed.json()).data

  const context = await browser.newContext({
    storageState: await sessionOf(people.admin),
    viewport: { width: 1280, height: 900 },
  })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  let actions = 0
  const act = async (work: Promise<unknown>) => {
    actions++
    await work
  }
  await page.goto(`/admin/requests?q=${id}`)
  await alive(page)
  const began = Date.now()
  await act(page.getByRole('table').locator(`a[href="/admin/requests/${id}"]`).first().click())
  const desk = page.getByRole('region', { name: 'Find and correct' })
  await act(desk.getByLabel('Words in the record').fill('heron invoice'))
  await act(page.keyboard.press('Enter'))
  await act(desk.getByRole('button', { name: `Correct: ${wrong}` }).click())
  await act(desk.getByLabel('Objective').fill('The heron invoice of March was 1200 euros'))
  await act(desk.getByRole('button', { name: 'Save correction' }).click())
  await act(desk.getByRole('button', { name: 'Answer the request' }).click())
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByRole('textbox')).toHaveValue(/Wim[\s\S]+“The heron invoice/)
  await act(dialog.getByRole('button', { name: 'Answer and close' }).click())
  await expect(dialog).toBeHidden()
  await expect(desk).toBeHidden()
  expect(actions).toBeLessThanOrEqual(8)
  expect(Date.now() - began).toBeLessThan(60_000)

  await test.step('the page of the person has counts by place, requests, readers and the acts', async () => {
    await page.goto(`/admin/users/${account_id}`)
    await expect(page.getByRole('region', { name: 'Data by place' })).toContainText('Database')
    await expect(page.getByRole('region', { name: 'Privacy requests' })).toContainText('Correction')
    await expect(page.getByRole('region', { name: 'Who read this data' })).toContainText('privacy request')
    await expect(page.getByRole('region', { name: 'Timeline' }).getByRole('listitem').first()).toBeVisible()
  })
  expect(complaints).toEqual([])
  await context.close()

  await test.step('the person sees that an admin opened the data, without a name', async () => {
    const own = await browser.newContext({ storageState: session })
    const mine = await own.newPage()
    await mine.goto('/settings/privacy')
    await alive(mine)
    const readers = mine.getByRole('region', { name: 'Who read my data' })
    await readers.getByText('Who read it').click()
    await expect(readers.getByRole('listitem').filter({ hasText: 'An admin' }).first()).toBeVisible()
    await expect(readers).not.toContainText('Ada')
    await own.close()
  })
})

test('the lists of an admin stay short on a phone', async ({ browser }) => {
  const context = await browser.newContext({
    storageState: await sessionOf(people.admin),
    viewport: { width: 390, height: 844 },
  })
  const page = await context.newPage()
  const most = { '/admin/retention': 3_000, '/admin/users': 2_000, '/admin/requests': 2_000 }
  const heights: Record<string, number> = {}
  for (const path of Object.keys(most)) {
    await page.goto(path)
    await alive(page)
    heights[path] = await page.evaluate(() => document.documentElement.scrollHeight)
  }
  for (const [path, height] of Object.entries(most))
    expect([path, (heights[path] ?? height + 1) <= height]).toEqual([path, true])
  await context.close()
})

test('the report of a month has the numbers of the files', async ({ browser }) => {
  const session = await sessionOf(people.auditor)
  const context = await browser.newContext({ storageState: session })
  const page = await context.newPage()
  await page.goto('/admin/report')
  const link = page.getByRole('link', { name: 'Download CSV' })
  const file = await (await requestContext(session)).get((await link.getAttribute('href')) ?? '')
  const received = /Privacy requests,Received,(\d+)/.exec(await file.text())?.[1]
  await expect(page.getByRole('main')).toContainText(`Requests received${received}`)
  await alive(page)
  await page.getByRole('link', { name: 'Next month' }).click()
  await expect(page.getByText(', until now')).toBeVisible()
  await context.close()
})
