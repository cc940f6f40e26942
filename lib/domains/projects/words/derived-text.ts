import type { ErasedWords } from '#lib/kernel/data-source.ts'
import { applyReplacements } from '#lib/text/layer.ts'
import { areInKeys, maxDecoded, readerText, replacementsOf, structureOf, viewsOf } from '#lib/text/views.ts'
import { runWeight, tokenize } from '#lib/text/words.ts'
import { mergeSpans, type TextSpan } from './fingerprints.ts'
import { allOf, finderOf, type TextFinder } from './text-index.ts'

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
  /** Those that persons wrote. Only they have words of their own in a run of erased words: assistants quote. */
  persons?: readonly string[] | TextFinder
  /** Remaining texts so short that they occur by chance. They count only if remaining texts explain the whole text. */
  short?: TextFinder
  /** A pointer of a remaining message or document names this text. */
  isShared?: boolean
  /** The text was already decided before: no erased words remain in it, and words of other authors do. */
  isRepeated?: boolean
}

/** Sharing does not protect words: a text with erased words is cut if words of a remaining author remain; otherwise it is deleted. */
export function decideDerivedText(
  { text, isNamed, named, remaining, persons = [], short, isShared = false, isRepeated = false }: DerivedText,
  erased: Pick<ErasedWords, 'runsIn'>,
  explained: ReadonlySet<number>,
): DerivedTextDecision {
  const others = finderOf(remaining)
  const all = short ? allOf(others, short) : others
  const matches = erased.runsIn(text)
  const theirs = others.spansIn(text)
  const unexplained = besides(
    text,
    matches.filter(({ run }) => !explained.has(run)),
    finderOf(persons).spansIn(text),
  )
  /** A remaining text that quotes erased words, such as an assistant's, is theirs without the quotation. */
  const isQuoting = ({ start, end }: TextSpan): boolean => {
    const inside = mergeSpans(unexplained).filter((one) => one.start < end && one.end > start)
    if (inside.length === 0) return false
    const own = inside.map((one) => ({ start: Math.max(0, one.start - start), end: Math.min(end, one.end) - start }))
    return cutFrom(text.slice(start, end), own) !== null
  }
  const hasOthers = (rest: string) =>
    others.spansIn(rest).length > 0 || theirs.some(isQuoting) || (short !== undefined && isExplained(rest, all))
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
  const isClean = rest !== null && erased.runsIn(rest).every(({ run }) => explained.has(run))
  return rest !== null && isClean && hasOthers(rest) ? { decision: 'cut', text: rest } : { decision: 'deleted' }
}

const placeIn = (span: TextSpan) => span.view ?? { depth: 0, start: span.start, end: span.end }

/**
 * Matches without the words of a remaining text of a person (`theirs`) that begins or ends inside them. Statements are adjacent in the form without labels, so a run
 * across two erased messages of one author can be the end of one of them and the beginning of somebody else's answer. Nothing is left of a run
 * that two remaining texts contain together.
 */
export function besides(text: string, matches: readonly TextSpan[], theirs: readonly TextSpan[]): TextSpan[] {
  if (matches.length === 0 || theirs.length === 0) return [...matches]
  const { layers } = viewsOf(text)
  return matches.flatMap((match) => {
    const { depth, ...place } = placeIn(match)
    const form = layers[depth - 1]?.text ?? text
    let { start, end } = match
    for (const other of theirs) {
      const own = placeIn(other)
      if (own.depth !== depth) continue
      if (own.start > place.start && own.start < place.end && own.end >= place.end) {
        place.end = own.start
        end = Math.min(end, other.start)
      } else if (own.end > place.start && own.end < place.end && own.start <= place.start) {
        const sign = afterwards.exec(form.slice(own.end, place.end))?.[0].length ?? 0
        place.start = own.end + sign
        start = Math.max(start, other.end + (depth === 0 ? sign : 0))
      }
    }
    if (start >= end || !hasWords(form.slice(place.start, place.end))) return []
    return match.view ? { start, end, view: { depth, ...place } } : { start, end }
  })
}

