import { describe, expect, it, vi } from 'vitest'
import { type LoadedPage, pageWindow } from './page-window.ts'

const size = 100
/** A paged list of numbers. A cursor is the first number of its page. */
function listOf(total: number) {
  const asked: (string | null)[] = []
  let failing = 0
  const load = async (cursor: string | null): Promise<LoadedPage<number>> => {
    asked.push(cursor)
    await Promise.resolve()
    if (failing-- > 0) throw new Error('no answer')
    const from = Number(cursor ?? 0)
    const to = Math.min(total, from + size)
    return {
      rows: Array.from({ length: to - from }, (_, n) => from + n),
      next: to < total ? String(to) : null,
      reached: null,
    }
  }
  return {
    load,
    asked,
    fail: (times: number) => {
      failing = times
    },
  }
}
const failed = (error: unknown) => String(error)
const settled = (view: { state(): { isLoading: boolean } }) =>
  vi.waitFor(() => expect(view.state().isLoading).toBe(false), { timeout: 120_000, interval: 1 })

describe('pageWindow over a million rows', () => {
  it('keeps at most the configured number of pages, including every visible row', async () => {
    const { load, asked } = listOf(1_000_000)
    const view = pageWindow({ load, failed, most: 6 })
    for (let from = 0; from < 50_000; from += 40) {
      view.show(from, from + 40)
      await settled(view)
      expect(view.state().kept).toBeLessThanOrEqual(6)
    }
    expect([view.rowAt(49_960), view.rowAt(49_999)]).toEqual([49_960, 49_999])
    expect(view.rowAt(0)).toBeUndefined()
    expect(asked.length).toBe(new Set(asked).size)
    expect(view.state().isWhole).toBe(false)
  })

  it('reloads discarded pages by their cursor after scrolling back or jumping', async () => {
    const { load, asked } = listOf(1_000_000)
    const view = pageWindow({ load, failed, most: 4 })
    for (let from = 0; from < 3_000; from += 50) {
      view.show(from, from + 30)
      await settled(view)
    }
    for (const from of [0, 2_500, 1_250, 90, 2_000, 0]) {
      view.show(from, from + 30)
      await settled(view)
      expect([view.rowAt(from), view.rowAt(from + 30)]).toEqual([from, from + 30])
    }
    expect(asked.filter((cursor) => cursor === null).length).toBeGreaterThan(1)
    expect(view.state().kept).toBeLessThanOrEqual(4)
  })
})

it('starts with the given page and loads only the next page near the end', async () => {
  const { load, asked } = listOf(1_000)
  const view = pageWindow({ load, failed, first: await load(null) })
  asked.length = 0
  view.show(0, 20)
  await settled(view)
  expect([asked, view.state().count]).toEqual([[], 100])
  view.show(0, 50)
  await settled(view)
  expect([asked, view.state().count]).toEqual([['100'], 200])
})

it('stops at the end without loading a page twice', async () => {
  const { load, asked } = listOf(250)
  const view = pageWindow({ load, failed })
  for (const to of [0, 90, 190, 249, 249, 249]) {
    view.show(0, to)
    await settled(view)
  }
  expect(view.state()).toMatchObject({ count: 250, isWhole: true })
  expect(asked).toEqual([null, '100', '200'])
})

it('stops at a problem until goOn is called and keeps the loaded rows', async () => {
  const list = listOf(1_000)
  const view = pageWindow({ load: list.load, failed })
  view.show(0, 90)
  await settled(view)
  list.fail(1)
  view.show(0, 99)
  await settled(view)
  expect(view.state()).toMatchObject({ count: 100, problem: 'Error: no answer' })
  view.show(0, 99)
  await settled(view)
  expect(list.asked).toHaveLength(2)
  view.goOn()
  await settled(view)
  expect(view.state()).toMatchObject({ count: 200, problem: undefined })
  expect(view.rowAt(5)).toBe(5)
})

it('skips empty pages, reports how far it searched, and waits for goOn after five of them', async () => {
  let asked = 0
  const load = async (cursor: string | null): Promise<LoadedPage<number>> => {
    asked++
    const n = Number(cursor ?? 0)
    return n < 8 ? { rows: [], next: String(n + 1), reached: `day ${n}` } : { rows: [8], next: null, reached: null }
  }
  const view = pageWindow({ load, failed })
  for (let n = 0; n < 20; n++) {
    view.show(0, 0)
    await settled(view)
  }
  expect([asked, view.state().reached, view.state().isWhole]).toEqual([5, 'day 4', false])
  view.goOn()
  for (let n = 0; n < 20; n++) {
    await settled(view)
    view.show(0, 0)
  }
  await settled(view)
  expect([view.rowAt(0), view.state().isWhole, view.state().reached]).toEqual([8, true, null])
})
