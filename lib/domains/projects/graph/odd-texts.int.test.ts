import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { entity, episode } from '#lib/testing/graphs.ts'
import { neo4jPlanting } from '#lib/testing/neo4j-planting.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import type { GraphPlanting } from '#lib/testing/planted-graph.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { allowAnyClaim, eraseWholeProject, manyMessages } from '#lib/testing/projects.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { neo4jServer } from '#lib/testing/services/shared.ts'

const answer = 'Thank you for telling us. We will book another room for you.'
const bare = { entities: [], facts: [], mentions: [], communities: [], sagas: [], next: [] }

describe.each(['PostgreSQL', 'Neo4j'] as const)('erasure of unusual texts in a graph in %s', (provider) => {
  const isThere = provider === 'PostgreSQL' || isInstalled('neo4j')
  let test: TestApp
  let planting: GraphPlanting
  let owner: Person
  beforeAll(async () => {
    if (!isThere) return
    const url = provider === 'Neo4j' ? (await neo4jServer()).url : undefined
    test = await testApp(url === undefined ? {} : { KP_GRAPH_URL: url })
    planting = url === undefined ? postgresPlanting(test.db) : neo4jPlanting(url)
    owner = await signedIn(test)
    await test.db.prisma.organisation.update({ where: { id: owner.organisationId }, data: { quotaRows: 1_000_000n } })
    await allowAnyClaim(test, owner.organisationId)
  }, 240_000)
  afterAll(async () => {
    if (planting && 'close' in planting && typeof planting.close === 'function') await planting.close()
    await test?.close()
  })

  const ask = async (path: string, body: unknown, expected = 201) => {
    const { status, json, text } = await test.fetch('POST', path, { cookie: owner.cookie, body })
    expect(status, text).toBe(expected)
    return json.data
  }
  async function newPlace() {
    const group = newId('grp').toLowerCase()
    const project: string = (await ask('/api/projects', { name: 'A deal', group_id: group })).id
    const conversation: string = (await ask(`/api/projects/${project}/conversations`, { title: 'Talk' })).id
    const messages = `/api/projects/${project}/conversations/${conversation}/messages`
    return {
      group,
      project,
      conversation,
      says: async (content: string): Promise<string> => (await ask(messages, { role: 'user', content })).id,
      points: (ref: string, ...sources: string[]) =>
        ask(
          `/api/projects/${project}/provenance`,
          { entries: sources.map((source_id) => ({ source_id, store: 'graph', ref })) },
          200,
        ),
      async erase(message: string) {
        const receiptId = await eraseWholeProject(test, `${messages}/${message}`, owner)
        const run = await test.db.prisma.erasureRun.findUniqueOrThrow({
          where: { receiptId },
          include: { steps: true },
        })
        const { json: receipt } = await test.fetch('GET', `/v1/receipts/${receiptId}`)
        const results = run.steps.find(({ holder }) => holder === 'graph.episodes')?.results
        expect([run.state, receipt.stores.every(({ residue }: { residue: number }) => residue === 0)]).toEqual([
          'done',
          true,
        ])
        return { receipt, results }
      },
    }
  }

  it.skipIf(!isThere)(
    'cuts a message of one word, a URL, code and four scripts, and keeps the other author’s words unchanged',
    async () => {
      const cases = [
        'yes',
        'https://example.org/files/4711?key=a1b2c3',
        'const total = items.reduce((sum, { price }) => sum + price, 0)',
        '我从春天开始就患有克罗恩病，住在七十七号房间，晚上睡不好觉，也吃不下饭',
        'ฉันป่วยตั้งแต่ฤดูใบไม้ผลิและนอนไม่หลับในห้องเจ็ดสิบเจ็ดทุกคืน',
        'أنا مريض منذ الربيع ولا أنام في الغرفة رقم سبعة',
      ]
      const place = await newPlace()
      const { group } = place
      const id = (name: string, n: number) => `${group}-${name}${n}`
      await planting.plant({
        group,
        ...bare,
        episodes: cases.map((text, n) => episode(id('e', n), n, { content: `user: ${text}\nassistant: ${answer}` })),
        entities: cases.map((text, n) =>
          entity(id('w', n), `Works ${n}`, ['Company'], { summary: `Told us: ${text}` }),
        ),
        mentions: cases.map((_, n) => ({ episode: id('e', n), entity: id('w', n) })),
      })
      const other = await place.says(answer)
      for (const [n, text] of cases.entries()) {
        const message = await place.says(text)
        await place.points(id('e', n), message, other)
        const { results } = await place.erase(message)
        expect(results, text).toMatchObject({ derivedCut: 1, episodesDeleted: 0 })
        const left = await planting.standing(group)
        expect(left.episodes.find(({ uuid }) => uuid === id('e', n))?.content, text).toBe(`assistant: ${answer}`)
        const summaries = left.entities.map(({ summary }) => summary).join('\n')
        expect(summaries.includes(text), text).toBe(false)
      }
    },
    240_000,
  )

  it.skipIf(!isThere)(
    'cuts a message that an episode contains twice, at both places',
    async () => {
      const place = await newPlace()
      const own = 'I suffer from Morbus Crohn and sleep in room 77 since spring.'
      const ref = `${place.group}-twice`
      await planting.plant({
        group: place.group,
        ...bare,
        episodes: [episode(ref, 1, { content: `user: ${own}\nassistant: ${answer}\nuser: ${own.toUpperCase()}` })],
      })
      const [one, other] = [await place.says(own), await place.says(answer)]
      await place.points(ref, one, other)
      const { receipt } = await place.erase(one)
      expect(receipt.derived).toContainEqual(expect.objectContaining({ store: 'graph', cut: 1, deleted: 0 }))
      expect((await planting.standing(place.group)).episodes[0]?.content).toBe(`assistant: ${answer}`)
    },
    240_000,
  )

  it.skipIf(!isThere)(
    'keeps a message that consists of emoji, because it has no words to search for',
    async () => {
      const place = await newPlace()
      const ref = `${place.group}-emoji`
      const content = `user: 👍🏽👍🏽\nassistant: ${answer}`
      await planting.plant({ group: place.group, ...bare, episodes: [episode(ref, 1, { content })] })
      const [one, other] = [await place.says('👍🏽👍🏽'), await place.says(answer)]
      await place.points(ref, one, other)
      const { results } = await place.erase(one)
      expect(results).toMatchObject({ derivedCut: 0, episodesDeleted: 0 })
      expect((await planting.standing(place.group)).episodes[0]?.content).toBe(content)
    },
    240_000,
  )

  it.skipIf(!isThere)(
    'cuts one of 10,000 messages from an episode that is reported for all of them',
    async () => {
      const place = await newPlace()
      const said = await manyMessages(test, {
        projectId: place.project,
        conversations: [place.conversation],
        author: { kind: 'account', id: owner.accountId },
        each: 10_000,
        words: 'Something was said about the room',
      })
      const own = 'I suffer from Morbus Crohn and sleep in room 77 since spring.'
      const ref = `${place.group}-many`
      const line = 'user: Something was said about the room (1, 5000)'
      await planting.plant({
        group: place.group,
        ...bare,
        episodes: [episode(ref, 1, { content: `user: ${own}\n${line}` })],
      })
      const one = await place.says(own)
      await place.points(ref, one)
      await test.db.query(
        undefined,
        `INSERT INTO provenance (id, project_id, source_kind, source_id, store, ref, place, told_by, at)
         SELECT 'prov_many_' || id, $1, 'message', id, 'graph', $3, $4, 'user:' || $5, now() FROM unnest($2::text[]) AS id`,
        [place.project, said, ref, place.group, owner.accountId],
      )
      await place.erase(one)
      expect((await planting.standing(place.group)).episodes[0]?.content).toBe(line)
    },
    240_000,
  )
})
