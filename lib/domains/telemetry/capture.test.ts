import { describe, expect, test } from 'vitest'
import { Problem } from '#lib/kernel/problem.ts'
import { type EventSubject, maxWaiting, type Sent, telemetry } from './capture.ts'

const agent = { kind: 'agent', id: 'agent_1' } as const
const now = new Date('2026-03-04T05:06:07.089Z')
/** Telemetry with a sink that records events, and the given pseudonyms. */
function setting(
  pseudonymOf: (reported: NonNullable<EventSubject>) => Promise<string | undefined> = async () => 'mark',
) {
  const sent: Sent[] = []
  const sink = { capture: async (one: Sent) => void sent.push(one), lost: () => 0, close: async () => {} }
  return { sent, made: telemetry({ sink, pseudonymOf, now: () => now }) }
}
const counted = (made: ReturnType<typeof telemetry>) =>
  Object.fromEntries(made.dropped().flatMap(({ reason, count }) => (count > 0 ? [[reason, count]] : [])))

describe('an event', () => {
  test('is sent under a pseudonym with its declared properties and the time rounded to the hour', async () => {
    const { sent, made } = setting()
    made.capture('search', { of: 'units', mode: 'words', has_results: true }, agent)
    await made.settled()
    expect(sent).toEqual([
      {
        event: 'search',
        distinctId: 'mark',
        properties: { of: 'units', mode: 'words', has_results: true },
        at: new Date('2026-03-04T05:00:00Z'),
      },
    ])
    expect(counted(made)).toEqual({})
  })

  test('an event without a subject is sent with a new random id each time', async () => {
    const { sent, made } = setting()
    for (let n = 0; n < 3; n++) made.capture('snapshot_made', {}, null)
    await made.settled()
    expect(new Set(sent.map(({ distinctId }) => distinctId)).size).toBe(3)
  })

  test('an event that is not declared is dropped and counted, and rejected by the compiler', async () => {
    const { sent, made } = setting()
    // @ts-expect-error not declared
    made.capture('passwords_typed', { password: 'x' }, agent)
    // @ts-expect-error a property that is not declared
    made.capture('search', { of: 'units', mode: 'words', has_results: true, q: 'my words' }, agent)
    // @ts-expect-error a word that is not of the list
    made.capture('search', { of: 'my words', mode: 'words', has_results: true }, agent)
    made.offer('toString', {}, agent)
    made.offer('__proto__', {}, agent)
    made.offer('search', null, agent)
    await made.settled()
    expect(sent).toEqual([])
    expect(counted(made)).toEqual({ undeclared: 3, invalid: 3 })
  })

  test('is dropped without waiting or throwing when its subject may not be tracked or has no key', async () => {
    const withheld = setting(async () => undefined)
    const fenced = setting(() => Promise.reject(new Problem('fenced')))
    const broken = setting(() => Promise.reject(new Error('the database is away')))
    for (const { made } of [withheld, fenced, broken]) {
      expect(made.capture('snapshot_made', {}, agent)).toBeUndefined()
      await made.settled()
    }
    expect([withheld, fenced, broken].map(({ made }) => counted(made))).toEqual([
      { withheld: 1 },
      { withheld: 1 },
      { failed: 1 },
    ])
    expect([withheld, fenced, broken].flatMap(({ sent }) => sent)).toEqual([])
  })

  test('is dropped when too many are waiting', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const { sent, made } = setting(() => promise)
    for (let n = 0; n < maxWaiting + 5; n++) made.capture('snapshot_made', {}, agent)
    expect(counted(made)).toEqual({ full: 5 })
    resolve('mark')
    await made.close()
    expect(sent).toHaveLength(maxWaiting)
  })

  test('is neither sent nor given a pseudonym when telemetry is off', async () => {
    const asked: EventSubject[] = []
    const made = telemetry({
      sink: undefined,
      pseudonymOf: async (reported) => void asked.push(reported),
      now: () => now,
    })
    made.capture('snapshot_made', {}, agent)
    await made.close()
    expect([made.isOn, asked, counted(made)]).toEqual([false, [], {}])
  })
})
