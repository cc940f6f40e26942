import type { ErasedWords } from '#lib/kernel/data-source.ts'
import { mergeSpans, type TextSpan } from './fingerprints.ts'
import { allOf, finderOf, type TextFinder } from './text-index.ts'
import { tokenize } from './tokens.ts'

/**
 * What an erasure does with a derived text: an episode, a cache entry, an object or a chunk.
 * - untouched: it contains no erased words;
 * - retained: it contains erased words, but texts of other authors contain the same words;
 * - cut: the erased words are removed, and words of other authors remain;
 * - deleted: no words of other authors would remain.
 */
export type DerivedTextDecision = { decision: 'untouched' | 'retained' | 'deleted' } | { decision: 'cut'; text: string }

export interface DerivedText {
  text: string
  /** A pointer of an erased message or document names this text. */
  isNamed: boolean
  /** Texts of the erased sources whose pointers name this text. They are removed at any length. */
  named: readonly string[] | TextFinder
  /** Texts of remaining messages and documents: those whose pointers name this text, and those found in it. */
  remaining: readonly string[] | TextFinder
  /** Remaining texts so short that they occur by chance. They count only if remaining texts explain the whole text. */
  short?: TextFinder
  /** A pointer of a remaining message or document names this text. */
  isShared?: boolean
  /** The text was already decided before: no erased words remain in it, and words of other authors do. */
  isRepeated?: boolean
}

/** Sharing does not protect words: a text with erased words is cut if words of a remaining author remain; otherwise it is deleted. */
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
  const theirs = others.spansIn(text)
  // Inside a longer text of another author, the match is that author's quotation.
  const isQuoted = ({ start, end }: TextSpan) =>
    theirs.some((one) => one.start <= start && one.end >= end && one.end - one.start > end - start)
  const whole = (isNamed ? finderOf(named).spansIn(text) : []).filter((span) => !isQuoted(span))
  // A wrong pointer must not delete texts of other authors or their quotations. A text that equals its own erased source is still deleted.
  const isOwn = whole.length > 0 && cutFrom(text, mergeSpans(whole)) === null
  if (isNamed && unexplained.length === 0 && (!isOwn || isShared) && isExplained(text, all))
    return { decision: 'retained' }
  const spans = mergeSpans([...unexplained, ...whole])
  if (spans.length === 0) {
    if (!isNamed) return { decision: matches.length > 0 ? 'retained' : 'untouched' }
    if (isRepeated && hasOthers(text)) return { decision: matches.length > 0 ? 'retained' : 'untouched' }
    return { decision: 'deleted' }
  }
  const rest = cutFrom(text, spans)
  return rest !== null && hasOthers(rest) ? { decision: 'cut', text: rest } : { decision: 'deleted' }
}

/** Whether remaining texts contain all words of a text, apart from speaker labels. */
function isExplained(text: string, remaining: TextFinder): boolean {
  const spans = remaining.spansIn(text)
  return spans.length > 0 && cutFrom(text, mergeSpans(spans)) === null
}

/** A speaker label before a statement: `user: `, `Dr. Anna Schmidt (doctor): `, `[2026-01-02 10:30] Anna: `. */
const label = /^[ \t>*\-–—"'“”]*(?:\[[^\]\n]{0,60}\][ \t]*)?[^\n:：]{0,60}[:：][ \t"'“”*]*$/u
const afterwards = /^[\p{P}\p{S}\p{M}]*/u

/**
 * Removes spans from a text. Null if only speaker labels would remain. A label is removed with the words that it introduces. JSON remains
 * valid JSON.
 */
export function cutFrom(text: string, spans: readonly TextSpan[]): string | null {
  return cutFromJson(text, spans) ?? cutFromPlain(text, spans)
}

function cutFromPlain(text: string, spans: readonly TextSpan[]): string | null {
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
/** Whether a line contains more than a speaker label. */
const hasSpokenWords = (text: string): boolean => text.split('\n').some((line) => hasWords(line) && !label.test(line))

/** Undefined if the text is not a JSON object or list. */
function cutFromJson(text: string, spans: readonly TextSpan[]): string | null | undefined {
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
