import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DataSource, stages } from '#lib/kernel/data-source.ts'
import type { ProjectPart } from '#lib/kernel/erasure-scope.ts'
import {
  addLegalHoldCounts,
  countsInLog,
  dataSourcesInOrder,
  dueSteps,
  legalHoldCounts,
  namedInLog,
  namedOnReceipt,
  recordIdOf,
  recordScopeOf,
  scopeKindOf,
  stageAt,
  withoutHeld,
} from './run-rules.ts'

const dataSource = (name: string, store: string, stage: DataSource['stage']): DataSource => ({
  name,
  store,
  stage,
  what: '',
  purpose: '',
  kept: '',
  tables: [],
  inventory: async () => ({ count: 0, since: null, until: null }),
  plan: async () => ({ items: [], held: {} }),
  erase: async () => 0,
  residue: async () => 0,
})
const anyDataSources = fc
  .array(fc.tuple(fc.constantFrom('postgresql', 'files', 'graph'), fc.constantFrom(...stages)), { maxLength: 30 })
  .map((list) => list.map(([store, stage], n) => dataSource(`h${n}`, store, stage)))
const stepsOf = (dataSources: DataSource[], stateOf: (name: string) => 'waiting' | 'running' | 'done' | 'stuck') =>
  dataSourcesInOrder(dataSources).map(({ dataSource: { name, store }, position }) => ({
    holder: name,
    store,
    position,
    state: stateOf(name),
  }))

describe('the order of steps in an erasure run', () => {
  it('follows the stages, and the list within a stage', () => {
    const dataSources = [
      dataSource('account', 'postgresql', 'account'),
      dataSource('units', 'postgresql', 'content'),
      dataSource('words', 'postgresql', 'derived'),
      dataSource('votes', 'postgresql', 'content'),
    ]
    const ordered = dataSourcesInOrder(dataSources)
    expect(ordered.map((one) => one.dataSource.name)).toEqual(['words', 'units', 'votes', 'account'])
    expect(ordered.map(({ position }) => stageAt(position))).toEqual(['derived', 'content', 'content', 'account'])
  })

  it('executes each step once, one step per store at a time, and each stage after the previous one', () => {
    fc.assert(
      fc.property(anyDataSources, fc.infiniteStream(fc.nat()), (dataSources, choices) => {
        const done: string[] = []
        for (;;) {
          const steps = stepsOf(dataSources, (name) => (done.includes(name) ? 'done' : 'waiting'))
          const due = dueSteps(steps)
          if (due.length === 0) break
          expect(new Set(due.map(({ store }) => store)).size).toBe(due.length)
          const next = due[(choices.next().value ?? 0) % due.length]
          if (!next) throw new Error('nothing is due')
          for (const step of steps)
            if (stages.indexOf(stageAt(step.position)) < stages.indexOf(stageAt(next.position)))
              expect(step.state).toBe('done')
          done.push(next.holder)
        }
        expect([...done].sort()).toEqual(dataSources.map(({ name }) => name).sort())
      }),
    )
  })

  it('blocks later steps of the same store and later stages when a step is stuck, but not steps of other stores', () => {
    const dataSources = [
      dataSource('a', 'postgresql', 'content'),
      dataSource('b', 'postgresql', 'content'),
      dataSource('c', 'files', 'content'),
      dataSource('d', 'files', 'agent'),
    ]
    const state = (name: string) => (name === 'a' ? ('stuck' as const) : ('waiting' as const))
    expect(dueSteps(stepsOf(dataSources, state)).map((step) => step.holder)).toEqual(['c'])
    const later = (name: string) => (name === 'c' ? ('done' as const) : state(name))
    expect(dueSteps(stepsOf(dataSources, later))).toEqual([])
  })
})

