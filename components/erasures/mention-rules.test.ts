import { describe, expect, it } from 'vitest'
import type { Run } from './endpoints.ts'
import { mentionKind, wereNamesSearched } from './mention-rules.ts'

const step = (store: string, planned: number): Run['steps'][number] => ({
  holder: `${store}.things`,
  store,
  state: 'done',
  planned,
  erased: planned,
  held: [],
  residue: 0,
  results: {},
  attempts: 1,
  fault: null,
  waiting_since: null,
  started_at: null,
  finished_at: null,
  verified_at: null,
})

describe('mentions in records of others', () => {
  it.each<[boolean, Run['state'], Run['steps']]>([
    [true, 'done', [step('postgresql', 1), step('graph', 2)]],
    [false, 'done', [step('postgresql', 1), step('graph', 0)]],
    [false, 'done', [step('postgresql', 1), step('cache', 3)]],
    [false, 'verifying', [step('graph', 2)]],
  ])('wereNamesLookedFor returns %s for a run in state %s with the steps %s', (looked, state, steps) => {
    expect(wereNamesSearched({ state, steps })).toBe(looked)
  })

  it('mentionKind returns the key of a known kind and undefined otherwise', () => {
    expect(mentionKind('fact')).toBe('fact')
    expect(mentionKind('constructor')).toBeUndefined()
  })
})
