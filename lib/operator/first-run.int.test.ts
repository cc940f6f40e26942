import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { firstRun, firstRunFile } from './first-run.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

const visit = { address: '127.0.0.1', limitKey: '127.0.0.1', userAgent: '', locale: 'en' as const }
const day = 24 * 3_600_000

it('the first start without a terminal writes its secrets to a file of mode 600 and prints the path; they expire after 24 hours', async () => {
  const { env } = test.app
  const run = (isTerminal: boolean) => firstRun({ databaseUrl: env.DATABASE_URL ?? '', isTerminal, env })
  const file = firstRunFile(env.KP_DATA_DIR)
  writeFileSync(file, 'left by a crash', { mode: 0o644 })
  const printed = (await run(false)).join('\n')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const retained = readFileSync(file, 'utf8')
  const password = /Password +(\S+)/.exec(retained)?.[1] ?? ''
  const token = /First token +(kp_\S+)/.exec(retained)?.[1] ?? ''
  expect([password.length, token.length]).toEqual([23, 52])
  expect(printed).toContain(file)
  for (const secret of [password, token, token.slice(0, 11)]) expect(printed).not.toContain(secret)
  // A later start neither prints nor writes anything.
  expect(await run(true)).toEqual([])

  const me = () => test.fetch('GET', '/v1/auth/me', { token })
  expect((await me()).status).toBe(200)
  const signIn = () => test.app.accounts.signIn({ email: env.KP_ADMIN_EMAIL, password }, visit)
  expect(await signIn()).toBeDefined()
  test.clock.advance(day + 60_000)
  expect(await signIn()).toBeUndefined()
  expect((await me()).json.code).toBe('token_expired')

  const reset = await test.app.accounts.resetPassword(env.KP_ADMIN_EMAIL)
  const again = () => test.app.accounts.signIn({ email: env.KP_ADMIN_EMAIL, password: reset.password }, visit)
  test.clock.advance(day - 1)
  expect(await again()).toBeDefined()
  test.clock.advance(1)
  expect(await again()).toBeUndefined()
})

it('the first start at a terminal prints its secrets and writes no file', async () => {
  const other = await testApp()
  const { env } = other.app
  try {
    const printed = (await firstRun({ databaseUrl: env.DATABASE_URL ?? '', isTerminal: true, env })).join('\n')
    expect(printed).toMatch(/Password +\S{23} /)
    expect(printed).toMatch(/First token +kp_\w{49} /)
    expect(() => statSync(firstRunFile(env.KP_DATA_DIR))).toThrow()
  } finally {
    await other.close()
  }
})
