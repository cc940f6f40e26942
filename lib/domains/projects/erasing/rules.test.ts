import { describe, expect, it } from 'vitest'
import { type EntityKinds, entityKindOf } from '../graph/rules.ts'
import { entityGroupOf, totalsOf } from './rules.ts'

const entity = (labels: string[], more: { ask?: string; pii?: boolean } = {}, kinds: EntityKinds = {}) =>
  entityKindOf(
    {
      uuid: 'u',
      name: 'Sample',
      labels,
      summary: '',
      attributes: more,
      createdAt: new Date(0),
    },
    kinds,
  ).evidence

describe('entityGroupOf a personal entity', () => {
  it.each([
    ['an entity with the label Person', entity(['Person']), 'person'],
    ['an entity with the attribute pii', entity(['Company'], { pii: true }), 'person'],
    ['a label mapped to person', entity(['Investor'], {}, { Investor: 'person' }), 'person'],
    ['a company with an address in an attribute', entity(['Company'], { ask: 'a@example.org' }), 'personal'],
    ['an entity without a label', entity([]), 'unknown'],
    ['an unknown label', entity(['Thing']), 'unknown'],
  ] as const)('returns the group for %s', (_, evidence, group) => {
    expect(entityGroupOf({ verdict: 'deleted', reason: 'pii', evidence: [...evidence, 'mentions:2'] })).toBe(group)
  })
})

it('totalsOf counts records with the same decision together, whatever the evidence is', () => {
  const decided = { store: 'graph', kind: 'entity', verdict: 'kept' as const, reason: 'orphaned' }
  const fact = { store: 'graph', kind: 'fact', verdict: 'deleted' as const, reason: 'source', evidence: [] }
  expect(
    totalsOf([
      { ...decided, evidence: ['label:Company', 'mentions:2'] },
      fact,
      { ...decided, evidence: ['label:Company', 'mentions:9'] },
      { ...decided, evidence: ['label:Deal'] },
      { ...fact, reason: 'endpoint' },
    ]),
  ).toEqual([
    { store: 'graph', kind: 'entity', verdict: 'kept', group: 'kept', label: 'Company', count: 2 },
    { store: 'graph', kind: 'fact', verdict: 'deleted', group: null, label: null, count: 2 },
    { store: 'graph', kind: 'entity', verdict: 'kept', group: 'kept', label: 'Deal', count: 1 },
  ])
})
