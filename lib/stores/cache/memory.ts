import { type CacheStore, checkedTtl, ownPrefix } from './cache.ts'
import { type MemoryBounds, type MemoryEntry, memoryEntries } from './memory-entries.ts'
import { matcherOf } from './patterns.ts'
import { searchStringsOf } from './search-strings.ts'

const usual: MemoryBounds = { entries: 10_000, bytes: 64 * 1024 * 1024 }

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
    close: async () => entries.clear(),
  }
}
