import type { ErasedWords } from '#lib/kernel/holder.ts'
import { merged, type Span } from './fingerprints.ts'
import { allOf, finderOf, type TextFinder } from './text-index.ts'
import { tokenize } from './tokens.ts'

/**
 * What an erasure does with one derived text: an episode, a cache entry, an object, a chunk.
 * - untouched: nothing of the erased texts is in it;
 * - retained: their words are in it, and other authors' own texts contain the same words;
 * - cut: the erased words are removed, and words of other authors remain;
 * - deleted: nothing else would remain that another author wrote.
 */
export type DerivedTextDecision = { decision: 'untouched' | 'retained' | 'deleted' } | { decision: 'cut'; text: string }

export interface DerivedText {
  text: string
  /** Provenance of an erased message or document names it. */
  isNamed: boolean
  /** Texts of the erased sources that provenance names for it: they are cut out at any length. */
  named: readonly string[] | TextFinder
  /** Texts of messages and documents that remain: those that provenance names for it, and those found in it. */
  remaining: readonly string[] | TextFinder
  /** Remaining texts that are so short that they occur by chance: they count only where remaining texts explain everything. */
  short?: TextFinder
  /** Provenance of a remaining message or document names it. */
  isShared?: boolean
  /** It was looked at before: nothing of the erased texts is left in it, and other authors' words are. */
  isRepeated?: boolean
}

/** Sharing never protects words: a text with erased words is cut if words of an author who is not erased remain, and else deleted. */
export function decideDerivedText(
  { text, isNamed, named, remaining, short, isShared = false, isRepeated = false }: DerivedText,
  erased: Pick<ErasedWords, 'runsIn'>,
  explained: ReadonlySet<number>,
): DerivedTextDecision {
  const others = finderOf(remaining)
  const all = short ? allOf(others, short) : others
  const hasOthers = (rest: string) => others.spansIn(rest).length > 0 || (short !== undefined && isExplained(rest, all))
  const matches = erased.runsIn(text)
  const unexplained = matches.filter(({ run }) => !explained.has(run))
  const whole = isNamed ? finderOf(named).spansIn(text) : []
  // A wrong pointer has no effect on what another author wrote, quotes included. Equal words of its own source remain its own.
  const isOwn = whole.length > 0 && cutFrom(text, merged(whole)) === null
  if (isNamed && unexplained.length === 0 && (!isOwn || isShared) && isExplained(text, all))
    return { decision: 'retained' }
  const spans = merged([...unexplained, ...whole])
  if (spans.length === 0) {
    if (!isNamed) return { decision: matches.length > 0 ? 'retained' : 'untouched' }
    if (isRepeated && hasOthers(text)) return { decision: matches.length > 0 ? 'retained' : 'untouched' }
    return { decision: 'deleted' }
  }
  const rest = cutFrom(text, spans)
  return rest !== null && hasOthers(rest) ? { decision: 'cut', text: rest } : { decision: 'deleted' }
}

/** Whether all words of a text but those of speakers' labels are words of remaining texts. */
function isExplained(text: string, remaining: TextFinder): boolean {
  const spans = remaining.spansIn(text)
  return spans.length > 0 && cutFrom(text, merged(spans)) === null
}

/** Before what somebody said: `user: `, `Dr. Anna Schmidt (doctor): `, `[2026-01-02 10:30] Anna: `. */
const label = /^[ \t>*\-–—"'“”]*(?:\[[^\]\n]{0,60}\][ \t]*)?[^\n:：]{0,60}[:：][ \t"'“”*]*$/u
const afterwards = /^[\p{P}\p{S}\p{M}]*/u

/**
 * A text without some spans; null where no words but speakers' labels would remain. A label goes with the words that it introduces. A text
 * that is JSON stays JSON.
 */
export function cutFrom(text: string, spans: readonly Span[]): string | null {
  return cutFromJson(text, spans) ?? cutFromPlain(text, spans)
}

function cutFromPlain(text: string, spans: readonly Span[]): string | null {
  let rest = ''
  let from = 0
  for (const { start, end } of spans) {
    const before = rest + text.slice(from, start)
    const lineStart = before.lastIndexOf('\n') + 1
    const lead = before.slice(lineStart)
    rest = label.test(lead) || !hasWords(lead) ? before.slice(0, lineStart) : before
    from = end + (afterwards.exec(text.slice(end))?.[0].length ?? 0)
    if (rest.endsWith('\n') || rest === '') from += /^[ \t]*\n?/.exec(text.slice(from))?.[0].length ?? 0
  }
  rest += text.slice(from)
  return hasSpokenWords(rest) ? rest.trim() : null
}

const hasWords = (text: string): boolean => tokenize(text).length > 0
/** Whether a line has more than a label. */
const hasSpokenWords = (text: string): boolean => text.split('\n').some((line) => hasWords(line) && !label.test(line))

/** Undefined where the text is no JSON object or list. */
function cutFromJson(text: string, spans: readonly Span[]): string | null | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  const inside: { start: number; end: number }[] = []
  for (const { index, 0: literal } of text.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
    const isKey = /^\s*:/.test(text.slice(index + literal.length))
    const [start, end] = [index + 1, index + literal.length - 1]
    const own = spans.filter((span) => span.start < end && span.end > start)
    if (own.length === 0) continue
    if (isKey) return null
    for (const span of own) inside.push({ start: Math.max(start, span.start), end: Math.min(end, span.end) })
  }
  const outside = spans.some((span) => !inside.some(({ start, end }) => start <= span.start && end >= span.end))
  if (outside) return null
  let rest = ''
  let from = 0
  for (const { start, end } of inside) {
    rest += text.slice(from, start)
    from = end
  }
  rest += text.slice(from)
  return hasWords(rest) ? rest : null
}
