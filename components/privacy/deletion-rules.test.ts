import { describe, expect, it, test } from 'vitest'
import { requestSayingOf } from '#components/requests/request-rules.ts'
import { graces, type RequestState } from '#lib/domains/privacy-requests/rules.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import {
  agentsNotYetFiled,
  beginsAt,
  consequencesOf,
  filedDeletionIn,
  filedDeletionStatus,
  isDeleteWord,
  isStillCounting,
  type UnderReceipt,
} from './deletion-rules.ts'

const line = (holder: string, count: number, ...held: number[]) => ({
  holder,
  count,
  store: 'postgresql',
  what: '',
  held: held.map((kept, index) => ({ hold_id: `hold_${index}`, count: kept })),
})

describe('consequencesOf', () => {
  it('counts units, skills, agents and tokens by name and everything else as others, without the account', () => {
    const plan = [
      line('knowledge.units', 214),
      line('knowledge.skills', 2),
      line('agents', 3),
      line('tokens', 5),
      line('accounts', 1),
      line('accounts.sessions', 4),
      line('knowledge.votes', 6),
    ]
    expect(consequencesOf(plan)).toEqual({
      units: 214,
      skills: 2,
      agents: 3,
      tokens: 5,
      projects: 0,
      others: 10,
      mentions: 0,
      requests: 0,
      owners: 0,
      gone: 235,
      changed: 0,
      held: 0,
    })
  })

  it('counts records that only lose a name separately from erased records', () => {
    const plan = [
      line('knowledge.references', 7),
      line('projects.references', 1),
      line('privacy.requests', 2),
      line('erasure.owners', 3),
      line('accounts', 1),
    ]
    const counts = { mentions: 8, requests: 2, owners: 3, changed: 13, gone: 1, others: 0 }
    expect(consequencesOf(plan)).toMatchObject(counts)
  })

  it('sums the records under legal hold across data sources and holds', () => {
    const plan = [line('knowledge.units', 0, 3, 4), line('agents', 0, 1)]
    expect(consequencesOf(plan)).toMatchObject({ gone: 0, held: 8, units: 0 })
  })

  it('returns zeros for an empty plan', () => expect(consequencesOf([])).toMatchObject({ gone: 0, held: 0, others: 0 }))
})

test.each([
  ['2026-01-31T10:00:00.000Z', 'now', '2026-01-31T10:00:00.000Z'],
  ['2026-01-31T10:00:00.000Z', '24h', '2026-02-01T10:00:00.000Z'],
  ['2026-01-31T10:00:00.000Z', '14d', '2026-02-14T10:00:00.000Z'],
] as const)('an erasure confirmed at %s with the grace period %s begins at %s', (now, grace, at) =>
  expect(beginsAt(grace, new Date(now)).toISOString()).toBe(at),
)
test('beginsAt never shortens an offered grace period to meet the one-month limit', () => {
  for (let day = 0; day < 366; day++) {
    const now = new Date(Date.UTC(2027, 0, 1 + day, 12))
    const ends = graces.map((grace) => (beginsAt(grace, now).getTime() - now.getTime()) / 3_600_000)
    expect(ends).toEqual([0, 24, 168, 336])
  }
})

test.each([
  ['DELETE', true],
  [' delete ', true],
  ['ＤＥＬＥＴＥ', true],
  ['删除', true],
  ['删 除', false],
  ['DELETED', false],
  ['', false],
  ['<b>DELETE</b>', false],
])('isDeleteWord(%j) returns %s', (typed, is) => expect(isDeleteWord(typed)).toBe(is))
test('isDeleteWord accepts the word that each language asks for', () => {
  for (const { deletion } of [en, zh]) expect(isDeleteWord(deletion.confirm.word)).toBe(true)
})

const request = `preq_${'a'.repeat(22)}`
const receipt = `rcpt_${'b'.repeat(22)}`

describe('askedIn', () => {
  it('returns the filed request that the address names', () =>
    expect(
      filedDeletionIn({ step: 'done', request, receipt, begin: 'now', until: '2026-11-22T12:00:00.000Z', joined: '1' }),
    ).toEqual({
      requestId: request,
      receiptId: receipt,
      agent: undefined,
      until: '2026-11-22T12:00:00.000Z',
      isJoined: true,
      isAtOnce: true,
    }))

  it.each([
    { step: 'confirm', request },
    { step: 'done' },
    { step: 'done', request: 'preq_<script>' },
    { step: 'done', request: [request, request] },
    {},
  ])('returns undefined for %j', (query) => expect(filedDeletionIn(query)).toBeUndefined())

  it('drops values that are not valid ids or dates', () =>
    expect(filedDeletionIn({ step: 'done', request, receipt: '../../x', until: 'soon', agent: '<b>' })).toMatchObject({
      receiptId: undefined,
      until: undefined,
      agent: undefined,
      isAtOnce: false,
    }))
})

