import { type CacheStore, checkedTtl, ownPrefix } from './cache.ts'
import { needlesOf } from './needles.ts'
import { matcherOf } from './patterns.ts'

interface Entry {
  value: string
  bytes: number
  about: readonly string[]
  endsAt: number
}
export interface MemoryBounds {
  entries: number
  bytes: number
}
const usual: MemoryBounds = { entries: 10_000, bytes: 64 * 1024 * 1024 }

/** A cache in this process only: other processes can neither see nor erase its entries. The least recently used entries are evicted. */
export function memoryCache(bounds: MemoryBounds = usual): CacheStore {
  // In the order of last use.
  const entries = new Map<string, Entry>()
  const index = new Map<string, Set<string>>()
  const notes = new Map<string, Record<string, string>>()
  let bytes = 0
  let timer: NodeJS.Timeout | undefined

  function remove(name: string): boolean {
    const entry = entries.get(name)
    if (!entry) return false
    entries.delete(name)
    bytes -= entry.bytes
    for (const id of entry.about) {
      const names = index.get(id)
      names?.delete(name)
      if (names?.size === 0) index.delete(id)
    }
    return true
  }
  function expire(): void {
    const now = performance.now()
    for (const [name, { endsAt }] of entries) if (endsAt <= now) remove(name)
  }
  /** Removes expired entries even if nobody reads them. */
  function watch(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      expire()
      if (entries.size > 0) watch()
    }, 60_000).unref()
  }

  return {
    provider: 'memory',
    state: async () => ({ state: 'ok', latency: 0 }),
    async get(key) {
      const name = ownPrefix + key
      const entry = entries.get(name)
      if (!entry) return undefined
      if (entry.endsAt <= performance.now()) {
        remove(name)
        return undefined
      }
      entries.delete(name)
      entries.set(name, entry)
      return entry.value
    },
    async set(key, value, { ttl, about }) {
      const endsAt = performance.now() + checkedTtl(ttl) * 1000
      const name = ownPrefix + key
      remove(name)
      const size = 2 * (name.length + value.length + about.reduce((sum, id) => sum + id.length, 0))
      if (size > bounds.bytes) return
      entries.set(name, { value, bytes: size, about: [...about], endsAt })
      bytes += size
      for (const id of about) index.set(id, (index.get(id) ?? new Set()).add(name))
      for (const oldest of entries.keys()) {
        if (entries.size <= bounds.entries && bytes <= bounds.bytes) break
        remove(oldest)
      }
      watch()
    },
    async find({ patterns, about }) {
      expire()
      const matches = matcherOf(patterns)
      const found = new Set(about.flatMap((id) => [...(index.get(id) ?? [])]))
      for (const name of entries.keys()) if (matches(name)) found.add(name)
      return [...found].sort()
    },
    async names(isWanted) {
      expire()
      return [...entries.keys()].filter(isWanted).sort()
    },
    async drop(names) {
      expire()
      return new Set(names.filter(remove)).size
    },
    async forget(about) {
      for (const id of about) index.delete(id)
    },
    async search(strings) {
      expire()
      const needles = needlesOf(strings)
      if (needles.isEmpty) return []
      const has = (name: string, { value, about }: Entry) => [name, value, ...about].some(needles.standIn)
      return [...entries].flatMap(([name, entry]) => (has(name, entry) ? [name] : [])).sort()
    },
    async read(visit, names) {
      expire()
      for (const name of names ?? [...entries.keys()]) {
        const entry = entries.get(name)
        if (!entry) continue
        const parts = [
          { id: Buffer.from('value'), texts: [Buffer.from(entry.value)] },
          { id: Buffer.from('about'), texts: [Buffer.from(JSON.stringify(entry.about))] },
        ]
        await visit({ name, type: 'hash', parts, isWhole: true })
      }
    },
    async texts(visit) {
      expire()
      for (const [name, { value, about }] of [...entries])
        await visit(
          name,
          [value, ...about].map((one) => Buffer.from(one)),
        )
    },
    async change({ name }, { id, texts }, to) {
      const entry = entries.get(name)
      if (!entry || id.toString() !== 'value' || entry.value !== texts[0]?.toString()) return false
      if (to === null) return remove(name)
      const value = to.toString()
      const longer = 2 * (value.length - entry.value.length)
      entries.set(name, { ...entry, value, bytes: entry.bytes + longer })
      bytes += longer
      return true
    },
    async lifetimes() {
      expire()
      const none = { unlimited: 0, tooLong: 0, prefixed: 0, shortened: 0 }
      return { examined: entries.size, isComplete: true, ...none }
    },
    async note(run, more) {
      notes.set(run, { ...notes.get(run), ...more })
    },
    notes: async (run) => ({ ...notes.get(run) }),
    async forgetNotes(run) {
      notes.delete(run)
    },
    async close() {
      clearTimeout(timer)
      timer = undefined
      entries.clear()
      index.clear()
      bytes = 0
    },
  }
}
