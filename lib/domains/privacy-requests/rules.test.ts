import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
  addMonths,
  type Clocks,
  cancellableStates,
  closedStates,
  deadlineStatus,
  dueAfter,
  dueNow,
  extendedDeadline,
  type Grace,
  graceEnd,
  graceMargin,
  graces,
  isClosed,
  legalDueAt,
  mayBecome,
  nearlyDueAt,
  ourTerm,
  type PartState,
  parties,
  partStates,
  type RequestState,
  requestKinds,
  stateOfParts,
  states,
  transitions,
} from './rules.ts'

const day = 86_400_000
const at = (text: string): Date => new Date(text.includes('T') ? text : `${text}T09:30:00.000Z`)
const times = fc.date({ min: at('2001-01-01'), max: at('2199-12-31'), noInvalidDate: true })
const clocks = (more: Partial<Clocks> & { receivedAt: Date }): Clocks => ({
  state: 'received',
  legalDueAt: legalDueAt(more.receivedAt),
  dueAt: null,
  pausedAt: null,
  extendedAt: null,
  ...more,
})

describe('legalDueAt (GDPR art. 12(3))', () => {
  test.each([
    ['2026-01-31', '2026-02-28'],
    ['2028-01-31', '2028-02-29'],
    ['2026-01-30', '2026-02-28'],
    ['2026-01-28', '2026-02-28'],
    ['2026-03-31', '2026-04-30'],
    ['2026-02-28', '2026-03-28'],
    ['2028-02-29', '2028-03-29'],
    ['2026-12-31', '2027-01-31'],
    ['2026-11-15', '2026-12-15'],
  ])('returns the same time of day one month later: received %s, due %s', (received, due) => {
    expect(legalDueAt(at(received))).toEqual(at(due))
  })

  it('addMonths returns the same day of the month, or the last day of a shorter month', () => {
    fc.assert(
      fc.property(times, fc.integer({ min: 1, max: 36 }), (received, months) => {
        const due = addMonths(received, months)
        const elapsed =
          (due.getUTCFullYear() - received.getUTCFullYear()) * 12 + due.getUTCMonth() - received.getUTCMonth()
        expect(elapsed).toBe(months)
        const isLast = new Date(due.getTime() + day).getUTCDate() === 1
        expect(due.getUTCDate() === received.getUTCDate() || (isLast && due.getUTCDate() < received.getUTCDate())).toBe(
          true,
        )
        expect(due.getTime() % day).toBe(received.getTime() % day)
      }),
    )
  })
})

describe('extended', () => {
  const received = at('2026-12-31')
  test.each([
    [59, at('2027-03-31')],
    [60, 'beyond_law'],
    [1, at('2027-02-01')],
  ])('an extension by %i days from 31 January returns %s', (days, limit) => {
    expect(extendedDeadline(clocks({ receivedAt: received }), days, at('2027-01-10'))).toEqual(limit)
  })
  test.each([
    ['within the first month alone', { receivedAt: received }, at('2027-01-31T09:30:00.001Z'), 'first_month_over'],
    ['once', { receivedAt: received, extendedAt: at('2027-01-05') }, at('2027-01-10'), 'extended_already'],
    ['while something is owed', { receivedAt: received, state: 'completed' as const }, at('2027-01-10'), 'settled'],
  ])('rejects an extension unless: %s', (_, given, now, fault) => {
    expect(extendedDeadline(clocks(given), 10, now)).toBe(fault)
  })
  it('accepts an extension at the last moment of the first month, which a pause moves', () => {
    expect(extendedDeadline(clocks({ receivedAt: received }), 10, at('2027-01-31'))).toBeInstanceOf(Date)
    const paused = clocks({ receivedAt: received, pausedAt: at('2027-01-20') })
    expect(extendedDeadline(paused, 10, at('2027-02-20'))).toBeInstanceOf(Date)
  })
  it('never exceeds three calendar months from receipt plus the pauses', () => {
    fc.assert(
      fc.property(
        times,
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 0, max: 90 * day }),
        (receivedAt, days, still) => {
          const limit = extendedDeadline(
            clocks({ receivedAt, legalDueAt: new Date(legalDueAt(receivedAt).getTime() + still) }),
            days,
            receivedAt,
          )
          const max = addMonths(receivedAt, 3).getTime() + still
          if (limit instanceof Date) expect(limit.getTime()).toBeLessThanOrEqual(max)
          else expect(legalDueAt(receivedAt).getTime() + still + days * day).toBeGreaterThan(max)
        },
      ),
    )
  })
})

