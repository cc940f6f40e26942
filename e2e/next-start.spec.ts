import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@playwright/test'
import { freeTestPort } from '#lib/testing/ports.ts'
import { startTemporary } from '../lib/stores/postgres/temporary.ts'
import { alive, complaintsOf, eraseOne, fillSignIn, registerJourneyAgent } from './journey.ts'

const chosen = 'a quiet harbour at noon'

test('`next start` serves sign-in, pages, contribution, erasure and the receipt', async ({ playwright, browser }) => {
  // It prepares a database and starts a server of its own.
  test.setTimeout(600_000)
  const dataDir = mkdtempSync(join(tmpdir(), 'kp-next-start-'))
  const database = await startTemporary()
  const port = await freeTestPort()
  const origin = `http://localhost:${port}`
  const secret = 'only for this journey, of no worth elsewhere'
  let child: ChildProcess | undefined
  try {
    const [{ prepareDatabase }, { firstRun }, { readEnv }] = await Promise.all([
      import('#lib/stores/postgres/preparation.ts'),
      import('#lib/operator/first-run.ts'),
      import('#lib/config/env.ts'),
    ])
    const { appUrl } = await prepareDatabase({
      ownerUrl: database.ownerUrl('kp_next'),
      secret,
      mayCreateDatabase: true,
    })
    const settings = {
      NODE_ENV: 'production',
      DATABASE_URL: appUrl,
      KP_DATA_DIR: dataDir,
      XDG_STATE_HOME: dataDir,
      XDG_DATA_HOME: dataDir,
      KP_SECRET: secret,
      KP_URL: origin,
      NEXTAUTH_URL: origin,
      KP_LIMITS: 'memory',
    } as const
    Object.assign(process.env, settings)
    const told = (await firstRun({ databaseUrl: appUrl, isTerminal: true })).join('\n')
    const admin = {
      email: /Sign in +(\S+)/.exec(told)?.[1] ?? '',
      password: /Password +(\S+)/.exec(told)?.[1] ?? '',
    }
    expect(readEnv().KP_URL).toBe(origin)
    child = spawn(process.execPath, ['node_modules/next/dist/bin/next', 'start', '--port', String(port)], {
      cwd: join(import.meta.dirname, '..'),
      env: { PATH: process.env.PATH, HOME: dataDir, ...settings },
      stdio: 'ignore',
    })
    const request = await playwright.request.newContext({ baseURL: origin })
    await expect
      .poll(async () => (await request.get('/health').catch(() => undefined))?.status(), { timeout: 180_000 })
      .toBe(200)

    const context = await browser.newContext({ baseURL: origin })
    const page = await context.newPage()
    const complaints = complaintsOf(page)
    await page.goto('/account')
    await fillSignIn(page, admin)
    await expect(page).toHaveURL('/account/password')
    await alive(page)
    await page.getByLabel('Current password').fill(admin.password)
    await page.getByLabel('New password', { exact: true }).fill(chosen)
    await page.getByLabel('Repeat new password').fill(chosen)
    await page.getByRole('button', { name: 'Change password' }).click()
    await expect(page.getByText('Password changed')).toBeVisible()

    const { token } = await registerJourneyAgent(request, 'An agent of plain Next')
    const { unit, receipt } = await eraseOne(request, token)
    const headers = { Authorization: `Bearer ${token}` }
    expect((await request.get(`/v1/knowledge/${unit}`, { headers })).status()).toBe(410)
    expect((await request.get(`/v1/receipts/${receipt}`, { headers })).status()).toBe(200)
    await page.goto('/admin/deletion-log')
    await expect(page.locator(`a[href="/receipts/${receipt}"]`)).toBeVisible()
    // On a busy machine, a request may wait too long for a database connection. The page sends it again.
    expect(complaints.filter((complaint) => !complaint.includes('503 (Service Unavailable)'))).toEqual([])
    // Otherwise, the server would wait for the connections of the page when it stops.
    await context.close()
    await request.dispose()
  } finally {
    if (child && child.exitCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }
    await database.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
})