/** Whether remaining texts contain all words of a text, apart from speaker labels. */
function isExplained(text: string, remaining: TextFinder): boolean {
  const spans = remaining.spansIn(text)
  if (spans.length === 0) return false
  const rest = cutFrom(text, mergeSpans(spans), [])
  // Here any beginning of a line counts as a label: nothing is removed because of it.
  return rest === null || !hasSpokenWords(readerText(rest), (line) => label.test(line))
}

/** A speaker label before a statement: `user: `, `Dr. Anna Schmidt (doctor): `, `[2026-01-02 10:30] Anna: `. */
const label = /^[ \t>*\-–—"'“”]*(?:\[[^\]\n]{0,60}\][ \t]*)?([^\n:：]{0,60})[:：][ \t"'“”*]*$/u
const inBrackets = /\([^()]*\)|\[[^[\]]*\]/g
const withoutCase = /^[\p{Lo}\p{M}]/u
const beginsName =
  /^(?:[\p{Lu}\p{Lt}\p{N}#@&"“.–-]|(?:al|bin|d['’]\p{L}+|da|de|del|dos|den|der|di|du|ibn|la|le|of|ter|v\.|van|von|y|zu|und|and)$)/u
/** `You wrote`, `user 1`, `support agent`: labels of two or three ordinary words. */
const plainLabel =
  /^(?:(?:you|i|he|she|they|we|user|person|customer|client|patient|it) (?:wrote|write|writes|said|say|says|asked|asks)|[\p{L}]+ \d+|[\p{L}]+ d['’]\p{L}+|(?:[\p{L}]+ ){1,2}(?:agent|assistant|user|bot|person|customer|doctor|speaker))$/iu
/**
 * Whether a line is a speaker label: one word, a name, or a usual description. The words of other people also end in a colon where they introduce what is erased.
 */
function isLabel(line: string): boolean {
  const speaker = label.exec(line)?.[1]?.replace(inBrackets, ' ').trim()
  if (speaker === undefined) return false
  if (plainLabel.test(speaker)) return true
  const words = speaker.split(/[\s,]+/)
  const isUncased = words.some((word) => withoutCase.test(word))
  if (words.length === 1) return speaker.length <= (isUncased ? 12 : 40)
  return words.length <= (isUncased ? 3 : 6) && words.every((word) => withoutCase.test(word) || beginsName.test(word))
}
const afterwards = /^[\p{P}\p{S}\p{M}]*/u
/** The end of a section of XML, and what follows it. Without it, the section would contain what others wrote behind it. */
const endOfSection = /\]\]>.*$/s

/** What a value contains in attributes and keys, decoded. */
const besideText = (text: string): string => {
  const last = viewsOf(text).layers.at(-1)
  return last ? last.text.slice(last.flowEnd) : ''
}
/** Whether all words of a value are in attributes and keys, such as the data of a page's element. */
const isBesideText = (text: string): boolean => !hasSpokenWords(readerText(text))
const hasRun = (text: string): boolean => tokenize(text).reduce((sum, { weight }) => sum + weight, 0) >= runWeight

/**
 * Removes spans from a text, in whatever encoding they were found. Null if only speaker labels would remain, or if one of the spans `sources`
 * is in the name of a property: the value below it, such as an answer, is derived from these words. A label is removed with the words that
 * it introduces. JSON and markup remain valid.
 */
export function cutFrom(text: string, spans: readonly TextSpan[], sources = spans): string | null {
  if (areInKeys(text, sources)) return null
  const { layers } = viewsOf(text)
  const deletions: TextSpan[] = []
  for (const [depth, some] of Map.groupBy(maxDecoded(text, spans), ({ view }) => view?.depth ?? 0)) {
    const view = layers[depth - 1]?.text ?? text
    const own = mergeSpans(some.map((span) => span.view ?? span))
    // In an encoded text, punctuation beside the words may be a part of an escape sequence.
    const isDecoded = layers.slice(depth).every(({ isReading }) => isReading)
    for (const { start, end } of isDecoded ? deletionsIn(view, own, structureOf(text, depth)) : own)
      deletions.push({ start, end, view: { depth, start, end } })
  }
  const replacements = replacementsOf(text, deletions)
  const rest = applyReplacements(text, replacements)
  if (!hasSpokenWords(readerText(rest)) && !(isBesideText(text) && hasRun(besideText(rest)))) return null
  return layers.some(({ hasStructure }) => hasStructure) ? rest : rest.trim()
}

const closingMarks: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '(': ')',
  '[': ']',
  '{': '}',
  '<': '>',
  '“': '”',
  '„': '“',
  '‘': '’',
  '«': '»',
  '»': '«',
  '「': '」',
  '（': '）',
}

/**
 * Extends spans by the labels before them and the punctuation after them. `structure` remains, and so does the mark that closes one which
 * remains.
 */
function deletionsIn(text: string, spans: readonly TextSpan[], structure: readonly TextSpan[] = []): TextSpan[] {
  /** What remains, in pieces. */
  const rest: TextSpan[] = []
  const found: TextSpan[] = []
  let [from, next] = [0, 0]
  const skipTo = (at: number): void => {
    while (next < structure.length && (structure[next]?.end ?? 0) <= at) next++
  }
  for (const { start, end } of spans) {
    if (from < start) rest.push({ start: from, end: start })
    const lead = lastLineOf(text, rest)
    skipTo(lead.kept?.end ?? rest[lead.first]?.start ?? start)
    const hasStructure = (structure[next]?.start ?? text.length) < start
    if (!hasStructure && (isLabel(lead.text) || !hasWords(lead.text))) {
      rest.splice(lead.first)
      if (lead.kept) rest.push(lead.kept)
    }
    let sign = (afterwards.exec(text.slice(end))?.[0] ?? '').replace(endOfSection, '')
    const before = rest.at(-1)
    const mark = before?.end === start ? closingMarks[text[start - 1] ?? ''] : undefined
    if (mark !== undefined && sign.includes(mark)) sign = sign.slice(0, sign.indexOf(mark))
    skipTo(end)
    from = Math.max(from, Math.min(end + sign.length, Math.max(end, structure[next]?.start ?? text.length)))
    const last = rest.at(-1)
    if (last === undefined || text[last.end - 1] === '\n') from += /^[ \t]*\n?/.exec(text.slice(from))?.[0].length ?? 0
    // The words were the end of a line or of a string: the spaces before them go with them.
    else if (from >= text.length || text[from] === '\n')
      while (last.end > last.start && (text[last.end - 1] === ' ' || text[last.end - 1] === '\t')) last.end -= 1
  }
  if (from < text.length) rest.push({ start: from, end: text.length })
  let until = 0
  for (const { start, end } of rest) {
    if (start > until) found.push({ start: until, end: start })
    until = end
  }
  if (until < text.length) found.push({ start: until, end: text.length })
  return found
}
/** A longer beginning of a line is no label. In characters. */
const longestLead = 1_000
/**
 * The last line of a text in pieces: the index of its first piece, and what that piece has before the line. Of a line longer than
 * {@link longestLead}, the end.
 */
function lastLineOf(text: string, pieces: readonly TextSpan[]): { text: string; first: number; kept?: TextSpan } {
  let line = ''
  for (let at = pieces.length - 1; at >= 0; at--) {
    const { start, end } = pieces[at] ?? { start: 0, end: 0 }
    const own = text.slice(start, end)
    const lineStart = own.lastIndexOf('\n') + 1
    line = own.slice(lineStart) + line
    if (lineStart > 0) return { text: line, first: at, kept: { start, end: start + lineStart } }
    if (line.length > longestLead) return { text: line, first: at }
  }
  return { text: line, first: 0 }
}

const hasWords = (text: string): boolean => tokenize(text).length > 0
/** Whether a line contains more than a speaker label. */
const hasSpokenWords = (text: string, isOnlyLabel: (line: string) => boolean = isLabel): boolean =>
  text.split('\n').some((line) => hasWords(line) && !isOnlyLabel(line))
