// Identifiers that applications choose and that contain the name or the address of an erased person, written by real clients into every
// store. Their records contain no other word of the person. An erasure removes the identifier, or a complete reading counts it.
import { HumanMessage } from '@langchain/core/messages'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  type ConnectedTest,
  connectedTest,
  writeThread,
} from '#lib/testing/connected-stores.ts'
import { drain } from '#lib/testing/jobs.ts'
import { dataOf, type MadeProject, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'

const name = 'Barkon Lumira'
const email = 'barkon.lumira@kosevu.example'
const neutral = 'The committee meets on the second Tuesday.'

describe.skipIf(!(await areStoresInstalled()))('identifiers that contain the name of an erased person', () => {
  let connected: ConnectedTest
  let stores: ConnectedStores
  let test: TestApp
  beforeAll(async () => {
    connected = await connectedTest({ KP_POINTER_PREFIXES: 'app:,uploads/' })
    ;({ stores, test } = connected)
  }, 240_000)
  afterAll(() => connected?.close())

  /** Writes an episode with an entity; `more` may add labels and relationships. */
  const writeGraph = (
    { groupId }: MadeProject,
    { label = 'Episodic', type = 'MENTIONS', ...more }: Record<string, string> = {},
  ) =>
    connected.driver.executeQuery(
      `CREATE (e:Episodic:\`${label}\` {uuid: $episode, group_id: $group, name: 'chat', source: 'message', source_description: 'chat',
         content: $neutral, entity_edges: [], created_at: datetime($at), valid_at: datetime($at)})
       CREATE (e)-[:\`${type}\` {uuid: $link, group_id: $group, created_at: datetime($at)}]->
         (:Entity {uuid: $entity, group_id: $group, name: 'Committee', summary: '', created_at: datetime($at)})`,
      {
        group: groupId,
        episode: crypto.randomUUID(),
        entity: crypto.randomUUID(),
        link: crypto.randomUUID(),
        neutral,
        at: test.clock.now().toISOString(),
        ...more,
      },
    )
  const writeThreadOf = (thread: string) =>
    writeThread(
      stores.saver,
      thread,
      { messages: [new HumanMessage(neutral)] },
      { at: new Date(test.clock.now()), writes: [] },
    )
  /** The places of the graph, the threads, and of all other stores that still contain the person. */
  async function remaining() {
    const { records } = await connected.driver.executeQuery(
      `MATCH (n) RETURN properties(n) AS p, labels(n) AS l UNION ALL MATCH ()-[r]->() RETURN properties(r) AS p, [type(r)] AS l`,
    )
    const isNamed = (text: string) => /barkon|lumira/i.test(text)
    const contents = [...(await stores.everything())].filter(([place, text]) => isNamed(`${place} ${text}`))
    const threads = contents.filter(([place]) => place.startsWith('threads.checkpoint'))
    return {
      graph: records.filter((one) => isNamed(JSON.stringify(one.toObject()))).length,
      threads: new Set(threads.map(([, text]) => text)).size,
      others: contents
        .filter((one) => !threads.includes(one) && !/^\d+:[\w-]+:\d+$/.test(one[0]))
        .map(([place]) => place),
    }
  }

  it('are erased, or counted by the complete reading', async () => {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project, {}, project.agent)
    const author = { external_id: `u-${crypto.randomUUID()}`, name, email }
    await madeMessage(test, conversation, project.agent, { content: 'Something that only I would say.', author })
    const people = `${project.path}/participants?external_id=${author.external_id}`
    const [participant] = await dataOf(test, 'GET', people, project.owner)

    for (const thread of [`support/${email}`, `support/${name}/9`]) await writeThreadOf(thread)
    await stores.remember(['memories', name], 'one', { text: neutral })
    await stores.remember(['memories', 'x9'], email, { text: neutral })
    await connected.redis.set(`app:profile:${email}`, neutral)
    await connected.redis.set(`app:profile:${name}`, neutral)
    await connected.redis.hSet('app:profiles', { [email]: neutral, other: neutral })
    await stores.putObject(`uploads/${email}/a.txt`, neutral)
    await stores.putObject(`uploads/${name}.txt`, neutral)
    // Graphiti accepts letters, digits, hyphens and underscores in groups.
    await writeGraph(project, { group: 'barkon-lumira' })
    await writeGraph(project, { episode: `chat of ${name}` })
    await writeGraph(project, { entity: email })
    await writeGraph(project, { link: email })
    await writeGraph(project, { label: name })
    await writeGraph(project, { type: `KNOWS ${name}` })
    await writeGraph(project)
    // Three records of the group, and one of each other.
    expect((await remaining()).graph).toBe(8)

    const body = { kinds: ['erasure'], grace: 'now' }
    const path = `${project.path}/participants/${participant.id}/requests`
    const request = await dataOf(test, 'POST', path, project.owner, { body })
    await drain(test)
    const { receiptId } = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: request.id } })
    expect((await remaining()).others).toEqual([])
    expect(await connected.redis.hGetAll('app:profiles')).toEqual({ erased: neutral, other: neutral })

    expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
    const { json } = await test.fetch('GET', `/v1/receipts/${receiptId}`)
    const line = (holder: string) =>
      json.complete_reading.stores.find((one: { holder: string }) => one.holder === holder)
    // Nothing renames a record of an application. The addresses contain the name, and each is also counted as words.
    expect(await remaining()).toEqual({ graph: 8, threads: 2, others: [] })
    expect(line('graph.episodes')).toMatchObject({ found: 2, left: 2, names: { found: 8, erased: 0, listed: 8 } })
    expect(line('checkpoints.messages').left + line('checkpoints.messages').names.listed).toBeGreaterThanOrEqual(2)
  })
})