describe('a running pause', () => {
  it('moves both deadlines and keeps the remaining time', () => {
    fc.assert(
      fc.property(times, fc.nat(day * 20), fc.nat(day * 20), (receivedAt, until, length) => {
        const pausedAt = new Date(receivedAt.getTime() + until)
        const now = new Date(pausedAt.getTime() + length)
        const given = clocks({ receivedAt, pausedAt, dueAt: new Date(receivedAt.getTime() + ourTerm) })
        const { legalDueAt: legal, dueAt } = deadlineStatus(given, now)
        expect(legal.getTime() - given.legalDueAt.getTime()).toBe(length)
        expect((dueAt?.getTime() ?? 0) - (given.dueAt?.getTime() ?? 0)).toBe(length)
        // The remaining time is that of the start of the pause.
        expect(dueNow(given, now)).toEqual({
          tag: 'paused',
          secondsLeft: dueNow({ ...given, pausedAt: null }, pausedAt).secondsLeft,
        })
      }),
    )
  })
})

describe('graceEnd', () => {
  const received = at('2026-11-01')
  test.each<[Grace, string, string, boolean]>([
    ['now', '2026-11-02', '2026-11-02', false],
    ['24h', '2026-11-02', '2026-11-03', false],
    ['7d', '2026-11-02', '2026-11-09', false],
    ['14d', '2026-11-02', '2026-11-16', false],
    ['14d', '2026-11-20', '2026-11-28', true],
    ['24h', '2026-11-27', '2026-11-28', false],
    ['24h', '2026-11-29', '2026-11-29', true],
    ['7d', '2026-12-10', '2026-12-10', true],
  ])('a grace period of %s from %s ends %s, shortened: %s', (grace, now, end, isShortened) => {
    expect(graceEnd(grace, legalDueAt(received), at(now))).toEqual({ at: at(end), isShortened })
  })
  it('is never in the past, never later than chosen, and never within the margin before the legal deadline', () => {
    fc.assert(
      fc.property(times, fc.constantFrom(...graces), fc.nat(day * 60), (receivedAt, grace, later) => {
        const now = new Date(receivedAt.getTime() + later)
        const limit = legalDueAt(receivedAt)
        const { at: end, isShortened } = graceEnd(grace, limit, now)
        const chosen = graceEnd(grace, new Date(8.64e15), now).at
        expect(end.getTime()).toBeGreaterThanOrEqual(now.getTime())
        expect(end.getTime()).toBeLessThanOrEqual(Math.max(now.getTime(), limit.getTime() - graceMargin))
        expect(isShortened).toBe(end < chosen)
        // Our own deadline is never after the legal one.
        expect(dueAfter(end, limit).getTime()).toBeLessThanOrEqual(limit.getTime())
      }),
    )
  })
})

