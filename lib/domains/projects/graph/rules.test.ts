import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { Entity } from '#lib/stores/graph/graph.ts'
import { at, dealGraph, entity, episode, fact } from '#lib/testing/graphs.ts'
import { changed, neighbourhoodIn } from '#lib/testing/model-graph.ts'
import type { PlantedGraph } from '#lib/testing/planted-graph.ts'
import { decideNeighbourhood, entityKindOf, type Policy } from './rules.ts'

const policy = (more: Partial<Omit<Policy, 'provenance'>> & Partial<Policy['provenance']> = {}): Policy => ({
  entityKinds: more.entityKinds ?? {},
  redacts: more.redacts ?? false,
  provenance: { endedBy: more.endedBy ?? new Map(), erasedSourceIds: more.erasedSourceIds ?? new Set() },
})
const erase = (graph: PlantedGraph, ids: readonly string[], how: Policy = policy()): PlantedGraph =>
  changed(graph, decideNeighbourhood(neighbourhoodIn(graph, ids, [...how.provenance.endedBy.keys()]), how).change)

describe('kindOf', () => {
  const bare = (labels: string[], more: Partial<Entity> = {}) =>
    entity('n', 'Something', labels, { summary: '', ...more })
  test.each<[string, Entity, Policy['entityKinds'], string[]]>([
    ['a person', bare(['Person']), {}, ['label:Person']],
    ['a contact', bare(['Contact', 'Company']), {}, ['label:Contact']],
    ['a person, despite a mapping to business', bare(['Person']), { Person: 'business' }, ['label:Person']],
    ['an entity with the attribute pii', bare(['Company'], { attributes: { pii: true } }), {}, ['attribute:pii']],
    ['an email address in the name', bare(['Company'], { name: 'a@example.org' }), {}, ['pattern:email']],
    [
      'a number in the summary of a person',
      bare(['Person'], { summary: 'Call +49 30 1234567.' }),
      {},
      ['label:Person', 'pattern:phone'],
    ],
    [
      'a titled person deep in the attributes',
      bare(['Risk'], { attributes: { by: [{ who: 'Dr. Beispiel' }] } }),
      {},
      ['pattern:titled_person'],
    ],
    [
      'an office in an attribute',
      bare(['Finding'], { attributes: { by: 'the CFO of Nowhere' } }),
      {},
      ['pattern:role'],
    ],
    ['an entity without a label', bare([]), {}, ['label:none']],
    ['only Graphiti’s own label', bare(['Entity']), {}, ['label:none']],
    ['an unknown label', bare(['Gadget']), {}, ['label:Gadget unknown']],
    ['a label that is a property of all objects', bare(['constructor']), {}, ['label:constructor unknown']],
    ['a label mapped to person', bare(['Gadget']), { Gadget: 'person' }, ['mapping:Gadget']],
    ['a business label mapped to person', bare(['Company']), { Company: 'person' }, ['mapping:Company']],
  ])('returns personal and its evidence for %s', (_, of, kinds, evidence) => {
    expect(entityKindOf(of, kinds)).toMatchObject({ isPersonal: true, evidence })
  })
  test.each<[string, Entity, Policy['entityKinds']]>([
    ...['Company', 'FinancialMetric', 'Deal', 'Document', 'Finding', 'Risk'].map(
      (label): [string, Entity, Policy['entityKinds']] => [label, bare([label]), {}],
    ),
    ['a label mapped to business', bare(['Gadget']), { Gadget: 'business' }],
    ['an entity without a label, mapped to business', bare([]), { Entity: 'business' }],
    ['a known business label besides an unknown one', bare(['Gadget', 'Company']), {}],
    [
      'personal data that occurs only in the generated summary',
      bare(['Deal'], { summary: 'Call +49 30 1234567.' }),
      {},
    ],
    ['the attribute pii with the value false', bare(['Company'], { attributes: { pii: false } }), {}],
  ])('returns not personal for %s', (_, of, kinds) => {
    expect(entityKindOf(of, kinds)).toEqual({ isPersonal: false, isPerson: false, evidence: [] })
  })
})

