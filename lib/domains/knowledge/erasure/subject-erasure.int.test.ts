import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countOf, type DataSource, type Planned, stages } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { sop, trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

const own = /^(?:knowledge|idempotency)\./
const dataSources = (): DataSource[] =>
  stages.flatMap((stage) =>
    test.app.dataSources.filter((dataSource) => own.test(dataSource.name) && dataSource.stage === stage),
  )
const dataSourceOf = (name: string): DataSource => {
  const dataSource = test.app.dataSources.find((one) => one.name === name)
  if (!dataSource) throw new Error(`no holder ${name}`)
  return dataSource
}
type Plans = Map<string, Planned>
async function plan(subject: Subject): Promise<Plans> {
  const plans: Plans = new Map()
  for (const dataSource of dataSources())
    plans.set(dataSource.name, await test.db.transaction((tx) => dataSource.plan({ subject }, tx, test.clock.now())))
  return plans
}
async function erase(subject: Subject, plans: Plans): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { name, erase } of dataSources())
    counts[name] = countOf(await test.db.transaction((tx) => erase({ subject }, plans.get(name)?.items ?? [], tx)))
  return counts
}
async function residue(subject: Subject, plans: Plans): Promise<Record<string, number>> {
  const left: Record<string, number> = {}
  for (const dataSource of dataSources())
    left[dataSource.name] = await dataSource.residue(
      { subject },
      plans.get(dataSource.name)?.items ?? [],
      test.clock.now(),
    )
  return left
}
const itemsOf = (plans: Plans): Record<string, number> =>
  Object.fromEntries([...plans].map(([name, { items }]) => [name, items.length]))
const none = () => Object.fromEntries(dataSources().map(({ name }) => [name, 0]))

/** All rows of the tables as text, so that every change is detected. */
const tables = [
  'units',
  'unit_votes',
  'unit_reports',
  'sop_versions',
  'skills',
  'skill_files',
  'search_words',
  'search_news',
  'reputation',
  'reputation_ledger',
  'content_rejections',
  'idempotency_records',
]
async function rowsOf(table: string, where = 'true'): Promise<string[]> {
  const rows = await test.db.query<{ row: string }>(
    undefined,
    `SELECT t::text AS row FROM ${table} t WHERE ${where} ORDER BY 1`,
  )
  return rows.map(({ row }) => row)
}
const everything = async () =>
  Object.fromEntries(await Promise.all(tables.map(async (table) => [table, await rowsOf(table)])))

async function post(path: string, { token }: { token: string }, body: unknown, key?: string) {
  const headers = key === undefined ? {} : { 'Idempotency-Key': key }
  const response = await test.fetch('POST', path, { token, body, headers })
  if (response.status >= 300) throw new Error(`${path} answered ${response.status}: ${response.text}`)
  return response.json
}
const contribute = async (who: Issued, unit: unknown, key?: string): Promise<string> =>
  (await post('/v1/knowledge', who, unit, key)).data.id
const vote = (who: Issued, id: string, valid = true, key?: string) =>
  post(`/v1/knowledge/${id}/validate`, who, { valid, feedback: 'the unit was valid' }, key)
const gather = () => test.app.jobs.find(({ name }) => name === 'knowledge.gather-words')?.execute(test.app.pipeline, {})
const day = 86_400_000

interface Cast {
  subject: Subject
  person: Person
  mine: Issued[]
  other: Issued
  third: Issued
}
/** A person with two agents and two strangers with one each, all old enough that their votes count. */
async function cast(): Promise<Cast> {
  const [person, one, another] = [await signedIn(test, 'admin'), await signedIn(test), await signedIn(test)]
  const agent = (owner: Person) => issuedAgent(test, ['read', 'write'], { owner, tier: 'pro' })
  const mine = [await agent(person), await agent(person)]
  const [other, third] = [await agent(one), await agent(another)]
  test.clock.advance(2 * day)
  return { subject: { account: person.accountId, agents: mine.map(({ id }) => id) }, person, mine, other, third }
}
const first = <T>([item]: readonly T[]): T => {
  if (item === undefined) throw new Error('nothing there')
  return item
}
const hold = (kind: string, targetId: string, more: { expiresAt?: Date; releasedAt?: Date } = {}) =>
  test.db.prisma.legalHold.create({
    data: {
      id: `hold-${kind}-${targetId}`,
      kind,
      targetId,
      reason: 'a claim',
      createdBy: 'user:test',
      createdAt: test.clock.now(),
      ...more,
    },
  })

