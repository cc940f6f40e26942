import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { erasedOf, type PlannedRecord } from '#lib/kernel/data-source.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { dealGraph, entity, episode, fact, sentence, sharedGraph } from '#lib/testing/graphs.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import type { GraphPlanting } from '#lib/testing/planted-graph.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { allowAnyClaim, eraseWholeProject, manyMessages } from '#lib/testing/projects.ts'

let test: TestApp
let planting: GraphPlanting
beforeAll(async () => {
  test = await testApp()
  planting = postgresPlanting(test.db)
})
afterAll(() => test?.close())

interface GraphUnderTest {
  owner: Person
  project: string
  conversation: string
  group: string
}
let place: GraphUnderTest

async function ask(method: string, path: string, body?: unknown, expected = 200) {
  const response = await test.fetch(method, path, { cookie: place.owner.cookie, ...(body !== undefined && { body }) })
  expect(response.status, `${method} ${path}: ${response.text}`).toBe(expected)
  return response.json
}
const says = async (content: string, id?: string): Promise<string> =>
  (
    await ask(
      'POST',
      `/api/projects/${place.project}/conversations/${place.conversation}/messages`,
      { role: 'user', content, ...(id && { id }) },
      201,
    )
  ).data.id
const points = (source: string, ref: string, more: { place?: string; ended?: string[] } = {}) =>
  ask('POST', `/api/projects/${place.project}/provenance`, {
    entries: [{ source_id: source, store: 'graph', ref, ...more }],
  })
const messagePath = (id: string) => `/api/projects/${place.project}/conversations/${place.conversation}/messages/${id}`
const plans = async (id: string): Promise<PlannedRecord[]> =>
  (await ask('DELETE', `${messagePath(id)}?dry_run=true`, {})).data.verdicts.filter(
    (one: PlannedRecord) => one.store === 'graph',
  )
const bare = { entities: [], facts: [], mentions: [], communities: [], sagas: [], next: [] }
const remaining = () => planting.standing(place.group)

beforeEach(async () => {
  const owner = await signedIn(test)
  const group = newId('grp').toLowerCase()
  place = { owner, project: '', conversation: '', group }
  await allowAnyClaim(test, owner.organisationId)
  place.project = (await ask('POST', '/api/projects', { name: 'A deal', group_id: group }, 201)).data.id
  place.conversation = (
    await ask('POST', `/api/projects/${place.project}/conversations`, { title: 'Talk' }, 201)
  ).data.id
})

describe('DELETE of a message', () => {
  it('erases its derived data in the graph and reports the counts', async () => {
    const deal = dealGraph(place.group)
    await planting.plant(deal)
    const message = await says(`${sentence}.`)
    await points(message, deal.id('e1'), { ended: [deal.id('f-ended')] })
    const reported = await ask('DELETE', messagePath(message), {})
    expect(reported).toMatchObject({
      success: true,
      deletedFrom: { graphiti: { episodesDeleted: 1, entitiesDeleted: 4, entitiesOrphaned: 2 } },
    })
    const left = await remaining()
    expect(JSON.stringify(left)).not.toMatch(/quokka/i)
    expect(left.facts.find(({ uuid }) => uuid === deal.id('f-ended'))).toMatchObject({
      invalidAt: null,
      expiredAt: null,
    })
    const { data } = await ask('GET', `/api/erasures/${reported.auditId}`)
    const { results } = data.steps.find(({ holder }: { holder: string }) => holder === 'graph.episodes')
    expect(results.entitiesPersonal + results.entitiesUnreferenced).toBe(results.entitiesDeleted)
    expect(results).toMatchObject({ entitiesPersonal: expect.any(Number), factsUnproven: 1 })
    expect(data.remaining_mentions).toEqual(
      expect.arrayContaining([
        { store: 'graph', kind: 'fact', id: deal.id('f-theirs'), field: 'fact', is_redacted: false },
        { store: 'graph', kind: 'episode', id: deal.id('e2'), field: 'content', is_redacted: false },
      ]),
    )
  })

  it('with redact removes names of erased people from episodes of others', async () => {
    const deal = dealGraph(place.group)
    await planting.plant(deal)
    const message = await says(`${sentence}.`)
    await points(message, deal.id('e1'))
    await ask('DELETE', `${messagePath(message)}?redact=true`, {})
    expect(JSON.stringify(await remaining())).not.toMatch(/xanadu/i)
  })

  it('with dry_run returns every decision with its evidence and changes nothing', async () => {
    const deal = dealGraph(place.group)
    await planting.plant(deal)
    const before = await remaining()
    const message = await says(`${sentence}.`)
    await points(message, deal.id('e1'))
    const decisions = await plans(message)
    const of = (name: string) => decisions.find(({ id }) => id === deal.id(name))
    expect(of('e1')).toMatchObject({ kind: 'episode', verdict: 'deleted', found: 'pointer' })
    expect(of('person')).toMatchObject({
      verdict: 'deleted',
      reason: 'pii',
      evidence: ['label:Person', 'mentions:1', 'facts:2'],
    })
    expect(of('plain')).toMatchObject({ verdict: 'deleted', reason: 'pii', evidence: ['label:none', 'mentions:1'] })
    expect(of('lonely')).toMatchObject({ verdict: 'deleted', reason: 'unreferenced' })
    expect(of('company')).toMatchObject({
      verdict: 'changed',
      reason: 'orphaned',
      evidence: ['label:Company', 'mentions:1'],
    })
    expect(await remaining()).toEqual(before)
  })

  it('uses the project’s mapping of labels to business', async () => {
    const deal = dealGraph(place.group)
    await planting.plant(deal)
    await ask('PATCH', `/api/projects/${place.project}`, { entity_kinds: { Entity: 'business' } })
    const message = await says(`${sentence}.`)
    await points(message, deal.id('e1'))
    expect((await plans(message)).find(({ id }) => id === deal.id('plain'))).toMatchObject({
      verdict: 'changed',
      reason: 'orphaned',
    })
  })
})

