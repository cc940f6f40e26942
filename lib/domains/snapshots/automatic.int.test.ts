import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { giveKeyring } from '#lib/testing/keyrings.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'

let app: TestApp
let owner: Person
beforeAll(async () => {
  app = await testApp()
  owner = await signedIn(app)
})
afterAll(() => app?.close())

test('an agent without a keyring states that it has no automatic snapshots, in both views and in kp', async () => {
  const { id, token } = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise', owner })
  const line = commandLine(app.url)
  const views = async () => [
    (await app.fetch('GET', `/v1/agents/${id}`, { token })).json.data.automatic_snapshots,
    (await app.fetch('GET', `/api/agents/${id}`, { cookie: owner.cookie })).json.data.automatic_snapshots,
    (await app.fetch('GET', '/api/agents', { cookie: owner.cookie })).json.data[0].automatic_snapshots,
  ]
  const shown = async () => (await line.run(['agent', 'show'], { env: { KP_TOKEN: token } })).out
  const ordered = async () => {
    await app.app.jobs.find(({ name }) => name === 'snapshots.insure')?.execute(app.app.pipeline, {})
    return app.db.prisma.snapshot.count({ where: { agentId: id, kind: 'insurance' } })
  }
  try {
    expect(await views()).toEqual([false, false, false])
    expect(await shown()).toContain('the agent has no keyring (kp grimoire init)')
    expect(await ordered()).toBe(0)
    await giveKeyring(app, id)
    expect(await views()).toEqual([true, true, true])
    expect(await shown()).toContain('every six hours')
    expect(await ordered()).toBe(1)
    const dead = { status: 'dead', confirm: id }
    const response = await app.fetch('PUT', `/v1/agents/${id}/status`, { cookie: owner.cookie, body: dead })
    expect(response.json.data).toMatchObject({ status: 'dead', automatic_snapshots: false })
  } finally {
    line.close()
  }
})

test('the sweep deletes an object that has no row when it belongs to an agent whose id has colons', async () => {
  const key = 'snapshots/kp:agent:scout/snap_0123456789abcdefghijkl'
  await app.app.stored.objects.put(
    key,
    (async function* () {
      yield Buffer.from('x')
    })(),
    { mediaType: 'application/octet-stream' },
  )
  // The age of an object is that of its file.
  app.clock.advance(Date.now() - app.clock.now().getTime() + 3 * 86_400_000)
  // The first run marks the store, the next one sweeps it.
  await app.app.jobs.find(({ name }) => name === 'snapshots.sweep')?.execute(app.app.pipeline, {})
  await app.app.jobs.find(({ name }) => name === 'snapshots.sweep')?.execute(app.app.pipeline, {})
  expect(await app.app.stored.objects.versions(key)).toEqual([])
})
