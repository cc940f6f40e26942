import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pattern, sop, trace } from '#lib/testing/units.ts'
import type { Unit } from './contract.ts'
import { qualityOf, scoreOf, voteWeight } from './rules.ts'

const step = (type: string, tool?: string) => ({
  step_id: 0,
  type,
  ...(tool !== undefined && { tool: { name: tool } }),
})
const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

/** Expected values computed by hand from the formula: completeness, diversity, outcome. Novelty is 0.5. */
const shapes: Record<string, (meta: Record<string, unknown>) => Unit> = {
  // 3/4·0.5 + 3/20·0.2 = 0.405; 1/3·3 = 1; 0.9
  'a short trace': (meta) => trace({}, meta),
  // 4/4·0.5 + 0.3 + 6/20·0.2 = 0.86; 1/6·3 = 0.5; 0.8·0.3 = 0.24
  'a trace that failed and recovered': (meta) =>
    trace(
      {
        steps: [
          ...['thought', 'observation', 'error_recovery', 'observation'].map((type) => step(type)),
          ...times(2, () => step('tool_call', 'make')),
        ],
        outcome: { result_summary: 'It did not work.', confidence: 0.8 },
      },
      { ...meta, success: false },
    ),
  // 0.5 + 0.3 + 30/20·0.2 > 1; 5/30·3 = 0.5; 1
  'a long trace': (meta) =>
    trace(
      {
        steps: [
          ...times(25, (n) => step('tool_call', `tool ${n % 5}`)),
          ...times(5, (n) => step(['thought', 'observation', 'error_recovery'][n % 3] ?? '')),
        ],
        outcome: { result_summary: 'It worked.', confidence: 1 },
      },
      meta,
    ),
  // 2/5 = 0.4; 2/3; 0.9
  'a pattern': (meta) =>
    pattern(
      {
        tool_sequence: [
          { step: 1, execution: 'parallel', tools: [{ name: 'search' }, { name: 'read' }] },
          { step: 2, execution: 'sequential', tools: [{ name: 'search' }] },
        ],
      },
      meta,
    ),
  // 4/8 = 0.5; 3 of 4 (an empty list suggests nothing); 0.5 without a test case
  'an SOP': (meta) =>
    sop(
      {
        decision_tree: [
          { step: 1, instruction: 'Look.', criteria: { seen: true } },
          { step: 2, instruction: 'Ask.', tool_suggestions: [{ name: 'mail', when: 'always' }] },
          { step: 3, instruction: 'Wait.', tool_suggestions: [] },
          { step: 4, instruction: 'Act.', criteria: { answered: true } },
        ],
        validation: undefined,
      },
      meta,
    ),
}

describe('quality of a unit before any vote', () => {
  it.each([
    ['a short trace', 'design', 0.65125],
    ['a short trace', 'finance', 0.711],
    ['a short trace', 'code', 0.711],
    ['a short trace', 'medical', 0.75575],
    ['a short trace', 'customer_service', 0.701],
    ['a trace that failed and recovered', 'design', 0.525],
    ['a trace that failed and recovered', 'finance', 0.455],
    ['a trace that failed and recovered', 'code', 0.52],
    ['a trace that failed and recovered', 'medical', 0.411],
    ['a trace that failed and recovered', 'customer_service', 0.494],
    ['a long trace', 'design', 0.75],
    ['a long trace', 'finance', 0.825],
    ['a long trace', 'code', 0.7],
    ['a long trace', 'medical', 0.85],
    ['a long trace', 'customer_service', 0.75],
    ['a pattern', 'design', 0.6],
    ['a pattern', 'finance', 0.67667],
    ['a pattern', 'code', 0.61],
    ['a pattern', 'medical', 0.72167],
    ['a pattern', 'customer_service', 0.63333],
    ['an SOP', 'design', 0.5375],
    ['an SOP', 'finance', 0.525],
    ['an SOP', 'code', 0.575],
    ['an SOP', 'medical', 0.525],
    ['an SOP', 'customer_service', 0.55],
  ])('is, for %s in %s, %d', (shape, task_domain, quality) => {
    const unit = shapes[shape]?.({ task_domain })
    // Rounded to four places.
    expect(Math.abs((unit ? qualityOf(unit) : Number.NaN) - quality)).toBeLessThan(0.000051)
  })

  it('depends on novelty by its weight in the domain, and on an SOP’s test cases', () => {
    const moved = (task_domain: string) =>
      qualityOf(trace({}, { task_domain }), 1) - qualityOf(trace({}, { task_domain }), 0)
    expect(
      ['design', 'finance', 'code', 'medical', 'customer_service'].map((domain) => moved(domain).toFixed(2)),
    ).toEqual(['0.35', '0.25', '0.30', '0.20', '0.30'])
    // One step of eight, its criteria, 0.9: 0.25·0.125 + 0.35·0.5 + 0.15 + 0.25·0.9
    expect(qualityOf(sop({}, { task_domain: 'design' }))).toBeCloseTo(0.58125, 3)
  })
})

describe('score of a unit', () => {
  it.each([
    [0.5, { for: 0, against: 0 }, 0.5],
    [0.5, { for: 5, against: 0 }, 0.75],
    [0.5, { for: 0, against: 5 }, 0.25],
    [1, { for: 0, against: 1 }, 0.8333],
    [0, { for: 0, against: 3 }, 0],
  ])('is, after %d with %j, %d', (base, votes, score) => {
    expect(scoreOf(base, votes)).toBe(score)
  })

  it('is between 0 and 1 for any votes, rises with votes for it and falls with votes against it', () => {
    const weight = fc.double({ min: 0, max: 1e6, noNaN: true })
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), weight, weight, (base, pro, contra) => {
        const score = scoreOf(base, { for: pro, against: contra })
        expect(score).toBeGreaterThanOrEqual(0)
        expect(score).toBeLessThanOrEqual(1)
        expect(scoreOf(base, { for: pro + 1, against: contra })).toBeGreaterThanOrEqual(score)
        expect(scoreOf(base, { for: pro, against: contra + 1 })).toBeLessThanOrEqual(score)
      }),
    )
  })
})

it.each([
  [-3, 0.5],
  [0, 0.5],
  [0.2, 0.52],
  [5, 1],
  [15, 2],
  [1_000_000, 2],
])('a voter with a reputation of %d weighs %d', (reputation, weight) => {
  expect(voteWeight(reputation)).toBe(weight)
})