describe('judge', () => {
  const deal = dealGraph('g')
  const { verdicts, change } = decideNeighbourhood(neighbourhoodIn(deal, [deal.id('e1')]), policy())
  const of = (name: string) => {
    const found = verdicts.find(({ id }) => id === deal.id(name))
    return found && [found.verdict, found.reason]
  }
  test.each([
    ['e1', ['deleted', 'source']],
    ['person', ['deleted', 'pii']],
    ['plain', ['deleted', 'pii']],
    ['marked', ['deleted', 'pii']],
    ['mailed', ['changed', 'orphaned']],
    ['lonely', ['deleted', 'unreferenced']],
    ['company', ['changed', 'orphaned']],
    ['theirs', undefined],
    ['f-person', ['deleted', 'endpoint']],
    ['f-alone', ['deleted', 'source']],
    ['f-first', ['changed', 'wording']],
    ['f-second', ['changed', 'shared']],
    ['f-theirs', undefined],
    ['f-ended', ['kept', 'may_have_been_ended']],
    ['c-around', ['changed', 'built_on_source']],
    ['c-empty', ['deleted', 'unreferenced']],
    ['s-all', ['changed', 'built_on_source']],
    ['s-first', ['deleted', 'unreferenced']],
  ])('decides about %s: %j', (name, expected) => {
    expect(of(name)).toEqual(expected)
  })
  it('returns the labels and the number of mentions of entities that remain', () => {
    expect(verdicts.find(({ id }) => id === deal.id('company'))?.evidence).toEqual(['label:Company', 'mentions:1'])
  })
  it('returns the names of people, and no names of entities that only contain an address', () => {
    expect(change.names).toEqual(['Marked Finding', 'Quokka Nobody', 'Xanadu Beispielfrau'])
  })
  it('returns one decision for each record', () => {
    expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length)
  })
})

describe('validity of a fact that an erased episode ended', () => {
  const graph = (successor: string[]): PlantedGraph => ({
    group: 'g',
    episodes: [episode('e1', 1), episode('e2', 2)],
    entities: [entity('a', 'A', ['Company']), entity('b', 'B', ['Company'])],
    facts: [
      fact('old', 'a', 'b', ['e2'], { validAt: at(0), invalidAt: at(1), expiredAt: at(1.01) }),
      fact('new', 'a', 'b', successor, { validAt: at(1) }),
    ],
    mentions: ['e1', 'e2'].flatMap((one) => ['a', 'b'].map((other) => ({ episode: one, entity: other }))),
    communities: [],
    sagas: [],
    next: [],
  })
  const endedBy = new Map([['old', ['e1']]])
  const reason = (successor: string[], how: Policy) =>
    decideNeighbourhood(neighbourhoodIn(graph(successor), ['e1'], ['old']), how).verdicts.find(({ id }) => id === 'old')
      ?.reason

  it('is restored when the author reports it', () => {
    expect(reason(['e1'], policy({ endedBy }))).toBe('validity_restored')
    expect(erase(graph(['e1']), ['e1'], policy({ endedBy })).facts).toMatchObject([
      { invalidAt: null, expiredAt: null },
    ])
  })
  it('is not restored while a remaining fact has replaced it', () => {
    expect(reason(['e1', 'e2'], policy({ endedBy }))).toBe('superseded')
    expect(reason(['e1', 'e2'], policy({ endedBy, erasedSourceIds: new Set(['e1', 'e2']) }))).toBe('validity_restored')
  })
  it('is only a candidate when nobody reports it, or when the report names another episode', () => {
    expect(reason(['e1'], policy())).toBe('may_have_been_ended')
    expect(reason(['e1'], policy({ endedBy: new Map([['old', ['e9']]]) }))).toBe('may_have_been_ended')
  })
})

