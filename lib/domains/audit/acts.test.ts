import { describe, expect, it } from 'vitest'
import { type ActEntry, actsOf } from './acts.ts'

const entry = (minute: number, of: Partial<ActEntry>): ActEntry => ({
  at: new Date(Date.UTC(2026, 0, 1, 0, minute)),
  transaction: '1',
  action: 'update',
  agent_id: 'user:1',
  resource_type: 'request',
  resource_id: 'preq_1',
  details: {},
  ...of,
})
const event = (minute: number, name: string, of: Partial<ActEntry> = {}) =>
  entry(minute, { ...of, details: { event: name, ...of.details } })
const reported = (entries: readonly ActEntry[]) =>
  actsOf(entries.map((one) => ({ entry: one, count: 1 }))).map(({ parts, count, tries }) => ({
    parts: parts.map(({ entry: { details, resource_id }, count: n }) => `${details.event ?? resource_id} ${n}`),
    count,
    ...(tries !== undefined && { tries }),
  }))

describe('actsOf', () => {
  it('joins the entries of one time and actor into one act, described by its cause', () => {
    const entries = [event(1, 'running'), event(1, 'verified'), event(1, 'evidence')]
    expect(reported(entries)).toEqual([{ parts: ['verified 1', 'evidence 1', 'running 1'], count: 3 }])
  })

  it('counts entries of the same kind', () => {
    const entries = Array.from({ length: 100 }, (_, n) =>
      entry(1, {
        agent_id: 'agent',
        resource_type: 'knowledge',
        resource_id: `unit ${n}`,
        details: { operation: 'contributeBatch' },
      }),
    )
    expect(reported(entries)).toEqual([{ parts: ['unit 99 100'], count: 100 }])
  })

  it('keeps acts of two actors and of two times apart', () => {
    expect(
      reported([event(2, 'paused'), event(1, 'paused'), event(1, 'comment', { agent_id: 'user:2' })]),
    ).toHaveLength(3)
  })

  it('keeps acts of two transactions of one actor at the same time apart', () => {
    expect(reported([event(1, 'paused', { transaction: '2' }), event(1, 'comment')])).toHaveLength(2)
  })

  it('returns one act per request when a job changed several requests', () => {
    const clock = { agent_id: 'system:privacy.clock' }
    expect(
      reported([event(1, 'overdue', clock), event(1, 'overdue', { ...clock, resource_id: 'preq_2' })]),
    ).toHaveLength(2)
  })

  it('adds consequences of a rule to the act of the caller, not to that of one of several callers', () => {
    const cause = entry(1, { agent_id: 'agent', resource_type: 'report', details: { operation: 'reportUnit' } })
    const consequence = entry(1, {
      agent_id: 'system:knowledge.quarantine',
      resource_type: 'knowledge',
      details: { operation: 'reportUnit' },
    })
    expect(reported([consequence, cause])).toEqual([{ parts: ['preq_1 1', 'preq_1 1'], count: 2 }])
    expect(reported([consequence, cause, { ...cause, agent_id: 'other' }])).toHaveLength(3)
  })

  it('joins failed attempts at a request into one act, until something else happens to it', () => {
    const by = { agent_id: 'system:exports' }
    const attempt = (minute: number) => [
      event(minute + 1, 'failed', by),
      event(minute + 1, 'copy_failed', by),
      event(minute, 'running', { agent_id: 'system:privacy.clock' }),
      event(minute, 'retried', { agent_id: 'system:privacy.clock' }),
    ]
    const entries = [...attempt(30), ...attempt(20), event(15, 'comment'), ...attempt(10), ...attempt(5)]
    const acts = reported(entries)
    expect(acts.map(({ tries }) => tries)).toEqual([2, undefined, 2])
    expect(acts.map(({ count }) => count)).toEqual([8, 1, 8])
  })
})