describe('DELETE of a message without a pointer', () => {
  it.each([
    ['its text', (text: string, _id: string) => ({ content: `user:  ${text.replaceAll(' ', '\n ')}` }), 'text'],
    ['its id in the name', (_: string, id: string) => ({ name: `message:${id}` }), 'group'],
    ['its id in the description', (_: string, id: string) => ({ sourceDescription: `chat (${id}).` }), 'group'],
    ['its id in the metadata', (_: string, id: string) => ({ metadata: { of: [{ message: id }] } }), 'group'],
  ])('erases an episode with %s, and keeps another one', async (_, shape, found) => {
    const text = 'The vault opens at nine, said somebody to nobody.'
    const message = await says(text)
    const mine = `${place.group}-mine`
    const theirs = `${place.group}-theirs`
    await planting.plant({
      group: place.group,
      ...bare,
      episodes: [
        episode(mine, 1, shape(text, message)),
        episode(theirs, 2, {
          content: 'The vault opens at ten, said somebody.',
          name: `${message}0`,
          metadata: { of: `x${message}` },
        }),
      ],
    })
    expect((await plans(message)).map(({ id, found: how }) => [id, how])).toEqual([[mine, found]])
    await ask('DELETE', messagePath(message), {})
    expect((await remaining()).episodes.map(({ uuid }) => uuid)).toEqual([theirs])
  })

  it('finds no episode for a short text, and keeps an episode with a pointer from another message', async () => {
    const reply = await says('I answer that now.')
    const message = await says('Thanks a lot.')
    const [replied, thanked] = [`${place.group}-replied`, `${place.group}-thanked`]
    await planting.plant({
      group: place.group,
      ...bare,
      episodes: [
        episode(replied, 1, { content: 'user: I answer that now.', metadata: { reply_to: message } }),
        episode(thanked, 2, { content: 'Thanks a lot.' }),
      ],
    })
    await points(reply, replied)
    await ask('DELETE', messagePath(message), {})
    expect((await remaining()).episodes.map(({ uuid }) => uuid)).toEqual([replied, thanked])
  })
})

