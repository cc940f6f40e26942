import { NextIntlClientProvider } from 'next-intl'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { totalsOf } from '#lib/domains/projects/erasing/rules.ts'
import { decideNeighbourhood } from '#lib/domains/projects/graph/rules.ts'
import { episode, entity as graphEntity } from '#lib/testing/graphs.ts'
import { neighbourhoodIn } from '#lib/testing/model-graph.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import type { PlanDecision } from './endpoints.ts'
import {
  filtered,
  goingIn,
  isEmptyPlan,
  kindKey,
  matchReasonKey,
  plansByStore,
  reasonKey,
  type StorePlan,
} from './plan-rules.ts'
import { usePlanWords } from './plan-words.ts'

const verdict = (
  kind: string,
  outcome: PlanDecision['verdict'],
  reason: string,
  more: Partial<PlanDecision> = {},
): PlanDecision => ({
  store: 'graph',
  kind,
  id: 'x',
  name: null,
  verdict: outcome,
  reason,
  evidence: [],
  found: 'pointer',
  ...more,
})
/** Verdicts of the real policy for companies that another episode also mentions. */
const companies = (count: number): PlanDecision[] => {
  const entities = Array.from({ length: count }, (_, n) =>
    graphEntity(`n${n}`, `Sample ${n}`, ['Company'], { summary: n === 0 ? 'Told of it.' : '', attributes: {} }),
  )
  const mentions = ['e1', 'e2'].flatMap((one) => entities.map(({ uuid }) => ({ episode: one, entity: uuid })))
  const graph = {
    group: 'g',
    episodes: [episode('e1', 1), episode('e2', 2)],
    entities,
    mentions,
    facts: [],
    communities: [],
    sagas: [],
    next: [],
  }
  const { verdicts } = decideNeighbourhood(neighbourhoodIn(graph, ['e1'], []), {
    entityKinds: {},
    redacts: false,
    provenance: { endedBy: new Map(), erasedSourceIds: new Set() },
  })
  return verdicts
    .filter(({ kind }) => kind === 'entity')
    .map((judged) => ({ ...judged, store: 'graph', found: 'group' }))
}

function Entities({ plans }: { plans: readonly StorePlan[] }) {
  const words = usePlanWords()
  return plans.map(words.entities).join('')
}

describe('plansByStore', () => {
  const verdicts = [
    ...Array.from({ length: 4 }, () => verdict('entity', 'deleted', 'pii', { evidence: ['label:Person'] })),
    ...Array.from({ length: 12 }, () => verdict('entity', 'deleted', 'unreferenced')),
    ...companies(15),
    verdict('fact', 'deleted', 'source'),
    verdict('community', 'changed', 'built_on_source'),
    verdict('saga', 'changed', 'built_on_source'),
    verdict('message', 'deleted', 'erased', { store: 'postgresql' }),
    verdict('message', 'deleted', 'erased', { store: 'checkpoints' }),
    verdict('constructor', 'kept', 'erased', { store: 'checkpoints' }),
  ]
  const planned = [
    { store: 'cache', holder: 'cache.entries', what: '', items: 2, held: 0 },
    { store: 'graph', holder: 'graph.episodes', what: '', items: 1, held: 3 },
    { store: 'postgresql', holder: 'projects.messages', what: '', items: 3, held: 0 },
    { store: 'postgresql', holder: 'projects.members', what: '', items: 0, held: 0 },
  ]
  const plans = plansByStore({ planned, totals: totalsOf(verdicts), unanswered: [] })

  it('counts graph entities by group', () => {
    expect(plans.find(({ store }) => store === 'graph')).toMatchObject({
      goes: 17,
      held: 3,
      entities: [
        { group: 'person', count: 4 },
        { group: 'unreferenced', count: 12 },
        { group: 'kept', count: 15, label: 'Company' },
      ],
      parts: [
        { kind: 'fact', verdict: 'deleted', count: 1 },
        { kind: 'summary', verdict: 'changed', count: 2 },
      ],
    })
  })
  it.each([
    [
      'en',
      en,
      'Graph entities (31): 4 people to delete, 12 to delete because no other source mentions them, 15 company records to retain because other sources mention them.',
    ],
    [
      'zh',
      zh,
      '图谱实体（31 个）：删除 4 个个人实体、12 个因没有其他来源提及而删除、15 条公司记录因其他内容提及而保留。',
    ],
  ] as const)(
    'the summary in %s states how many entities will be deleted and retained, and why',
    (locale, messages, sentence) => {
      const page = { locale, timeZone: 'UTC', messages, children: createElement(Entities, { plans }) }
      expect(renderToStaticMarkup(createElement(NextIntlClientProvider, page))).toBe(sentence)
    },
  )
  it('returns stores in order with empty ones last and merges similar kinds', () => {
    expect(plans.map(({ store }) => store)).toEqual(['graph', 'postgresql', 'checkpoints', 'cache'])
    expect(plans[1]?.parts).toEqual([{ kind: 'row', verdict: 'deleted', count: 1 }])
    // 17 graph items regardless of the planned count; three rows as planned; a cache that is only searched counts as none.
    expect(goingIn(plans)).toBe(17 + 3)
    expect(plans[1]?.holders).toEqual([{ holder: 'projects.messages', items: 3 }])
    expect(plans[2]?.parts.map(({ kind }) => kind)).toEqual(['checkpoint', 'other'])
  })
  it('labels retained entities only if all have the same label', () => {
    const stays = [...companies(4), verdict('entity', 'kept', 'orphaned', { evidence: ['label:Deal'] })]
    const [plan] = plansByStore({ planned: [], totals: totalsOf(stays), unanswered: [] })
    expect(plan?.entities).toEqual([{ group: 'kept', count: 5 }])
  })
  it('marks a store that did not answer and never reports it as empty', () => {
    const asked = plansByStore({ planned, totals: totalsOf(verdicts), unanswered: ['cache', 'objects'] })
    expect(asked.filter(isEmptyPlan)).toEqual([])
    expect(asked.flatMap(({ store, isUnanswered }) => (isUnanswered ? [store] : []))).toEqual(['cache', 'objects'])
  })
})

describe('filtered', () => {
  const list = [
    verdict('entity', 'deleted', 'pii', { id: 'a1', name: 'Sample Person', evidence: ['label:Person'] }),
    verdict('fact', 'kept', 'superseded', { id: 'b2' }),
  ]
  it.each([
    ['all', '', ['a1', 'b2']],
    ['deleted', '', ['a1']],
    ['all', ' LABEL:person ', ['a1']],
    ['kept', 'sample', []],
    ['all', 'supersed', ['b2']],
  ] as const)('returns the matching verdicts of the view %s for the text %j', (view, typed, ids) =>
    expect(filtered(list, view, typed).map(({ id }) => id)).toEqual(ids),
  )
})

it('every code that has a translation is recognized, and unknown codes are not', () => {
  const { kinds, reasons, found } = en.projects.plan
  expect(Object.keys(kinds).map(kindKey)).toEqual(Object.keys(kinds))
  expect(Object.keys(reasons).map(reasonKey)).toEqual(Object.keys(reasons))
  expect(Object.keys(found).map(matchReasonKey)).toEqual(Object.keys(found))
  expect([kindKey('__proto__'), reasonKey('new one'), matchReasonKey('')]).toEqual([undefined, undefined, undefined])
})
