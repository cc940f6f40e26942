import { type Layer, LayerBuilder, type Span } from './layer.ts'
import { areEqual, linesWithBeginnings } from './line-beginnings.ts'
import { repeatingPartsIn } from './refrains.ts'
import { wordColumnsIn } from './word-tables.ts'

/** Builds a reading; what follows the text itself in the base follows it in the reading, too. */
class ReadingBuilder extends LayerBuilder {
  readonly #flowEnd: number
  #from = 0
  constructor(base: string, flowEnd: number) {
    super(base)
    this.#flowEnd = flowEnd
  }
  /** Copies the base up to an offset, and continues behind `next`. */
  copyTo(at: number, next = at): void {
    if (this.#from <= this.#flowEnd && at >= this.#flowEnd) {
      this.copy(this.#from, this.#flowEnd)
      this.endFlow()
      this.copy(this.#flowEnd, at)
    } else this.copy(this.#from, at)
    this.#from = next
  }
  reading(): Layer | undefined {
    if (!this.isChanged) return undefined
    this.copyTo(this.base.length)
    return { ...this.build(), isReading: true }
  }
  /** A reading that follows the base, of which nothing was removed. */
  readingBeside(): Layer | undefined {
    const found = this.reading()
    return found && { ...found, newFrom: this.base.length }
  }
}
/** A text without the matches of a pattern. */
function without(
  base: string,
  flowEnd: number,
  pattern: RegExp,
  remove: (builder: LayerBuilder, start: number, end: number) => void,
): Layer | undefined {
  const builder = new ReadingBuilder(base, flowEnd)
  for (const { 0: found, index } of base.matchAll(pattern)) {
    if (found.trim() === '') continue
    builder.copyTo(index, index + found.length)
    remove(builder, index, index + found.length)
  }
  return builder.reading()
}

const hyphens = '[-\\u2010\\u2011]'
/** The end of a line. Tags that were removed may leave several line breaks. */
const lineEnd = '[ \\t]*(?:\\r?\\n[ \\t>+|]*)'
const isHyphenated = new RegExp(`\\p{L}(?:${hyphens}${lineEnd}{1,8}|=[ \\t]*\\r?\\n\\s{0,8})\\p{L}`, 'u')
const hyphen = new RegExp(`(?<=\\p{L})(?:${hyphens}(?:${lineEnd}{1,8})?|=[ \\t]*\\r?\\n\\s{0,8})(?=\\p{L})`, 'gu')
/**
 * A text without hyphens inside words: at the end of a line, nobody can tell which of them belong to the word. Nor whether an equals sign
 * there is the end of a field or of a line of quoted-printable.
 */
export function joinHyphens(base: string, flowEnd = base.length): Layer | undefined {
  return without(base, flowEnd, hyphen, (builder, start, end) => builder.drop(start, end))
}
function hyphensOf(base: string, flowEnd: number): Layer | undefined {
  return base.includes('\n') && isHyphenated.test(base) ? joinHyphens(base, flowEnd) : undefined
}

const time = '\\d{1,2}:\\d{2}(?::\\d{2}(?:[.,]\\d{1,9})?)?(?:Z|[+-]\\d{2}:?\\d{2})?(?: ?[AaPp]\\.?[Mm]\\.?)?'
const date = '\\d{1,4}[-./]\\d{1,2}[-./]\\d{1,4}'
/** A time or a speaker before a line of a conversation, or a line that contains nothing else. */
const lineLabel = new RegExp(
  `^[ \\t>*|"'“”–—-]*(?:[\\[(]?(?:${date}(?:[T, ]{1,3}${time})?|${time})[\\])]?[ \\t,–—-]*)?(?:\\[[^\\]\\n]{0,60}\\][ \\t]*)?` +
    `(?:<[^<>\\n]{1,40}>[ \\t]*|[^\\n:：.!?。]{1,40}[:：](?=[ \\t"'“”*]|[^\\p{N}/\\n])[ \\t"'“”*]*|[^\\n:：]{0,40} ${time}$)?`,
  'gmu',
)
const mayHaveLabels =
  /^[^\n:：]{0,60}[:：][^\n]*\n[^\n:：]{0,60}[:：]|^<[^<>\n]{1,40}> [^\n]*\n<|\d\d:\d\d[^\n]*\n[^\n]*\d\d:\d\d/m
/** A conversation without the labels of its lines, so that consecutive statements are adjacent. */
function withoutLabels(base: string, flowEnd: number): Layer | undefined {
  if (!base.includes('\n') || !(base.includes(':') || base.includes('：') || base.includes('\n<'))) return undefined
  if (!mayHaveLabels.test(base)) return undefined
  return without(base, flowEnd, lineLabel, (builder, start, end) => builder.label(start, end))
}

/** What programs write before each line: times, levels, names of their parts, numbers of lines, cues of subtitles. */
const blank = '[ \\u00a0\\t+]'
const clock = '(?:\\d{1,3}:)?\\d{1,2}:\\d{2}(?:[.,:]\\d{1,9})?(?:Z|[+-]\\d{2}:?\\d{2})?'
const month = '(?:[A-Z][a-z]{2},? )?[A-Z][a-z]{2} [ \\d]\\d(?:,? \\d{4})?'
const day = `(?:\\d{4}[-/.]?\\d{2}[-/.]?\\d{2}|\\d{1,2}[-/.]\\d{1,2}[-/.]\\d{2,4}|\\d{1,2}/[A-Z][a-z]{2}/\\d{4}:?|${month})`
const level =
  'TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRITICAL|FATAL|SEVERE|trace|debug|info|notice|warn(?:ing)?|error|fatal'
const fieldOfLog =
  'level|lvl|time|ts|timestamp|logger|thread|pid|host|severity|caller|source|module|component|trace_id|span_id|request_id|msg|message|text|content'
const programPrefix = new RegExp(
  `(?:[\\[(<]?(?:${day}(?:[T_ +]?${clock})?|${clock}|\\d{10}(?:\\d{3}|\\.\\d{1,6})?)[\\])>]?(?=[\\s|+:;,\\p{P}]|$)|` +
    `[\\[(<]?(?:${level})[\\])>]?(?=[\\s|+:]|$)|\\[[^\\[\\]\\n]{1,60}\\]|` +
    `(?:${fieldOfLog})=(?:"[^"\\n]{0,60}"(?=${blank})|[^\\s"]{1,60}(?=${blank})|(?="))|` +
    '(?:Dialogue|Comment): ?(?:[^,\\n]{0,40},){9}|(?:data|event|id|retry): ?|std(?:out|err) [FP] |@@ [^@\\n]{1,60} @@|' +
    `#?\\d{1,6}(?:[.):|\\t]+|(?=${blank}{2}))|[ \\u00a0\\t>|*•·→│┃#+–—-]+)`,
  'uy',
)
/** A prefix that begins with a letter. A line that begins with a letter and does not match has no prefix: most lines of prose end there. */
const wordOfPrefix = new RegExp(
  `(?:${level}|${fieldOfLog}|Dialogue|Comment|data|event|id|retry)[ :=+|\\u00a0]|${month}`,
  'y',
)
const cue = new RegExp(`${blank}*${clock}${blank}*-->${blank}*${clock}[^\\n]*`, 'y')
const heading = /(?:WEBVTT|NOTE|Kind:|Language:|STYLE)[^\n]*|(?:event|id|retry): ?[^\n]{0,60}/y
const counted = /[ \u00a0\t+]*(\d{1,6})(?:[ \u00a0\t+]|\r?\n|$)/y
/** The number that is alone at an offset, after white space; -2 without one. */
function numberAt(text: string, start: number): number {
  let at = start
  while (isBlankOrPlus(text.charCodeAt(at))) at++
  if (text.charCodeAt(at) < 48 || text.charCodeAt(at) > 57) return -2
  counted.lastIndex = start
  return Number(counted.exec(text)?.[1] ?? -2)
}
const isBlankOrPlus = (unit: number): boolean => unit === 32 || unit === 9 || unit === 43 || unit === 0xa0
const mayHavePrefixes = new RegExp(
  `(?:^|\\n)[ \\u00a0\\t>|*+-]{0,8}(?:\\d|[\\[(<#]|@@|(?:${level}|${fieldOfLog}|Dialogue|Comment|data|event|id|retry)[ :=+|\\u00a0]|${month})`,
)
const leastPrefixed = 3
/** A prefix contains a letter or a digit. The empty checkbox of a task list counts too. */
const hasPrefix = /[\p{L}\p{N}]|\[ \]/u
/** In characters. Two equal lines that are shorter can be a coincidence. */
const shortestDoubled = 6
/** Lines between two equal ones: the number and the time of a subtitle. */
const mostBetweenDoubled = 3
/** How many consecutive lines without a prefix belong to one statement or to one subtitle. */
const mostPlain = 6

const isMark = (unit: number): boolean =>
  unit <= 32 ||
  unit === 0xa0 ||
  (unit >= 42 && unit <= 45) ||
  unit === 62 ||
  unit === 124 ||
  (unit >= 0x2022 && unit <= 0x2503)
const mayBeginPrefix = (unit: number): boolean =>
  (unit >= 48 && unit <= 57) || unit === 91 || unit === 40 || unit === 60 || unit === 35 || unit === 64

/** The end of what a program wrote before the words of a line. */
function endOfPrefix(text: string, start: number, end: number, number: number): number {
  let first = start
  while (first < end && isMark(text.charCodeAt(first))) first++
  const unit = text.charCodeAt(first)
  wordOfPrefix.lastIndex = first
  heading.lastIndex = first
  if (first === end || (!mayBeginPrefix(unit) && !wordOfPrefix.test(text) && unit !== 87 && unit !== 75)) return start
  cue.lastIndex = first
  if (cue.test(text) || (heading.test(text) && heading.lastIndex >= end)) return end
  let at = start
  counted.lastIndex = start
  const own = counted.exec(text)
  if (own) {
    // The number of a cue stands alone in the line before it.
    cue.lastIndex = counted.lastIndex
    if (counted.lastIndex > end) return cue.test(text) ? end : start
    if (Number(own[1]) === number + 1) at = counted.lastIndex
  }
  for (let parts = 0; parts < 12 && at < end; parts++) {
    programPrefix.lastIndex = at
    if (!programPrefix.test(text) || programPrefix.lastIndex === at) break
    at = Math.min(end, programPrefix.lastIndex)
  }
  return at
}
/** The lines of a text that contain something, by line. */
interface ReadLines {
  count: number
  starts: Int32Array
  ends: Int32Array
  /** The exclusive end of the prefix of each. */
  untils: Int32Array
  isPrefixed: Uint8Array
  /** Whether a line says the same as the line before. */
  isDoubled: Uint8Array
}
/** The text whose lines were read last. Two readings follow each other, and the first of them often changes nothing. */
let latest: { base: string; lines: ReadLines } | undefined
/** The lines of a text, with their prefixes. Subtitles of spoken words show each line again above the next one. */
function linesOf(base: string): ReadLines {
  if (latest?.base !== base) latest = { base, lines: readLines(base) }
  return latest.lines
}
function readLines(base: string): ReadLines {
  const mayHave = mayHavePrefixes.test(base)
  let [number, former, formerEnd] = [-1, 0, 0]
  const { count, starts, ends, firsts, lasts, untils } = linesWithBeginnings(base)
  const [isPrefixed, isDoubled] = [new Uint8Array(count), new Uint8Array(count)]
  for (let line = 0; line < count; line++) {
    const [start = 0, end = 0] = [starts[line], ends[line]]
    const [first = 0, last = 0] = [firsts[line], lasts[line]]
    let until = untils[line] ?? 0
    if (mayHave) {
      const own = numberAt(base, start)
      until = Math.max(until, endOfPrefix(base, start, end, number))
      untils[line] = until
      if (own >= 0) number = own
    }
    let from = first
    if (until > start && hasPrefix.test(base.slice(start, until))) {
      isPrefixed[line] = 1
      from = Math.max(until, first)
    }
    if (last - from >= shortestDoubled && last - from === formerEnd - former)
      isDoubled[line] = areEqual(base, from, former, last - from) ? 1 : 0
    if (last > from) [former, formerEnd] = [from, last]
  }
  return { count, starts, ends, untils, isPrefixed, isDoubled }
}
/** A text without the prefixes of its lines, if several lines near each other have one that contains a word. */
function withoutPrefixes(base: string, flowEnd: number): Layer | undefined {
  if (!base.includes('\n')) return undefined
  const builder = new ReadingBuilder(base, flowEnd)
  const { count, starts, untils, isPrefixed, isDoubled } = linesOf(base)
  let [plainLines, prefixed] = [0, 0]
  let found: number[] = []
  const flush = () => {
    if (prefixed >= leastPrefixed)
      for (const line of found) {
        const [start = 0, until = 0] = [starts[line], untils[line]]
        builder.copyTo(start, until)
        builder.label(start, until)
      }
    if (found.length > 0) found = []
    prefixed = 0
  }
  for (let line = 0; line < count; line++) {
    if (isPrefixed[line] === 1) found.push(line)
    if (isPrefixed[line] === 1 && isDoubled[line] === 0) prefixed++
    if (isPrefixed[line] === 1 || isDoubled[line] === 1) plainLines = 0
    else if (++plainLines > mostPlain) flush()
  }
  flush()
  return builder.reading()
}
/** Whether a line may say the same as one of the lines before it. */
function mayBeDoubled(text: string): boolean {
  const former: string[] = []
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf('\n', start)
    let last = next < 0 ? text.length : next
    while (last > start && isMark(text.charCodeAt(last - 1)) && text.charCodeAt(last - 1) <= 0xa0) last--
    if (last - start >= shortestDoubled) {
      const ending = text.slice(last - shortestDoubled, last)
      if (former.includes(ending)) return true
      former.push(ending)
      if (former.length > mostBetweenDoubled) former.shift()
    }
    start = next < 0 ? text.length : next + 1
  }
  return false
}
/**
 * A text without lines twice. A separate reading: somebody may have said the same words twice, and those around them are only read together
 * in the text with both lines.
 */
function withoutDoubledLines(base: string, flowEnd: number): Layer | undefined {
  if (!base.includes('\n') || !mayBeDoubled(base)) return undefined
  const builder = new ReadingBuilder(base, flowEnd)
  const { count, starts, ends, isDoubled } = linesOf(base)
  for (let line = 0; line < count; line++)
    if (isDoubled[line] === 1) {
      const [start = 0, end = 0] = [starts[line], ends[line]]
      builder.copyTo(start, end)
      builder.label(start, end)
    }
  return builder.reading()
}

/** Formats whose long lines continue after a line break and one sign of white space, also inside words. */
const foldedFormat =
  /^[ \t]*(?:BEGIN:V[A-Z]{3,20}|dn::? |(?:NOTE|DESCRIPTION|SUMMARY|COMMENT|LOCATION|ATTENDEE|ORGANIZER|ADR|FN|N|ORG|TITLE|X-[A-Z-]{1,30})[;:])[^\r\n]*(\r?)$/m
/** The name and the parameters of a value: they remain when its words are cut. */
const nameOfValue = '(?<=^|\\n)[A-Za-z][\\w-]{0,40}(?:;[^:\\n]{0,200})?::?'
const fold = new RegExp(`\\r?\\n[ \\t]|${nameOfValue}`, 'g')
const foldOfLines = new RegExp(`\\r\\n[ \\t]|${nameOfValue}`, 'g')
function withoutFolds(base: string, flowEnd: number): Layer | undefined {
  if (!(base.includes('\n ') || base.includes('\n\t'))) return undefined
  const format = foldedFormat.exec(base)
  if (!format) return undefined
  const builder = new ReadingBuilder(base, flowEnd)
  // Where lines end with two signs, a line break of one sign belongs to a value.
  builder.isChanged = true
  builder.afterwards(() => {
    let from = 0
    for (const { 0: found, index } of base.matchAll(format[1] === '\r' ? foldOfLines : fold)) {
      builder.copy(from, index)
      from = index + found.length
      if (found.endsWith(':')) builder.markup(index, from, ':')
      else builder.drop(index, from)
    }
    builder.copy(from, base.length)
  })
  return builder.readingBeside()
}

/** Tokens of models. Some begin with a sign for the space before a word; others have a sign where a word continues. */
const signOfSpace = /[Ġ▁][^Ġ▁\n]{1,40}\s?[Ġ▁][^Ġ▁\n]{1,40}\s?[Ġ▁]|\n[Ġ▁][^\n]*\n[Ġ▁]?[^\n]*\n[Ġ▁]/
const signsOfSpace = /[Ġ▁Ċ]/
const continuedToken = /(?<=[\p{L}\p{M}\p{N}])(?:\s{1,4}##|@@\s{1,4})(?=[\p{L}\p{M}\p{N}])/gu
const betweenTokens = {
  ' ': / ?[ĠĊ▁](?=[\p{L}\p{N}\p{P}])|(?<=[\p{L}\p{M}\p{N}]) (?=[\p{L}\p{M}\p{N}\p{P}])(?![ĠĊ▁])/gu,
  '\n': /\s{0,8}[ĠĊ▁](?=[\p{L}\p{N}\p{P}])|(?<=[\p{L}\p{M}\p{N}])\n(?=[\p{L}\p{M}\p{N}\p{P}])(?![ĠĊ▁])/gu,
}
function joinTokens(base: string, flowEnd: number): Layer | undefined {
  const isContinued = base.includes('##') || base.includes('@@')
  if (!isContinued && !((base.includes('Ġ') || base.includes('▁')) && signOfSpace.test(base))) return undefined
  const pattern = isContinued ? continuedToken : betweenTokens[/\n[Ġ▁]/.test(base) ? '\n' : ' ']
  // Headings of Markdown and annotations of code have the signs, and join nothing.
  if (base.search(pattern) < 0) return undefined
  const builder = new ReadingBuilder(base, flowEnd)
  builder.isChanged = true
  builder.afterwards(() => {
    let from = 0
    for (const { 0: found, index } of base.matchAll(pattern)) {
      builder.copy(from, index)
      from = index + found.length
      if (!isContinued && signsOfSpace.test(found)) builder.markup(index, from, ' ')
      else builder.drop(index, from)
    }
    builder.copy(from, base.length)
  })
  return builder.readingBeside()
}

/** What programs write before and after words of an old and of a new version. */
const versionSigns: Readonly<Record<string, { close: string; isOld: boolean }>> = {
  '[-': { close: '-]', isOld: true },
  '{--': { close: '--}', isOld: true },
  '{+': { close: '+}', isOld: false },
  '{++': { close: '++}', isOld: false },
}
const versionSign = /\[-|\{--|\{\+\+?/g
/** In characters: a longer marked part is not read as an old or a new version. */
const longestVersion = 400
/** A line of a patch. */
const lineOfPatch = /^(?:(@@ [^\n]*|diff [^\n]*|index [^\n]*|--- [^\n]*|\+\+\+ [^\n]*|~)|([-+ ])([^\n]*))$/gm
const mayBePatch = /^@@ -\d/m
interface Change extends Span {
  /** The changed words without the signs around them. */
  words: Span
  isOld: boolean
}
const hasBoth = (changes: readonly Change[]): boolean =>
  changes.some(({ isOld }) => isOld) && changes.some(({ isOld }) => !isOld)
function changesIn(base: string): { changes: Change[]; signs: Span[] } {
  const changes: Change[] = []
  const signs: Span[] = []
  // Word diffs: `[-old-] {+new+}`. Code contains `[-1]` too, so both signs are required.
  if (base.includes('{+') && (base.includes('-]') || base.includes('--}'))) {
    const next = new Map<string, number>()
    for (const { 0: sign, index } of base.matchAll(versionSign)) {
      const { close, isOld } = versionSigns[sign] ?? { close: '', isOld: false }
      const start = index + sign.length
      if (index < (changes.at(-1)?.end ?? 0)) continue
      let to = next.get(close) ?? -1
      if (to < start) to = base.indexOf(close, start)
      if (to < 0) to = base.length
      next.set(close, to)
      if (to === base.length || to - start > longestVersion || base.slice(start, to).includes('\n')) continue
      let end = to + close.length
      if (isOld && /\s/.test(base[end] ?? '') && base[end + 1] === '{' && base[end + 2] === '+') end++
      changes.push({ start: index, end, words: { start, end: to }, isOld })
    }
    if (hasBoth(changes)) return { changes, signs }
    changes.length = 0
  }
  if (base.includes('@@ -') && mayBePatch.test(base))
    for (const { 0: whole, 2: sign, 3: line = '', index } of base.matchAll(lineOfPatch)) {
      const end = Math.min(base.length, index + whole.length + 1)
      if (sign === undefined) signs.push({ start: index, end: index + whole.length })
      else if (sign === ' ') signs.push({ start: index, end: index + 1 })
      else
        changes.push({
          start: index,
          end,
          words: { start: index + 1, end: index + 1 + line.length + (end - index - whole.length) },
          isOld: sign === '-',
        })
    }
  return { changes, signs }
}
/** The new version of a text in which changes are marked. The old one comes after it. */
function newVersion(base: string, flowEnd: number): Layer | undefined {
  const { changes, signs } = changesIn(base)
  // Where nothing was removed, or nothing added, each version is read as it is.
  if (!hasBoth(changes)) return undefined
  const builder = new ReadingBuilder(base, flowEnd)
  const all = [
    ...changes,
    ...signs.map((sign) => ({ ...sign, words: { start: sign.end, end: sign.end }, isOld: true })),
  ]
  all.sort((one, other) => one.start - other.start)
  const write = (of: 'old' | 'new', copyTo: (at: number, next: number) => void) => {
    for (const { start, end, words, isOld } of all) {
      copyTo(start, end)
      if (isOld === (of === 'old') && words.end > words.start) {
        builder.markup(start, words.start, '')
        builder.copy(words.start, words.end)
        builder.markup(words.end, end, '')
      } else builder.markup(start, end, '')
    }
  }
  builder.isChanged = true
  for (const version of ['new', 'old'] as const)
    builder.afterwards(() => {
      let from = 0
      write(version, (at, next) => {
        builder.copy(from, at)
        from = next
      })
      builder.copy(from, base.length)
    })
  return builder.readingBeside()
}

/** What is between words or inside them, by the sign that it begins with. */
const emphasis = "(?:\\*{1,3}|__|~~|`{1,2}|'{2,5}|\\|\\||==)(?=\\p{L})"
const continued =
  '(?<q>["\'`])[\\s\\u00a0+|.&<>~\\\\]{0,48}[fFrRuUbBN]{0,2}\\k<q>(?=[^\\s"\'`,;:)\\]}]|[ \\t]+[\\p{L}\\p{N}])'
/** What is before and after a string in a program, up to its quotation mark. */
const openingOf = /(?:^|[\s([{=:,+|.&])[fFrRuUbBN]{0,2}$/
const closingOf = /[\s;,.)\]}+|&]/
const longestString = 400
/**
 * The quotation marks of one kind in a text. Offsets that are asked for do not decrease, so that each part of the text is read once, however many
 * strings it has.
 */
class QuotationMarks {
  readonly #text: string
  readonly #quote: number
  #read = 0
  #opening = -1
  #lineEnd = -1
  /** No end of a string is between these offsets. At the second one is the end of a string or a line, unless the reading stopped there. */
  #from = 0
  #to = 0
  #isClosing = false

  constructor(text: string, quote: string) {
    this.#text = text
    this.#quote = quote.charCodeAt(0)
  }

  /** The quotation mark that begins the string before an offset, in the same line; -1 without one. */
  before(at: number, least: number): number {
    const text = this.#text
    for (; this.#read < at; this.#read++) {
      const unit = text.charCodeAt(this.#read)
      if (unit === 10) this.#lineEnd = this.#read
      else if (unit === this.#quote && openingOf.test(text.slice(Math.max(0, this.#read - 3), this.#read)))
        this.#opening = this.#read
    }
    const opening = this.#opening
    return opening > this.#lineEnd && opening >= Math.max(least, at - longestString) ? opening : -1
  }

  /** The quotation mark that ends the string from an offset on, in the same line; -1 without one. */
  after(at: number): number {
    const text = this.#text
    const end = Math.min(text.length, at + longestString)
    if (at < this.#from || at > this.#to) {
      this.#from = at
      this.#to = at
      this.#isClosing = false
    }
    let unit = text.charCodeAt(this.#to)
    while (!this.#isClosing && this.#to < end && unit !== 10) {
      if (unit === this.#quote && (this.#to + 1 === text.length || closingOf.test(text[this.#to + 1] ?? '')))
        this.#isClosing = true
      else unit = text.charCodeAt(++this.#to)
    }
    return this.#isClosing && this.#to < end ? this.#to : -1
  }
}
/** Notes of a transcriber, and codes of a terminal without their first sign. */
const remark =
  '\\[(?:sic|\\.{3}|…|inaudible|unclear|laughter|laughs|laughing|applause|crosstalk|music|pause|silence|noise|redacted)(?: [^\\]\\n]{1,20})?\\]|' +
  '(?:\\^\\[)?\\[\\d{0,3}(?:;\\d{1,3}){0,6}m'
/** The time of a word or a sentence. */
const timeBetween = '[\\[(<]\\d{1,2}:\\d{2}(?::\\d{2})?(?:[.,]\\d{1,3})?[\\])>]'
const openingNote = '【'.charCodeAt(0)
const longestNote = 60
const note = `\\[\\^?\\d{1,3}(?:[ ,–-]{1,3}\\d{1,3}){0,5}\\]|\\[\\^\\w{1,20}\\]|【[^】\\n]{1,${longestNote}}】|[¹²³⁰⁴-⁹]{1,3}|${remark}|${timeBetween}`
const nameOfFormat =
  ':[a-z][\\w+.:-]{0,30}:(?=`)|(?<![^\\s]):[a-z][a-z0-9_+-]{1,30}:(?!\\S)|\\{\\{(?:lang|nowrap|small|color|mono)?[\\w -]{0,20}\\||' +
  '\\{(?:color|quote|noformat|code|panel|anchor|bgcolor)(?::[^}\\n]{0,60})?\\}'
/** The next part of a parameter that is continued in the header of an email. */
const continuedParameter = '["\']?;\\s{1,8}[\\w-]{1,30}\\*\\d{1,3}\\*?=["\']?'
const anywhere = `${continued}|${continuedParameter}|${note}|${nameOfFormat}`
const afterLetter = new RegExp(`${emphasis}|${anywhere}`, 'uy')
const afterOther = new RegExp(anywhere, 'uy')
const addressBefore = /(?:link|xref|image|kbd|btn|footnote|https?):[^\s[\]]{0,300}$/
/** The address directly before a bracket. */
function addressAt(text: string, at: number): string | undefined {
  const before = at > 0 ? text.charCodeAt(at - 1) : 0
  // Trying the pattern at every bracket costs more than the rest of the reading.
  if (before <= 32 || before === 91 || before === 93) return undefined
  const lead = text.slice(Math.max(0, at - 310), at)
  return lead.includes(':') ? addressBefore.exec(lead)?.[0] : undefined
}
const isLetterBefore = /\p{L}$/u
const begins = new Uint8Array(0x10000)
for (const sign of '*_~`\'"|=[【¹²³⁰⁴⁵⁶⁷⁸⁹:{;') begins[sign.charCodeAt(0)] = 1
/** What these begin has a digit or a bracket after it. */
const beginsNumber = 2
for (const sign of '(<^') begins[sign.charCodeAt(0)] = beginsNumber
/** A text without formatting inside words, operators between the parts of a string, notes, and names of formats between words. */
function withoutFormats(base: string, flowEnd: number): Layer | undefined {
  const builder = new ReadingBuilder(base, flowEnd)
  const marks = new Map<string, QuotationMarks>()
  let [last, closing] = [0, -1]
  let noteEnd = 0
  for (let at = 0; at < base.length; at++) {
    const begin = begins[base.charCodeAt(at)]
    if (begin === 0) continue
    if (begin === beginsNumber) {
      const next = base.charCodeAt(at + 1)
      if (next !== 91 && (next < 48 || next > 57)) continue
    }
    if (base.charCodeAt(at) === openingNote) {
      // Each of many notes without an end would be read up to its longest end.
      if (noteEnd <= at) noteEnd = base.indexOf('】', at)
      if (noteEnd < 0) noteEnd = base.length + longestNote + 1
      if (noteEnd - at > longestNote + 1) continue
    }
    const pattern = at > 0 && isLetterBefore.test(base.slice(Math.max(0, at - 2), at)) ? afterLetter : afterOther
    pattern.lastIndex = at
    const found = pattern.exec(base)
    let [start, end] = [at, at + (found?.[0].length ?? 0)]
    if (end === at && base[at] === '[') {
      // A link of AsciiDoc: its address comes before its words.
      const lead = addressAt(base, at)
      if (lead !== undefined) [start, end] = [at - lead.length, at + 1]
    }
    const quote = found?.groups?.q
    if (end === at && at === closing) {
      end = at + 1
      while (end < base.length && ';,)]}'.includes(base[end] ?? '')) end++
      builder.copyTo(start, end)
      builder.markup(start, end, base.slice(start, end))
    } else if (end === at) continue
    else if (quote !== undefined && end - at > 2) {
      // The parts of a string remain strings when their words are cut.
      const known = marks.get(quote) ?? new QuotationMarks(base, quote)
      marks.set(quote, known)
      const opening = known.before(at, last)
      if (opening >= 0) {
        builder.copyTo(opening, opening + 1)
        builder.markup(opening, opening + 1, quote)
      }
      builder.copyTo(start, end)
      builder.markup(start, end, '')
      closing = known.after(end)
    } else {
      builder.copyTo(start, end)
      builder.label(start, end)
    }
    last = end
    at = end - 1
  }
  return builder.reading()
}

/** Names of programs that are made of words: `iHaveAFever`. */
const hump = /(?<=\p{Ll}|\p{Lo})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/gu
/** Two words in one: of fewer, no run is made. */
const identifier = /\p{Ll}\p{Lu}\p{Ll}{0,30}\p{Lu}/u
const token = /[\p{L}\p{M}\p{N}_$]+/gu
const [smallLetter, capital, halfOfLetter] = [1, 2, 3]
/** Small letters, capitals, and halves of surrogate pairs, which may be either. */
const lettersOfCase = new Uint8Array(0x10000)
for (let unit = 0; unit < 0x10000; unit++) {
  const sign = String.fromCharCode(unit)
  if (unit >= 0xd800 && unit < 0xe000) lettersOfCase[unit] = halfOfLetter
  else if (/\p{Ll}/u.test(sign)) lettersOfCase[unit] = smallLetter
  else if (/\p{Lu}/u.test(sign)) lettersOfCase[unit] = capital
}
/** Whether a capital follows a small letter. The pattern takes several times longer to find none. */
function mayHaveIdentifier(text: string): boolean {
  let former = 0
  for (let at = 0; at < text.length; at++) {
    const kind = lettersOfCase[text.charCodeAt(at)] ?? 0
    if (kind === halfOfLetter || (kind === capital && former === smallLetter)) return true
    former = kind
  }
  return false
}
function splitIdentifiers(base: string, flowEnd: number): Layer | undefined {
  if (!mayHaveIdentifier(base) || !identifier.test(base)) return undefined
  const builder = new ReadingBuilder(base, flowEnd)
  // One such name in a text does not make `DeShawn` two words.
  for (const { 0: found, index: start } of base.matchAll(token))
    if (identifier.test(found))
      for (const { index } of found.matchAll(hump)) {
        builder.copyTo(start + index)
        builder.gap(start + index)
      }
  return builder.reading()
}

/** Fewer spelled words, and shorter ones, are abbreviations. */
const [leastSpelled, shortestSpelled] = [3, 5]
/** What people write between the letters of a word that they spell. */
const betweenLetters = new Uint8Array(0x10000)
for (const sign of ' .-_·') betweenLetters[sign.charCodeAt(0)] = 1
/** Whether four letters with the same sign between them may be in a text. */
function mayBeSpelled(text: string): boolean {
  const isBetween = (at: number): boolean =>
    betweenLetters[text.charCodeAt(at)] === 1 &&
    text.charCodeAt(at) === text.charCodeAt(at + 2) &&
    betweenLetters[text.charCodeAt(at + 1)] !== 1
  for (let at = 0; at + 3 < text.length; at += 4) if (isBetween(at) || isBetween(at + 1)) return true
  return false
}
/** Parts of words, and those of several code units: marks and halves of surrogate pairs. */
const [partOfWord, longPart] = [1, 2]
const partsOfWords = new Uint8Array(0x10000)
for (let unit = 0; unit < 0x10000; unit++) {
  const sign = String.fromCharCode(unit)
  if ((unit >= 0xd800 && unit < 0xe000) || /\p{M}/u.test(sign)) partsOfWords[unit] = longPart
  else if (/[\p{L}\p{N}]/u.test(sign)) partsOfWords[unit] = partOfWord
}
/** Whether a text may have as many spelled words as its reading needs: each has the same sign around its second letter. */
function mayHaveSpelledWords(text: string): boolean {
  let words = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (partsOfWords[unit] === longPart) return true
    if (betweenLetters[unit] !== 1 || unit !== text.charCodeAt(at + 2)) continue
    if (at > 1 && partsOfWords[text.charCodeAt(at - 2)] === partOfWord) continue
    if (++words >= leastSpelled) return true
  }
  return false
}
const letter = '\\p{L}\\p{M}*'
/** A word with spaces between its letters has wider gaps around it. */
const spelledWithSpaces = `(?<=(?:^|\\n|\\s\\s)\\p{P}?)${letter}(?: ${letter})+(?= ?\\p{P}{0,3}(?:\\n|\\s\\s|$))`
const spelled = new RegExp(
  `(?<![\\p{L}\\p{M}\\p{N}])${letter}([.\\-_·])${letter}(?:\\1${letter})*(?![\\p{L}\\p{M}\\p{N}])|${spelledWithSpaces}`,
  'gu',
)
/** A text whose words are spelled: `f e v e r` with wider gaps between the words, or `f-e-v-e-r`. */
function joinSpelled(base: string, flowEnd: number): Layer | undefined {
  if (!mayBeSpelled(base) || !mayHaveSpelledWords(base)) return undefined
  const words = [...base.matchAll(spelled)]
  if (words.filter(([word]) => word.length >= shortestSpelled).length < leastSpelled) return undefined
  const builder = new ReadingBuilder(base, flowEnd)
  for (const { 0: word, 1: sign = ' ', index } of words)
    for (let at = word.indexOf(sign); at >= 0; at = word.indexOf(sign, at + 1)) {
      builder.copyTo(index + at, index + at + 1)
      builder.drop(index + at, index + at + 1)
    }
  return builder.reading()
}

/** A text with the words of each column of its tables behind it. */
function readColumns(base: string, flowEnd: number): Layer | undefined {
  const columns = wordColumnsIn(base)
  if (columns.length === 0) return undefined
  const builder = new ReadingBuilder(base, flowEnd)
  builder.isChanged = true
  for (const column of columns)
    builder.afterwards(() => {
      for (let at = 0; at < column.length; at += 2) {
        const [start = 0, end = 0] = [column[at], column[at + 1]]
        builder.copy(start, end)
        builder.markup(end, end, '\n')
      }
    })
  return builder.readingBeside()
}

/** A text with each part in which something is repeated behind it, without the repetitions. */
function withoutRefrains(base: string, flowEnd: number): Layer | undefined {
  const parts = repeatingPartsIn(base)
  if (parts.length === 0) return undefined
  const builder = new ReadingBuilder(base, flowEnd)
  builder.isChanged = true
  for (const { start, end, repeated } of parts)
    builder.afterwards(() => {
      let from = start
      for (const one of repeated) {
        builder.copy(from, one.start)
        builder.markup(one.start, one.end, ' ')
        from = one.end
      }
      builder.copy(from, end)
    })
  const found = builder.readingBeside()
  return found && { ...found, isGuessed: true }
}

/**
 * The layers of a decoded text, in the order in which they are applied. Each removes what a format puts between the words, such as line breaks
 * or time stamps, and returns undefined where there is nothing to remove. The result of each layer is searched, not only that of the last.
 */
export const readings = new Map<string, (base: string, flowEnd: number) => Layer | undefined>([
  ['folds', withoutFolds],
  ['columns', readColumns],
  ['tokens', joinTokens],
  ['changes', newVersion],
  ['formats', withoutFormats],
  ['prefixes', withoutPrefixes],
  ['lines twice', withoutDoubledLines],
  ['labels', withoutLabels],
  ['spelled words', joinSpelled],
  ['hyphens', hyphensOf],
  ['identifiers', splitIdentifiers],
  ['refrains', withoutRefrains],
])