describe('erasure of a message with wrong or incomplete pointers', () => {
  const said = 'The vault opens at nine, said somebody to nobody.'
  const reported = (uuid: string, more: Parameters<typeof episode>[2] = {}) =>
    planting.plant({ group: place.group, ...bare, episodes: [episode(uuid, 1, more)] })
  const remainingIds = async () => (await remaining()).episodes.map(({ uuid }) => uuid)
  /** Erases a message, verifies the erasure, and returns its run. */
  const erased = async (message: string) => {
    const receiptId = await eraseWholeProject(test, messagePath(message), place.owner)
    return test.db.prisma.erasureRun.findUniqueOrThrow({ where: { receiptId }, include: { steps: true } })
  }
  const resultsOf = ({ steps }: Awaited<ReturnType<typeof erased>>) =>
    steps.find(({ holder }) => holder === 'graph.episodes')?.results

  it.each([
    ['nothing', {}],
    ['something in another group', { place: 'a-group-of-nobody' }],
  ])('finds an episode with the words when a pointer names %s', async (_, more) => {
    await reported(`${place.group}-mine`, { content: `user: ${said}` })
    const message = await says(said)
    await points(message, 'x', more)
    expect(resultsOf(await erased(message))).toMatchObject({ episodesDeleted: 1 })
    expect(await remainingIds()).toEqual([])
  })

  it('finds all episodes of the message when only one is reported', async () => {
    const [before, after] = [`${place.group}-before`, `${place.group}-after`]
    const later = 'The vault opens at ten, said somebody to nobody.'
    await reported(before, { content: said })
    await reported(after, { content: later })
    const message = await says(said)
    await ask('PATCH', messagePath(message), { content: later })
    await points(message, after)
    await erased(message)
    expect(await remainingIds()).toEqual([])
  })

  it('keeps an episode with the same words when a pointer assigns it to a remaining message', async () => {
    const [mine, theirs] = [`${place.group}-mine`, `${place.group}-theirs`]
    await reported(mine, { content: said })
    await reported(theirs, { content: said })
    const message = await says(said)
    await points(message, mine)
    await points(await says(said), theirs)
    await erased(message)
    expect(await remainingIds()).toEqual([theirs])
  })

  it('ends, and searches for a reported id only as an id, when it is not an episode', async () => {
    const deal = '0b5a3c1e-4d2f-4a6b-8c7d-9e0f1a2b3c4d'
    const who = '7d1f0c2e-9b3a-4e5d-8f6c-1a2b3c4d5e6f'
    const retained = `${place.group}-kept`
    await planting.plant({
      group: place.group,
      ...bare,
      entities: [entity(who, 'Elsewhere Works', ['Company'])],
      episodes: [episode(retained, 1, { content: `All of the deal ${deal}.` })],
      mentions: [{ episode: retained, entity: who }],
    })
    const message = await says('Something that points at words.')
    for (const ref of ['the', 'of', deal, who]) await points(message, ref)
    await erased(message)
    const left = await remaining()
    expect([left.episodes, left.entities, left.mentions].map(({ length }) => length)).toEqual([1, 1, 1])
  })

  it('searches only for the id as an id when the id of an episode may also be a word', async () => {
    await reported('the')
    await reported(`${place.group}-kept`, { content: 'All of the deal.' })
    const message = await says('Something that points at words.')
    await points(message, 'the')
    expect(resultsOf(await erased(message))).toMatchObject({ episodesDeleted: 1 })
    expect(await remainingIds()).toEqual([`${place.group}-kept`])
  })

  it('finds an episode by its id in the second search when the id was reported before the episode existed', async () => {
    const late = '3f8e2d1c-6b5a-4f4e-9d3c-2b1a0f9e8d7c'
    const message = await says('Somebody tells of it before it is there.')
    await points(message, late)
    const { id, auditId } = await erased(message)
    await reported(late)
    test.clock.advance(25 * 3_600_000)
    await test.app.subjectErasures.recheck(id)
    expect(await remainingIds()).toEqual([])
    expect((await ask('GET', `/api/erasures/${auditId}`)).data.late_found).toBe(1)
  })
})

describe('data of other projects', () => {
  it('is unchanged when a pointer names another group, and the plan gives the reason', async () => {
    const others = newId('grp').toLowerCase()
    const theirs = dealGraph(others)
    const message = await says('Something that points elsewhere.')
    // Reported before the episode exists; later the report is rejected.
    await points(message, theirs.id('e1'))
    await planting.plant(theirs)
    const before = await planting.standing(others)
    await points(message, theirs.id('e2'), { place: others })
    expect((await plans(message)).map(({ id, verdict, reason, evidence }) => [id, verdict, reason, evidence])).toEqual([
      [theirs.id('e2'), 'untouched', 'foreign_group', []],
      [theirs.id('e1'), 'untouched', 'foreign_group', []],
    ])
    const reported = await ask('DELETE', messagePath(message), {})
    expect(reported).toMatchObject({ success: true, deletedFrom: { graphiti: { episodesDeleted: 0 } } })
    expect(await planting.standing(others)).toEqual(before)
  })

  it.each(['*0000000', 'about:x', 'text:x', '../x', ''])(
    'is unchanged when a pointer is %j, which has a meaning in items',
    async (ref) => {
      const retained = `${place.group}-kept`
      await planting.plant({ group: place.group, ...bare, episodes: [episode(retained, 1)] })
      const message = await says('Something hostile is said here.')
      const now = test.clock.now()
      await test.db.prisma.provenance.create({
        data: {
          id: newId('prov'),
          projectId: place.project,
          sourceKind: 'message',
          sourceId: message,
          store: 'graph',
          ref,
          toldBy: 'somebody',
          at: now,
        },
      })
      await ask('DELETE', messagePath(message), {})
      expect((await remaining()).episodes.map(({ uuid }) => uuid)).toEqual([retained])
    },
  )
})