describe('legal holds', () => {
  const subject = { account: 'usr_1', agents: ['a', 'b', 'c'] }
  it.each([
    ['none', null, [], { free: subject, retained: [] }],
    [
      'on the person',
      'h1',
      [['a', 'h2']],
      { free: { account: null, agents: [] }, retained: [{ hold: 'h1', part: subject }] },
    ],
    [
      'on an agent',
      null,
      [['b', 'h2']],
      {
        free: { account: 'usr_1', agents: ['a', 'c'] },
        retained: [{ hold: 'h2', part: { account: null, agents: ['b'] } }],
      },
    ],
  ] as const)('narrowed removes the held part of the subject for a hold: %s', (_what, account, agents, expected) => {
    const holds = { account, agents: new Map(agents.map(([agent, hold]) => [agent, hold])), fingerprint: '' }
    expect(withoutHeld(subject, holds)).toEqual(expected)
  })

  it('narrowed assigns every agent to exactly one of "free" and "kept"', () => {
    const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 8 })
    fc.assert(
      fc.property(ids, fc.func(fc.boolean()), fc.option(fc.constant('h0')), (agents, isHeld, account) => {
        const held = new Map(agents.filter((agent) => isHeld(agent)).map((agent) => [agent, `h-${agent}`]))
        const { free, retained } = withoutHeld({ account: 'usr_1', agents }, { account, agents: held, fingerprint: '' })
        expect([...free.agents, ...retained.flatMap(({ part }) => part.agents)].sort()).toEqual([...agents].sort())
        expect(free.account === null).toBe(account !== null)
      }),
    )
  })

  it('heldTogether sums counts by hold id and drops zero counts', () => {
    const held = addLegalHoldCounts([{ b: 2 }, { a: 1, b: 1, c: 0 }])
    expect(legalHoldCounts(held)).toEqual([
      { hold: 'a', count: 1 },
      { hold: 'b', count: 3 },
    ])
  })
})

const part = (kind: ProjectPart['kind'], id: string, conversation: string | null): { part: ProjectPart } => ({
  part: { kind, id, project: 'prj_1', conversation },
})

it.each([
  [part('message', 'msg_1', 'conv_1'), { projectId: 'prj_1', conversationId: 'conv_1', messageId: 'msg_1' }],
  [part('conversation', 'conv_1', 'conv_1'), { projectId: 'prj_1', conversationId: 'conv_1' }],
  [part('document', 'doc_1', null), { projectId: 'prj_1', documentId: 'doc_1' }],
  [part('project', 'prj_1', null), { projectId: 'prj_1' }],
  [{ subject: { account: 'usr_1', agents: ['a'] } }, { subject: 'usr_1', kind: 'account' }],
  [{ subject: { account: null, agents: ['a'] } }, { subject: 'a', kind: 'agent' }],
  [{ unit: 'kp:trace:1' }, { unit: 'kp:trace:1' }],
  [{ skill: 'kp:skill:1' }, { skill: 'kp:skill:1' }],
])('namedInLog returns the ids of %j', (scope, named) => {
  expect(namedInLog(scope)).toEqual(named)
})

it('namedOnReceipt returns part_kind for a part of a project and subject_kind for a subject', () => {
  expect(namedOnReceipt(part('document', 'doc_1', null))).toEqual({ deleted_id: 'doc_1', part_kind: 'document' })
  expect(namedOnReceipt({ subject: { account: null, agents: ['a'] } })).toEqual({
    deleted_id: 'a',
    subject_kind: 'agent',
  })
})

it('namedOnReceipt returns only the id for a unit or skill', () => {
  expect(namedOnReceipt({ unit: 'kp:trace:1' })).toEqual({ deleted_id: 'kp:trace:1' })
  expect(namedOnReceipt({ skill: 'kp:skill:1' })).toEqual({ deleted_id: 'kp:skill:1' })
})

it.each([
  ['kp:skill:1', 'skill'],
  ['kp:trace:1', 'unit'],
  ['kp:sop:skill:1', 'unit'],
])('recordScopeOf returns a scope with the id %s and the kind %s', (id, kind) => {
  const scope = recordScopeOf(id)
  expect([recordIdOf(scope), scopeKindOf(scope)]).toEqual([id, kind])
})

it('countsInLog returns counts by data source, and by extra name where one exists', () => {
  expect(countsInLog({ 'projects.messages': 2, 'graph.episodes': 3 })).toEqual({
    'projects.messages': 2,
    'graph.episodes': 3,
    messagesDeleted: 2,
  })
})
