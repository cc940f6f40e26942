import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ExportReader } from '#lib/kernel/exporter.ts'
import { postgresGraph } from '#lib/stores/graph/postgres-graph.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { episode } from '#lib/testing/graphs.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { dataOf, madeConversation, madeMember, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { graphPersonExporters } from '../exporting/exporters.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

it('an export contains episodes derived only from the person and their agents, and none that is being erased', async () => {
  const project = await madeProject(test)
  const member = await madeMember(test, project)
  const conversation = await madeConversation(test, project)
  const [own, reply, theirs] = [
    await madeMessage(test, conversation, project.owner),
    await madeMessage(test, conversation, { token: project.agent.token }),
    await madeMessage(test, conversation, member),
  ]
  const id = (name: string) => `${project.id}-${name}`
  await postgresPlanting(test.db).plant({
    group: project.groupId,
    entities: [],
    facts: [],
    mentions: [],
    communities: [],
    sagas: [],
    next: [],
    episodes: ['own', 'talk', 'shared'].map((name, n) => episode(id(name), n)),
  })
  const entries = [
    [own, 'own'],
    [own, 'talk'],
    [reply, 'talk'],
    [own, 'shared'],
    [theirs, 'shared'],
  ] as const
  await dataOf(test, 'POST', `${project.path}/provenance`, project.owner, {
    body: { entries: entries.map(([source, name]) => ({ source_id: source.id, store: 'graph', ref: id(name) })) },
  })
  const reader: ExportReader = {
    basis: 'all',
    id: `user:${project.owner.accountId}`,
    agents: [project.agent.id],
    organisationId: project.owner.organisationId,
    isAdmin: false,
    seesPrivate: true,
    until: test.clock.now(),
  }
  const given = async () => {
    const ids: string[] = []
    for (const exporter of graphPersonExporters(test.db, postgresGraph(test.db)))
      for await (const { lines } of exporter.pages(project.owner.accountId, reader))
        for (const line of lines.split('\n')) ids.push(JSON.parse(line).episode_id)
    return ids
  }
  expect(await given()).toEqual([id('own'), id('talk')])
  const marked = { data: { erasingSince: test.clock.now() } }
  await test.db.prisma.message.update({ where: { id: reply.id }, ...marked })
  expect(await given()).toEqual([id('own')])
  await test.db.prisma.conversation.update({ where: { id: conversation.id }, ...marked })
  expect(await given()).toEqual([])
})
