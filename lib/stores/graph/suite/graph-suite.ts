import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decideNeighbourhood, noChange, type Policy } from '#lib/domains/projects/graph/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { GraphOutcome, GraphStore } from '#lib/stores/graph/graph.ts'
import { type ListedElement, listedKinds } from '#lib/stores/graph/listing.ts'
import { at, dealGraph, entity, episode, fact, sentence, sharedGraph } from '#lib/testing/graphs.ts'
import type { GraphPlanting, PlantedGraph } from '#lib/testing/planted-graph.ts'

/** One implementation, opened for tests. */
export interface OpenedGraph {
  store: GraphStore
  planting: GraphPlanting
  transaction<T>(run: (tx: Transaction) => Promise<T>): Promise<T>
  /** Every column or property of every node and edge of the group, as text. */
  dump(group: string): Promise<string>
  /** Whether it returns the former outcome when a key is used again; otherwise a repetition finds nothing. */
  remembers: boolean
  close(): Promise<void>
}

const policy = (more: Partial<Policy> & Partial<Policy['provenance']> = {}): Policy => ({
  entityKinds: more.entityKinds ?? {},
  redacts: more.redacts ?? false,
  provenance: { endedBy: more.endedBy ?? new Map(), erasedSourceIds: more.erasedSourceIds ?? new Set() },
})
const by = <T extends { uuid: string }>(list: readonly T[]) => new Map(list.map((one) => [one.uuid, one]))
/** Retries `unavailable`, as the erasure engine does after a failed connection or a conflict. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await work()
    } catch (error) {
      if (!Problem.is(error, 'unavailable')) throw error
    }
}
type StoredGraph = PlantedGraph & { embedded: string[] }

/** Links, sources, pointers and ids that refer to a missing record. */
function dangling({ episodes, entities, facts, mentions, communities, sagas, next }: StoredGraph): string[] {
  const all = new Set([...episodes, ...entities, ...communities].map(({ uuid }) => uuid))
  const factIds = new Set(facts.map(({ uuid }) => uuid))
  const lost = (ids: readonly (string | null)[]) => ids.filter((id) => id !== null && !all.has(id)).map(String)
  return [
    ...lost(mentions.flatMap(({ episode, entity }) => [episode, entity])),
    ...lost(facts.flatMap(({ source, target, episodes: from }) => [source, target, ...from])),
    ...lost(communities.flatMap(({ members }) => members)),
    ...lost(
      sagas.flatMap(({ firstEpisode, lastEpisode, episodes: reported }) => [firstEpisode, lastEpisode, ...reported]),
    ),
    ...lost(next.flatMap(({ from, to }) => [from, to])),
    ...episodes.flatMap(({ entityEdges }) => entityEdges.filter((id) => !factIds.has(id))),
  ]
}

