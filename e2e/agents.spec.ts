import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { browserInstallation, control, sessionOf } from './control.ts'
import { origin } from './credentials.ts'
import { alive, closeWithEscape, complaintsOf } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Born = z.object({ data: z.object({ agent_id: z.string(), api_key: z.string() }) })
const Written = z.object({ data: z.object({ id: z.string() }) })
const passphrase = 'a heron stands in the shallow water'
const secret = 'Quiet markets widen before the Tuesday auction.'
const changed = 'They narrow on Wednesdays.'
const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'
const line = commandLine(origin)
test.afterAll(() => line.close())

/** Console messages other than rejected requests. */
const unexpected = (complaints: readonly string[]) => complaints.filter((text) => !/status of 4\d\d/.test(text))

test('an owner reads an entry that kp sealed, shares and recalls it, makes a snapshot and retires the agent', async ({
  browser,
}) => {
  test.setTimeout(300_000)
  const session = await sessionOf(people.person)
  const context = await browser.newContext({ storageState: session, viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  /** All requests of the browser. */
  const sent: string[] = []
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
  const api = await requestContext(session)
  const make = async (agent_id: string, ancestor?: string) => {
    const data = { agent_id, consent: { policy_version: noticeVersion }, ...(ancestor && { ancestor }) }
    const answer = await api.post('/api/agents', { data })
    expect(answer.status(), await answer.text()).toBe(201)
    return Born.parse(await answer.json()).data
  }
  const heron = await make('heron')
  await make('wren', heron.agent_id)
  const file = join(line.workplace, 'passphrase')
  writeFileSync(file, passphrase, { mode: 0o600 })
  const kp = async (args: string[], input = '') => {
    const ran = await line.runProcess([...args, '--json'], { input, env: { KP_PASSPHRASE_FILE: file } })
    expect(ran.status, ran.err).toBe(0)
    return ran.json
  }
  const view = async (name: string): Promise<Page> => {
    await page
      .getByRole('navigation', { name: /^Views of/ })
      .getByRole('link', { name, exact: true })
      .click()
    await expect(page).toHaveURL(`/agents/heron/${name.toLowerCase()}`)
    await alive(page)
    return page
  }

  let sealed = ''
  await test.step('the command line seals an entry, and writes one for siblings', async () => {
    const signedIn = await line.runProcess(['login', '--token-stdin'], { input: heron.api_key })
    expect(signedIn.status, signedIn.err).toBe(0)
    const owner = ['--as', people.person, '--password-stdin']
    await kp(['grimoire', 'init', '--agent', 'heron', ...owner], `${browserInstallation().password}\n`)
    sealed = Written.parse(await kp(['grimoire', 'add', '-', '--kind', 'episode'], secret)).data.id
    Written.parse(
      await kp(
        ['grimoire', 'add', '-', '--clade', '--confidence', '0.8'],
        `Thin books punish haste: ${wallet} paid for it.`,
      ),
    )
  })

  await test.step('the form sends no passphrase before the page is interactive', async () => {
    const still = await browser.newContext({ storageState: session, javaScriptEnabled: false })
    const early = await still.newPage()
    await early.goto('/agents/heron/grimoire')
    const unlock = early.locator('[data-form="unlock"]')
    await unlock.getByLabel('Passphrase').fill(passphrase)
    const posted = early.waitForRequest((request) => request.method() === 'POST')
    await unlock.getByRole('button', { name: 'Unlock' }).click()
    const request = await posted
    for (const text of [request.url(), request.postData() ?? ''])
      expect(decodeURIComponent(text)).not.toMatch(/heron.+stands/)
    await still.close()
  })

  await test.step('the browser opens the entry with the passphrase, and locks it again', async () => {
    await page.goto('/agents/heron')
    await view('Grimoire')
    const unlock = page.locator('[data-form="unlock"]')
    await expect(page.getByText('Thin books punish haste').first()).toBeVisible()
    await expect(page.getByText(secret)).toHaveCount(0)
    await unlock.getByLabel('Passphrase').fill('another passphrase than that')
    await unlock.getByRole('button', { name: 'Unlock' }).click()
    await expect(unlock.getByText('Wrong passphrase.').first()).toBeVisible({ timeout: 60_000 })
    await unlock.getByLabel('Passphrase').fill(passphrase)
    await unlock.getByRole('button', { name: 'Unlock' }).click()
    await expect(page.getByRole('button', { name: `Open: ${secret}` })).toBeVisible({ timeout: 60_000 })
    await page.getByRole('button', { name: `Open: ${secret}` }).click()
    await expect(page.locator('[data-entry-content]')).toHaveText(secret)
    await page.getByRole('button', { name: 'Edit …' }).click()
    const form = page.locator('[data-form="change-entry"]')
    await expect(form.getByLabel('Content')).toHaveValue(secret)
    await form.getByLabel('Content').fill(`${secret} ${changed}`)
    await form.getByRole('button', { name: 'Encrypt and save' }).click()
    await expect(page.getByText('Entry updated.')).toBeVisible()
    await page.getByRole('button', { name: `Open: ${secret} ${changed}` }).click()
    await expect(page.locator('[data-entry-content]')).toHaveText(`${secret} ${changed}`)
    // The agent changes the entry meanwhile: the form must not overwrite it unasked.
    await page.getByRole('button', { name: 'Edit …' }).click()
    await kp(['grimoire', 'edit', sealed, '--confidence', '0.6'])
    await form.getByLabel('Content').fill(`${changed} ${secret}`)
    await form.getByRole('button', { name: 'Encrypt and save' }).click()
    await expect(form).toContainText('The entry changed while you were editing')
    await form.getByRole('button', { name: 'Use my text' }).click()
    await form.getByRole('button', { name: 'Encrypt and save' }).click()
    await expect(page.getByText('Entry updated.')).toBeVisible()
    await page.getByRole('button', { name: `Open: ${changed} ${secret}` }).click()
    await expect(page.locator('[data-entry-content]')).toHaveText(`${changed} ${secret}`)
    await closeWithEscape(page)
    await page.getByRole('button', { name: 'Lock', exact: true }).click()
    await expect(page.getByText(secret)).toHaveCount(0)
    for (const words of [passphrase, secret, changed]) expect(sent.filter((text) => text.includes(words))).toEqual([])
  })

  const shares = page.locator('[data-share]')
  await test.step('sharing is switched on, and the sibling receives what the preview shows', async () => {
    await view('Sharing')
    await page.getByRole('button', { name: 'Turn on …' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Turn on' }).click()
    await expect(page.getByRole('button', { name: 'Turn off …' })).toBeVisible()
    await page.getByRole('link', { name: /^Preview:/ }).click()
    const preview = page.locator('section#preview')
    await expect(preview).toContainText('Thin books punish haste')
    await expect(preview).not.toContainText(wallet)
    await expect(preview).toContainText('Ethereum address: 1')
    await alive(page)
    await preview.getByRole('button', { name: 'Share with one sibling' }).click()
    await expect(page.getByText('Shared, waiting for one sibling')).toBeVisible()
    const got = await api.get('/v1/agents/wren/clade/deltas')
    expect(await got.text()).toContain('Thin books punish haste')
    expect(await got.text()).not.toContain(wallet)
  })

  await test.step('the share is recalled, and the page updates when the sibling has removed it', async () => {
    await page.goto('/agents/heron/sharing')
    await alive(page)
    await shares.getByRole('button', { name: /^Recall/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Recall share' }).click()
    await expect(shares).toContainText('Removal requested')
    const Deltas = z.object({ data: z.array(z.object({ action: z.string() })), next_after: z.number() })
    const told = Deltas.parse(await (await api.get('/v1/agents/wren/clade/deltas')).json())
    expect(told.data.map(({ action }) => action)).toEqual(['remove'])
    const data = { through: told.next_after }
    expect((await api.post('/v1/agents/wren/clade/deltas/ack', { data })).ok()).toBe(true)
    await page.reload()
    await alive(page)
    await expect(shares).toContainText('1 of 1 sibling confirmed removal')
  })

  await test.step('a snapshot is made and shows its expiry', async () => {
    await view('Snapshots')
    await page.locator('#make').getByRole('button').click()
    await control.work()
    const snapshot = page.getByRole('table', { name: 'Snapshots' })
    await expect(snapshot).toContainText(/in [34] hours/, { timeout: 60_000 })
  })

  await test.step('the agent is retired after its id is typed, and its token is rejected', async () => {
    await page.goto('/agents/heron')
    await alive(page)
    await page.getByRole('button', { name: 'Retire …' }).click()
    const dialog = page.getByRole('dialog')
    await expect(dialog).toContainText('You can’t undo this.')
    await dialog.getByLabel('Type heron to confirm').fill('heron')
    await dialog.getByRole('button', { name: 'Retire agent' }).click()
    await expect(page.getByRole('main').getByText('Retired', { exact: true }).first()).toBeVisible()
    const refused = await line.runProcess(['grimoire', 'list'])
    expect([refused.status === 0, refused.err.includes('retired')]).toEqual([false, true])
    await page.goto('/agents/heron/grimoire')
    await expect(page.locator('[data-form="unlock"]')).toBeVisible()
  })
  expect(unexpected(complaints)).toEqual([])
  await api.dispose()
  await context.close()
})
