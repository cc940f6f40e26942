import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { openArchive } from '#lib/testing/archives.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { at, entity, episode, fact } from '#lib/testing/graphs.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import {
  dataOf,
  type MadeProject,
  madeConversation,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

type Line = { part?: string } & Record<string, unknown>
const exported = async (project: MadeProject): Promise<Line[]> => {
  const { status, text } = await test.fetch('GET', `${project.path}/export`, project.owner)
  if (status !== 200) throw new Error(`the export answered ${status}: ${text}`)
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}
const ofPart = (lines: readonly Line[], part: string) => lines.filter((line) => line.part === part)

it('export of a project includes its graph and its threads, and nothing of other projects', async () => {
  const [project, other] = [await madeProject(test), await madeProject(test)]
  const id = (name: string) => `${project.id}-${name}`
  const planted = (group: string, name: (text: string) => string) => ({
    group,
    episodes: [episode(name('e1'), 1, { content: `planted episode of ${group}` }), episode(name('e2'), 2)],
    entities: [entity(name('n1'), 'Ada', ['Person']), entity(name('n2'), 'Acme', [])],
    facts: [fact(name('f1'), name('n1'), name('n2'), [name('e1')])],
    mentions: [{ episode: name('e1'), entity: name('n1') }],
    communities: [{ uuid: name('c1'), name: 'People', summary: 'A summary.', members: [name('n1')] }],
    sagas: [
      {
        uuid: name('s1'),
        name: 'Saga',
        summary: 'Told.',
        firstEpisode: name('e1'),
        lastEpisode: name('e2'),
        summarizedTo: at(2),
        episodes: [name('e1'), name('e2')],
      },
    ],
    next: [{ from: name('e1'), to: name('e2') }],
  })
  await postgresPlanting(test.db).plant(planted(project.groupId, id))
  await postgresPlanting(test.db).plant(planted(other.groupId, (name) => `${other.id}-${name}`))
  const conversation = await madeConversation(test, project)
  const message = await madeMessage(test, conversation, project.owner, { content: 'Words of a message.' })
  await storedInThread(test, conversation.id, [{ id: message.id, text: 'Words in a planted thread.' }])
  const pointed = `${project.id}-by-pointer`
  await reported(test, project, project.agent, [
    { source_id: message.id, store: 'checkpoints', ref: 'their-own-id', place: pointed },
  ])
  await storedInThread(test, pointed, [{ id: 'their-own-id', text: 'Words in a pointed thread.' }])
  const foreign = await madeConversation(test, other)
  await storedInThread(test, foreign.id, [{ id: 'their-message', text: 'Words of another project.' }])

  const lines = await exported(project)
  expect(lines[0]).not.toHaveProperty('left_out')
  expect(lines.at(-1)).toMatchObject({
    totals: {
      graph_episodes: 2,
      graph_entities: 2,
      graph_facts: 1,
      graph_communities: 1,
      graph_sagas: 1,
      // Two threads of two checkpoints, two versions and two writes each.
      checkpoints: 12,
    },
  })
  expect(ofPart(lines, 'graph_episodes')[0]).toMatchObject({
    uuid: id('e1'),
    content: `planted episode of ${project.groupId}`,
    mentions: [id('n1')],
  })
  expect(ofPart(lines, 'graph_entities')).toMatchObject([{ name: 'Ada', labels: ['Person'] }, { name: 'Acme' }])
  expect(ofPart(lines, 'graph_facts')).toMatchObject([{ source: id('n1'), target: id('n2'), episodes: [id('e1')] }])
  expect(ofPart(lines, 'graph_communities')).toMatchObject([{ summary: 'A summary.', members: [id('n1')] }])
  expect(ofPart(lines, 'graph_sagas')).toMatchObject([{ episodes: [id('e1'), id('e2')] }])
  const text = JSON.stringify(lines)
  expect(text).toContain('Words in a planted thread.')
  expect(text).toContain('Words in a pointed thread.')
  expect(text).not.toMatch(/Words of another project|_embedding/)
  expect(text).not.toContain(other.id)

  const response = await fetch(`${test.url}${project.path}/export?format=zip`, {
    headers: { Cookie: project.owner.cookie },
  })
  const { files } = await openArchive(new Uint8Array(await response.arrayBuffer()))
  expect(JSON.parse(files['graph_episodes.json'] ?? '[]')).toHaveLength(2)
  expect(JSON.parse(files['checkpoints.json'] ?? '[]')).toHaveLength(12)

  // Data that is being erased is in no part.
  await test.db.prisma.message.update({ where: { id: message.id }, data: { erasingSince: test.clock.now() } })
  const during = await exported(project)
  expect(during[0]?.left_out).toContain('graph_facts')
  expect(JSON.stringify(during)).not.toMatch(/planted|pointed thread/)
  expect((await test.fetch('GET', `${project.path}/export`, other.owner)).status).toBe(404)
  await dataOf(test, 'GET', project.path, project.owner)
})

