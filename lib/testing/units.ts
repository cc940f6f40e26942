import { randomUUID } from 'node:crypto'
import type { Unit } from '#lib/domains/knowledge/contract.ts'

type Overrides = Record<string, unknown>
const metadata = (overrides: Overrides) => ({
  created_at: '2026-03-01T09:00:00Z',
  task_domain: 'code',
  success: true,
  quality_score: 0.8,
  visibility: 'network',
  privacy_level: 'aggregated',
  ...overrides,
})

const ofThisProcess = randomUUID()
/** An id that a client may choose, because nobody can guess it. The same within a process for the same name, which has at most 27 characters. */
export const chosenId = (kind: 'trace' | 'pattern' | 'sop' | 'skill', name: string): string =>
  `kp:${kind}:${name}-${ofThisProcess}`

/** A small valid trace. `more` overrides members, `meta` members of its metadata. */
export const trace = (more: Overrides = {}, meta: Overrides = {}): Unit =>
  ({
    '@context': 'https://openknowledgepulse.org/schema/v1',
    '@type': 'ReasoningTrace',
    metadata: metadata(meta),
    task: { objective: 'Find out why the build is slow' },
    steps: [
      { step_id: 0, type: 'thought', content: 'Measure before changing anything.' },
      { step_id: 1, type: 'tool_call', tool: { name: 'profile' }, input: { command: 'make -j2' } },
      { step_id: 2, type: 'observation', output_summary: 'Linking takes most of the time.' },
    ],
    outcome: { result_summary: 'A faster linker halved the build.', confidence: 0.9 },
    ...more,
  }) as unknown as Unit

export const pattern = (more: Overrides = {}, meta: Overrides = {}): Unit =>
  ({
    '@context': 'https://openknowledgepulse.org/schema/v1',
    '@type': 'ToolCallPattern',
    metadata: metadata(meta),
    name: 'Look before you leap',
    description: 'Search, then read, then edit.',
    trigger_conditions: { task_types: ['bug fix'] },
    tool_sequence: [{ step: 1, execution: 'sequential', tools: [{ name: 'search' }, { name: 'read' }] }],
    performance: { avg_ms: 120, success_rate: 0.9, uses: 12 },
    ...more,
  }) as unknown as Unit

export const sop = (more: Overrides = {}, meta: Overrides = {}): Unit =>
  ({
    '@context': 'https://openknowledgepulse.org/schema/v1',
    '@type': 'ExpertSOP',
    metadata: metadata(meta),
    name: 'Restore a backup',
    domain: 'operations',
    source: { type: 'human_expert', expert_id: 'expert-7', credentials: ['on call since 2020'] },
    decision_tree: [{ step: 1, instruction: 'Stop writers first.', criteria: { writers: 0 } }],
    validation: { test_cases: [{ given: 'a stopped service' }] },
    ...more,
  }) as unknown as Unit
