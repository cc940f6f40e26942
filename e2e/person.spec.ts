import { readFileSync } from 'node:fs'
import { expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { browserInstallation, control, sessionOf } from './control.ts'
import { alive, complaintsOf, unitOf } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Born = z.object({ data: z.object({ api_key: z.string() }) })
const Filed = z.object({ data: z.object({ id: z.string() }) })

const searchPath = '**/api/stores/search'
const events = { status: 200, contentType: 'text/event-stream' }
/** Answers the next searches of the page instead of the server. */
async function answered(page: Page, response: { status: number; contentType: string }, body: object): Promise<void> {
  await page.unroute(searchPath)
  const text = response === events ? `data: ${JSON.stringify(body)}\n\n` : JSON.stringify(body)
  await page.route(searchPath, (route) => route.fulfill({ ...response, body: text }))
}

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
  await expect(page.getByText('Request answered', { exact: true })).toBeVisible()
  await expect(desk).toBeHidden()
  expect(actions).toBeLessThanOrEqual(8)

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

test('an admin finds a person in the connected stores and saves the report', async ({ browser }) => {
  await control.remember('support-77', 'Orla Quillfeather asked about the heron invoice, orla.quillfeather@example.org')
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto('/admin/stores')
  await alive(page)
  await page.keyboard.press('g')
  await page.keyboard.press('f')
  await expect(page).toHaveURL('/admin/stores/search')
  await alive(page)
  const main = page.getByRole('main')
  const names = page.getByLabel('Names, email addresses and phone numbers')
  const search = async (sought: string) => {
    await names.fill(sought)
    await page.getByRole('button', { name: 'Search stores' }).click()
  }
  await search('')
  await expect(main).toContainText('Enter a name, an email address or a phone number.')

  await search('Orla Quillfeather\norla.quillfeather@example.org')
  await expect(main).toContainText('Found in 1 place')
  const place = page.getByRole('region', { name: 'Places' }).getByRole('row').filter({ hasText: 'Thread' })
  await expect(place).toContainText('Threads (PostgreSQL)')
  await expect(main).not.toContainText('heron invoice')
  await expect(main).toContainText('No store of an application is connected')
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save report (JSON)' }).click()
  const report = readFileSync(await (await saved).path(), 'utf8')
  expect(JSON.parse(report)).toMatchObject({
    state: 'done',
    found: 1,
    places: [{ kind: 'thread', name: expect.stringMatching(/^… #/), matches: 2 }],
  })
  expect(report).not.toMatch(/orla|heron|support-77/i)

  await search('Nobody Inparticular')
  await expect(main).toContainText('Nothing found in what was read')
  await expect(page.getByRole('button', { name: 'Save report (JSON)' })).toBeVisible()
  expect(complaints).toEqual([])

  await test.step('the page refuses words that identify nobody, and searches once the password was entered', async () => {
    await search('Orla')
    await expect(main).toContainText('Each line must be a full name')
    const stale = { title: 'Confirm your password first', status: 403, code: 'step_up_required' }
    await page.route(
      searchPath,
      (route) => route.fulfill({ status: 403, contentType: 'application/problem+json', body: JSON.stringify(stale) }),
      { times: 1 },
    )
    await search('Orla Quillfeather')
    const confirmation = page.getByRole('dialog', { name: 'Confirm your password' })
    await confirmation.getByLabel('Password').fill(browserInstallation().password)
    await confirmation.getByRole('button', { name: 'Confirm' }).click()
    await expect(main).toContainText('Found in 1 place')
  })

  await test.step('the page reports what ended a search before its end', async () => {
    await answered(
      page,
      { status: 409, contentType: 'application/problem+json' },
      {
        title: 'Conflict',
        status: 409,
        code: 'conflict',
        detail: 'Another search of the stores is running. Try again when it has ended.',
      },
    )
    await search('Orla Quillfeather')
    await expect(main).toContainText('Another search is running.')
    const store = {
      address: 'cache:6379',
      is_own: false,
      records: 3,
      unread: { binary: 2 },
      skipped: [],
      failure: null,
    }
    const searching = { store: 'redis', ...store, state: 'searching' }
    await answered(page, events, { state: 'searching', stores: [searching], found: 2, places: [] })
    await search('Orla Quillfeather')
    await expect(main).toContainText('The search ended before all stores were read. Search again.')
    await expect(main).toContainText('Not read completely')
    const failed = { store: 'redis', ...store, state: 'failed', failure: 'ECONNREFUSED' }
    await answered(page, events, { state: 'done', stores: [failed], found: 0, places: [] })
    await search('Orla Quillfeather')
    await expect(main).toContainText('Not every store was read completely')
    await expect(main).toContainText('Failed: ECONNREFUSED')
    await expect(main).toContainText('Binary or encrypted: 2')
    await page.unroute(searchPath)
    await page.route(searchPath, () => {})
    await search('Orla Quillfeather')
    await page.getByRole('button', { name: 'Stop' }).click()
    await expect(main).toContainText('The search was stopped.')
  })
  await context.close()
})

test('the lists of an admin stay short on a phone', async ({ browser }) => {
  const context = await browser.newContext({
    storageState: await sessionOf(people.admin),
    viewport: { width: 390, height: 844 },
  })
  const page = await context.newPage()
  const most: Record<string, number> = { '/admin/retention': 3_000, '/admin/users': 2_000, '/admin/requests': 2_000 }
  const api = await requestContext(await sessionOf(people.person))
  const own = z
    .object({ data: z.object({ account_id: z.string() }) })
    .parse(await (await api.get('/api/account')).json())
  await api.dispose()
  most[`/admin/users/${own.data.account_id}`] = 4_500
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