describe('a subject with data in every place', () => {
  let all: Cast
  let plans: Plans
  let theirs: { trace: string; sop: string; imported: string; skill: string }
  let former: Map<string, number>

  beforeAll(async () => {
    all = await cast()
    const { mine, other, third, person } = all
    const [a, b] = [first(mine), first(mine.slice(1))]
    const written = await contribute(a, trace(), 'mine-1')
    await contribute(b, sop({ source: { type: 'human_expert', expert_id: a.id, credentials: [] } }))
    await post('/v1/skills', a, { skill_md: skillMd('my-own-skill'), visibility: 'network' })
    await vote(other, written, true, 'theirs-about-mine')
    await vote(third, written, false)
    theirs = {
      trace: await contribute(other, trace({}, { validated_by: ['somebody', a.id, b.id] }), 'theirs-1'),
      sop: await contribute(
        other,
        sop({ name: 'Wake somebody', source: { type: 'human_expert', expert_id: a.id, credentials: [] } }),
      ),
      imported: await contribute(other, trace({ task: { objective: 'Something that was imported' } })),
      skill: (
        await post('/v1/skills', other, {
          skill_md: skillMd('their-own-skill', { front: `author: "${b.id}"` }),
          visibility: 'network',
        })
      ).data.id,
    }
    await vote(a, theirs.trace)
    await vote(third, theirs.trace)
    await vote(b, theirs.imported)
    await test.db.query(undefined, 'UPDATE units SET original_author = $2 WHERE id = $1', [theirs.imported, b.id])
    await post(`/v1/knowledge/${theirs.trace}/report`, b, { reason: 'a doubt' })
    await test.fetch('POST', `/v1/knowledge/${theirs.imported}/report`, {
      cookie: person.cookie,
      body: { reason: 'mine too' },
    })
    // The person approves another author's SOP without revising it.
    expect((await test.fetch('POST', `/v1/sop/${theirs.sop}/approve`, { cookie: person.cookie })).status).toBe(200)
    for (const agentId of [a.id, `user:${person.accountId}`, other.id])
      await test.db.prisma.contentRejection.create({
        data: { id: `rej-${agentId}`, agentId, at: test.clock.now(), stage: 'injection' },
      })
    await test.app.jobs.find(({ name }) => name === 'knowledge.novelty')?.execute(test.app.pipeline, {})
    await gather()
  })

  it('is planned completely, each item once, and planning changes nothing', async () => {
    const before = await everything()
    plans = await plan(all.subject)
    expect(itemsOf(plans)).toEqual({
      'knowledge.words': 3,
      // The subject's own response, and a stranger's about the subject's unit.
      'idempotency.answers': 2,
      'knowledge.votes': 2,
      'knowledge.reports': 2,
      'knowledge.references': 4,
      'knowledge.rejections': 2,
      'knowledge.units': 2,
      'knowledge.skills': 1,
      // Gains for two units, a skill and two votes, and two totals.
      'knowledge.reputation': 7,
    })
    for (const { items } of plans.values()) expect(items).toEqual([...new Set(items)].sort())
    expect(await everything()).toEqual(before)
  })

  it('is listed in its own inventory and in no other', async () => {
    const now = test.clock.now()
    for (const dataSource of dataSources()) {
      const held = await dataSource.inventory(all.subject, now)
      expect([dataSource.name, held.count > 0, held.since instanceof Date]).toEqual([dataSource.name, true, true])
      const nobody = await dataSource.inventory({ account: 'usr_nobody', agents: ['agent_nobody'] }, now)
      expect(nobody).toEqual({ count: 0, since: null, until: null })
    }
    const ending = async (name: string) => (await dataSourceOf(name).inventory(all.subject, now)).until?.getTime()
    expect(await ending('knowledge.rejections')).toBe(now.getTime() + 30 * 86_400_000)
    expect(await ending('knowledge.units')).toBeUndefined()
  })

  it('has residue everywhere before the erasure', async () => {
    for (const [name, left] of Object.entries(await residue(all.subject, plans)))
      expect([name, left > 0]).toEqual([name, true])
  })

  it('returns ids that can never be reused, and whether they were public', async () => {
    const { items } = plans.get('knowledge.units') ?? { items: [] }
    await test.db.query(undefined, "UPDATE units SET visibility = 'private' WHERE id = $1", [items[0]])
    const found = await test.db.transaction(
      (tx) => dataSourceOf('knowledge.units').identities?.(items, tx) ?? Promise.resolve([]),
    )
    expect(found.sort((one, next) => (one.id < next.id ? -1 : 1))).toEqual([
      { id: items[0], wasPublic: false },
      { id: items[1], wasPublic: true },
    ])
  })

  it('is erased everywhere as planned, and the rows of others keep their scores', async () => {
    const { other, third } = all
    const strangers = `('${other.id}', '${third.id}')`
    const retained = async () => ({
      units: await test.db.query(
        undefined,
        `SELECT id, quality_score, votes_for, votes_against, novelty FROM units WHERE agent_id IN ${strangers} ORDER BY id`,
      ),
      votes: await rowsOf(
        'unit_votes',
        `voter_id IN ${strangers} AND unit_id IN (SELECT id FROM units WHERE agent_id IN ${strangers})`,
      ),
      reputation: await rowsOf('reputation', `agent_id IN ${strangers}`),
      rejections: await rowsOf('content_rejections', `agent_id IN ${strangers}`),
      gains: await test.db.query(
        undefined,
        `SELECT id, change, reason FROM reputation_ledger WHERE agent_id IN ${strangers} ORDER BY id`,
      ),
    })
    const before = await retained()
    former = await versions()
    expect(await erase(all.subject, plans)).toEqual({ ...itemsOf(plans), 'knowledge.reputation': 7 - 3 })
    expect(await residue(all.subject, plans)).toEqual(none())
    expect(await retained()).toEqual(before)
    expect(before.units.length).toBe(3)
    const sums = await test.db.query<{ is: boolean }>(
      undefined,
      `SELECT abs(r.score - coalesce((SELECT sum(change) FROM reputation_ledger l WHERE l.agent_id = r.agent_id), 0)) < 1e-6 AS is FROM reputation r`,
    )
    expect(sums.every(({ is }) => is)).toBe(true)
  })

  const versions = async () =>
    new Map(
      (
        await test.db.query<{ id: string; version: number }>(
          undefined,
          'SELECT id, version FROM units WHERE agent_id = $1 UNION ALL SELECT id, version FROM skills WHERE agent_id = $1',
          [all.other.id],
        )
      ).map(({ id, version }) => [id, version]),
    )

  it('is replaced by a pseudonym in records of others, equal for equal names, and its name does not occur anywhere else', async () => {
    const { mine, other, person } = all
    const [a, b] = mine.map(({ id }) => id)
    const after = (await test.fetch('GET', `/v1/knowledge/${theirs.trace}`, { token: other.token })).json.data.unit
    const [somebody, pa, pb] = after.metadata.validated_by
    expect(somebody).toBe('somebody')
    expect([pa, pb]).toEqual([
      expect.stringMatching(/^erased-[0-9A-Za-z]{12}$/),
      expect.stringMatching(/^erased-[0-9A-Za-z]{12}$/),
    ])
    expect(pa).not.toBe(pb)
    const reported = (await test.fetch('GET', `/v1/knowledge/${theirs.sop}`, { token: other.token })).json.data.unit
    expect(reported.source.expert_id).toBe(pa)
    const [imported] = await test.db.query<{ original_author: string }>(
      undefined,
      'SELECT original_author FROM units WHERE id = $1',
      [theirs.imported],
    )
    expect(imported?.original_author).toBe(pb)
    const skill = (await test.fetch('GET', `/v1/skills/${theirs.skill}`, { token: other.token })).json.data
    expect(skill.author).toBe(pb)
    expect(skill.skill_md).toContain(`author: ${pb}`)
    const everywhere = Object.values(await everything())
      .flat()
      .join('\n')
    for (const name of [a, b, person.accountId]) expect(everywhere).not.toContain(name)
    expect(await versions()).toEqual(new Map([...former].map(([id, version]) => [id, version + 1])))
  })

  it('is not found by its old name, and its SOP is found by the pseudonym', async () => {
    await gather()
    const { other, mine } = all
    const found = async (q: string) =>
      (await test.fetch('GET', `/v1/sop?q=${encodeURIComponent(q)}`, { token: other.token })).json.data.map(
        ({ id }: { id: string }) => id,
      )
    const [{ source }] = [
      (await test.fetch('GET', `/v1/knowledge/${theirs.sop}`, { token: other.token })).json.data.unit,
    ]
    expect(await found(source.expert_id)).toEqual([theirs.sop])
    expect(await found(first(mine).id)).toEqual([])
  })

  it('is unchanged when it is erased again by the same or a new plan', async () => {
    const before = await everything()
    expect(await erase(all.subject, plans)).toEqual({ ...none(), 'knowledge.words': 3 })
    expect(await everything()).toEqual(before)
    const again = await plan(all.subject)
    expect(itemsOf(again)).toEqual(none())
    await erase(all.subject, again)
    expect(await everything()).toEqual(before)
  })

  it('an erasure leaves correct sums, so that later votes, jobs that weigh them, and claims succeed', async () => {
    const { other, mine } = all
    await test.db.query(undefined, 'DELETE FROM tokens WHERE agent_id = ANY($1)', [mine.map(({ id }) => id)])
    await test.db.query(undefined, 'DELETE FROM agents WHERE id = ANY($1)', [mine.map(({ id }) => id)])
    const sums = async () => {
      const [row] = await test.db.query<{ votes_for: number }>(undefined, 'SELECT votes_for FROM units WHERE id = $1', [
        theirs.trace,
      ])
      return row?.votes_for ?? 0
    }
    const before = await sums()
    expect(before).toBeGreaterThanOrEqual(1)
    for (const name of [
      'knowledge.weigh-votes',
      'knowledge.weigh-reports',
      'knowledge.novelty',
      'knowledge.gather-words',
    ])
      await test.app.jobs.find((job) => job.name === name)?.execute(test.app.pipeline, {})
    expect(await sums()).toBe(before)
    const fresh = await issuedAgent(test, ['read', 'write'], { owner: await signedIn(test) })
    const { data } = await vote(fresh, theirs.trace)
    expect(await sums()).toBeCloseTo(before + data.weight, 4)
    expect(other.id).not.toBe(fresh.id)
  })
})