const now = new Date('2026-11-21T12:00:00.000Z')
const later = '2026-11-22T12:00:00.000Z'
type Given = Parameters<typeof requestSayingOf>[0]
const standing = (state: RequestState, more: Partial<Given> = {}, receipt?: UnderReceipt) => {
  const part = { kind: 'erasure' as const, started_at: null, finished_at: null, outcome: {} }
  const parts = [{ ...part, state: state === 'running' || state === 'failed' ? state : ('pending' as const) }]
  const request = { state, kinds: ['erasure' as const], subject: 'person' as const, paused: null, waiting_until: later }
  return filedDeletionStatus(requestSayingOf({ ...request, parts, ...more }, [], now), receipt)
}

test.each([
  ['received', 'link'],
  ['waiting', 'waiting'],
  ['running', 'running'],
  ['verifying', 'running'],
  ['completed', 'done'],
  ['partly_completed', 'held'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['rejected', 'rejected'],
] as const)('askedStanding maps the state %s to %s', (state, shown) => expect(standing(state)).toBe(shown))

test('askedStanding returns waiting during the grace period, afterCopy until the copy is fetched, and undefined otherwise', () => {
  const part = { kind: 'access' as const, state: 'running' as const, started_at: null, finished_at: null }
  const copy = { export_id: 'exp_1' }
  const ended = { waiting_until: now.toISOString() }
  expect(standing('waiting', { parts: [{ ...part, outcome: copy }] })).toBe('waiting')
  expect(standing('waiting', { ...ended, parts: [{ ...part, outcome: copy }] })).toBe('afterCopy')
  expect(standing('waiting', { ...ended, parts: [{ ...part, outcome: { ...copy, copy: 'fetched' } }] })).toBeUndefined()
  const notBegun = { ...part, kind: 'erasure' as const, state: 'pending' as const, outcome: {} }
  expect(standing('failed', { parts: [notBegun] })).toBeUndefined()
  expect(standing('waiting', { paused: { since: later, reason: '' } })).toBeUndefined()
})

test('filedDeletionStatus returns failed when the erasure of a running request waits for a retry', () => {
  expect(standing('running', {}, 'failed')).toBe('failed')
  expect(standing('running', {}, 'under_way')).toBe('running')
  expect(standing('waiting', {}, 'failed')).toBe('waiting')
})

test.each([
  ['signed', later, 'done'],
  ['signed_held', later, 'held'],
  ['under_way', undefined, 'running'],
  ['failed', undefined, 'failed'],
  ['held', undefined, 'heldWhole'],
  [undefined, later, 'aheadOut'],
  [undefined, now.toISOString(), 'begunOut'],
  [undefined, undefined, 'begunOut'],
] as const)('standingOut with receipt state %s and start %s returns %s', (receipt, until, shown) =>
  expect(agentsNotYetFiled(receipt, until, now)).toBe(shown),
)

test.each(['aheadOut', 'begunOut'] as const)(
  'the text of %s leaves open whether the deletion was cancelled',
  (status) => {
    expect(en.deletion.done.states[status].text).toMatch(/^(Unless|If not) cancelled/)
    expect(zh.deletion.done.states[status].text).toMatch(/^如未取消/)
  },
)

test('isStillCounting returns true until the plan is complete, unless a place was deleted or waits', () => {
  const place = { store: 'postgresql', records: 17, remaining: 17, held: 0, found_again: null, waiting_since: null }
  const other = { ...place, store: 'files', records: 1, remaining: 1 }
  expect(isStillCounting({ state: 'planning', places: [place, other] })).toBe(true)
  expect(isStillCounting({ state: 'erasing', places: [place, other] })).toBe(false)
  // Planned again after a search that found records: the earlier numbers remain.
  expect(isStillCounting({ state: 'planning', places: [{ ...place, remaining: 0 }, other] })).toBe(false)
  expect(isStillCounting({ state: 'planning', places: [place, { ...other, waiting_since: later }] })).toBe(false)
})
