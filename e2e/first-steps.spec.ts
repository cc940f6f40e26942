import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@playwright/test'
import { control } from './control.ts'
import { readCredentials } from './credentials.ts'
import { alive, complaintsOf, fillSignIn } from './journey.ts'

test('the commands on the front page lead to a verified receipt', async ({ page }) => {
  const home = mkdtempSync(join(tmpdir(), 'kp-first-steps-'))
  /** Runs the lines of a step as printed, with `more` words after the first one. Returns the output. */
  const run = (step: string, more: readonly string[] = []): string => {
    const lines = step.replaceAll('\\\n', ' ').split('\n')
    return lines
      .map((line, index) => {
        const [npm, script, silent, kp, dashes, ...words] = line.trim().split(/\s+/)
        expect([npm, script, silent, kp, dashes]).toEqual(['npm', 'run', '--silent', 'kp', '--'])
        const made = spawnSync(process.execPath, ['bin/kp.ts', ...words, ...(index === 0 ? more : [])], {
          encoding: 'utf8',
          env: { ...process.env, XDG_CONFIG_HOME: home, NO_COLOR: '1' },
        })
        expect(made.status, `${line}\n${made.stdout}${made.stderr}`).toBe(0)
        return made.stdout
      })
      .join('\n')
  }
  try {
    await page.goto('/')
    const steps = page.locator('ol pre')
    await expect(steps).toHaveCount(3)
    const [register = '', contribute = '', erase = ''] = await steps.allTextContents()
    run(register, ['--consent'])
    const id = /kp:trace:[\w-]+/.exec(run(contribute))?.[0]
    if (id === undefined) throw new Error('The answer names no id.')
    const file = join(home, 'receipt.json')
    const said = run(erase.replace('kp:trace:…', id).replaceAll('receipt.json', file), ['--yes'])
    expect(said).toContain(`${id} was erased.`)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})

test('a person without agents loads sample data, deletes it and verifies the receipt in the browser alone', async ({
  page,
}) => {
  const { starting } = readCredentials()
  const complaints = complaintsOf(page)
  await page.goto('/sign-in')
  await fillSignIn(page, starting)
  await page.getByRole('link', { name: 'First steps' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Welcome' })).toBeVisible()
  await alive(page)
  const load = page.getByRole('button', { name: 'Load sample data' })
  await load.click()
  await expect(page.getByText('Consent is needed to create an agent.')).toBeVisible()
  await page.getByRole('checkbox').check()
  await load.click()
  await expect(page.getByText('Received from Sample agent: 3 knowledge units.')).toBeVisible()
  const erase = page.getByRole('link', { name: 'Delete the agent and its data' })
  await expect(page.locator('main :focus').filter({ has: erase })).toBeVisible()
  await page.keyboard.press('Tab')
  await expect(erase).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/settings\/privacy\/delete/)
  await alive(page)
  for (const title of ['Copy and keys', 'Confirm deletion']) {
    await page.getByRole('button', { name: 'Continue' }).click()
    await expect(page.getByRole('heading', { level: 2, name: title })).toBeFocused()
  }
  await page.getByLabel('Type DELETE to confirm').fill('DELETE')
  await page.getByLabel('Password').fill(starting.password)
  await page.getByRole('button', { name: 'Delete agent' }).click()
  await expect(page).toHaveURL(/receipt=rcpt_/)
  await control.work()
  await expect(page).toHaveURL(/\/receipts\/rcpt_\w+$/, { timeout: 60_000 })
  await expect(page.getByText(/^\d+ items of this agent were deleted from \d+ places?/)).toBeVisible()
  await page.getByRole('main').getByRole('link', { name: 'Verify', exact: true }).click()
  await expect(page.getByText('Valid signature')).toBeVisible()

  await page.goto('/welcome')
  await expect(load).toBeVisible()
  expect(complaints).toEqual([])
})
