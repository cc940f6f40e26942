export interface MemoryEntry {
  value: string
  bytes: number
  about: readonly string[]
  endsAt: number
}
export interface MemoryBounds {
  entries: number
  bytes: number
}

/** Entries in this process, with an index by the ids that they are about. The least recently used entries are evicted. */
export function memoryEntries(bounds: MemoryBounds) {
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
