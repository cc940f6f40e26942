import { describe, expect, it } from 'vitest'
import { closesAtOf, emailDue, isClosingOver } from './rules.ts'

const day = 24 * 3_600_000
const closingAt = new Date('2026-03-01T12:00:00Z')
const closesAt = closesAtOf(closingAt)
const on = (days: number, more = 0) => new Date(closingAt.getTime() + days * day + more)

describe('closing rules', () => {
  it('isOver returns true after exactly 30 days', () => {
    expect(closesAt).toEqual(on(30))
    expect(isClosingOver(closesAt, on(30, -1))).toBe(false)
    expect(isClosingOver(closesAt, on(30))).toBe(true)
  })

  it.each([
    [on(0), 0, { letter: 'begun', sent: 1 }],
    [on(0), 1, undefined],
    [on(23, -1), 1, undefined],
    [on(23), 1, { letter: 'week', sent: 2 }],
    [on(23), 2, undefined],
    [on(29, -1), 2, undefined],
    [on(29), 2, { letter: 'day', sent: 3 }],
    [on(29), 1, { letter: 'day', sent: 3 }],
    [on(30), 3, undefined],
  ] as const)('letterDue at %s after %i emails returns %j', (now, sent, due) => {
    expect(emailDue(closesAt, sent, now)).toEqual(due)
  })
})
