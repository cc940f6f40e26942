import { expect, test } from '@playwright/test'
import { z } from 'zod'
import { sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { addresses, people, requestContext } from './requests.ts'

const count = 20
const Listed = z.object({
  data: z.array(z.object({ id: z.string(), assigned_to: z.string().nullable(), channel: z.string() })),
  total: z.number(),
})

test('an admin handles twenty requests by keyboard', async ({ browser }) => {
  const session = await sessionOf('otto@example.org')
  const context = await browser.newContext({ storageState: session, viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  const api = await requestContext(session)
  const mailed = async () =>
    Listed.parse(
      await (await api.get('/api/admin/privacy/requests?channel=mail&kind=access&open=true&limit=100')).json(),
    )
  const before = (await mailed()).total
  const names = 'ben dana emil fay hana ivo kim mara iris ada otto yu'.split(' ').map((name) => `${name}@example.org`)
  const others = 'noor mona pia quin'.split(' ').map((name) => `${name}@example.com`)
  // Several people and kinds, because a request of a kind that is already open only joins it.
  const wishes = [...names, ...others].flatMap((email) => [
    { email, kinds: ['access'] },
    { email, kinds: ['portability'] },
  ])
  let filed = 0
  for (const wish of wishes) {
    if (filed === count) break
    const received_at = new Date(Date.now() - 3_600_000).toISOString()
    const answer = await api.post('/api/admin/privacy/requests', { data: { ...wish, received_at } })
    if (answer.status() === 201) filed++
  }
  expect(filed).toBe(count)
  expect((await mailed()).total).toBeGreaterThan(before)

  await page.goto('/admin/requests?channel=mail&sort=received')
  await expect(page.getByRole('table', { name: 'Privacy requests' })).toBeVisible()
  const key = (name: string) => page.keyboard.press(name)
  await alive(page)
  // Keys work once the page has its effects. "k" leads to the first row, however often it is pressed.
  await expect(async () => {
    await key('k')
    await expect(page.locator('[data-row="0"]:focus, [data-row="0"] :focus')).toBeVisible({ timeout: 5_000 })
  }).toPass()
  await key('x')
  await expect(page.getByText('1 selected')).toBeVisible()
  for (let n = 1; n < count; n++) await key('j')
  await key('Shift+X')
  await expect(page.getByText(`${count} selected`)).toBeVisible()
  await key('a')
  const { account_id } = z
    .object({ data: z.object({ account_id: z.string() }) })
    .parse(await (await api.get('/api/account')).json()).data
  const assigned = async () =>
    Listed.parse(
      await (await api.get(`/api/admin/privacy/requests?channel=mail&assignee=${account_id}&limit=100`)).json(),
    ).data.length
  await expect.poll(assigned).toBeGreaterThanOrEqual(count)

  await test.step('a request is opened and left', async () => {
    await key('Escape')
    await key('Enter')
    await expect(page).toHaveURL(/\/admin\/requests\/preq_/)
    await page.goBack()
    await expect(page).toHaveURL(/channel=mail/)
  })
  await test.step('a search of open requests says how many closed requests match', async () => {
    const [refused] = (await mailed()).data
    if (!refused) throw new Error('no request is open')
    const data = { ground: 'excessive', reason: 'It repeats the request of last week.' }
    await api.post(`/api/admin/privacy/requests/${refused.id}/refuse`, { data })
    await page.goto(`/admin/requests?q=${refused.id}`)
    await page.getByRole('link', { name: '1 closed request also matches' }).click()
    await expect(page).toHaveURL(/open=false/)
    await expect(page.getByRole('table').locator(`a[href="/admin/requests/${refused.id}"]`)).toBeVisible()
  })
  expect(complaints).toEqual([])
  await api.dispose()
  await context.close()
})

test('a request that is opened from the list appears whole', async ({ browser }) => {
  const context = await browser.newContext({
    storageState: await sessionOf(people.admin),
    viewport: { width: 1280, height: 900 },
  })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto('/admin/requests?kind=erasure')
  await alive(page)
  const link = page.locator('[data-row="0"] th a[href]')
  await link.hover()
  await page.waitForLoadState('networkidle')
  /** Where the last section of the page begins, in each frame in which that differs from the frame before. */
  const places = await page.evaluateHandle(() => {
    const seen: number[] = []
    const look = () => {
      const section = document.querySelector('#timeline')
      const at = section && Math.round(section.getBoundingClientRect().top + scrollY)
      if (at !== null && seen.at(-1) !== at) seen.push(at)
      requestAnimationFrame(look)
    }
    look()
    return seen
  })
  await link.click()
  await expect(page.locator('#timeline')).toBeVisible()
  await page.waitForLoadState('networkidle')
  await alive(page)
  expect(await places.jsonValue()).toHaveLength(1)
  expect(complaints).toEqual([])
  await context.close()
})

test('Enter on "Actions" opens the menu of a request at the first press on a slow processor', async ({ browser }) => {
  const at = await addresses()
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 })
  for (let visit = 0; visit < 3; visit++) {
    await page.goto(at.request)
    await alive(page)
    await page.getByRole('button', { name: 'Actions', exact: true }).focus()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('menu')).toBeVisible()
  }
  await context.close()
})
