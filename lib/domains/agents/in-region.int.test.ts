import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { europeanAgent, issuedAgent } from '#lib/testing/people.ts'
import { capturingPostHog } from '#lib/testing/posthog.ts'
import { madeConversation, madeProject } from '#lib/testing/projects.ts'

/** A Presidio mock that finds nothing and counts requests. */
let asked = 0
const analyzer = createServer((_request, response) => {
  asked += 1
  response.writeHead(200, { 'Content-Type': 'application/json' }).end('[]')
})
let posthog: Awaited<ReturnType<typeof capturingPostHog>>
let presidioUrl: string
const opened: TestApp[] = []
/** An app with PostHog and Presidio, whose regions are unknown unless set. */
async function connected(more: Record<string, string> = {}): Promise<TestApp> {
  const app = await testApp({
    KP_POSTHOG_HOST: posthog.url,
    KP_POSTHOG_KEY: 'phc_test',
    KP_PRESIDIO_URL: presidioUrl,
    ...more,
  })
  opened.push(app)
  return app
}
beforeAll(async () => {
  await new Promise<void>((listening) => analyzer.listen(0, '127.0.0.1', listening))
  const address = analyzer.address()
  presidioUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  posthog = await capturingPostHog()
})
afterAll(async () => {
  for (const app of opened) await app.close()
  await posthog.close()
  analyzer.closeAllConnections()
  analyzer.close()
})

const searched = async (app: TestApp, token: string) => {
  expect((await app.fetch('GET', '/v1/knowledge', { token })).status).toBe(200)
  await app.app.telemetryOf.settled()
}
const keysOf = (app: TestApp, id: string) => app.db.prisma.telemetryKey.count({ where: { id } })
const exchange = { messages: [{ role: 'user', content: 'Ask Ada Beispiel.' }] }

test('data of an EU agent is not sent to a PostHog or Presidio outside of known EEA regions', async () => {
  const app = await connected()
  const european = await europeanAgent(app)
  const other = await issuedAgent(app, ['read', 'write'])
  const withheld = () => app.app.telemetryOf.dropped().find(({ reason }) => reason === 'withheld')?.count
  await searched(app, european.token)
  await searched(app, other.token)
  expect([await keysOf(app, european.id), withheld(), await keysOf(app, other.id)]).toEqual([0, 1, 1])

  const log = (token: string) => app.fetch('POST', '/v1/llm-log', { token, body: exchange })
  expect((await log(european.token)).json).toMatchObject({ status: 422, code: 'outside_region' })
  // A text of another agent may mention the agent's data.
  const withheldText = await log(other.token)
  expect([withheldText.status, withheldText.json.data.degraded], withheldText.text).toEqual([201, ['presidio']])
  expect(asked).toBe(0)
  await app.db.prisma.agent.delete({ where: { id: european.id } })
  const response = await log(other.token)
  expect([response.status, response.json.data.degraded, asked], response.text).toEqual([201, undefined, 1])
})

test('no text is sent to a Presidio outside of the region of a project or of one of its conversations', async () => {
  const app = await connected()
  const before = asked
  const { token } = await issuedAgent(app, ['read', 'write'])
  const project = await madeProject(app)
  const { id } = await madeConversation(app, project)
  const logged = async () => {
    const response = await app.fetch('POST', '/v1/llm-log', { token, body: exchange })
    return [response.json.data.degraded, asked - before]
  }
  await app.db.prisma.project.update({ where: { id: project.id }, data: { region: 'eu' } })
  expect(await logged()).toEqual([['presidio'], 0])
  await app.db.prisma.project.update({ where: { id: project.id }, data: { region: null } })
  const inRegion = {
    id: 'in-the-eu',
    projectId: project.id,
    title: 'A talk',
    region: 'eu',
    createdBy: `user:${project.owner.accountId}`,
  }
  const { createdAt, updatedAt } = await app.db.prisma.conversation.findUniqueOrThrow({ where: { id } })
  await app.db.prisma.conversation.create({ data: { ...inRegion, createdAt, updatedAt } })
  expect(await logged()).toEqual([['presidio'], 0])
  await app.db.prisma.conversation.delete({ where: { id: inRegion.id } })
  expect(await logged()).toEqual([undefined, 1])
})

test('data of an EU agent is sent to PostHog and Presidio in the EEA', async () => {
  const app = await connected({ KP_REGIONS: 'files=de@own,postgresql=de@own,presidio=de@own,posthog=de@own' })
  const before = asked
  const european = await europeanAgent(app)
  await searched(app, european.token)
  expect(await keysOf(app, european.id)).toBe(1)
  const response = await app.fetch('POST', '/v1/llm-log', { token: european.token, body: exchange })
  expect([response.status, response.json.data.degraded, asked], response.text).toEqual([201, undefined, before + 1])
})
