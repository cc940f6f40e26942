import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished, vi } from 'vitest'
import { type FindRecord, type FindReport, type FindSource, find } from './find.ts'
import { identifiesSomebody } from './find-connected.ts'
import { objectsSource } from './find-stores.ts'

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

it('rejects before it reads a store when its state cannot be stored', async () => {
  const pages: (string | null)[] = []
  const read: FindSource = {
    ...source(0),
    page: async (after) => {
      pages.push(after)
      return source(0).page(after)
    },
  }
  const note = () => {
    throw new Error('the disk is full')
  }
  await expect(find({ ...options, sources: [read], load: 1, note })).rejects.toThrow('the disk is full')
  expect(pages).toEqual([])
})

it.each([
  ['missing', 'nothing'],
  ['a file', 'file.txt'],
])('reports a folder of objects that is %s as not searched', async (_, at) => {
  const folder = await mkdtemp(join(tmpdir(), 'kp-find-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'file.txt'), '')
  const search = (path: string) =>
    find({ ...options, sources: [objectsSource(pathToFileURL(path).href)], load: 1 }).then(({ stores }) => stores[0])
  expect(await search(join(folder, at))).toMatchObject({
    state: 'failed',
    failure: 'this database, schema, bucket or folder does not exist',
  })
  expect(await search(folder)).toMatchObject({ state: 'done' })
})

it('rejects with the error of a state that cannot be stored later, and reports no store as failed', async () => {
  const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
  const late: FindSource = {
    ...source(0),
    async page(after) {
      // Later than the next note is due.
      const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_000)
      onTestFinished(() => {
        clock.mockRestore()
      })
      return source(0).page(after)
    },
  }
  const reports: FindReport[] = []
  const note = (report: FindReport) => {
    reports.push(structuredClone(report))
    if (reports.length > 1) throw full
  }
  await expect(find({ ...options, sources: [late], load: 1, note })).rejects.toBe(full)
  expect(reports.map(({ stores }) => stores[0]?.state)).toEqual(['searching', 'searching'])
})

it('keeps the places with the most matches, and counts all', async () => {
  const records = (from: number, to: number): FindRecord[] =>
    Array.from({ length: to - from }, (_, at) => ({
      kind: 'key',
      name: `k${from + at}`,
      texts: ['Iris Probe was here'],
    }))
  const often = { kind: 'key', name: 'often', texts: ['Iris Probe met Iris Probe'] }
  const pages = [[often, ...records(0, 1_000)], records(1_000, 1_999)]
  const seen: number[] = []
  const many: FindSource = {
    ...source(0),
    page: async (after) => ({
      records: pages[Number(after ?? 0)] ?? [],
      unread: {},
      next: after === null ? '1' : null,
    }),
  }
  const given = { ...options, sources: [many], load: 1, progress: (_: unknown, found: number) => void seen.push(found) }
  const retained: number[] = []
  const { places } = await find({ ...given, maxPlaces: 100, note: (so) => void retained.push(so.places.length) })
  expect([places.length, places[0]?.name, places[0]?.matches]).toEqual([100, 'often', 2])
  expect(Math.max(...retained)).toBe(100)
  expect(seen).toEqual([1_001, 2_000])
  expect((await find(given)).places).toHaveLength(2_000)
})

it.each([
  ['Iris Probe', true],
  ['iris probe-van der leer', true],
  ['王伟', true],
  ['他们昨晚在老磨坊见面', false],
  ['iris.probe@example.org', true],
  ['+43 660 1234567', true],
  ['(0660) 123-4567', true],
  ['Iris', false],
  ['password', false],
  ['- secret -', false],
  ['@', false],
  ['a secret@', false],
  ['example.org', false],
  ['12345', false],
  ['code 1234567', false],
  ['they met at the old mill last night', false],
])('accepts %s in the console only if it identifies a person', (entry, isAccepted) => {
  expect(identifiesSomebody(entry)).toBe(isAccepted)
})