describe('an episode of several sources', () => {
  const of = (found: PlannedRecord[], id: string) => found.find((one) => one.id === id)

  const own = 'I suffer from Morbus Crohn and sleep in room 77 since spring.'
  const answer = 'Thank you for telling us. We will book another room for you.'
  const turn = `user: ${own}\nassistant: ${answer}`
  const resultsOf = async (message: string) => {
    const receiptId = await eraseWholeProject(test, messagePath(message), place.owner)
    const run = await test.db.prisma.erasureRun.findUniqueOrThrow({ where: { receiptId }, include: { steps: true } })
    const { json: receipt } = await test.fetch('GET', `/v1/receipts/${receiptId}`)
    return { results: run.steps.find(({ holder }) => holder === 'graph.episodes')?.results, receipt, run }
  }
  const contents = async () => (await remaining()).episodes.map(({ content }) => content)

  it.each([
    ['reported for both', true, true],
    ['reported for the erased one', true, false],
    ['reported for the other one', false, true],
    ['not reported', false, false],
  ])('is cut when its provenance is %s, and not cut again later', async (_, isOwnReported, isOtherReported) => {
    const both = `${place.group}-both`
    const thing = `${place.group}-thing`
    await planting.plant({
      group: place.group,
      ...bare,
      episodes: [episode(both, 1, { content: turn })],
      entities: [entity(thing, 'Nowhere Works', ['Company'], { summary: `The patient said: ${own}` })],
      mentions: [{ episode: both, entity: thing }],
    })
    const [one, other] = [await says(own), await says(answer)]
    if (isOwnReported) await points(one, both)
    if (isOtherReported) await points(other, both)
    expect(of(await plans(one), both)).toMatchObject({ verdict: 'changed', reason: 'cut' })
    const { results, receipt, run } = await resultsOf(one)
    expect(await contents()).toEqual([`assistant: ${answer}`])
    expect(JSON.stringify(await remaining())).not.toContain('Morbus')
    expect(results).toMatchObject({ derivedCut: 1, episodesDeleted: 0 })
    expect(receipt.derived).toContainEqual(expect.objectContaining({ store: 'graph', cut: 1 }))
    test.clock.advance(25 * 3_600_000)
    await test.app.subjectErasures.recheck(run.id)
    expect(await contents()).toEqual([`assistant: ${answer}`])
    await resultsOf(other)
    expect(await contents()).toEqual([])
  })

  it('is deleted when it contains no exact words of its sources, even if another message remains', async () => {
    const both = `${place.group}-both`
    await planting.plant({
      group: place.group,
      ...bare,
      episodes: [episode(both, 1, { content: 'A summary of both.' })],
    })
    const [one, other] = [await says(own), await says(answer)]
    for (const source of [one, other]) await points(source, both)
    expect(of(await plans(one), both)).toMatchObject({ verdict: 'deleted', evidence: ['sources:1'] })
    expect((await resultsOf(one)).results).toMatchObject({ episodesDeleted: 1, derivedDeleted: 1 })
    expect(await contents()).toEqual([])
  })

  it('remains unchanged when another author wrote it, despite a wrong pointer, and is a mention if it quotes erased words', async () => {
    const [wrong, quoting] = [`${place.group}-wrong`, `${place.group}-quoting`]
    const quote = `As she wrote: “${own}” That is all.`
    await planting.plant({
      group: place.group,
      ...bare,
      episodes: [
        episode(wrong, 1, { content: `assistant:  ${answer}` }),
        episode(quoting, 2, { content: `doctor: ${quote}` }),
      ],
    })
    const before = await remaining()
    const [one, other, third] = [await says(own), await says(answer), await says(quote)]
    for (const ref of [wrong, quoting]) await points(one, ref)
    await points(third, quoting)
    await points(other, wrong)
    const decisions = await plans(one)
    expect(of(decisions, wrong)).toMatchObject({ verdict: 'kept', reason: 'other_author' })
    const { receipt, results, run } = await resultsOf(one)
    expect(results).toMatchObject({ episodesDeleted: 0, derivedRetained: expect.any(Number) })
    const left = await remaining()
    expect(left.episodes.find(({ uuid }) => uuid === wrong)).toEqual(before.episodes.find(({ uuid }) => uuid === wrong))
    const { data } = await ask('GET', `/api/erasures/${run.auditId}`)
    expect([data.state, receipt.stores.every(({ residue }: { residue: number }) => residue === 0)]).toEqual([
      'done',
      true,
    ])
  })

  it('words in summaries and facts are blanked when no episode leads to them, and words of others remain', async () => {
    const [thing, other, link, untouched] = ['thing', 'other', 'link', 'untouched'].map(
      (name) => `${place.group}-${name}`,
    )
    const theirs = `${place.group}-theirs`
    await planting.plant({
      group: place.group,
      ...bare,
      episodes: [episode(theirs, 1, { content: answer })],
      entities: [
        entity(thing ?? '', 'Nowhere Works', ['Company'], {
          summary: `Told: ${own.toUpperCase()}`,
          attributes: { note: own, kept: 'A note' },
        }),
        entity(other ?? '', 'Elsewhere Works', ['Company'], { summary: 'They book rooms.' }),
      ],
      facts: [
        { ...fact(link ?? '', thing ?? '', other ?? '', [theirs]), fact: `Somebody said ${own}`, attributes: {} },
        { ...fact(untouched ?? '', thing ?? '', other ?? '', [theirs]), attributes: {} },
      ],
      mentions: [thing, other].map((one) => ({ episode: theirs, entity: one ?? '' })),
    })
    const [one, second] = [await says(own), await says(answer)]
    await points(second, theirs)
    expect(of(await plans(one), thing ?? '')).toMatchObject({ verdict: 'changed', reason: 'words', found: 'text' })
    const { results } = await resultsOf(one)
    const left = await remaining()
    expect(left.entities.map(({ summary, attributes }) => [summary, attributes])).toEqual([
      ['They book rooms.', {}],
      ['', { kept: 'A note' }],
    ])
    expect(left.facts.map((one) => [one.uuid, one.fact])).toEqual([
      [link, ''],
      [untouched, `wording of ${untouched}`],
    ])
    expect(left.embedded).not.toContain(link)
    expect(results).toMatchObject({ textsEdited: 3 })
  })

  it('texts generated while the episode was in the context are checked and counted', async () => {
    const ids = ['own', 'next', 'later'].map((name) => `${place.group}-${name}`)
    const who = ['a', 'b', 'c'].map((name) => `${place.group}-w-${name}`)
    await planting.plant({
      group: place.group,
      ...bare,
      episodes: [
        episode(ids[0] ?? '', 1, { content: own }),
        episode(ids[1] ?? '', 2, { content: answer }),
        episode(ids[2] ?? '', 3, { content: 'Nothing of it is said in here.' }),
      ],
      entities: [
        entity(who[0] ?? '', 'Nowhere Works', ['Company'], { summary: `It answers to “${own}”` }),
        entity(who[1] ?? '', 'Elsewhere Works', ['Company'], {
          summary: 'It books rooms for the ill.',
          attributes: { note: `Somebody said: ${own}`, other: 'Of 1990.' },
        }),
      ],
      mentions: [
        { episode: ids[1] ?? '', entity: who[0] ?? '' },
        { episode: ids[2] ?? '', entity: who[1] ?? '' },
      ],
    })
    const one = await says(own)
    await points(one, ids[0] ?? '')
    for (const [n, text] of [answer, 'Nothing of it is said in here.'].entries())
      await points(await says(text), ids[n + 1] ?? '')
    const { results, receipt } = await resultsOf(one)
    // Counts texts, not records: one text of an entity matches and two do not.
    expect(results).toMatchObject({ exposedMatched: 2, exposedUnmatched: 2 })
    expect(receipt.exposed).toEqual({ matched: 2, unmatched: 2 })
    expect((await remaining()).entities.map(({ summary }) => summary).sort()).toEqual([
      '',
      'It books rooms for the ill.',
    ])
  })

  it('entities of a partial ingestion are erased by their words', async () => {
    const [named, reported, others] = ['named', 'told', 'others'].map((name) => `${place.group}-${name}`)
    await planting.plant({
      group: place.group,
      ...bare,
      episodes: [],
      entities: [
        entity(named ?? '', 'Morbus Crohn', [], { summary: '' }),
        entity(reported ?? '', 'Somewhere', ['Company'], { summary: own }),
        entity(others ?? '', 'Elsewhere', ['Company'], { summary: 'Of others' }),
      ],
    })
    await resultsOf(await says(own))
    expect((await remaining()).entities.map(({ uuid }) => uuid)).toEqual([others])
  })

  it('is deleted when all its sources are erased together', async () => {
    const both = `${place.group}-both`
    await planting.plant({ group: place.group, ...bare, episodes: [episode(both, 1)] })
    for (const words of ['One half of it is this.', 'The other half is that.']) await points(await says(words), both)
    await ask('DELETE', `/api/projects/${place.project}/conversations/${place.conversation}`, {})
    expect((await remaining()).episodes).toEqual([])
  })

  it('pointers of another project neither retain an episode nor restore the validity of a fact', async () => {
    const deal = dealGraph(place.group)
    const message = await says(`${sentence}.`)
    const mine = { ...place }
    place.project = (await ask('POST', '/api/projects', { name: 'Elsewhere' }, 201)).data.id
    place.conversation = (
      await ask('POST', `/api/projects/${place.project}/conversations`, { title: 'Talk' }, 201)
    ).data.id
    const theirs = await says('This is a message of the other project.')
    await points(theirs, deal.id('e1'), { ended: [deal.id('f-ended')] })
    await planting.plant(deal)
    // Once the episode exists, the report is rejected.
    const entries = [{ source_id: theirs, store: 'graph', ref: deal.id('e2') }]
    expect(await ask('POST', `/api/projects/${place.project}/provenance`, { entries }, 422)).toMatchObject({
      issues: [{ path: ['entries', 0, 'ref'], message: expect.stringContaining('another graph group') }],
    })
    place = mine
    expect(of(await plans(message), deal.id('e1'))).toMatchObject({ verdict: 'deleted', found: 'text' })
    expect(await ask('DELETE', messagePath(message), {})).toMatchObject({
      success: true,
      deletedFrom: { graphiti: { episodesDeleted: 1 } },
    })
    const left = await remaining()
    expect(left.episodes.map(({ uuid }) => uuid)).not.toContain(deal.id('e1'))
    expect(left.facts.find(({ uuid }) => uuid === deal.id('f-ended'))?.expiredAt).not.toBeNull()
  })
})

