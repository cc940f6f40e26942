import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { issuedAgent } from '#lib/testing/people.ts'

let app: TestApp
let line: ReturnType<typeof commandLine>
beforeAll(async () => {
  app = await testApp()
  line = commandLine(app.url)
  await line.signIn((await issuedAgent(app, ['read', 'write'], { tier: 'enterprise' })).token)
})
afterAll(async () => {
  line?.close()
  await app?.close()
})
const kp = (args: string[], input?: string) => line.run(['model-log', ...args], input === undefined ? {} : { input })

test('kp model-log adds, lists, shows and deletes an exchange, and counts the redacted values', async () => {
  const messages = [{ role: 'user', content: 'Write to planted@example.org.' }]
  const added = await kp(['add', '-', '--model', 'model-1', '--json'], JSON.stringify(messages))
  expect(added.status, added.err).toBe(0)
  const { id, redacted } = added.json.data
  expect(redacted).toEqual({ email: 1 })
  const listed = await kp(['list'])
  for (const words of [id, 'model-1', '1 email']) expect(listed.out).toContain(words)
  const shown = await kp(['show', id])
  expect(shown.out).toContain('Write to ‹email:1›.')
  expect((await kp(['delete', id])).status).toBe(0)
  expect((await kp(['list', '--json'])).json.data).toEqual([])
  expect((await kp(['show', id])).status).not.toBe(0)
})

test('kp model-log add rejects input that is not an exchange, and prints no content when the registry rejects it', async () => {
  for (const bad of ['a text', '{}', '[]', '[{"role":"user"}]']) {
    const told = await kp(['add', '-'], bad)
    expect([told.status === 0, told.err.includes('contains no exchange')]).toEqual([false, true])
  }
  const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
  const told = await kp(['add', '-'], JSON.stringify([{ role: 'user', content: phrase }]))
  expect(told.status).not.toBe(0)
  expect(told.err).toContain('seed_phrase')
  expect(told.err + told.out).not.toContain('sausage')
})