describe('a legal hold', () => {
  it('retains the record with its words, votes and author’s name, counted by hold, until the hold expires or is released', async () => {
    const { subject, mine, other } = await cast()
    const me = first(mine)
    const [held, ofOther, free, ended, released] = [
      await contribute(me, trace()),
      await contribute(me, sop({ source: { type: 'human_expert', expert_id: other.id, credentials: [] } })),
      await contribute(me, trace({ task: { objective: 'Something that nobody holds' } })),
      await contribute(me, trace({ task: { objective: 'A hold that ended' } })),
      await contribute(me, trace({ task: { objective: 'A hold that was released' } })),
    ]
    const theirs = await contribute(other, trace({}, { validated_by: [me.id] }))
    const skill = (await post('/v1/skills', me, { skill_md: skillMd('a-held-skill'), visibility: 'network' })).data.id
    await vote(other, held)
    await gather()
    await hold('unit', held)
    await hold('skill', skill)
    await hold('agent', other.id)
    await hold('unit', ended, { expiresAt: new Date(test.clock.now().getTime() - 1) })
    await hold('unit', released, { releasedAt: test.clock.now() })
    const plans = await plan(subject)
    expect(plans.get('knowledge.units')).toEqual({
      items: [free, ended, released].sort(),
      held: { [`hold-unit-${held}`]: 1, [`hold-agent-${other.id}`]: 1 },
    })
    expect(plans.get('knowledge.skills')).toEqual({ items: [], held: { [`hold-skill-${skill}`]: 1 } })
    expect(plans.get('knowledge.references')).toEqual({ items: [], held: { [`hold-agent-${other.id}`]: 1 } })
    expect(plans.get('knowledge.words')?.held).toEqual({
      [`hold-unit-${held}`]: 1,
      [`hold-agent-${other.id}`]: 1,
      [`hold-skill-${skill}`]: 1,
    })
    const retained = () =>
      Promise.all([
        rowsOf('units', `id IN ('${held}', '${ofOther}', '${theirs}')`),
        rowsOf('unit_votes', `unit_id = '${held}'`),
        rowsOf('skills', `id = '${skill}'`),
        rowsOf('search_words', `bearer IN ('${held}', '${ofOther}', '${skill}')`),
      ])
    const before = await retained()
    await erase(subject, plans)
    expect(await retained()).toEqual(before)
    expect(before[0]?.length).toBe(3)
    expect(await residue(subject, plans)).toEqual(none())
    // After the release, the rest remains to be erased.
    await test.db.prisma.legalHold.updateMany({ data: { releasedAt: test.clock.now() } })
    const rest = await plan(subject)
    expect(rest.get('knowledge.units')).toEqual({ items: [held, ofOther].sort(), held: {} })
    // By author, by id, and a vote, a version and a stranger's gain under the ids.
    expect((await residue(subject, rest))['knowledge.units']).toBe(2 + 2 + 1 + 1 + 1)
    await erase(subject, rest)
    expect(await residue(subject, rest)).toEqual(none())
  })

  it('a legal hold on an account covers the data of all its agents, also when erasing a single unit', async () => {
    const { subject, mine, other } = await cast()
    const owner = (await test.db.prisma.agent.findUniqueOrThrow({ where: { id: other.id } })).ownerId ?? ''
    const id = await contribute(
      first(mine),
      sop({ source: { type: 'human_expert', expert_id: other.id, credentials: [] } }),
    )
    await hold('account', owner)
    expect((await plan(subject)).get('knowledge.units')).toEqual({ items: [], held: { [`hold-account-${owner}`]: 1 } })
    expect((await test.fetch('DELETE', `/v1/knowledge/${id}`, { token: first(mine).token })).json).toMatchObject({
      code: 'held',
    })
  })
})