describe('an episode from which a message is cut', () => {
  const graph: PlantedGraph = {
    group: 'g',
    episodes: [
      episode('turn', 1, { content: 'user: Anna Muster hides gold.\nassistant: Bert Beispiel asks Nowhere Works.' }),
    ],
    entities: [
      entity('anna', 'Anna Muster', ['Person']),
      entity('bert', 'Bert Beispiel', ['Person'], { summary: 'Anna hides gold.' }),
      entity('works', 'Nowhere Works', ['Company']),
    ],
    facts: [
      fact('supported', 'bert', 'works', ['turn'], { name: 'ASKS', fact: 'Bert Beispiel asks Nowhere Works' }),
      fact('of-both', 'bert', 'works', ['turn'], { name: 'ASKS', fact: 'Bert Beispiel asks for gold' }),
      fact('of-anna', 'anna', 'works', ['turn']),
    ],
    mentions: ['anna', 'bert', 'works'].map((one) => ({ episode: 'turn', entity: one })),
    communities: [],
    sagas: [],
    next: [],
  }
  const rest = 'assistant: Bert Beispiel asks Nowhere Works.'
  const cut = (found: PlantedGraph, text = rest) =>
    changed(
      found,
      decideNeighbourhood(neighbourhoodIn(found, ['turn']), { ...policy(), decide: () => ({ decision: 'cut', text }) })
        .change,
    )

  it('keeps the other person and everything that its remaining text supports, without generated texts', () => {
    const left = cut(graph)
    expect(left.episodes.map(({ content }) => content)).toEqual([rest])
    expect(left.entities.map(({ uuid, summary }) => [uuid, summary])).toEqual([
      ['bert', ''],
      ['works', ''],
    ])
    expect(left.facts.map(({ uuid, episodes, attributes }) => [uuid, episodes, attributes])).toEqual([
      ['supported', ['turn'], {}],
    ])
    expect(left.mentions.map(({ entity: one }) => one)).toEqual(['bert', 'works'])
  })
  it('loses a fact that contains erased words to the fact’s other source, without the erased wording', () => {
    const facts = graph.facts.map((one) => ({ ...one, episodes: ['turn', 'other'] }))
    const left = cut({ ...graph, facts, episodes: [...graph.episodes, episode('other', 2)] })
    expect(left.facts.map(({ uuid, episodes, fact: versions }) => [uuid, episodes, versions])).toEqual([
      ['supported', ['turn', 'other'], 'Bert Beispiel asks Nowhere Works'],
      ['of-both', ['other'], ''],
    ])
  })
  it('does not change when it is cut again', () => {
    expect(cut(cut(graph))).toEqual(cut(graph))
  })
  it('remains when another author wrote it', () => {
    const found = neighbourhoodIn(graph, ['turn'])
    const { change, verdicts } = decideNeighbourhood(found, { ...policy(), decide: () => ({ decision: 'retained' }) })
    expect(changed(graph, change)).toEqual(graph)
    expect(verdicts).toMatchObject([{ kind: 'episode', verdict: 'kept', reason: 'other_author' }])
  })
})

/** A small graph with many shared records. Its texts name the episodes from which they are derived. */
const graphs: fc.Arbitrary<PlantedGraph> = fc
  .record({
    labels: fc.array(fc.constantFrom<string[]>(['Company'], ['Deal'], ['Person'], []), { minLength: 2, maxLength: 6 }),
    mentions: fc.array(fc.tuple(fc.nat(5), fc.nat(5)), { maxLength: 16 }),
    facts: fc.array(
      fc.record({
        source: fc.nat(5),
        target: fc.nat(5),
        from: fc.uniqueArray(fc.nat(5), { maxLength: 3 }),
        noted: fc.uniqueArray(fc.nat(5), { maxLength: 2 }),
      }),
      { maxLength: 10 },
    ),
    communities: fc.array(fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
    sagas: fc.array(fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 6 }), { maxLength: 1 }),
  })
  .map(({ labels, mentions, facts, communities, sagas }) => {
    const n = (at: number) => `n${at % labels.length}`
    const made = facts.map(({ source, target, from, noted }, at) => ({
      ...fact(
        `f${at}`,
        n(source),
        n(target),
        from.map((one) => `e${one}`),
        {
          fact: from.length > 0 ? `said in text-e${from[0]}.` : '',
          attributes: Object.fromEntries(from.map((one) => [`k${one}`, `text-e${one}.`])),
        },
      ),
      noted,
    }))
    const pairs = [
      ...mentions.map(([one, other]) => ({ episode: `e${one}`, entity: n(other) })),
      ...made.flatMap(({ episodes, source, target }) =>
        episodes.flatMap((one) => [source, target].map((other) => ({ episode: one, entity: other }))),
      ),
    ]
    const all = [...new Map(pairs.map((pair) => [`${pair.episode} ${pair.entity}`, pair])).values()]
    const reported = (entity: string) =>
      all.filter((pair) => pair.entity === entity).map(({ episode: one }) => `text-${one}.`)
    const chain = sagas[0] ?? []
    return {
      group: 'g',
      episodes: [0, 1, 2, 3, 4, 5].map((one) =>
        episode(`e${one}`, one * 24, {
          content: `text-e${one}.`,
          entityEdges: made
            .filter(({ episodes, noted }) => noted.includes(one) && episodes.length > 0)
            .map(({ uuid }) => uuid),
        }),
      ),
      entities: labels.map((own, at) =>
        entity(`n${at}`, `Thing ${at}`, own, { summary: reported(`n${at}`).join(' ') }),
      ),
      facts: made.map(({ noted: _, ...one }) => one),
      mentions: all,
      communities: communities.map((members, at) => {
        const ids = [...new Set(members.map(n))]
        return { uuid: `c${at}`, name: 'Some', summary: ids.flatMap(reported).join(' '), members: ids }
      }),
      sagas: sagas.map((some, at) => ({
        uuid: `s${at}`,
        name: 'Saga',
        summary: some.map((one) => `text-e${one}.`).join(' '),
        firstEpisode: `e${some[0]}`,
        lastEpisode: `e${some.at(-1)}`,
        summarizedTo: at === 0 ? new Date(0) : null,
        episodes: some.map((one) => `e${one}`).sort(),
      })),
      next: chain.slice(1).map((to, at) => ({ from: `e${chain[at]}`, to: `e${to}` })),
    }
  })
