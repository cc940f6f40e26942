import { describe, expect, it, test } from 'vitest'
import { graces } from '#lib/domains/privacy-requests/rules.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { beginsAt, consequencesOf, isDeleteWord } from './deletion-rules.ts'

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
