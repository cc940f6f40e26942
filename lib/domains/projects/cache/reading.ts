import { readable } from '#lib/domains/projects/values/readable.ts'
import type { ReadPage, ReadPlace, UnreadReason } from '#lib/kernel/data-source.ts'
import type { CacheEntry } from '#lib/stores/cache/cache.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'
import type { CacheSourcePorts } from './entry-search.ts'
import { cacheItemOf } from './rules.ts'
import { labelOf } from './survey.ts'

/** The name and all values of a portion of an entry. The values are lines of one text, because words may continue in the next value. */
function textsOf({ name, type, parts }: CacheEntry): { texts: string[]; binary: number } {
  const fields = type === 'hash' ? parts.map(({ id }) => id.toString()) : []
  const values = parts.flatMap(({ texts }) => texts.map((text) => readable(text)))
  return {
    texts: [name, fields.join('\n'), values.map(({ text }) => text).join('\n')],
    binary: values.filter(({ form }) => form === 'binary').length,
  }
}

/** Reads all entries, of whichever application. The engine erases only from entries that the organizations of the projects may claim. */
export const cacheReader =
  ({ cache, whatIsMissing }: CacheSourcePorts) =>
  async (after: string | null, visit: (place: ReadPlace) => Promise<void>): Promise<ReadPage> => {
    await requireConnectedStores(whatIsMissing)
    const unread: Partial<Record<UnreadReason, number>> = {}
    const next = await cache.page(after, async (entry) => {
      const { texts, binary } = textsOf(entry)
      const { name } = entry
      if (binary > 0) unread.binary = (unread.binary ?? 0) + binary
      await visit({
        id: `key:${labelOf(name)}`,
        texts,
        itemsOf: async () => [cacheItemOf('found', labelOf(name))],
        async again() {
          const now: string[] = []
          await cache.read(async (one) => void now.push(...textsOf(one).texts), [name])
          return now
        },
      })
    })
    return { next, unread }
  }
