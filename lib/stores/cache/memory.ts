import { createHash } from 'node:crypto'
import { type CacheStore, checkedTtl, ownPrefix } from './cache.ts'
import { matcherOf, searchStringsOf } from './search-strings.ts'

interface MemoryEntry {
  value: string
  bytes: number
  about: readonly string[]
  endsAt: number
}
interface MemoryBounds {
  entries: number
  bytes: number
}

/** Entries in this process, with an index by the ids that they are about. The least recently used entries are evicted. */
function memoryEntries(bounds: MemoryBounds) {
  // In the order of last use.
  const entries = new Map<string, MemoryEntry>()
  const index = new Map<string, Set<string>>()
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
    /** Removes expired entries. */
    expire,
    remove,
    peek: (name: string): MemoryEntry | undefined => entries.get(name),
    /** All entries that have not expired. */
    all(): ReadonlyMap<string, MemoryEntry> {
      expire()
      return entries
    },
    use(name: string): MemoryEntry | undefined {
      const entry = entries.get(name)
      if (!entry || (entry.endsAt <= performance.now() && remove(name))) return undefined
      entries.delete(name)
      entries.set(name, entry)
      return entry
    },
    put(name: string, { value, about, endsAt }: Omit<MemoryEntry, 'bytes'>): void {
      remove(name)
      const size = 2 * (name.length + value.length + about.reduce((sum, id) => sum + id.length, 0))
      if (size > bounds.bytes) return
      entries.set(name, { value, bytes: size, about, endsAt })
      bytes += size
      for (const id of about) index.set(id, (index.get(id) ?? new Set()).add(name))
      for (const oldest of entries.keys()) {
        if (entries.size <= bounds.entries && bytes <= bounds.bytes) break
        remove(oldest)
      }
      watch()
    },
    /** Replaces the value of an entry. That is no use of it. */
    replace(name: string, entry: MemoryEntry, value: string): void {
      const longer = 2 * (value.length - entry.value.length)
      entries.set(name, { ...entry, value, bytes: entry.bytes + longer })
      bytes += longer
    },
    namesAbout: (id: string): readonly string[] => [...(index.get(id) ?? [])],
    forgetIndexOf: (id: string): boolean => index.delete(id),
    clear(): void {
      clearTimeout(timer)
      timer = undefined
      entries.clear()
      index.clear()
      bytes = 0
    },
  }
}

const usual: MemoryBounds = { entries: 10_000, bytes: 64 * 1024 * 1024 }

const hashOf = ({ value, about }: MemoryEntry): string =>
  createHash('sha256')
    .update(JSON.stringify([value, about]))
    .digest('base64url')

/** A cache in this process only: other processes can neither see nor erase its entries. */
export function memoryCache(bounds: MemoryBounds = usual): CacheStore {
  const entries = memoryEntries(bounds)
  const notes = new Map<string, Record<string, string>>()
  return {
    provider: 'memory',
    state: async () => ({ state: 'ok', latency: 0 }),
    get: async (key) => entries.use(ownPrefix + key)?.value,
    async set(key, value, { ttl, about }) {
      const endsAt = performance.now() + checkedTtl(ttl) * 1000
      entries.put(ownPrefix + key, { value, about: [...about], endsAt })
    },
    async find({ patterns, about }) {
      const matches = matcherOf(patterns)
      const matching = [...entries.all().keys()].filter(matches)
      return [...new Set([...about.flatMap(entries.namesAbout), ...matching])].sort()
    },
    names: async (isWanted) => [...entries.all().keys()].filter(isWanted).sort(),
    async drop(names) {
      entries.expire()
      return names.filter(entries.remove).length
    },
    async contentHash(name) {
      const entry = entries.all().get(name)
      return entry && hashOf(entry)
    },
    async dropUnchanged(name, hash) {
      const entry = entries.all().get(name)
      return entry !== undefined && hashOf(entry) === hash && entries.remove(name)
    },
    async forget(about) {
      for (const id of about) entries.forgetIndexOf(id)
    },
    async search(strings) {
      const searchStrings = searchStringsOf(strings)
      if (searchStrings.isEmpty) return []
      const has = (name: string, { value, about }: MemoryEntry) => [name, value, ...about].some(searchStrings.occursIn)
      return [...entries.all()].flatMap(([name, entry]) => (has(name, entry) ? [name] : [])).sort()
    },
    async read(visit, names) {
      const current = entries.all()
      for (const name of names ?? [...current.keys()]) {
        const entry = current.get(name)
        if (!entry) continue
        const parts = [
          { id: Buffer.from('value'), texts: [Buffer.from(entry.value)] },
          { id: Buffer.from('about'), texts: [Buffer.from(JSON.stringify(entry.about))] },
        ]
        await visit({ name, type: 'hash', parts, isWhole: true })
      }
    },
    async page(_after, visit) {
      await this.read(visit)
      return null
    },
    async texts(visit) {
      for (const [name, { value, about }] of [...entries.all()])
        await visit(
          name,
          [value, ...about].map((one) => Buffer.from(one)),
          { type: 'other', isFirst: true },
        )
    },
    async change({ name }, { id, texts }, to) {
      const entry = entries.peek(name)
      if (!entry || id.toString() !== 'value' || entry.value !== texts[0]?.toString()) return false
      if (to === null) return entries.remove(name)
      entries.replace(name, entry, to.toString())
      return true
    },
    expires: async (name) => entries.all().has(name),
    async lifetimes() {
      const none = { unlimited: 0, tooLong: 0, prefixed: 0, shortened: 0 }
      return { examined: entries.all().size, isComplete: true, ...none }
    },
    async note(run, more) {
      notes.set(run, { ...notes.get(run), ...more })
    },
    notes: async (run) => ({ ...notes.get(run) }),
    async forgetNotes(run) {
      notes.delete(run)
    },
    async confirm() {},
    close: async () => entries.clear(),
  }
}