describe('a conversation with more episodes than a page', () => {
  it('counts an entity of several pages once, and not as orphaned when a later page deletes it', async () => {
    const other = (await ask('POST', `/api/projects/${place.project}/conversations`, { title: 'Stays' }, 201)).data.id
    const author = { kind: 'account' as const, id: place.owner.accountId }
    const each = 700
    const messages = await manyMessages(test, {
      projectId: place.project,
      conversations: [place.conversation, other],
      author,
      each,
    })
    const graph = sharedGraph(place.group, { episodes: 2 * each, entities: 2_000, facts: 500, perEpisode: 2 })
    await planting.plant(graph)
    const { rows } = await test.db.pool.query<{ id: string }>('SELECT id FROM messages WHERE conversation_id = $1', [
      place.conversation,
    ])
    const erasedIds = new Set(rows.map(({ id }) => id))
    const episodes = new Map(messages.map((message, at) => [message, graph.episodes[at]?.uuid ?? '']))
    await test.db.query(
      undefined,
      `INSERT INTO provenance (id, project_id, source_kind, source_id, store, ref, place, told_by, at)
       SELECT 'prov_g' || m, $1, 'message', m, 'graph', e, $2, $3, $4::timestamptz FROM unnest($5::text[], $6::text[]) AS p (m, e)`,
      [
        place.project,
        place.group,
        `user:${place.owner.accountId}`,
        test.clock.now(),
        [...episodes.keys()],
        [...episodes.values()],
      ],
    )
    await eraseWholeProject(test, `/api/projects/${place.project}/conversations/${place.conversation}`, place.owner)
    const deleted = new Set([...episodes].flatMap(([message, uuid]) => (erasedIds.has(message) ? [uuid] : [])))
    const left = new Set((await remaining()).entities.map(({ uuid }) => uuid))
    const met = new Set(graph.mentions.filter(({ episode }) => deleted.has(episode)).map(({ entity }) => entity))
    expect([...met].filter((uuid) => left.has(uuid)).length).toBeGreaterThan(100)
    const [logged] = await test.db.prisma.deletionAuditEntry.findMany({ orderBy: { timestamp: 'desc' }, take: 1 })
    expect(logged?.results).toMatchObject({
      episodesDeleted: each,
      entitiesDeleted: graph.entities.length - left.size,
      entitiesOrphaned: [...met].filter((uuid) => left.has(uuid)).length,
    })
    expect(await test.db.prisma.erasureTally.count()).toBe(0)
  }, 300_000)
})