describe('dueNow', () => {
  const receivedAt = at('2026-11-01')
  const verifiedAt = at('2026-11-05')
  const dueAt = new Date(verifiedAt.getTime() + ourTerm)
  const hour = 3_600_000
  test.each<[string, Partial<Clocks>, Date, string]>([
    ['just received', {}, receivedAt, 'ok'],
    ['a quarter of the month is left', {}, new Date(legalDueAt(receivedAt).getTime() - 7.5 * day), 'ok'],
    ['less than a quarter', {}, new Date(legalDueAt(receivedAt).getTime() - 7.5 * day + 1), 'near'],
    ['the last moment', {}, legalDueAt(receivedAt), 'near'],
    ['a second later', {}, new Date(legalDueAt(receivedAt).getTime() + 1000), 'overdue'],
    ['18 of the 72 hours left', { dueAt, state: 'running' }, new Date(dueAt.getTime() - 18 * hour), 'ok'],
    ['less', { dueAt, state: 'running' }, new Date(dueAt.getTime() - 18 * hour + 1), 'near'],
    ['ours is over, the law’s not', { dueAt, state: 'running' }, new Date(dueAt.getTime() + 1000), 'overdue'],
    ['failed is owed', { dueAt, state: 'failed' }, new Date(dueAt.getTime() + 1000), 'overdue'],
    ['completed', { dueAt, state: 'completed' }, new Date(dueAt.getTime() + day), 'stopped'],
    ['kept by a hold', { dueAt, state: 'partly_completed' }, new Date(dueAt.getTime() + day), 'stopped'],
    ['paused', { dueAt, state: 'waiting', pausedAt: verifiedAt }, new Date(dueAt.getTime() + day), 'paused'],
  ])('returns for "%s": %s', (_, given, now, tag) => {
    expect(dueNow(clocks({ receivedAt, ...given }), now).tag).toBe(tag)
  })
  it('nearAt is between receipt and deadline', () => {
    fc.assert(
      fc.property(times, (received) => {
        const given = clocks({ receivedAt: received })
        expect(nearlyDueAt(given).getTime()).toBeGreaterThan(received.getTime())
        expect(nearlyDueAt(given).getTime()).toBeLessThan(given.legalDueAt.getTime())
      }),
    )
  })
})

describe('the transition table', () => {
  it('reaches every state, and closed states have no transitions', () => {
    const reached = new Set<RequestState>(['received'])
    for (let size = 0; size < reached.size; ) {
      size = reached.size
      for (const { from, to } of transitions) if (reached.has(from)) reached.add(to)
    }
    expect([...reached].sort()).toEqual([...states].sort())
    for (const { from } of transitions) expect(isClosed(from)).toBe(false)
    for (const state of states) if (!isClosed(state)) expect(transitions.some(({ from }) => from === state)).toBe(true)
  })
  it('allows cancelling only before the work begins, refusing only by admins, and verifying never by the system', () => {
    expect(
      transitions
        .filter(({ to }) => to === 'cancelled')
        .map(({ from }) => from)
        .sort(),
    ).toEqual([...cancellableStates].sort())
    for (const { to, by } of transitions) {
      if (to === 'rejected') expect(by).toEqual(['admin'])
      if (to === 'verified') expect(by).not.toContain('system')
    }
    // An unverified request never leads to an erasure.
    expect(mayBecome('received', 'running', 'system')).toBe(false)
    expect(mayBecome('received', 'waiting', 'system')).toBe(false)
  })
  it('mayBecome allows only transitions of the table, and none after a closed state', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...states), fc.constantFrom(...parties)), { maxLength: 40 }),
        (tries) => {
          let state: RequestState = 'received'
          let wasCancelled = false
          for (const [to, by] of tries)
            if (mayBecome(state, to, by)) {
              expect(transitions.some((step) => step.from === state && step.to === to)).toBe(true)
              expect(wasCancelled).toBe(false)
              state = to
              wasCancelled = closedStates.some((closed) => closed === to)
            }
        },
      ),
    )
  })
  test.each<[PartState[], RequestState]>([
    [['done'], 'completed'],
    [['done', 'running'], 'running'],
    [['done', 'pending'], 'running'],
    [['done', 'partly_done'], 'partly_completed'],
    [['partly_done', 'running'], 'running'],
    [['refused'], 'rejected'],
    [['refused', 'done'], 'completed'],
    [['failed', 'running'], 'failed'],
  ])('stateOfParts returns for %j: %s', (parts, state) => {
    expect(stateOfParts(parts)).toBe(state)
  })
  it('stateOfParts returns completed only when no part is open', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...partStates), { minLength: 1, maxLength: requestKinds.length }),
        (parts) => {
          if (stateOfParts(parts) === 'completed')
            for (const part of parts) expect(['done', 'refused', 'cancelled']).toContain(part)
        },
      ),
    )
  })
})

it('docs/privacy-requests.md contains the transition table of the code', () => {
  const text = readFileSync(new URL('../../../docs/privacy-requests.md', import.meta.url), 'utf8')
  const rows = transitions.map(({ from, to, by, when }) => `| ${from} | ${to} | ${by.join(', ')} | ${when} |`)
  const shown = text.split('\n').filter((line) => states.some((state) => line.startsWith(`| ${state} |`)))
  expect(shown).toEqual(rows)
})
