/** A page as it is loaded. `next`: where the one after it begins; null at the end. */
export interface LoadedPage<Row> {
  rows: readonly Row[]
  next: string | null
  /** How far back it was looked, where the page ends for that. */
  reached: string | null
}
interface Place {
  cursor: string | null
  /** Of its first row, in the whole list. */
  start: number
  count: number
}
export interface WindowState<Problem> {
  /** Rows that are known: those of every page that was loaded, whether or not they are kept. */
  count: number
  /** Whether the last row there is is known. */
  isWhole: boolean
  /** To where it was looked; null once everything was. */
  reached: string | null
  isLoading: boolean
  problem: Problem | undefined
  /** Rows of how many pages are kept now. */
  kept: number
  /** Pages without a row that came one after the other at the end: it is worth asking whether to go on. */
  empty: number
}

/** Rows ahead of the last one shown from which on the next page is loaded. */
const ahead = 60

/**
 * A list of millions, of which some pages are kept: those around what is shown. Every page's place is remembered by its cursor, so that
 * one that was let go is loaded again on the way back. `failed` says what an error is.
 */
export function pageWindow<Row, Problem>({
  load,
  failed,
  first,
  most = 12,
}: {
  load: (cursor: string | null) => Promise<LoadedPage<Row>>
  failed: (error: unknown) => Problem
  first?: LoadedPage<Row>
  /** Pages that are kept at most. */
  most?: number
}) {
  const places: Place[] = []
  const kept = new Map<number, readonly Row[]>()
  const underWay = new Set<number>()
  const watchers = new Set<() => void>()
  let next: string | null | undefined = null
  let isBegun = false
  let reached: string | null = null
  let problem: Problem | undefined
  let empty = 0
  let shown = { from: 0, to: 0 }
  let state: WindowState<Problem> = snapshot()

  function snapshot(): WindowState<Problem> {
    const last = places.at(-1)
    return {
      count: last ? last.start + last.count : 0,
      isWhole: isBegun && next === null,
      reached,
      isLoading: underWay.size > 0,
      problem,
      kept: kept.size,
      empty,
    }
  }
  function tell(): void {
    state = snapshot()
    for (const watcher of watchers) watcher()
  }
  /** The page with this row; -1 where no page is known to have it. Pages without rows are passed over. */
  function pageOf(index: number): number {
    let low = 0
    let high = places.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const place = places[middle]
      if (!place) return -1
      if (index < place.start) high = middle - 1
      else if (index >= place.start + place.count) low = middle + 1
      else return middle
    }
    return -1
  }
  /** As {@link pageOf}, of what lies beyond the last row the last page. */
  const nearestPage = (index: number): number => {
    const page = pageOf(index)
    return page < 0 ? places.length - 1 : page
  }
  function letGo(): void {
    const centre = (nearestPage(shown.from) + nearestPage(shown.to)) / 2
    const farthest = [...kept.keys()].sort((one, other) => Math.abs(other - centre) - Math.abs(one - centre))
    for (const page of farthest.slice(0, Math.max(0, kept.size - most))) kept.delete(page)
  }
  function take(index: number, page: LoadedPage<Row>, cursor: string | null): void {
    if (index === places.length) {
      const last = places.at(-1)
      places.push({ cursor, start: last ? last.start + last.count : 0, count: page.rows.length })
      next = page.next
      isBegun = true
      reached = page.next === null ? null : page.reached
      empty = page.rows.length > 0 ? 0 : empty + 1
    }
    // What is loaded again has as many rows as before, or fewer where some went by their term since.
    kept.set(index, page.rows)
    letGo()
  }
  async function fetchPage(index: number): Promise<void> {
    const cursor = index < places.length ? places[index]?.cursor : next
    if (underWay.has(index) || problem !== undefined || cursor === undefined) return
    underWay.add(index)
    tell()
    try {
      take(index, await load(cursor), cursor)
    } catch (error) {
      problem = failed(error)
    } finally {
      underWay.delete(index)
      tell()
    }
  }
  const mayGoOn = () => (isBegun ? next !== null : true)

  if (first) {
    take(0, first, null)
    state = snapshot()
  }
  return {
    subscribe(watcher: () => void) {
      watchers.add(watcher)
      return () => {
        watchers.delete(watcher)
      }
    },
    state: () => state,
    rowAt(index: number): Row | undefined {
      const page = pageOf(index)
      const place = places[page]
      return place && kept.get(page)?.[index - place.start]
    },
    /** These rows are seen, both inclusive: what is missing of them is loaded, and the next page where the end is near. */
    show(from: number, to: number): void {
      shown = { from, to }
      const [low, high] = [nearestPage(from), nearestPage(to)]
      for (let page = Math.max(low, 0); page <= high; page++) {
        if (places[page]?.count && !kept.has(page)) void fetchPage(page)
      }
      // Beyond some pages without a row somebody has to ask for more.
      if (to + ahead >= state.count && mayGoOn() && empty < 5) void fetchPage(places.length)
    },
    /** Goes on after a problem, or beyond pages without a row. */
    goOn(): void {
      problem = undefined
      empty = 0
      void fetchPage(places.length)
      this.show(shown.from, shown.to)
      tell()
    },
  }
}
export type PageWindow<Row, Problem> = ReturnType<typeof pageWindow<Row, Problem>>
