import { expect, type Page, test } from '@playwright/test'
import { type PageEntry, type PageName, pages } from '#components/frame/pages.ts'
import { sampled, sampleSeed } from '#lib/testing/sampling.ts'
import { type BrowserSession, control, sessionOf } from './control.ts'
import { origin } from './credentials.ts'
import { alive } from './journey.ts'
import { addresses, areaOf, people } from './requests.ts'

const problem = (status: number, code: string) => ({
  status,
  contentType: 'application/problem+json',
  body: JSON.stringify({ type: 'about:blank', title: code, status, code, instance: 'req_17' }),
})
/** How a query of a page fails, what the page says, and whether asking again can help. */
const failures = {
  'an error of a proxy': {
    answer: { status: 500, contentType: 'text/html', body: '<h1>Internal Server Error</h1>' },
    words: 'Unexpected response',
  },
  'a service that is down': { answer: problem(503, 'unavailable'), words: 'A service isn’t responding' },
  'a lost right': { answer: problem(403, 'forbidden'), words: 'You don’t have permission.', isFinal: true },
  'a deleted record': { answer: problem(404, 'not_found'), words: 'Not found.', isFinal: true },
} as const
/** Queries of the frame. Without their answers it shows no counts, and the page stays usable. */
const ofFrame: readonly string[] = ['/api/work', '/api/admin/waiting']
/** Queries of parts that a page leaves out when their record does not exist: an erasure of another installation has no references to decide on. */
const ofOptionalParts = /^\/api\/admin\/erasures\/[^/]+\/references$/
const apis = /^http:\/\/localhost:\d+\/(api|v1)\//

let at: Record<PageName, string>
const sessions: Partial<Record<PageEntry['area'], BrowserSession>> = {}
test.beforeAll(async () => {
  at = await addresses()
  sessions.you = await sessionOf(people.person)
  sessions.admin = await sessionOf(people.admin)
})

/** A page whose queries end in one way. */
interface FailingPage {
  entry: PageEntry & { name: PageName }
  failure: keyof typeof failures
}

/** Checks that the page has its heading and its content, no text of a program, and a button beside each query that can be asked again. */
async function checkFailing(page: Page, { entry, failure }: FailingPage): Promise<void> {
  const what = `${entry.name} with ${failure}`
  const crashes: string[] = []
  page.on('pageerror', (error) => crashes.push(error.message))
  const asked: string[] = []
  await page.route(apis, (route) => {
    asked.push(new URL(route.request().url()).pathname)
    return route.fulfill(failures[failure].answer)
  })
  await page.goto(at[entry.name])
  await alive(page)
  await expect.soft(page.getByRole('heading', { level: 1 }), what).toHaveCount(1)
  const main = page.getByRole('main')
  await expect.soft(main, what).toContainText(/\S[\s\S]{20}/)
  await expect
    .soft(main, what)
    .not.toContainText(/Internal Server Error|\[object |\bundefined\b|TypeError|Failed to fetch/)
  const own = asked.filter(
    (path) => !ofFrame.includes(path) && !(failure === 'a deleted record' && ofOptionalParts.test(path)),
  )
  if (own.length > 0) {
    await expect.soft(main.getByText(failures[failure].words).first(), `${what}: ${own}`).toBeVisible()
    if (!('isFinal' in failures[failure]))
      await expect.soft(main.getByRole('button', { name: 'Try again' }).first(), `${what}: ${own}`).toBeVisible()
  }
  const failed = page
    .getByRole('main')
    .locator('[role=alert], [role=status]')
    .filter({ hasText: /req_17|Unexpected response/ })
  if (!('isFinal' in failures[failure]))
    await expect.soft(failed.filter({ hasNot: page.getByRole('button') }), what).toHaveCount(0)
  expect.soft(crashes, what).toEqual([])
}

test(`pages keep their heading and offer what helps when their queries fail (KP_SEED=${sampleSeed})`, async ({
  browser,
}) => {
  test.setTimeout(1_200_000)
  for (const area of ['you', 'admin'] as const) {
    const all: FailingPage[] = pages
      .filter((one) => areaOf(one) === area)
      .flatMap((entry) =>
        Object.keys(failures).map((failure) => ({ entry, failure: failure as keyof typeof failures })),
      )
    const session = sessions[area]
    const context = await browser.newContext({ baseURL: origin, ...(session && { storageState: session }) })
    for (const one of sampled(`browser: failing queries of ${area} pages`, all, Math.ceil(all.length / 8))) {
      const page = await context.newPage()
      await test.step(`${one.entry.name} with ${one.failure}`, () => checkFailing(page, one))
      await page.close()
    }
    await context.close()
  }
})

test('the button of a failed query sends it again, and the page then shows its data', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  await page.route('**/api/privacy/readers', (route) => route.fulfill(failures['a service that is down'].answer))
  await page.goto('/settings/privacy')
  await alive(page)
  const readers = page.getByRole('region', { name: 'Who read my data' })
  await readers.getByText('Who read it').click()
  const alert = readers.getByRole('status').filter({ hasText: 'A service isn’t responding.' })
  await expect(alert).toContainText('req_17')
  await page.unroute('**/api/privacy/readers')
  await alert.getByRole('button', { name: 'Try again' }).click()
  await expect(readers.getByRole('listitem').first()).toBeVisible()
  await expect(alert).toHaveCount(0)
  await context.close()
})

test('a page that the server could not render shows an error, and “Try again” shows the page when the cause is fixed', async ({
  browser,
}) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.admin) })
  const page = await context.newPage()
  await control.proposals(false)
  try {
    await page.goto('/admin/approvals')
    await expect(page.getByRole('heading', { level: 1, name: 'Something went wrong' })).toBeVisible()
    await alive(page)
    const again = page.getByRole('main').getByRole('button', { name: 'Try again' })
    await control.proposals(true)
    // The first click may meet a request that failed before.
    await expect(async () => {
      if (await again.isVisible()) await again.click({ timeout: 5_000 })
      await expect(page.getByRole('heading', { level: 1, name: 'Approvals' })).toBeVisible({ timeout: 10_000 })
    }).toPass()
  } finally {
    await control.proposals(true)
    await context.close()
  }
})

test('a form keeps what was typed when its request fails, and says what to do', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  await page.goto('/settings/privacy?tab=correct')
  await alive(page)
  const name = page.getByRole('main').getByLabel('Name', { exact: true })
  await page.route(apis, (route) =>
    route.request().method() === 'GET' ? route.fallback() : route.fulfill(failures['a service that is down'].answer),
  )
  await name.fill('Ben Typed')
  await page.getByRole('form', { name: 'Account data' }).getByLabel('Password').fill('a password')
  await page.keyboard.press('Enter')
  const alert = page.getByRole('main').getByRole('alert')
  await expect(alert).toContainText('Your input is kept.')
  await expect(name).toHaveValue('Ben Typed')
  await expect(page.getByRole('form', { name: 'Account data' }).getByLabel('Password')).toHaveValue('a password')
  await context.close()
})
