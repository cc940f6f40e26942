import { readFileSync } from 'node:fs'
import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { control, sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Made = z.object({ data: z.object({ id: z.string() }) })

/** Checks that nothing is wider than a phone or hard to read, in both themes. */
async function looksRight(page: Page): Promise<void> {
  await page.setViewportSize({ width: 360, height: 800 })
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await expect(page.locator('html')).toHaveClass(colorScheme)
    const { violations } = await new AxeBuilder({ page }).analyze()
    expect(violations.map(({ id }) => id)).toEqual([])
  }
  await page.setViewportSize({ width: 1280, height: 900 })
}

test('a project is created and filled, one message is planned, erased and proved, and closing is cancelled', async ({
  browser,
}) => {
  const session = await sessionOf(people.person)
  const context = await browser.newContext({ storageState: session, viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  const api = await requestContext(session)
  const sentence = 'Xanadu Beispielfrau hides a quokka in the vault.'

  const project = await test.step('a project is created by keyboard', async () => {
    await page.goto('/overview')
    await alive(page)
    // Keys work once the page has its effects.
    await expect(async () => {
      await page.keyboard.press('g')
      await page.keyboard.press('j')
      await expect(page).toHaveURL('/projects', { timeout: 5_000 })
    }).toPass()
    const form = page.locator('[data-form="create-project"]')
    await form.getByLabel('Name').focus()
    await page.keyboard.type('The quokka deal')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'View project' }).focus()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { level: 1 })).toContainText('The quokka deal')
    await expect(page.getByText('No conversations yet')).toBeVisible()
    await expect(page).toHaveURL(/\/projects\/prj_/)
    return z.string().parse(new URL(page.url()).pathname.split('/')[2])
  })

  await test.step('a document is uploaded and downloaded unchanged', async () => {
    await page.getByRole('link', { name: /^Documents/ }).click()
    await expect(page).toHaveURL(`/projects/${project}?tab=documents`)
    const text = 'The vault is in the cellar.\n'
    await page
      .getByLabel('File')
      .setInputFiles({ name: 'vault.md', mimeType: 'text/markdown', buffer: Buffer.from(text) })
    await page.getByRole('button', { name: 'Upload' }).click()
    await expect(page.getByText('vault.md uploaded.')).toBeVisible()
    const row = page.getByRole('row', { name: /vault\.md/ })
    const download = page.waitForEvent('download')
    await row.getByRole('link', { name: 'Download vault.md' }).click()
    expect(readFileSync(await (await download).path(), 'utf8')).toBe(text)
    await looksRight(page)
    await row.getByRole('link', { name: 'Delete vault.md …' }).click()
    const before = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download document' }).click()
    expect(readFileSync(await (await before).path(), 'utf8')).toBe(text)
  })

  const { conversation, message } = await test.step('an application writes a conversation', async () => {
    const make = async (path: string, data: object) => {
      const answer = await api.post(`/api/projects/${project}${path}`, { data })
      expect(answer.status()).toBe(201)
      return Made.parse(await answer.json()).data.id
    }
    const id = await make('/conversations', { title: 'About the vault' })
    for (let n = 0; n < 60; n++)
      await make(`/conversations/${id}/messages`, { role: 'assistant', content: `Message ${n}` })
    return {
      conversation: id,
      message: await make(`/conversations/${id}/messages`, { role: 'user', content: sentence }),
    }
  })

  await test.step('the conversation is read from its end and from its beginning', async () => {
    await page.goto(`/projects/${project}`)
    await alive(page)
    await page.getByRole('link', { name: 'About the vault' }).click()
    await expect(page.getByText(sentence)).toBeVisible()
    await expect(page.getByText('Message 0', { exact: true })).toHaveCount(0)
    await page.getByRole('button', { name: 'Earlier' }).click()
    await expect(page.getByText('Message 0', { exact: true })).toBeVisible()
    await expect(page.getByText('First message')).toBeVisible()
    await page.getByRole('link', { name: 'First', exact: true }).click()
    await expect(page.getByText('Message 0', { exact: true })).toBeVisible()
    await expect(page.getByText(sentence)).toHaveCount(0)
    await page.getByRole('link', { name: 'Last', exact: true }).click()
    await expect(page.getByText(sentence)).toBeVisible()
    await looksRight(page)
  })

  await test.step('a conversation shows its region, and is rejected in a region that a store is outside of', async () => {
    const fact = page.getByRole('term').filter({ hasText: 'Data region' })
    await expect(fact.locator('+ dd')).toHaveText('Any region')
    await page.goto(`/projects/${project}`)
    await alive(page)
    await page.getByLabel('Title').fill('About Europe')
    await page.getByLabel('Data region').selectOption({ label: 'EEA only' })
    await page.getByRole('button', { name: 'Create conversation' }).click()
    await expect(page.getByText(/^Conversation not created\. .*known to be in the region eu: /)).toBeVisible()
    expect(complaints.splice(0)).toEqual([expect.stringContaining('409')]) // the browser logs the rejection
    await page.getByLabel('Data region').selectOption({ label: 'Same as the project' })
    await page.getByRole('button', { name: 'Create conversation' }).click()
    await expect(page.getByText('About Europe created.')).toBeVisible()
    await looksRight(page)
  })

  await test.step('the current tab is in view on a phone', async () => {
    await page.setViewportSize({ width: 360, height: 800 })
    for (const tab of ['settings', 'conversations', 'settings']) {
      await page.goto(`/projects/${project}?tab=${tab}`)
      await alive(page)
      const current = page.getByRole('navigation', { name: 'Views of the project' }).locator('[aria-current]')
      // A tab overlaps the line below it by one pixel.
      await expect(current).toBeInViewport({ ratio: 0.95 })
      expect(await page.evaluate(() => window.scrollY)).toBe(0)
    }
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(`/projects/${project}/conversations/${conversation}`)
    await alive(page)
  })

  await test.step('the plan of one message changes nothing', async () => {
    const article = page.getByRole('article').filter({ hasText: sentence })
    await article.getByRole('link', { name: /^Delete/ }).click()
    await expect(page).toHaveURL(/\/erase\?/)
    await expect(page.getByText(sentence)).toBeVisible()
    await expect(page.getByRole('heading', { name: 'Data stores' })).toBeVisible()
    await expect(page.getByText(/records? to delete \(stores: \d+\)/)).toBeVisible()
    await looksRight(page)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download all project data' }).click()
    expect((await download).suggestedFilename()).toMatch(/\.zip$/)
    const still = await api.get(`/api/projects/${project}/conversations/${conversation}/messages/${message}`)
    expect(still.status()).toBe(200)
  })

  await test.step('the message is erased, and the page of its erasure survives a reload', async () => {
    await page.getByRole('button', { name: 'Delete message …' }).click()
    const dialog = page.getByRole('dialog')
    await expect(dialog).toContainText('You can’t undo this.')
    await dialog.getByRole('button', { name: 'Delete message' }).click()
    await expect(page).toHaveURL(/\/erasures\//)
    await control.work()
    const done = page.getByRole('main').getByText('Deleted and verified')
    await expect(done).toBeVisible()
    await page.reload()
    await expect(done).toBeVisible()
    await looksRight(page)
    const gone = await api.get(`/api/projects/${project}/conversations/${conversation}/messages/${message}`)
    expect(gone.status()).toBe(410)
  })

  await test.step('the receipt proves the erasure, and the conversation no longer contains the message', async () => {
    await page.getByRole('link', { name: 'View and verify receipt' }).click()
    await expect(page).toHaveURL(/\/receipts\/rcpt_/)
    await expect(page.getByText(sentence)).toHaveCount(0)
    await page.goto(`/projects/${project}/conversations/${conversation}`)
    await expect(page.getByText('Message 59', { exact: true })).toBeVisible()
    await expect(page.getByText(sentence)).toHaveCount(0)
    await page.goto(`/projects/${project}/conversations/${conversation}?message=${message}`)
    await expect(page.getByText('Message deleted')).toBeVisible()
    await page.getByRole('link', { name: 'View receipt' }).click()
    await expect(page).toHaveURL(/\/receipts\/rcpt_/)
    await page.goto(`/projects/${project}/conversations/${conversation}?message=msg_never`)
    await expect(page.getByText('The message was deleted, or never existed here.')).toBeVisible()
  })

  await test.step('the EEA region is rejected because of a store, and the project is closed and reopened', async () => {
    await page.goto(`/projects/${project}?tab=settings`)
    await alive(page)
    await page.getByLabel('Data region').selectOption({ label: 'EEA only' })
    await page.getByRole('button', { name: 'Save region' }).click()
    await expect(page.getByText(/^Nothing was changed\. .*known to be in the region eu: /)).toBeVisible()
    expect(complaints.splice(0)).toEqual([expect.stringContaining('409')]) // the browser logs the rejection
    await page.getByLabel('Data region').selectOption({ label: 'Any region' })
    await page.getByRole('button', { name: 'Save region' }).click()
    await expect(page.getByText('Region saved.')).toBeVisible()
    await page.getByRole('button', { name: 'Close …' }).click()
    const dialog = page.getByRole('dialog')
    await expect(dialog).toContainText('30 days')
    await dialog.getByRole('button', { name: 'Close in 30 days' }).click()
    await expect(page.getByText(/^Project data will be deleted on /)).toBeVisible()
    await page.goto('/overview')
    await alive(page)
    await page.getByRole('link', { name: 'The quokka deal' }).click()
    await page.getByRole('button', { name: 'Reopen …' }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Reopen project' }).click()
    await expect(page.getByText(/^Project data will be deleted on /)).toHaveCount(0)
  })
  expect(complaints).toEqual([])
  await api.dispose()
  await context.close()
})