it('erasing one agent keeps the data of its owner’s other agents', async () => {
  const { mine, other } = await cast()
  const [deleted, stays] = [first(mine), first(mine.slice(1))]
  const theirs = await contribute(other, trace())
  const another = await contribute(other, trace({ task: { objective: 'Another thing of theirs' } }))
  await contribute(deleted, trace())
  const retained = await contribute(stays, trace())
  await vote(deleted, theirs)
  await vote(stays, another)
  const subject = { account: null, agents: [deleted.id] }
  const plans = await plan(subject)
  expect(itemsOf(plans)).toMatchObject({ 'knowledge.units': 1, 'knowledge.votes': 1 })
  await erase(subject, plans)
  expect(await residue(subject, plans)).toEqual(none())
  expect(await rowsOf('units', `id = '${retained}'`)).toHaveLength(1)
  expect(await rowsOf('unit_votes', `voter_id = '${stays.id}'`)).toHaveLength(1)
})

it('votes and reports by others between plan and erasure leave no residue in rows or stored responses', async () => {
  const { subject, mine, other, third } = await cast()
  const id = await contribute(first(mine), trace())
  const plans = await plan(subject)
  await vote(other, id, true, 'meanwhile')
  const response = await test.fetch('POST', `/v1/knowledge/${id}/report`, {
    token: third.token,
    body: { reason: 'meanwhile' },
    headers: { 'Idempotency-Key': 'meanwhile' },
  })
  expect(response.status).toBe(202)
  const answers = () => rowsOf('idempotency_records', `t::text LIKE '%${id}%' AND body IS NOT NULL`)
  expect(await answers()).toHaveLength(2)
  await erase(subject, plans)
  expect(await answers()).toEqual([])
  expect(await residue(subject, plans)).toEqual(none())
  const again = await test.fetch('POST', `/v1/knowledge/${id}/validate`, {
    token: other.token,
    body: { valid: true, feedback: 'the unit was valid' },
    headers: { 'Idempotency-Key': 'meanwhile' },
  })
  expect([again.status, again.json.code]).toEqual([410, 'erased'])
})

it('an SOP keeps novelty and score after its expert’s erasure, also when novelty is computed again', async () => {
  const { subject, mine, other } = await cast()
  const id = await contribute(
    other,
    sop({ source: { type: 'human_expert', expert_id: first(mine).id, credentials: [] } }),
  )
  const decide = () => test.app.jobs.find(({ name }) => name === 'knowledge.novelty')?.execute(test.app.pipeline, {})
  const decided = () =>
    test.db.query<{ novelty: number | null }>(undefined, 'SELECT novelty, quality_score FROM units WHERE id = $1', [id])
  await decide()
  const before = await decided()
  expect(before[0]?.novelty).toEqual(expect.any(Number))
  await erase(subject, await plan(subject))
  expect(await decided()).toEqual(before)
  await decide()
  expect(await decided()).toEqual(before)
})
