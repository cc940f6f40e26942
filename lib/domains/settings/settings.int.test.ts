import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'

let app: TestApp
let admin: Issued
let person: Person

beforeAll(async () => {
  app = await testApp()
  admin = await issuedAgent(app, ['admin'])
  person = await signedIn(app, 'admin')
})
afterAll(() => app?.close())

const formOff = { is_on: false, origins: [] }
const edit = (body: unknown) => app.fetch('PATCH', '/v1/settings', { ...person, body })

test('anonymous reading is off by default, and follows the setting within a second', async () => {
  const { token } = admin
  expect((await app.fetch('GET', '/v1/settings', { token })).json).toEqual({
    data: { anonymous_reading: false, request_form: formOff },
  })
  expect(await app.app.settings.anonymousReading()).toBe(false)
  for (const [seconds, value] of [
    [1, true],
    [2, false],
  ] as const) {
    expect((await edit({ anonymous_reading: value })).json).toEqual({
      data: { anonymous_reading: value, request_form: formOff },
    })
    // A second later by system time, each time.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + seconds * 1_000)
    try {
      expect(await app.app.settings.anonymousReading()).toBe(value)
    } finally {
      clock.mockRestore()
    }
  }
  expect((await edit({})).json).toEqual({ data: { anonymous_reading: false, request_form: formOff } })
})

test('the settings are limited to admins', async () => {
  const agent = await app.agent(['read', 'write'])
  const { cookie } = await signedIn(app)
  for (const [method, body] of [['GET'], ['PATCH', { anonymous_reading: true }]] as const) {
    expect((await app.fetch(method, '/v1/settings', { body })).status).toBe(401)
    expect((await app.fetch(method, '/v1/settings', { body, token: agent.token })).status).toBe(403)
    expect((await app.fetch(method, '/v1/settings', { body, cookie })).status).toBe(403)
  }
  expect((await app.fetch('GET', '/v1/settings', { token: admin.token })).json).toEqual({
    data: { anonymous_reading: false, request_form: formOff },
  })
})

test('the request form is off by default, and keeps its origins', async () => {
  const value = {
    is_on: true,
    origins: ['https://www.example.org', 'https://example.org:8443', 'http://localhost:3000'],
  }
  expect((await edit({ request_form: value })).json.data).toEqual({ anonymous_reading: false, request_form: value })
  await edit({ request_form: formOff })
})

const formWith = (origin: string) => ({ request_form: { is_on: true, origins: [origin] } })
test.each([
  { anonymous_reading: 'yes' },
  { anonymous_reading: null },
  { registration: 'open' },
  formWith('*'),
  formWith('https://*'),
  formWith('http://www.example.org'),
  formWith('https://www.example.org/'),
  formWith('https://www.example.org; script-src *'),
  formWith("https://a.example 'self'"),
  formWith('https://a.example;sandbox'),
  formWith('https://a.example,https://b.example'),
  formWith('https://a.example\nX-Other: 1'),
  { request_form: { is_on: true, origins: Array.from({ length: 21 }, (_, n) => `https://a${n}.example`) } },
])('an edit of %j returns 422', async (body) => expect((await edit(body)).status).toBe(422))
