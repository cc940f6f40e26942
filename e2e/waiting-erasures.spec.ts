import { expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { control, sessionOf } from './control.ts'
import { alive, closeWithEscape, complaintsOf } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Made = z.object({ data: z.object({ id: z.string() }) })
const Erasing = z.object({ auditId: z.string() })

/** Creates a project of the person with a conversation. */
async function project() {
  const api = await requestContext(await sessionOf(people.person))
  const make = async (path: string, data: object): Promise<string> => {
    const answer = await api.post(path, { data })
    expect(answer.status()).toBe(201)
    return Made.parse(await answer.json()).data.id
  }
  const id = await make('/api/projects', { name: 'Waits for something' })
  const conversation = await make(`/api/projects/${id}/conversations`, { title: 'A conversation' })
  const messages = `/api/projects/${id}/conversations/${conversation}/messages`
  const say = (content: string): Promise<string> => make(messages, { role: 'user', content })
  /** Requests an erasure. Returns the address of its page. */
  const erase = async (message: string): Promise<string> => {
    const { auditId } = Erasing.parse(await (await api.delete(`${messages}/${message}`)).json())
    return `/projects/${id}/erasures/${auditId}`
  }
  const read = async (message: string): Promise<number> => (await api.get(`${messages}/${message}`)).status()
  return { api, conversation, say, erase, read }
}
const state = (page: Page) => page.getByRole('main').getByRole('status').first()

test('the requester cancels an erasure that waits for a store, and retries another', async ({ browser }) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  const { api, say, erase, read } = await project()
  const [kept, erased] = [await say('It stays.'), await say('It goes.')]
  try {
    await control.silence('plan')
    await page.goto(await erase(kept))
    await expect(state(page)).toContainText('Waiting for side')
    await expect(page.getByText(/^side: no answer since /)).toBeVisible()
    await alive(page)
    await page.getByRole('button', { name: 'Cancel deletion' }).click()
    const dialog = page.getByRole('dialog')
    await expect(dialog).toContainText('Nothing has been deleted yet.')
    await dialog.getByRole('button', { name: 'Cancel deletion' }).click()
    await expect(page).toHaveURL(/\/projects\/prj_\w+$/)
    expect(await read(kept)).toBe(200)

    await page.goto(await erase(erased))
    await expect(state(page)).toContainText('Waiting for side')
    await alive(page)
    // The store answers only once the retry is sent. Otherwise the worker could continue by itself, and the button would vanish before the click.
    await page.route('**/api/erasures/*/retry', async (route) => {
      await control.silence(null)
      await route.continue()
    })
    const retried = page.waitForResponse('**/api/erasures/*/retry')
    await page.getByRole('button', { name: 'Retry now' }).click()
    expect([202, 409]).toContain((await retried).status())
    await control.work()
    await expect(state(page)).toContainText('Deleted and verified')
    await expect(page.getByRole('button', { name: 'Retry now' })).toHaveCount(0)
    expect([await read(kept), await read(erased)]).toEqual([200, 410])
    // Polls of the state may arrive after the cancellation until the page is left, and the retry after the worker has already continued by itself.
    const isLate = (complaint: string) => /40(4 \(Not Found|9 \(Conflict)\)/.test(complaint)
    expect(complaints.filter((complaint) => !isLate(complaint))).toEqual([])
  } finally {
    await control.silence(null)
  }
  await api.dispose()
  await context.close()
})

test('the owner decides about a thread that cannot be rewritten, and the receipt states the decision', async ({
  browser,
}) => {
  const context = await browser.newContext({ storageState: await sessionOf(people.person) })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  const { api, conversation, say, erase } = await project()
  const message = await say('Erika Musterfrau told us that her son Max is ill since Easter.')
  await say('Somebody else said this.')
  await control.encrypt(conversation)

  await page.goto(await erase(message))
  await control.work()
  await expect(state(page)).toContainText('Decision needed')
  await expect(page.getByRole('heading', { name: 'LangGraph threads awaiting decision: 1' })).toBeVisible()
  await expect(
    page.getByText('Deleting the thread also deletes messages of other authors: 1 by 1 person').first(),
  ).toBeVisible()
  await expect(page.getByRole('button', { name: 'Retry' })).toHaveCount(0)
  await alive(page)
  await page.getByRole('button', { name: 'Delete thread' }).click()
  await expect(page.getByRole('dialog')).toContainText(
    'Deleting the thread also deletes messages of other authors: 1 by 1 person',
  )
  await closeWithEscape(page)
  await expect(page.getByRole('button', { name: 'Delete thread' })).toBeFocused()
  await page.getByRole('button', { name: 'Retain thread' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Retain thread' }).click()
  await control.work()
  await expect(state(page)).toContainText('Deleted and verified')
  await page.getByRole('link', { name: 'View and verify receipt' }).click()
  await expect(
    page.getByText(/^LangGraph threads that cannot be rewritten and may contain deleted words: 1/).first(),
  ).toBeVisible()
  expect(complaints).toEqual([])
  await api.dispose()
  await context.close()
})