/** Tests of the graph port for every implementation, against the real store. */
export function graphSuite(name: string, open: () => Promise<OpenedGraph>): void {
  describe(name, () => {
    let graph: OpenedGraph
    let group: string
    beforeAll(async () => {
      graph = await open()
    })
    afterAll(() => graph?.close())
    beforeEach(() => {
      group = newId('grp').toLowerCase()
    })

    const change = (ids: string[], how: Policy = policy(), key = newId('run')): Promise<GraphOutcome> =>
      graph.transaction((tx) =>
        graph.store.change(group, ids, key, (found) => decideNeighbourhood(found, how).change, tx, [
          ...how.provenance.endedBy.keys(),
        ]),
      )
    const planted = async (options: { isBulk?: boolean } = {}) => {
      const deal = dealGraph(group, options)
      await graph.planting.plant(deal)
      return deal
    }

    it('state returns ok', async () => {
      expect(await graph.store.state()).toMatchObject({ state: 'ok', latency: expect.any(Number) })
    })

    it('read returns what was planted', async () => {
      const { id, ...deal } = await planted()
      const remaining = await graph.planting.standing(group)
      const sorted = <T extends { uuid: string }>(list: T[]) => list.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))
      expect(remaining.episodes).toEqual(sorted(deal.episodes))
      expect(remaining.entities).toEqual(sorted(deal.entities))
      expect(remaining.facts).toEqual(sorted(deal.facts))
      expect(remaining.sagas).toEqual(sorted(deal.sagas))
      expect(remaining.communities).toEqual(sorted(deal.communities))
      expect(remaining.embedded).toContain(id('f-alone'))
      expect(dangling(remaining)).toEqual([])
    })

    describe.each([
      ['added by an application', false],
      ['added by bulk ingestion', true],
    ])('the erasure of an episode, %s', (_, isBulk) => {
      it('change deletes and changes facts and entities by the policy, and counts them', async () => {
        const { id } = await planted({ isBulk })
        const outcome = await change([id('e1')])
        expect(outcome).toMatchObject({
          episodesDeleted: 1,
          entitiesDeleted: 4,
          orphaned: [id('company'), id('mailed')],
          factsDeleted: 4,
          factsChanged: 2,
        })
        const left = await graph.planting.standing(group)
        expect(left.entities.map(({ uuid }) => uuid)).toEqual([id('company'), id('mailed'), id('theirs')])
        expect(left.entities.find(({ uuid }) => uuid === id('mailed'))?.summary).toBe('')
        expect(left.facts.map(({ uuid }) => uuid)).toEqual(
          ['f-before', 'f-ended', 'f-first', 'f-maybe', 'f-second', 'f-theirs'].map(id),
        )
        expect(dangling(left)).toEqual([])
      })

      it('change leaves no column or property with the erased words or with the episode’s id', async () => {
        const { id } = await planted({ isBulk })
        expect(await graph.dump(group)).toContain('quokka')
        await change([id('e1')])
        const dump = await graph.dump(group)
        expect(dump).not.toContain('quokka')
        expect(dump).not.toContain('Quokka')
        expect(dump).not.toContain(id('e1'))
        expect(await graph.store.residue(group, [id('e1')])).toBe(0)
      })

      it('change leaves all other records unchanged, byte for byte', async () => {
        const { id, ...before } = await planted({ isBulk })
        await change([id('e1')])
        const left = await graph.planting.standing(group)
        expect(by(left.entities).get(id('theirs'))).toEqual(by(before.entities).get(id('theirs')))
        for (const same of ['f-before', 'f-maybe', 'f-ended', 'f-theirs'])
          expect(by(left.facts).get(id(same)), same).toEqual(by(before.facts).get(id(same)))
        for (const same of ['e2', 'e3', 'e5'])
          expect(by(left.episodes).get(id(same)), same).toMatchObject({
            content: by(before.episodes).get(id(same))?.content,
          })
        expect(by(left.communities).get(id('c-theirs'))).toEqual(by(before.communities).get(id('c-theirs')))
        expect(by(left.sagas).get(id('s-theirs'))).toEqual(by(before.sagas).get(id('s-theirs')))
      })
    })

    it('change removes a fact’s wording with the source it came from, and keeps it otherwise', async () => {
      const { id } = await planted()
      await change([id('e1')])
      const { facts, embedded } = await graph.planting.standing(group)
      expect(by(facts).get(id('f-first'))).toMatchObject({
        fact: '',
        name: 'RELATES_TO',
        attributes: {},
        episodes: [id('e3')],
        referenceTime: null,
      })
      expect(by(facts).get(id('f-second'))).toMatchObject({
        fact: 'wording of '.concat(id('f-second')),
        name: 'WORKS_WITH',
        attributes: {},
        episodes: [id('e3')],
      })
      expect(embedded).not.toContain(id('f-first'))
      expect(embedded).toContain(id('f-second'))
    })

    it('change empties derived summaries, communities and sagas, and deletes those without members', async () => {
      const { id } = await planted()
      const { blanked } = await change([id('e1')])
      const left = await graph.planting.standing(group)
      expect(by(left.entities).get(id('company'))).toMatchObject({ name: 'Nowhere Works', summary: '', attributes: {} })
      expect(left.communities.map(({ uuid, name, summary, members }) => [uuid, name, summary, members])).toEqual([
        [id('c-above'), '', '', [id('c-around')]],
        [id('c-around'), '', '', [id('company')]],
        [id('c-theirs'), 'Theirs', 'Of others', [id('theirs')]],
      ])
      expect(left.embedded).not.toContain(id('c-around'))
      expect(left.sagas.map(({ uuid }) => uuid)).toEqual([id('s-all'), id('s-theirs')])
      expect(by(left.sagas).get(id('s-all'))).toMatchObject({
        summary: '',
        summarizedTo: null,
        firstEpisode: id('e2'),
        lastEpisode: id('e5'),
      })
      expect(blanked).toBe(7)
    })

    it('change closes the chain of episodes after deletions at either end and in the middle', async () => {
      const { id } = await planted()
      await change([id('e2'), id('e3')])
      const { next, sagas } = await graph.planting.standing(group)
      expect(next).toEqual([
        { from: id('e1'), to: id('e4') },
        { from: id('e4'), to: id('e5') },
      ])
      await change([id('e5')])
      const later = await graph.planting.standing(group)
      expect(later.next).toEqual([{ from: id('e1'), to: id('e4') }])
      expect(by(later.sagas).get(id('s-all'))).toMatchObject({ firstEpisode: id('e1'), lastEpisode: id('e4') })
      expect(by(sagas).get(id('s-theirs'))).toMatchObject({ firstEpisode: id('e4'), lastEpisode: id('e5') })
    })

    it('change restores the validity of facts only when their writer reported the end', async () => {
      const { id } = await planted()
      const endedBy = new Map([
        [id('f-ended'), [id('e1')]],
        [id('f-before'), [id('e1')]],
      ])
      const read = await graph.transaction((tx) => graph.store.read(group, [id('e1')], tx, [...endedBy.keys()]))
      expect(read.ended.map(({ uuid }) => uuid)).toEqual([id('f-before'), id('f-ended'), id('f-maybe')])
      const { verdicts } = decideNeighbourhood(read, policy({ endedBy }))
      const reasons = verdicts.flatMap(({ kind, id: of, reason }) => (kind === 'fact' ? [`${of} ${reason}`] : []))
      expect(reasons).toContain(`${id('f-ended')} validity_restored`)
      expect(reasons).toContain(`${id('f-before')} ended_before`)
      expect(reasons).toContain(`${id('f-maybe')} may_have_been_ended`)
      const { factsChanged } = await change([id('e1')], policy({ endedBy }))
      expect(factsChanged).toBe(3)
      const { facts } = await graph.planting.standing(group)
      expect(by(facts).get(id('f-ended'))).toMatchObject({ invalidAt: null, expiredAt: null, validAt: at(1) })
      expect(by(facts).get(id('f-maybe'))).toMatchObject({ invalidAt: at(10) })
      expect(by(facts).get(id('f-before'))).toMatchObject({ invalidAt: at(2), expiredAt: at(3) })
    })

    it('change lists names of erased people in remaining texts and keeps the texts by default', async () => {
      const { id } = await planted()
      const { mentions } = await change([id('e1')])
      expect(mentions).toHaveLength(2)
      expect(mentions).toEqual(
        expect.arrayContaining([
          { kind: 'fact', id: id('f-theirs'), field: 'fact' },
          { kind: 'episode', id: id('e2'), field: 'content' },
        ]),
      )
      expect(await graph.dump(group)).toMatch(/Xanadu/)
    })

    it('namesIn finds the places in which a change finds names, and changes nothing', async () => {
      const { id } = await planted()
      const { entities } = await graph.planting.standing(group)
      const names = [by(entities).get(id('person'))?.name ?? '']
      const before = await graph.dump(group)
      const ahead = await graph.transaction((tx) => graph.store.namesIn(group, names, tx))
      expect(await graph.dump(group)).toBe(before)
      const redacting = { ...noChange(), names, redact: true }
      const { mentions } = await graph.transaction((tx) =>
        graph.store.change(group, [], newId('run'), () => redacting, tx),
      )
      expect(ahead.map((one) => JSON.stringify(one)).sort()).toEqual(mentions.map((one) => JSON.stringify(one)).sort())
      expect(ahead).toContainEqual({ kind: 'episode', id: id('e2'), field: 'content' })
      expect(await graph.transaction((tx) => graph.store.namesIn(group, [], tx))).toEqual([])
    })

    it('change with redact removes names and the embeddings of the changed texts', async () => {
      const { id } = await planted()
      const { mentions } = await change([id('e1')], policy({ redacts: true }))
      expect(mentions).toHaveLength(2)
      const left = await graph.planting.standing(group)
      expect(by(left.facts).get(id('f-theirs'))?.fact).toBe('They met [erased] once.')
      expect(by(left.episodes).get(id('e2'))?.content).toBe('[erased] came back.')
      expect(left.embedded).not.toContain(id('f-theirs'))
      expect(await graph.dump(group)).not.toMatch(/xanadu/i)
    })

    it.each([
      ['Chinese', '王小明', '后来王小明又回来了。', '后来小明王又回来了。'],
      ['Japanese', '田中タロウ', 'きのう田中タロウさんが来た。', 'きのう田中ジロウさんが来た。'],
      ['Korean', '홍길동', '홍길동은 돌아왔다.', '홍길순은 돌아왔다.'],
      ['Thai', 'สมชาย', 'แล้วสมชายก็กลับมา', 'แล้วสมหมายก็กลับมา'],
      ['Russian', 'Иван Петров', 'Потом ИВАН  ПЕТРОВ вернулся.', 'Потом Иванов вернулся.'],
      ['Greek', 'Νίκος', 'Ο Νίκος γύρισε.', 'Ο Νίκας γύρισε.'],
    ])('change finds a name in %s in other authors’ texts', async (_script, name, said, other) => {
      const { id } = await planted()
      await graph.planting.plant({
        group,
        facts: [],
        communities: [],
        sagas: [],
        next: [],
        episodes: [episode(id('they'), 60, { content: said }), episode(id('others'), 61, { content: other })],
        entities: [{ ...entity(id('named'), name, ['Person']), summary: '' }],
        mentions: [{ episode: id('e5'), entity: id('named') }],
      })
      const found = await graph.transaction((tx) => graph.store.search(group, { ids: [], texts: [said] }, tx))
      expect(found.map(({ uuid }) => uuid)).toEqual([id('they')])
      const { mentions } = await change([id('e5')])
      expect(mentions).toEqual([{ kind: 'episode', id: id('they'), field: 'content' }])
    })

    it('change leaves other groups unchanged, whatever ids it gets', async () => {
      const { id } = await planted()
      const mine = group
      const others = `${group}-other`
      await graph.planting.plant(dealGraph(others))
      const before = await graph.dump(others)
      const foreign = dealGraph(others).id('e1')
      expect(await change([foreign])).toMatchObject({ episodesDeleted: 0, entitiesDeleted: 0, factsDeleted: 0 })
      expect(await graph.transaction((tx) => graph.store.groupsOf([foreign, id('e1'), 'nowhere'], tx))).toEqual(
        new Map([
          [foreign, others],
          [id('e1'), mine],
        ]),
      )
      await change([id('e1')])
      expect(await graph.dump(others)).toBe(before)
    })

    it('change cuts an episode, judges unsupported records again and keeps the others', async () => {
      const { id } = await planted()
      const rest = 'Nowhere Works answers Quokka Nobody.'
      const { episodesCut, episodesDeleted, entitiesDeleted } = await change([id('e1')], {
        ...policy(),
        decide: () => ({ decision: 'cut', text: rest }),
        hasErased: (text) => text.includes('quokka'),
      })
      expect([episodesCut, episodesDeleted, entitiesDeleted]).toEqual([1, 0, 3])
      const left = await graph.planting.standing(group)
      expect(by(left.episodes).get(id('e1'))?.content).toBe(rest)
      expect(left.mentions.filter(({ episode: one }) => one === id('e1')).map(({ entity: other }) => other)).toEqual([
        id('company'),
        id('plain'),
      ])
      expect(left.entities.map(({ uuid, summary }) => [uuid, summary])).toEqual([
        [id('company'), ''],
        [id('mailed'), ''],
        [id('plain'), ''],
        [id('theirs'), `summary of ${id('theirs')}`],
      ])
      expect(by(left.facts).get(id('f-first'))).toMatchObject({ fact: '', episodes: [id('e3')] })
      expect(left.facts.map(({ uuid }) => uuid)).not.toContain(id('f-alone'))
      expect(left.next).toContainEqual({ from: id('e1'), to: id('e2') })
      expect(by(left.sagas).get(id('s-first'))?.summary).toBe('')
      expect(await graph.dump(group)).not.toMatch(/quokka in the vault/)
      expect(dangling(left)).toEqual([])
    })

    it('texts yields every text of a group with its field, and no ids or embeddings', async () => {
      const { id } = await planted()
      await graph.planting.plant(dealGraph(`${group}-other`))
      const texts = await graph.transaction(async (tx) => {
        const found = []
        for await (const some of await graph.store.texts(group, tx)) found.push(...some)
        return found
      })
      const of = (name: string, field: string) => texts.find((one) => one.id === id(name) && one.field === field)?.text
      expect(of('e1', 'content')).toBe(`${sentence}.`)
      expect(of('company', 'summary')).toBe(sentence)
      expect(of('company', 'attributes.note')).toBe(`note\n${sentence}`)
      expect(of('f-alone', 'fact')).toBe(sentence)
      expect(of('c-around', 'name')).toBe(sentence)
      expect(of('s-all', 'summary')).toBe(sentence)
      expect(texts.every((one) => one.id.startsWith(group) && !one.id.startsWith(`${group}-other`))).toBe(true)
      expect(texts.filter(({ text }) => text.includes('0.25') || text === id('e1'))).toEqual([])
    })

    it('texts yields a relevant text whatever surrounds it, and no other', async () => {
      const id = (name: string) => `${group}-${name}`
      const long = 'filler '.repeat(3_000)
      await graph.planting.plant({
        group,
        mentions: [],
        communities: [],
        sagas: [],
        next: [],
        episodes: [
          episode(id('long'), 1, { content: `${long}needle words${long}` }),
          episode(id('nested'), 2, { metadata: { deep: { list: ['other', 'a needle words b'], n: 5 } } }),
          episode(id('none'), 3, { content: 'needle', metadata: { words: 'words' } }),
        ],
        entities: [
          entity(id('escaped'), 'Works', ['Company'], {
            attributes: { note: 'a "quote"\nneedle words', other: 'none' },
          }),
          entity(id('listed'), 'Works', ['Company'], { attributes: { list: ['one', 'NEEDLE, words'], n: 5 } }),
          entity(id('key'), 'Works', ['Company'], { attributes: { needle: 'words' } }),
          entity(id('clean'), 'Works', ['Company']),
        ],
        facts: [fact(id('fact'), id('clean'), id('key'), [id('none')], { fact: 'The needle (words) there' })],
      })
      const texts = await graph.transaction(async (tx) => {
        const found = []
        const isSought = (text: string) => /needle\W+words/i.test(text)
        for await (const some of await graph.store.texts(group, tx, isSought)) found.push(...some)
        return found
      })
      expect(texts.map((one) => `${one.id.slice(group.length + 1)} ${one.field}`).sort()).toEqual([
        'escaped attributes.note',
        'fact fact',
        'key attributes.needle',
        'listed attributes.list',
        'long content',
        'nested metadata',
      ])
    })

    it('textsWith finds records that contain a phrase through the word index', async () => {
      const { id } = await planted()
      await graph.planting.plant(dealGraph(`${group}-other`))
      const found = await graph.transaction((tx) => graph.store.textsWith(group, ['hides a quokka', 'no such'], tx))
      const fields = new Set(found.filter(({ text }) => text.includes('quokka')).map((one) => `${one.id} ${one.field}`))
      for (const place of ['e1 content', 'company summary', 'company attributes.note', 'f-alone fact', 's-all summary'])
        expect(fields, place).toContain(id(place))
      expect([...fields].filter((place) => place.includes('-other'))).toEqual([])
    })

    it('change edits texts and removes their embeddings, and keeps other texts', async () => {
      const { id, ...before } = await planted()
      const edits = [
        { kind: 'entity', id: id('company'), field: 'summary', text: '' },
        { kind: 'entity', id: id('company'), field: 'attributes.note', text: null },
        { kind: 'fact', id: id('f-theirs'), field: 'fact', text: 'They met once.' },
        { kind: 'community', id: id('c-theirs'), field: 'name', text: '' },
        { kind: 'episode', id: id('e3'), field: 'name', text: '' },
        { kind: 'saga', id: id('s-theirs'), field: 'summary', text: '' },
        { kind: 'entity', id: id('not-there'), field: 'summary', text: '' },
      ] as const
      const run = (key: string) =>
        graph.transaction((tx) =>
          graph.store.change(group, [], key, () => ({ ...noChange(), editTexts: [...edits] }), tx),
        )
      expect((await run(newId('run'))).textsEdited).toBe(6)
      const left = await graph.planting.standing(group)
      expect(by(left.entities).get(id('company'))).toMatchObject({ name: 'Nowhere Works', summary: '', attributes: {} })
      expect(by(left.facts).get(id('f-theirs'))?.fact).toBe('They met once.')
      expect(by(left.communities).get(id('c-theirs'))).toMatchObject({ name: '', summary: 'Of others' })
      expect(by(left.episodes).get(id('e3'))?.name).toBe('')
      expect(by(left.sagas).get(id('s-theirs'))?.summary).toBe('')
      expect(left.embedded).toContain(id('company'))
      expect(left.embedded).not.toContain(id('f-theirs'))
      expect(left.embedded).not.toContain(id('c-theirs'))
      expect(by(left.entities).get(id('person'))).toEqual(by(before.entities).get(id('person')))
    })

    it('change replaces the text of an attribute, and removes an attribute that is not a text', async () => {
      const id = `${group}-attributes`
      const attributes = { note: 'for Maria Probe', list: ['Maria Probe', 'Otto'], kept: 'as before', n: 5 }
      await graph.planting.plant({
        group,
        mentions: [],
        communities: [],
        sagas: [],
        next: [],
        episodes: [],
        entities: [entity(id, 'Works', ['Company'], { attributes })],
        facts: [],
      })
      const editTexts = ['note', 'list', 'n', 'missing'].map((name) => ({
        kind: 'entity' as const,
        id,
        field: `attributes.${name}`,
        text: 'for [redacted]',
      }))
      await graph.transaction((tx) =>
        graph.store.change(group, [], newId('run'), () => ({ ...noChange(), editTexts }), tx),
      )
      const left = await graph.planting.standing(group)
      expect(by(left.entities).get(id)?.attributes).toEqual({ note: 'for [redacted]', kept: 'as before' })
    })

    it('exposedTexts returns texts generated after an episode by either time, up to the context window', async () => {
      const ids = Array.from({ length: 15 }, (_, n) => `${group}-x${String(n).padStart(2, '0')}`)
      const who = (n: number) => `${group}-w${String(n).padStart(2, '0')}`
      await graph.planting.plant({
        group,
        communities: [],
        sagas: [],
        next: [],
        // The last episode is valid late but was created right after the first.
        episodes: ids.map((uuid, n) => episode(uuid, n, n === 14 ? { createdAt: at(0.5) } : {})),
        entities: ids.map((_, n) => entity(who(n), `Thing ${n}`, ['Company'])),
        facts: [fact(`${group}-f2`, who(2), who(3), [ids[2] ?? ''])],
        mentions: ids.map((one, n) => ({ episode: one, entity: who(n) })),
      })
      const found = await graph.transaction((tx) => graph.store.exposedTexts(group, [ids[0] ?? ''], tx))
      const exposed = [...new Set(found.map(({ id }) => id))].sort()
      expect(exposed).toEqual([`${group}-f2`, ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14].map(who)].sort())
      expect(found.filter(({ kind, field }) => kind === 'entity' && field === 'name')).toEqual([])
    })

    it('bareEntities returns entities without mentions and facts', async () => {
      const { id } = await planted()
      await graph.planting.plant({
        group,
        episodes: [],
        facts: [],
        mentions: [],
        communities: [],
        sagas: [],
        next: [],
        entities: [entity(id('bare'), 'Bare Works', [])],
      })
      expect(await graph.transaction((tx) => graph.store.bareEntities(group, tx))).toEqual([
        { uuid: id('bare'), name: 'Bare Works' },
      ])
    })

    it('change changes nothing when repeated', async () => {
      const { id } = await planted()
      const key = newId('run')
      const first = await change([id('e1')], policy(), key)
      const before = await graph.dump(group)
      const second = await change([id('e1')], policy(), key)
      if (graph.remembers) expect(second).toEqual(first)
      else expect(second).toMatchObject({ episodesDeleted: 0, entitiesDeleted: 0, factsDeleted: 0 })
      expect(await graph.dump(group)).toBe(before)
      await graph.store.forget(key)
      expect(await change([id('e1')], policy(), key)).toMatchObject({ episodesDeleted: 0, entitiesDeleted: 0 })
    })

    it('residue counts a remaining link, source, pointer or id in a text', async () => {
      const { id } = await planted()
      expect(await graph.store.residue(group, [id('e1')])).toBeGreaterThan(5)
      await change([id('e1')])
      expect(await graph.store.residue(group, [id('e1')])).toBe(0)
      const late = { ...dealGraph(group).episodes[4], uuid: id('late'), metadata: { of: id('e1') } }
      const [shape] = dealGraph(group).episodes
      if (shape)
        await graph.planting.plant({
          group,
          entities: [],
          facts: [],
          mentions: [],
          communities: [],
          sagas: [],
          next: [],
          episodes: [{ ...shape, ...late, content: 'late' }],
        })
      expect(await graph.store.residue(group, [id('e1')])).toBe(1)
    })

    it('residue counts ids that may be words only in properties for episode ids', async () => {
      const { id } = await planted()
      const [word, dangling] = ['the', '0b5a3c1e-4d2f-4a6b-8c7d-9e0f1a2b3c4d']
      await graph.planting.plant({
        group,
        entities: [],
        communities: [],
        sagas: [],
        next: [],
        mentions: [{ episode: word, entity: id('theirs') }],
        episodes: [
          episode(word, 60),
          episode(id('said'), 61, { content: `All the deals of ${dangling}, and the rest.` }),
        ],
        facts: [fact(id('f-word'), id('theirs'), id('company'), [word])],
      })
      const left = (...ids: string[]) => graph.store.residue(group, [], ids)
      expect(await left('wording', 'vault', id('person'), id('f-alone'), id('c-around'), group, dangling)).toBe(0)
      expect(await graph.store.residue(group, [dangling])).toBe(1)
      expect(await left(word)).toBeGreaterThan(2)
      expect(await left(id('e1'))).toBeGreaterThan(5)
      await change([word, id('e1')])
      expect(await left(word, id('e1'))).toBe(0)
    })

    it('search finds episodes by a message’s id or words in any surroundings, only in this group', async () => {
      await planted()
      const others = `${group}-other`
      const id = newId('msg')
      const said = 'The vault opens at nine, said somebody to nobody.'
      const shapes: Record<string, Partial<PlantedGraph['episodes'][number]>> = {
        named: { name: `message:${id}` },
        file: { name: `${id}.md` },
        told: { sourceDescription: `chat (${id}).` },
        noted: { metadata: { of: [{ message: id }] } },
        numbered: { metadata: { of: 4711 } },
        said: { content: `user:${said.replaceAll(' ', '\n ')}And more.` },
        longer: { content: `${said.repeat(20)} and so on` },
        chinese: { content: '某人说：金库九点开门，请不要告诉任何人这件事。' },
      }
      const [shape] = dealGraph(group).episodes
      if (!shape) throw new Error('nothing is planted')
      const bare = { entities: [], facts: [], mentions: [], communities: [], sagas: [], next: [] }
      for (const one of [group, others])
        await graph.planting.plant({
          ...bare,
          group: one,
          episodes: Object.entries(shapes).map(([name, more]) => ({ ...shape, uuid: `${one}-${name}`, ...more })),
        })
      const found = async (ids: string[], texts: string[]) =>
        (await graph.transaction((tx) => graph.store.search(group, { ids, texts }, tx))).map(({ uuid }) =>
          uuid.slice(group.length + 1),
        )
      expect((await found([id], [])).sort()).toEqual(['file', 'named', 'noted', 'told'])
      expect(await found(['4711'], [])).toEqual(['numbered'])
      expect(await found([], [said])).toEqual(expect.arrayContaining(['said', 'longer']))
      expect(await found([], [`${said.repeat(20)} and so on`])).toContain('longer')
      expect(await found([], ['金库九点开门，请不要告诉任何人这件事。'])).toContain('chinese')
      expect(await found([newId('msg')], ['Something that nobody said at all.'])).toEqual([])
      const many = Array.from({ length: 450 }, () => newId('msg'))
      expect((await found([...many, id], [...many, said])).sort()).toEqual(
        expect.arrayContaining(['file', 'longer', 'named', 'noted', 'said', 'told']),
      )
    })

    it('list returns every record of each kind once, page by page, without embeddings', async () => {
      const planted = dealGraph(group)
      await graph.planting.plant(planted)
      for (const kind of listedKinds) {
        const found: ListedElement[] = []
        for (let after = ''; ; ) {
          const page = await graph.transaction((tx) => graph.store.list(group, kind, after, 2, tx))
          found.push(...page)
          const last = page.at(-1)
          if (!last) break
          after = last.uuid
        }
        expect(
          found.map(({ uuid }) => uuid),
          kind,
        ).toEqual(planted[kind].map(({ uuid }) => uuid).sort())
        for (const { uuid, record } of found) {
          expect(record.uuid).toBe(uuid)
          expect(Object.keys(record).join()).not.toContain('_embedding')
        }
        const texts = planted[kind].map((one) =>
          'content' in one ? one.content : 'fact' in one ? one.fact : one.summary,
        )
        for (const text of texts.filter((one) => one !== ''))
          expect(JSON.stringify(found)).toContain(JSON.stringify(text))
      }
    })

    it('episodes returns pages in the order of ids', async () => {
      const { id } = await planted()
      const page = (after: string) => graph.transaction((tx) => graph.store.episodes(group, after, 2, tx))
      expect((await page('')).map(({ uuid }) => uuid)).toEqual([id('e1'), id('e2')])
      expect((await page(id('e4'))).map(({ uuid }) => uuid)).toEqual([id('e5')])
    })

    it('factsAt counts all facts at entities, whatever episodes they list', async () => {
      const { id } = await planted()
      const at = await graph.transaction((tx) =>
        graph.store.factsAt(group, [id('person'), id('lonely'), id('plain')], tx),
      )
      expect(at).toEqual(
        new Map([
          [id('person'), 2],
          [id('lonely'), 1],
        ]),
      )
    })

    it('dropGroup deletes a whole group in portions', async () => {
      await planted()
      const others = `${group}-other`
      await graph.planting.plant(dealGraph(others))
      const before = await graph.dump(others)
      expect(await graph.transaction((tx) => graph.store.countGroup(group, tx))).toBeGreaterThan(30)
      let portions = 0
      while ((await graph.transaction((tx) => graph.store.dropGroup(group, 20, tx))) > 0) portions++
      expect(portions).toBeGreaterThan(1)
      expect(await graph.transaction((tx) => graph.store.countGroup(group, tx))).toBe(0)
      expect(await graph.dump(group)).not.toContain(sentence)
      expect(await graph.dump(others)).toBe(before)
    })

    it('50 concurrent erasures with shared entities end like sequential ones and like one of all', async () => {
      const size = { episodes: 60, entities: 25, facts: 120 }
      const own = group
      const ends: string[] = []
      for (const [n, how] of ['at once', 'in turn', 'together'].entries()) {
        group = `${own}-${n}`
        const made = sharedGraph(group, size)
        await graph.planting.plant(made)
        const deleted = made.episodes.map(({ uuid }) => uuid).filter((_, at) => at % 6 !== 0)
        expect(deleted).toHaveLength(50)
        if (how === 'at once') await Promise.all(deleted.map((uuid) => patiently(() => change([uuid]))))
        else if (how === 'in turn') for (const uuid of deleted.toReversed()) await change([uuid])
        else await change(deleted)
        const remaining = await graph.planting.standing(group)
        expect(dangling(remaining), how).toEqual([])
        expect(
          remaining.entities.filter(({ uuid }) => !remaining.mentions.some(({ entity }) => entity === uuid)),
          how,
        ).toEqual([])
        expect(await graph.store.residue(group, deleted)).toBe(0)
        ends.push(JSON.stringify(remaining).replaceAll(group, 'group'))
      }
      expect(ends[0]).toBe(ends[1])
      expect(ends[1]).toBe(ends[2])
    }, 120_000)
  })
}