const erasures = fc.record({ graph: graphs, gone: fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 5 }) })
const ids = (deleted: readonly number[]) => deleted.map((one) => `e${one}`)

describe('erasure in any graph', () => {
  it('leaves no id and no text of an erased episode', () => {
    fc.assert(
      fc.property(erasures, ({ graph, gone }) => {
        const left = JSON.stringify(erase(graph, ids(gone)))
        for (const one of ids(gone)) {
          expect(left).not.toContain(`"${one}"`)
          expect(left).not.toContain(`text-${one}.`)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('leaves no reference to a deleted record', () => {
    fc.assert(
      fc.property(erasures, ({ graph, gone }) => {
        const left = erase(graph, ids(gone))
        const there = new Set([...left.episodes, ...left.entities, ...left.facts].map(({ uuid }) => uuid))
        const named = [
          ...left.mentions.flatMap(({ episode: one, entity: other }) => [one, other]),
          ...left.facts.flatMap(({ source, target, episodes }) => [source, target, ...episodes]),
          ...left.communities.flatMap(({ members }) => members),
          ...left.sagas.flatMap(({ firstEpisode, lastEpisode, episodes }) => [
            ...episodes,
            ...[firstEpisode ?? [], lastEpisode ?? []].flat(),
          ]),
          ...left.next.flatMap(({ from, to }) => [from, to]),
          ...left.episodes.flatMap(({ entityEdges }) => entityEdges),
        ]
        expect(named.filter((id) => !there.has(id))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('has the same result in any order and any division into pages', () => {
    fc.assert(
      fc.property(erasures, fc.infiniteStream(fc.boolean()), ({ graph, gone }, cuts) => {
        const pages: string[][] = []
        for (const one of ids(gone)) {
          const last = pages.at(-1)
          if (last && cuts.next().value === true) last.push(one)
          else pages.push([one])
        }
        const inTurn = pages.reduce((left, page) => erase(left, page), graph)
        expect(inTurn).toEqual(erase(graph, ids(gone)))
        expect(ids(gone).reduceRight((left, one) => erase(left, [one]), graph)).toEqual(inTurn)
      }),
      { numRuns: 500 },
    )
  })

  it('keeps records unchanged that no erased episode touches', () => {
    fc.assert(
      fc.property(erasures, ({ graph, gone }) => {
        const erased = new Set(ids(gone))
        const left = erase(graph, ids(gone))
        const touched = new Set(
          graph.mentions.filter(({ episode: one }) => erased.has(one)).map(({ entity: other }) => other),
        )
        for (const one of graph.entities) if (!touched.has(one.uuid)) expect(left.entities).toContainEqual(one)
        for (const one of graph.episodes)
          if (!erased.has(one.uuid))
            expect(left.episodes.find(({ uuid }) => uuid === one.uuid)?.content).toBe(one.content)
        for (const one of graph.communities)
          if (one.members.every((member) => !touched.has(member))) expect(left.communities).toContainEqual(one)
      }),
      { numRuns: 300 },
    )
  })

  it('changes nothing when it is repeated', () => {
    fc.assert(
      fc.property(erasures, ({ graph, gone }) => {
        const once = erase(graph, ids(gone))
        expect(erase(once, ids(gone))).toEqual(once)
      }),
    )
  })
})
