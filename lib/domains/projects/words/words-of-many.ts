import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import { Fingerprints } from './fingerprints.ts'

/** The stored fingerprints of one erasure. */
interface StoredWords {
  receiptId: string
  fingerprints: Uint8Array
}
interface FoundWords {
  runs: Set<number>
  hasContact: boolean
}

/** An email address or a telephone number, as opposed to a name that other people may have. */
const contact = /@|%40|&#(?:64|x40);|(?:\d\D{0,3}){7}/i
const isContact = (text: string, { start, end }: Pick<ErasedRunMatch, 'start' | 'end'>): boolean =>
  contact.test(text.slice(start, end))

/**
 * The words of many erasures. All fingerprints with one key are merged, so a text is hashed once for each key: once for all erasures of this
 * version, and once more for each older erasure, whose key is its own.
 */
export function wordsOfMany(all: readonly StoredWords[]) {
  const each = new Map(
    all.map(({ receiptId, fingerprints }) => [receiptId, Fingerprints.fromBytes(Buffer.from(fingerprints))]),
  )
  const merged = [...Map.groupBy(each.values(), ({ key }) => key).values()].map((some) => ({
    words: Fingerprints.merged(some),
    of: [...each].filter(([, one]) => some.includes(one)),
  }))
  return {
    foundIn(text: string): ReadonlyMap<string, FoundWords> {
      const found = new Map<string, FoundWords>()
      for (const { words, of } of merged) {
        const runs = words.runsIn(text)
        const names = words.namesIn(text)
        if (runs.length + names.length === 0) continue
        for (const [receiptId, one] of of) {
          const own = new Set(runs.flatMap(({ run }) => (one.has(run) ? [run] : [])))
          const hasContact = names.some((name) => one.has(name.run) && isContact(text, name))
          if (own.size > 0 || hasContact) found.set(receiptId, { runs: own, hasContact })
        }
      }
      return found
    },
    runsIn: (text: string): number[] => merged.flatMap(({ words }) => words.runsIn(text).map(({ run }) => run)),
    unexplained(receiptId: string, explained: ReadonlySet<number>): ErasedWords {
      const words = each.get(receiptId) ?? new Fingerprints()
      return {
        isEmpty: words.isEmpty,
        runsIn: (text) => words.runsIn(text).filter(({ run }) => !explained.has(run)),
        namesIn: (text) => words.namesIn(text).filter((name) => isContact(text, name)),
      }
    },
  }
}
