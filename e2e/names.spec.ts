import { expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { sessionOf } from './control.ts'
import { readCredentials } from './credentials.ts'
import { alive, complaintsOf } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Made = z.object({ data: z.object({ id: z.string() }) })
const Account = z.object({ data: z.object({ account_id: z.string(), name: z.string() }) })
/** Agent names have at most 100 characters, project names and titles 200. */
const names = {
  'the longest word': 'm'.repeat(200),
  'right-to-left text': 'مشروع الرحمة 123 (נתונים)!',
  emoji: '👩🏽‍🚀🧬🏳️‍🌈 '.repeat(12).trim(),
  HTML: '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><b>bold</b>',
}

/** Checks that the page shows the name as text and fits phones of 320 and 360 px and a desktop. */
async function showsName(page: Page, path: string, name: string): Promise<void> {
  await page.setViewportSize({ width: 320, height: 900 })
  await page.goto(path)
  await alive(page)
  for (const width of [320, 360, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    const main = page.getByRole('main')
    await expect(main, path).toContainText(name.replace(/\s+/g, ' ').trim().slice(0, 60))
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth), `${path} at ${width} px`)
      .toBeLessThanOrEqual(width)
    const outside = () =>
      main.evaluate((element) =>
        [...element.querySelectorAll('h1, h2, h3, nav li, dd, td, th')]
          // On a phone, the head of a table is only for screen readers.
          .filter((one) => one.checkVisibility() && !one.closest('thead'))
          .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow === 'visible')
          .map((one) => one.outerHTML.slice(0, 200)),
      )
    await expect.poll(outside, `${path} at ${width} px`).toEqual([])
  }
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false)
}

/** One person for each name, because password checks are limited per person. */
const bearers = ['ben', 'ivo', 'wim', 'dana']

for (const [index, [kind, name]] of Object.entries(names).entries())
  test(`pages show ${kind} as a name without overflow or execution`, async ({ browser, request }) => {
    test.setTimeout(300_000)
    const short = [...name].slice(0, 90).join('').slice(0, 100)
    const email = `${bearers[index]}@example.org`
    const session = await sessionOf(email)
    const api = await requestContext(session)
    const make = async (path: string, data: object): Promise<string> => {
      const response = await api.post(path, { data })
      expect(response.status(), await response.text()).toBe(201)
      return Made.parse(await response.json()).data.id
    }
    const project = await make('/api/projects', { name: name.slice(0, 200) })
    const conversation = await make(`/api/projects/${project}/conversations`, { title: name.slice(0, 200) })
    const registered = await request.post('/v1/auth/register', { data: { name: short, scopes: ['read', 'write'] } })
    expect(registered.status(), await registered.text()).toBe(201)
    const { agent_id } = z.object({ data: z.object({ agent_id: z.string() }) }).parse(await registered.json()).data
    const account = Account.parse(await (await api.get('/api/account')).json()).data
    const renamed = (to: string) =>
      api.post('/api/privacy/requests', {
        data: { kinds: ['rectification'], changes: { name: to }, password: readCredentials().password },
      })
    const changed = await renamed(short)
    expect(changed.ok(), await changed.text()).toBe(true)
    // Tags are removed from the names of people.
    const nameNow = async () => Account.parse(await (await api.get('/api/account')).json()).data.name
    await expect.poll(nameNow).not.toBe(account.name)
    const called = await nameNow()

    const context = await browser.newContext({ storageState: session })
    const page = await context.newPage()
    const complaints = complaintsOf(page)
    for (const path of ['/projects', `/projects/${project}`, `/projects/${project}/conversations/${conversation}`])
      await test.step(path, () => showsName(page, path, name))
    const office = await browser.newContext({ storageState: await sessionOf(people.admin) })
    const desk = await office.newPage()
    const said = complaintsOf(desk)
    for (const path of [
      `/admin/tokens/${agent_id}`,
      `/admin/users/${account.account_id}`,
      `/admin/users?q=${encodeURIComponent(email)}`,
      `/admin/requests?q=${encodeURIComponent(email)}&open=all`,
    ])
      await test.step(path, () => showsName(desk, path, path.startsWith('/admin/tokens/') ? short : called))
    expect([...complaints, ...said]).toEqual([])
    await renamed(account.name)
    await api.dispose()
    await office.close()
    await context.close()
  })