describe('a group with existing episodes', () => {
  it('can be claimed only by managers of the organization', async () => {
    const group = newId('grp').toLowerCase()
    await planting.plant({ group, ...bare, episodes: [episode(`${group}-1`, 1)] })
    const refused = await ask('POST', '/api/projects', { name: 'Taken', group_id: group }, 422)
    expect(refused.issues ?? refused.errors).toMatchObject([{ path: ['group_id'] }])
    const manager = await signedIn(test, 'manager', place.owner.organisationId)
    const made = await test.fetch('POST', '/api/projects', {
      cookie: manager.cookie,
      body: { name: 'Ours', group_id: group },
    })
    expect([made.status, made.json.data?.group_id]).toEqual([201, group])
  })
})

it('redact is allowed only for owners of the project', async () => {
  const member = await signedIn(test, 'person', place.owner.organisationId)
  await ask(
    'POST',
    `/api/projects/${place.project}/members`,
    { kind: 'account', member_id: member.accountId, role: 'member' },
    201,
  )
  const said = await test.fetch('POST', `/api/projects/${place.project}/conversations/${place.conversation}/messages`, {
    cookie: member.cookie,
    body: { role: 'user', content: 'A member says this much.' },
  })
  const erased = (query: string) =>
    test.fetch('DELETE', `${messagePath(said.json.data.id)}${query}`, { cookie: member.cookie, body: {} })
  expect((await erased('?redact=true')).status).toBe(403)
  expect((await erased('')).status).toBe(200)
})

