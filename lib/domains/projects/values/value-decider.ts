import { decideDerivedText } from '#lib/domains/projects/words/derived-text.ts'
import { mergeSpans, occurrences } from '#lib/domains/projects/words/fingerprints.ts'
import { remainingTexts, remainingTextsIn } from '#lib/domains/projects/words/remaining-texts.ts'
import { tokenize } from '#lib/domains/projects/words/tokens.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import { cutStrings, stringsOf } from './json-text.ts'
import type { Readable } from './readable.ts'

/** The sources of a value that pointers of an erased source name. */
export interface Naming {
  /** Texts of the erased sources whose pointers name the value. */
  named: readonly string[]
  /** Texts of the remaining sources whose pointers name the value. */
  remaining: readonly string[]
}
export type ValueDecision = { decision: 'untouched' | 'retained' | 'deleted' } | { decision: 'cut'; text: string }

export interface ValueDecider {
  decide(value: Readable, naming?: Naming): Promise<ValueDecision>
  /** Whether a value contains erased words that no remaining text explains. */
  hasErasedWords(value: Readable): Promise<boolean>
  /** Whether a value contains the complete text of a remaining message or document. */
  hasRemainingText(value: Readable): Promise<boolean>
}

/** Size of a search window in characters, and the overlap of adjacent windows. */
const window = 256 * 1024
const overlap = 4 * 1024

const hasWords = (text: string): boolean => /[\p{L}\p{N}]/u.test(text)
const folded = (text: string): string =>
  ` ${tokenize(text)
    .map(({ word }) => word)
    .join(' ')} `

/**
 * Decides about values of caches and objects by their words, as `decideDerivedText` does for texts. Values may be JSON, compressed or
 * binary. Only text is cut.
 * @param projects projects whose remaining messages and documents explain words
 * @param going ids that count as erased
 */
export function valueDecider(
  words: ErasedWords,
  {
    within,
    projects,
    now,
    going = new Set(),
  }: {
    within: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>
    projects: readonly string[]
    now: Date
    going?: ReadonlySet<string>
  },
): ValueDecider {
  const matches = (text: string): ErasedRunMatch[] => {
    if (words.isEmpty) return []
    const found = new Map<string, ErasedRunMatch>()
    // Search in windows, so that the words of a long text are never all in memory.
    for (let at = 0; at === 0 || at + overlap < text.length; at += window - overlap) {
      const piece = text.length <= window ? text : text.slice(at, at + window)
      for (const { run, start, end } of [...words.runsIn(piece), ...words.namesIn(piece)])
        found.set(`${run} ${at + start}`, { run, start: at + start, end: at + end })
      if (at + window >= text.length) break
    }
    return [...found.values()]
  }
  let explained: Promise<Set<number>> | undefined
  const explain = (): Promise<Set<number>> => {
    explained ??= within(async (tx) => {
      const runs = new Set<number>()
      for (const project of projects)
        for await (const { texts } of remainingTexts(tx, project, now, going))
          for (const text of texts) for (const { run } of matches(text)) runs.add(run)
      return runs
    })
    return explained
  }
  const remainingIn = (text: string): Promise<string[]> =>
    within(async (tx) => {
      const found: string[] = []
      for (const project of projects) found.push(...(await remainingTextsIn(tx, project, text, now, going)))
      return found
    })
  /** Searches the text and its strings: a run may span several strings of a JSON text. */
  const matchesIn = (text: string, strings: readonly { text: string }[]): ErasedRunMatch[] => [
    ...(strings.length === 1 && strings[0]?.text === text ? [] : strings.flatMap((one) => matches(one.text))),
    ...matches(text),
  ]

  async function decide({ form, text }: Readable, naming?: Naming): Promise<ValueDecision> {
    const strings = stringsOf(text)
    const all = matchesIn(text, strings)
    if (all.length === 0 && !naming) return { decision: 'untouched' }
    const known = all.length > 0 ? await explain() : new Set<number>()
    const erased = all.filter(({ run }) => !known.has(run))
    const spoken = strings.flatMap(({ text: one, isTechnical }) => (isTechnical ? [] : [one])).join('\n')
    const folding = naming && naming.named.length > 0 ? folded(strings.map((one) => one.text).join('\n')) : ''
    const named = [...new Set(naming?.named ?? [])].filter(
      (one) => folding.includes(folded(one)) && folded(one).trim() !== '',
    )
    if (erased.length + named.length === 0 && !naming) return { decision: 'retained' }
    if (form === 'binary') return { decision: erased.length > 0 || naming ? 'deleted' : 'untouched' }
    const spansOf = (one: string) =>
      mergeSpans([
        ...matches(one).filter(({ run }) => !known.has(run)),
        ...named.flatMap((sought) => occurrences(one, sought)),
      ])
    if (erased.length + named.length > 0) {
      // Without words of other authors, the remaining texts need not be read.
      const rest = cutStrings(spoken, spansOf)
      if (rest === null || !hasWords(rest)) return { decision: 'deleted' }
    }
    const remaining = [...(naming?.remaining ?? []), ...(await remainingIn(spoken))]
    const decided = decideDerivedText(
      { text: spoken, isNamed: naming !== undefined, named, remaining },
      { runsIn: matches },
      known,
    )
    if (decided.decision !== 'cut') return { decision: erased.length + named.length > 0 ? 'deleted' : decided.decision }
    if (form !== 'text') return { decision: 'deleted' }
    const rest = cutStrings(text, spansOf)
    const isClean = rest !== null && matchesIn(rest, stringsOf(rest)).every(({ run }) => known.has(run))
    return rest !== null && isClean ? { decision: 'cut', text: rest } : { decision: 'deleted' }
  }

  return {
    decide,
    async hasErasedWords({ text }) {
      const all = matchesIn(text, stringsOf(text))
      if (all.length === 0) return false
      const known = await explain()
      return all.some(({ run }) => !known.has(run))
    },
    hasRemainingText: async ({ form, text }) => {
      if (form === 'binary') return false
      const strings = stringsOf(text)
      const spoken = strings.flatMap(({ text: one, isTechnical }) => (isTechnical ? [] : [one])).join('\n')
      return (await remainingIn(spoken)).length > 0
    },
  }
}

/** For values whose sources no longer exist: a value with another author's text and no erased words now belongs to that author. */
export const lenient = (judge: ValueDecider): ValueDecider => ({
  ...judge,
  async decide(value, naming) {
    const isTheirs = naming && !(await judge.hasErasedWords(value)) && (await judge.hasRemainingText(value))
    return isTheirs ? { decision: 'untouched' } : judge.decide(value, naming)
  },
})
