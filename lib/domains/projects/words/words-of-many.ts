import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import { Fingerprints } from './fingerprints.ts'

/** The stored fingerprints of one erasure. */
interface StoredWords {
  receiptId: string
  fingerprints: Uint8Array
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
  const matchesOf = (words: Fingerprints, text: string): ErasedRunMatch[] => [
    ...words.runsIn(text),
    ...words.namesIn(text).filter((name) => isContact(text, name)),
  ]
  return {
    foundIn(text: string): ReadonlyMap<string, ReadonlySet<number>> {
      const found = new Map<string, ReadonlySet<number>>()
      for (const { words, of } of merged) {
        const matches = matchesOf(words, text)
        if (matches.length === 0) continue
        for (const [receiptId, one] of of) {
          const own = new Set(matches.flatMap(({ run }) => (one.has(run) ? [run] : [])))
          if (own.size > 0) found.set(receiptId, own)
        }
      }
      return found
    },
    runsIn: (text: string): number[] => merged.flatMap(({ words }) => matchesOf(words, text).map(({ run }) => run)),
    unexplained(receiptId: string, explained: ReadonlySet<number>, only?: ReadonlySet<number>): ErasedWords {
      const words = each.get(receiptId) ?? new Fingerprints()
      const counts = (run: number) => !explained.has(run) && only?.has(run) !== false
      return {
        isEmpty: words.isEmpty,
        runsIn: (text) => words.runsIn(text).filter(({ run }) => counts(run)),
        namesIn: (text) => words.namesIn(text).filter((name) => isContact(text, name) && counts(name.run)),
      }
    },
  }
}
