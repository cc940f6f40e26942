import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { authPages } from '#lib/testing/next-auth.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

let app: TestApp
let kp: ReturnType<typeof commandLine>
beforeAll(async () => {
  const probe = createServer()
  await new Promise<void>((listening) => probe.listen(0, '127.0.0.1', listening))
  const address = probe.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  await new Promise((closed) => probe.close(closed))
  // People sign in through the installation's pages, which require its own address.
  app = await testApp({ KP_URL: `http://127.0.0.1:${port}` }, undefined, { pages: authPages, port })
  kp = commandLine(app.url)
})
afterAll(async () => {
  kp?.close()
  await app?.close()
})
beforeEach(() => kp.newHome())

test('agent documents adds, lists, shows, edits and deletes documents of the agent of the token', async () => {
  const agent = await app.agent()
  await kp.signIn(agent.token)
  const file = join(kp.workplace, 'plays.md')
  writeFileSync(file, '# Quiet markets\n\nWait.\n')
  const added = await kp.run(['agent', 'documents', 'add', file, '--json'])
  expect(added.status, added.err).toBe(0)
  const id: string = added.json.data.id
  expect((await kp.run(['agent', 'documents', 'list'])).out).toMatch(new RegExp(`${id}.*playbook.*1 .*plays`))
  expect((await kp.run(['agent', 'documents', 'show', id])).out).toContain('Wait.')
  writeFileSync(file, 'Go.\n')
  expect((await kp.run(['agent', 'documents', 'edit', id, file])).out).toContain('revision 2')
  expect((await kp.run(['agent', 'documents', 'delete', id])).status).toBe(0)
  expect((await kp.run(['agent', 'documents', 'show', id])).status).toBe(1)
  expect((await kp.run(['agent', 'documents', 'add', join(kp.workplace, 'none.md')])).err).toContain('Nothing was sent')
})

test('agent pause, resume and die change the status of a person’s agent; die needs a confirmation', async () => {
  const person = await personWithPassword(app)
  const agent = await issuedAgent(app, ['read', 'write'], { owner: person })
  const as = ['--as', person.email, '--password-stdin']
  const run = (...words: string[]) => kp.run(['agent', ...words, ...as], { input: `${person.password}\n` })
  expect((await run('pause', agent.id)).out).toContain('paused')
  await kp.signIn(agent.token)
  const own = await kp.run(['agent', 'show'])
  expect(own.out).toMatch(/status +paused/)
  expect((await kp.run(['agent', 'resume'])).err).toContain('Only the signed-in owner')
  expect((await run('resume', agent.id)).status).toBe(0)
  expect((await run('die', agent.id)).status).toBe(2)
  expect((await run('list')).out).toMatch(new RegExp(`${agent.id} +active`))
  expect((await run('die', agent.id, '--yes')).out).toContain('retired')
  expect((await kp.run(['agent', 'show', agent.id])).err).toContain('retired')
  expect((await kp.run(['agent', 'heartbeats'])).status).toBe(0)
})

test('agent create prints or stores the token, and rejects an ancestor of another owner', async () => {
  const person = await personWithPassword(app)
  const stranger = await app.agent()
  const create = (...words: string[]) =>
    kp.run(['agent', 'create', ...words, '--as', person.email, '--password-stdin', '--json'], {
      input: `${person.password}\n`,
    })
  const alone = await kp.run(['agent', 'create', 'stork'])
  expect([alone.status, alone.err.includes('--as')]).toEqual([2, true])
  expect([(await create('stork')).status, (await create('stork', '--consent', '--region', 'moon')).status]).toEqual([
    2, 2,
  ])
  expect((await create('stork', '--consent', '--ancestor', stranger.id)).status).toBe(1)
  expect(await app.db.prisma.agent.count({ where: { ownerId: person.accountId } })).toBe(0)

  const stork = await create('stork', '--consent', '--keep')
  expect(stork.status, stork.err).toBe(0)
  expect(stork.json.data).not.toHaveProperty('api_key')
  expect((await kp.run(['agent', 'show', '--json'])).json.data).toMatchObject({
    agent_id: 'stork',
    owner_claimed: true,
  })
  const plover = await create('plover', '--consent', '--ancestor', 'stork', '--self-hosted')
  expect(plover.json.data.api_key).toMatch(/^kp_/)
  const siblings = (await kp.run(['clade', 'status', '--json'])).json.data.siblings
  expect(siblings).toMatchObject([{ agent_id: 'plover' }])
  expect((await kp.run(['agent', 'show', '--json'])).json.data.agent_id).toBe('stork')
})