it('the second search finds the first episode of a group that was empty', async () => {
  const message = await says('Somebody processes the very first much too late.')
  const reported = await ask('DELETE', messagePath(message), {})
  expect(reported).toMatchObject({ success: true, deletedFrom: { graphiti: { episodesDeleted: 0 } } })
  await planting.plant({
    group: place.group,
    ...bare,
    episodes: [episode(`${place.group}-late`, 2, { metadata: { message } })],
  })
  test.clock.advance(25 * 3_600_000)
  await test.app.subjectErasures.recheckAll()
  const run = await test.db.prisma.erasureRun.findUniqueOrThrow({ where: { auditId: reported.auditId } })
  await test.app.subjectErasures.recheck(run.id)
  expect((await remaining()).episodes).toEqual([])
  expect((await ask('GET', `/api/erasures/${reported.auditId}`)).data.late_found).toBe(1)
})

it('the second search finds the first episode of a closed project whose group was empty', async () => {
  await says('Graphiti is at its very first.')
  await ask('POST', `/api/projects/${place.project}/close`, {})
  test.clock.advance(31 * 24 * 3_600_000)
  await test.app.jobs.find(({ name }) => name === 'projects.close')?.execute(test.app.pipeline, {})
  await drain(test)
  const where = { projectId: place.project, partKind: 'project' }
  const { id, ...run } = await test.db.prisma.erasureRun.findFirstOrThrow({ where })
  expect(run).toMatchObject({ state: 'done', lateFound: 0 })
  const graph = { runId_holder: { runId: id, holder: 'graph.episodes' } }
  expect(await test.db.prisma.erasureStep.findUniqueOrThrow({ where: graph })).toMatchObject({ planned: 0, erased: 0 })
  await planting.plant({ group: place.group, ...bare, episodes: [episode(`${place.group}-late`, 2)] })
  test.clock.advance(25 * 3_600_000)
  await test.app.subjectErasures.recheck(id)
  expect((await remaining()).episodes).toEqual([])
  expect(await test.db.prisma.erasureRun.findUniqueOrThrow({ where: { id } })).toMatchObject({ lateFound: 1 })
})

it('the second search finds and erases a late episode', async () => {
  await planting.plant({ group: place.group, ...bare, episodes: [episode(`${place.group}-first`, 1)] })
  const message = await says('Somebody processes this much too late.')
  const { auditId } = await ask('DELETE', messagePath(message), {})
  const late = episode(`${place.group}-late`, 2, { metadata: { message } })
  await planting.plant({
    ...bare,
    group: place.group,
    episodes: [late],
    mentions: [{ episode: late.uuid, entity: `${place.group}-who` }],
    entities: [entity(`${place.group}-who`, 'Late Nobody', ['Person'])],
  })
  test.clock.advance(25 * 3_600_000)
  await test.app.subjectErasures.recheckAll()
  const run = await test.db.prisma.erasureRun.findUniqueOrThrow({ where: { auditId } })
  await test.app.subjectErasures.recheck(run.id)
  const left = await remaining()
  expect(left.episodes.map(({ uuid }) => uuid)).toEqual([`${place.group}-first`])
  expect(left.entities).toEqual([])
  expect((await ask('GET', `/api/erasures/${auditId}`)).data.late_found).toBe(1)
})

it('erasure of a conversation deletes the episodes of all its messages, in any division into pages', async () => {
  const deal = dealGraph(place.group)
  await planting.plant(deal)
  for (const name of ['e1', 'e2', 'e3']) await points(await says(`Message for ${name} is said here.`), deal.id(name))
  const reported = await ask('DELETE', `/api/projects/${place.project}/conversations/${place.conversation}`, {})
  expect(reported).toMatchObject({ success: true, deletedFrom: { graphiti: { episodesDeleted: 3 } } })
  const left = await remaining()
  expect(left.episodes.map(({ uuid }) => uuid)).toEqual([deal.id('e4'), deal.id('e5')])
  expect(left.entities.map(({ uuid }) => uuid)).toEqual([deal.id('theirs')])
})

