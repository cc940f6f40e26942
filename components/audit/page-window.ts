/** A loaded page. `next` is the cursor of the following page; null at the end. */
export interface LoadedPage<Row> {
  rows: readonly Row[]
  next: string | null
  /** How far the search got, if the page ended early. */
  reached: string | null
}
interface WindowPosition {
  cursor: string | null
  /** Index of its first row in the whole list. */
  start: number
  count: number
}
export interface WindowState<Problem> {
  /** Number of rows in all pages that were loaded, including discarded ones. */
  count: number
  /** Whether the last row has been loaded. */
  isWhole: boolean
  /** How far the search got; null when it is complete. */
  reached: string | null
  isLoading: boolean
  problem: Problem | undefined
  /** Number of pages in memory. */
  kept: number
  /** Consecutive empty pages at the end: after several, the user decides whether to continue. */
  empty: number
}

/** Load the next page when fewer rows than this remain below the visible ones. */
const ahead = 60

/**
 * A list of millions of rows that keeps only the pages near the visible rows in memory. It remembers the cursor of every page to reload
 * discarded ones. `failed` converts an error.
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
  /** The most pages in memory. */
  most?: number
}) {
  const locations: WindowPosition[] = []
  const kept = new Map<number, readonly Row[]>()
  const active = new Set<number>()
  const watchers = new Set<() => void>()
  let next: string | null | undefined = null
  let isBegun = false
  let reached: string | null = null
  let problem: Problem | undefined
  let empty = 0
  let shown = { from: 0, to: 0 }
  let state: WindowState<Problem> = snapshot()

  function snapshot(): WindowState<Problem> {
    const last = locations.at(-1)
    return {
      count: last ? last.start + last.count : 0,
      isWhole: isBegun && next === null,
      reached,
      isLoading: active.size > 0,
      problem,
      kept: kept.size,
      empty,
    }
  }
  function tell(): void {
    state = snapshot()
    for (const watcher of watchers) watcher()
  }
  /** The page that contains this row; -1 if unknown. Empty pages are skipped. */
  function pageOf(index: number): number {
    let low = 0
    let high = locations.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const position = locations[middle]
      if (!position) return -1
      if (index < position.start) high = middle - 1
      else if (index >= position.start + position.count) low = middle + 1
      else return middle
    }
    return -1
  }
  /** Like {@link pageOf}, but returns the last page for a row beyond the end. */
  const nearestPage = (index: number): number => {
    const page = pageOf(index)
    return page < 0 ? locations.length - 1 : page
  }
  function letGo(): void {
    const centre = (nearestPage(shown.from) + nearestPage(shown.to)) / 2
    const farthest = [...kept.keys()].sort((one, other) => Math.abs(other - centre) - Math.abs(one - centre))
    for (const page of farthest.slice(0, Math.max(0, kept.size - most))) kept.delete(page)
  }
  function take(index: number, page: LoadedPage<Row>, cursor: string | null): void {
    if (index === locations.length) {
      const last = locations.at(-1)
      locations.push({ cursor, start: last ? last.start + last.count : 0, count: page.rows.length })
      next = page.next
      isBegun = true
      reached = page.next === null ? null : page.reached
      empty = page.rows.length > 0 ? 0 : empty + 1
    }
    // A reloaded page has at most as many rows as before, because entries may have expired.
    kept.set(index, page.rows)
    letGo()
  }
  async function fetchPage(index: number): Promise<void> {
    const cursor = index < locations.length ? locations[index]?.cursor : next
    if (active.has(index) || problem !== undefined || cursor === undefined) return
    active.add(index)
    tell()
    try {
      take(index, await load(cursor), cursor)
    } catch (error) {
      problem = failed(error)
    } finally {
      active.delete(index)
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
      const position = locations[page]
      return position && kept.get(page)?.[index - position.start]
    },
    /** Reports the visible rows, both inclusive. Loads missing pages, and the next page near the end. */
    show(from: number, to: number): void {
      shown = { from, to }
      const [low, high] = [nearestPage(from), nearestPage(to)]
      for (let page = Math.max(low, 0); page <= high; page++) {
        if (locations[page]?.count && !kept.has(page)) void fetchPage(page)
      }
      // After five empty pages, only `goOn` continues.
      if (to + ahead >= state.count && mayGoOn() && empty < 5) void fetchPage(locations.length)
    },
    /** Continues after a problem or after empty pages. */
    goOn(): void {
      problem = undefined
      empty = 0
      void fetchPage(locations.length)
      this.show(shown.from, shown.to)
      tell()
    },
  }
}
export type PageWindow<Row, Problem> = ReturnType<typeof pageWindow<Row, Problem>>
