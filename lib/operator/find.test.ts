import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type FindSource, find } from './find.ts'

/** A store of three pages, each of which needs 20 ms. */
const source = (worked?: number): FindSource => ({
  store: 'redis',
  address: 'x',
  skipped: () => [],
  close: async () => {},
  async page(after) {
    await delay(20)
    const at = Number(after ?? 0)
    return {
      records: [{ kind: 'key', name: `k${at}`, texts: ['Iris Probe was here'] }],
      unread: {},
      next: at < 2 ? String(at + 1) : null,
      ...(worked !== undefined && { worked }),
    }
  },
})
const options = { sought: { names: ['Iris Probe'], texts: [] }, withContent: false }

it('rests for the time that the store worked, not for the time of the search', async () => {
  // A rest for the whole time would take ten seconds after each page.
  const { places } = await find({ ...options, sources: [source(0)], load: 0.000001 })
  expect(places.map(({ name }) => name)).toEqual(['k0', 'k1', 'k2'])
}, 8_000)

it('ends during a rest, and keeps the state of the stores that were not read', async () => {
  const ending = new AbortController()
  const report = await find({
    ...options,
    sources: [source(60_000), source()],
    load: 0.000001,
    signal: ending.signal,
    progress: () => ending.abort(),
  })
  expect(report.stores.map(({ state, records }) => [state, records])).toEqual([
    ['searching', 1],
    ['searching', 0],
  ])
})