it('export omits a thread that another project named before its first checkpoint', async () => {
  const [project, other] = [await madeProject(test), await madeProject(test)]
  const threads = { named: crypto.randomUUID(), pointed: crypto.randomUUID(), own: crypto.randomUUID() }
  const conversation = await madeConversation(test, project, { threads: [threads.named, threads.own] })
  const greeting = 'Hello, how can I help you?'
  await madeMessage(test, conversation, project.agent, { role: 'assistant', content: greeting })
  const message = await madeMessage(test, conversation, project.owner, {
    content: 'Where is my parcel with the red shoes?',
  })
  await reported(test, project, project.agent, [
    { source_id: message.id, store: 'checkpoints', ref: 'id-of-nothing-4711', place: threads.pointed },
  ])
  const theirs = await madeMessage(test, await madeConversation(test, other), other.owner, { content: 'Their words.' })
  for (const thread of [threads.named, threads.pointed])
    await storedInThread(
      test,
      thread,
      [
        { id: theirs.id, text: `Words of another deal in ${thread}.` },
        { id: '1', text: greeting },
      ],
      `memories of ${thread}`,
    )
  // The application chose the id of the message: its text leads to it.
  await storedInThread(test, threads.own, [{ id: '1', text: 'Where is my parcel with the red shoes?' }])
  const lines = await exported(project)
  expect(JSON.stringify(lines)).not.toContain('another deal')
  expect(
    ofPart(lines, 'checkpoints_left_out')
      .map(({ thread_id }) => thread_id)
      .sort(),
  ).toEqual([threads.named, threads.pointed].sort())
  expect(ofPart(await exported(project), 'checkpoints').map(({ thread_id }) => thread_id)).toContain(threads.own)
})

it('export returns a long thread and a large graph in pages', async () => {
  const project = await madeProject(test)
  const names = Array.from({ length: 450 }, (_, n) => `${project.id}-${String(n).padStart(4, '0')}`)
  await postgresPlanting(test.db).plant({
    group: project.groupId,
    entities: [],
    facts: [],
    mentions: [],
    communities: [],
    sagas: [],
    next: [],
    episodes: names.map((name, n) => episode(name, n)),
  })
  const conversation = await madeConversation(test, project)
  for (let n = 0; n < 50; n++)
    await test.app.db.query(
      undefined,
      `INSERT INTO langgraph.checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob) VALUES ($1, 'c', 'task', $2, 'x', $3, $4)`,
      [conversation.id, n, n % 2 === 0 ? 'json' : 'msgpack', n % 2 === 0 ? Buffer.from(`"${n}"`) : Buffer.from([n])],
    )
  const lines = await exported(project)
  expect(ofPart(lines, 'graph_episodes').map(({ uuid }) => uuid)).toEqual(names)
  const rows = ofPart(lines, 'checkpoints')
  expect(rows.map(({ idx }) => idx)).toEqual(Array.from({ length: 50 }, (_, n) => n))
  expect(rows[2]).toMatchObject({ type: 'json', value: '2' })
  expect(rows[3]).toMatchObject({ type: 'msgpack', base64: Buffer.from([3]).toString('base64') })
})
