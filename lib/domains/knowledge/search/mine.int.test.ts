import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import type { RunQuery } from '#lib/stores/postgres/statement.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { sop, trace } from '#lib/testing/units.ts'
import { searchReaderOf, searchTarget } from './conditions.ts'
import { newestPage } from './repository.ts'

let test: TestApp
let owner: Person
let colleague: Person
let one: Issued
let other: Issued

beforeAll(async () => {
  test = await testApp()
  owner = await signedIn(test)
  colleague = await signedIn(test, 'person', owner.organisationId)
  ;[one, other] = [await agent(owner), await agent(owner)]
})
afterAll(() => test.close())

const agent = (of: Person): Promise<Issued> => issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner: of })
async function stored(by: Issued, body: unknown, path = '/v1/knowledge'): Promise<string> {
  const { status, json, text } = await test.fetch('POST', path, { token: by.token, body })
  expect(status, text).toBe(201)
  return json.data.id
}
const list = async (query: string, cookie = owner.cookie) => {
  const response = await test.fetch('GET', query, { cookie })
  expect(response.status, response.text).toBe(200)
  return response.json
}
const ids = async (query: string, cookie?: string): Promise<string[]> =>
  (await list(query, cookie)).data.map(({ id }: { id: string }) => id)

describe('mine=true', () => {
  it('lists units of the person’s own agents with any visibility, newest first, and none of others', async () => {
    const theirs = await agent(colleague)
    const mine: string[] = []
    for (const [by, visibility] of [
      [one, 'private'],
      [other, 'org'],
      [one, 'network'],
    ] as const) {
      test.clock.advance(1_000)
      mine.unshift(await stored(by, trace({ task: { objective: 'Sort the lighthouse' } }, { visibility })))
      await stored(theirs, trace({ task: { objective: 'Sort the lighthouse too' } }, { visibility }))
    }
    expect(await ids('/v1/knowledge?mine=true')).toEqual(mine)
    expect((await list('/v1/knowledge?mine=true')).total).toBe(3)
    expect((await ids('/v1/knowledge')).length).toBeGreaterThan(3)
    expect(new Set(await ids('/v1/knowledge?mine=true&q=lighthouse'))).toEqual(new Set(mine))
    expect(await ids(`/v1/knowledge?mine=true&agent_id=${other.id}`)).toEqual([mine[1]])
    // Another person's agent is not included, even if its units are visible.
    expect(await ids(`/v1/knowledge?mine=true&agent_id=${theirs.id}`)).toEqual([])
    expect(await ids('/v1/knowledge?mine=true&visibility=private')).toEqual([mine[2]])
    const nobody = await signedIn(test)
    expect(await ids('/v1/knowledge?mine=true', nobody.cookie)).toEqual([])
    expect(await ids('/v1/knowledge?mine=true&q=lighthouse', nobody.cookie)).toEqual([])
  })

  it('paginates several agents without gaps, with filters', async () => {
    const busy = await signedIn(test)
    const agents = [await agent(busy), await agent(busy), await agent(busy)]
    const all: string[] = []
    for (let n = 0; n < 13; n++) {
      // Every fourth unit has the same time as the previous one.
      if (n % 4 !== 0) test.clock.advance(60_000)
      const by = agents[n % 3] ?? one
      all.push(await stored(by, n % 2 === 0 ? trace() : sop()))
    }
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: { data: { id: string }[]; next_cursor: string | null; total: number } = await list(
        `/v1/knowledge?mine=true&limit=4${cursor === null ? '' : `&cursor=${cursor}`}`,
        busy.cookie,
      )
      expect(page.total).toBe(13)
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.next_cursor
    } while (cursor !== null)
    expect(seen.toSorted()).toEqual(all.toSorted())
    expect(await ids('/v1/knowledge?mine=true&types=ExpertSOP&limit=100', busy.cookie)).toHaveLength(6)
    const from = encodeURIComponent(new Date(test.clock.now().getTime() - 60_000).toISOString())
    expect((await ids(`/v1/knowledge?mine=true&from=${from}`, busy.cookie)).length).toBeLessThan(13)
    expect(await ids('/v1/knowledge?mine=true&min_quality=1', busy.cookie)).toEqual([])
  })

  it('works for skills, also filtered by quality and time', async () => {
    const person = await signedIn(test)
    const author = await agent(person)
    const id = await stored(author, { skill_md: skillMd('mine-alone'), visibility: 'private' }, '/v1/skills')
    expect(await ids('/v1/skills?mine=true', person.cookie)).toEqual([id])
    expect(await ids('/v1/skills?mine=true')).toEqual([])
    expect(await ids('/v1/skills?mine=true&min_quality=1', person.cookie)).toEqual([])
    expect(await ids('/v1/skills?mine=true&to=2001-01-01T00:00:00Z', person.cookie)).toEqual([])
  })

  it('lists units and skills with snippets of matches instead of their texts', async () => {
    const person = await signedIn(test)
    const author = await agent(person)
    const text = 'An albatross of a sentence that no list carries. '.repeat(100)
    const unit = await stored(
      author,
      trace({ task: { objective: 'Count the petrels' }, outcome: { result_summary: text, confidence: 1 } }),
    )
    const skill = await stored(author, { skill_md: skillMd('petrel-watch'), visibility: 'org' }, '/v1/skills')
    const { data, total } = await list('/api/knowledge?mine=true', person.cookie)
    expect([total, data.length]).toEqual([1, 1])
    expect(data[0]).toMatchObject({
      id: unit,
      kind: 'trace',
      title: 'Count the petrels',
      agent_id: author.id,
      is_own: true,
      domain: 'code',
      expires_at: null,
      quarantined_at: null,
    })
    expect(JSON.stringify(data).length).toBeLessThan(1_000)
    const found = await list('/api/knowledge?mine=true&q=albatross', person.cookie)
    const { snippet } = found.data[0]
    expect(snippet.text.slice(snippet.highlights[0].start, snippet.highlights[0].end)).toBe('albatross')
    expect(await list('/api/knowledge?kind=skill&mine=true', person.cookie)).toMatchObject({
      total: 1,
      data: [{ id: skill, kind: 'skill', title: 'petrel-watch', domain: null, visibility: 'org' }],
    })
    const [sought] = (await list('/api/knowledge?kind=skill&mine=true&q=petrel', person.cookie)).data
    expect(sought.snippet.highlights.length).toBeGreaterThan(0)
    expect(await ids('/api/knowledge?mine=true&kind=sop', person.cookie)).toEqual([])
    expect((await list('/api/knowledge?q=petrels', owner.cookie)).data[0]).toMatchObject({ id: unit, is_own: false })

    const ask = (query: string, more: object = { cookie: person.cookie }) =>
      test.fetch('GET', `/api/knowledge${query}`, more)
    expect((await ask('?kind=skill&domain=code')).status).toBe(422)
    expect((await ask('?kind=everything')).status).toBe(422)
    expect((await ask(`?q=${'x'.repeat(10_000)}`)).status).toBe(422)
    expect((await ask('', {})).status).toBe(401)
    expect((await ask('', { token: author.token })).status).toBe(403)
    await test.db.prisma.session.updateMany({
      where: { accountId: person.accountId },
      data: { revokedAt: test.clock.now() },
    })
    expect((await ask('')).status).toBe(401)
  })

  it('finds the newest of a hundred thousand rows by the index on authors', async () => {
    const others = (await agent(colleague)).id
    // As the owner, whose statements have no time limit.
    await withConnection(test.ownerUrl, (client) =>
      client.query(
        `INSERT INTO units (id, type, agent_id, organisation_id, visibility, domain, document, quality_score, created_at, updated_at)
       SELECT 'kp:trace:many' || n, 'ReasoningTrace', CASE WHEN n % 4 = 0 THEN $1 ELSE $3 END, $2, 'private', 'code', '{}', 0.5,
         timestamptz '2025-01-01' + n * interval '1 minute', now()
       FROM generate_series(1, 100000) AS n`,
        [one.id, owner.organisationId, others],
      ),
    )
    const actor = {
      agents: [one.id, other.id],
      organisationId: owner.organisationId,
      isAdmin: false,
    }
    const { form, values } = searchTarget('units', searchReaderOf(actor), { authors: actor.agents })
    const explaining: RunQuery = async (text, given) =>
      (await test.db.pool.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, [...given])).rows
    const after = { at: new Date('2025-02-10T00:00:00Z'), id: 'kp:trace:x' }
    const page = { offset: 0, limit: 20, wanted: 21 }
    const rows: unknown = await newestPage(explaining, { ...values, ...after, ...page }, { ...form, isContinued: true })
    const plan = JSON.stringify(rows)
    expect(plan).toContain('units_agent_id_created_at_id_idx')
    expect(plan).not.toContain(
      '"Node Type":"Seq Scan","Parent Relationship":"Outer","Parallel Aware":false,"Relation Name":"units"',
    )
    // Blocks, because the time depends on other processes. The first node of the plan contains the blocks of all others.
    const blocks = ['Hit', 'Read'].map((how) => Number(new RegExp(`"Shared ${how} Blocks":(\\d+)`).exec(plan)?.[1]))
    expect(blocks.reduce((sum, one) => sum + one)).toBeLessThan(500)
  })
})