describe('the graph data source', () => {
  const dataSource = () => {
    const found = test.app.dataSources.find(({ name }) => name === 'graph.episodes')
    if (!found) throw new Error('the holder is not there')
    return found
  }
  const within: TestApp['db']['transaction'] = (run) => test.db.transaction(run)

  it('erases the group of a project completely, in portions', async () => {
    const deal = dealGraph(place.group)
    await planting.plant(deal)
    const others = dealGraph(`${place.group}-other`)
    await planting.plant(others)
    const scope = { part: { kind: 'project' as const, id: place.project, project: place.project, conversation: null } }
    const { items } = await within((tx) => dataSource().plan(scope, tx, test.clock.now()))
    expect(items).toEqual([`${place.group}/*0000000`])
    expect(await dataSource().residue(scope, items, test.clock.now())).toBeGreaterThan(30)
    await within((tx) =>
      dataSource().erase(scope, items, tx, { key: newId('run'), redacts: false, now: test.clock.now() }),
    )
    expect(await dataSource().residue(scope, items, test.clock.now())).toBe(0)
    expect((await planting.standing(others.group)).episodes).toHaveLength(5)
  })

  it('does not report a mention in an episode that a later page erases', async () => {
    const deal = dealGraph(place.group)
    await planting.plant(deal)
    const messages = [await says(`${sentence}.`), await says('Somebody came back.')]
    for (const [n, message] of messages.entries()) await points(message, deal.id(`e${n + 1}`))
    const { conversation, project, group } = place
    const part = { kind: 'conversation' as const, id: conversation, project, conversation }
    const manner = { key: newId('run'), redacts: false, now: test.clock.now() }
    const erased = await within((tx) => dataSource().erase({ part }, [`${group}/${deal.id('e1')}`], tx, manner))
    const places = erasedOf(erased).mentions.map(({ kind, id }) => `${kind} ${id}`)
    expect(places).toContain(`fact ${deal.id('f-theirs')}`)
    expect(places).not.toContain(`episode ${deal.id('e2')}`)
  })

  it('plans from pointers and rejects erase and residue while a graph with stored data is not connected', async () => {
    const message = await says('Something that lies where nobody gets to.')
    await points(message, 'somewhere-else')
    const now = test.clock.now()
    const id = newId('store')
    await test.db.prisma.knownStore.create({
      data: {
        id,
        port: 'graph',
        provider: 'neo4j',
        address: 'elsewhere',
        shown: 'bolt://elsewhere',
        firstSeen: now,
        lastSeen: now,
      },
    })
    const part = { kind: 'message' as const, id: message, project: place.project, conversation: place.conversation }
    const planned = await within((tx) => dataSource().plan({ part }, tx, now))
    expect(planned).toMatchObject({
      items: [`${place.group}/told:somewhere-else`],
      watched: [`${place.group}/text:${message}`, `${place.group}/words:`],
    })
    const items = [...planned.items, ...(planned.watched ?? [])]
    const manner = { key: newId('run'), redacts: false, now }
    await expect(within((tx) => dataSource().erase({ part }, items, tx, manner))).rejects.toThrow('is not connected')
    await expect(dataSource().residue({ part }, items, now)).rejects.toThrow('is not connected')
    await test.db.prisma.knownStore.update({ where: { id }, data: { retiredAt: now } })
    await within((tx) => dataSource().erase({ part }, items, tx, manner))
    expect(await dataSource().residue({ part }, items, now)).toBe(0)
  })
})

describe('erasure of the only member of a project', () => {
  const other = episode('', 1, { content: '{"a record": "that no message or document brought"}', source: 'json' })
  /** An episode derived from the person's message, and one that an application wrote without a source. */
  async function planted() {
    const message = await says(sentence)
    const [told, untold] = [`${place.group}-told`, `${place.group}-untold`]
    await planting.plant({
      group: place.group,
      ...bare,
      episodes: [episode(told, 1, { content: sentence }), { ...other, uuid: untold }],
      entities: [entity(`${place.group}-thing`, 'A thing', ['Company'])],
      mentions: [{ episode: untold, entity: `${place.group}-thing` }],
    })
    await points(message, told)
    return { told, untold }
  }
  const begun = async () =>
    test.db.transaction((tx) =>
      test.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: place.owner.accountId, agents: [] },
        requestedBy: 'user:test',
        reason: 'gdpr_erasure',
        now: test.clock.now(),
      }),
    )

  it('deletes the whole group, including data without a source', async () => {
    await planted()
    const { runId } = await begun()
    await drain(test)
    expect((await test.app.subjectErasures.run(runId))?.state).toBe('done')
    expect(await remaining()).toMatchObject({ episodes: [], ...bare })
  })

  it('keeps data without a source when somebody joins before the graph step', async () => {
    const { untold } = await planted()
    const { runId } = await begun()
    await drain(test, { except: ['erasure.step'] })
    const member = await signedIn(test, 'person', place.owner.organisationId)
    await test.db.prisma.projectMember.create({
      data: {
        projectId: place.project,
        kind: 'account',
        memberId: member.accountId,
        role: 'owner',
        addedBy: `user:${place.owner.accountId}`,
        addedAt: test.clock.now(),
      },
    })
    await drain(test)
    expect((await test.app.subjectErasures.run(runId))?.state).toBe('done')
    expect((await remaining()).episodes.map(({ uuid }) => uuid)).toEqual([untold])
    expect((await remaining()).entities).toHaveLength(1)
  })
})
