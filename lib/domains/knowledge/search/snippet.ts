import type { Term } from './query.ts'
import type { WeightedText } from './words.ts'
import { eachWord, searchWordsOf } from './words.ts'

export interface Snippet {
  text: string
  /** UTF-16 offsets into the text, in order, without overlaps. */
  highlights: { start: number; end: number }[]
}

/** Maximum characters of a snippet. */
const longest = 240
/** Characters of a snippet before its first match. */
const before = 60
/** Characters of a text searched at once, and of all texts in total. */
const [pieceSize, maxSearched] = [4_000, 96_000]

/**
 * Returns the section that contains the most terms, searching the most important texts first. The work is bounded: only the beginning of a
 * very long text is searched. Returns undefined if nothing matches; the text's beginning then serves as a snippet.
 */
export function snippetOf(texts: readonly WeightedText[], terms: readonly Term[]): Snippet {
  const wanted = new Map<string, number>()
  terms.forEach((term, n) => {
    for (const word of [...term.words, ...term.beside]) wanted.set(word, n)
  })
  let best: { text: string; marks: Mark[]; found: number } | undefined
  let searched = 0
  for (const { text } of texts) {
    for (let from = 0; from < text.length && searched < maxSearched; from += pieceSize) {
      const piece = text.slice(from, from + pieceSize)
      searched += piece.length
      const marks: Mark[] = []
      eachWord(piece, (word, start, end) => {
        const term = wanted.get(word)
        if (term !== undefined) marks.push({ start, end, term })
      })
      const stretch = densest(marks)
      if (stretch && stretch.found > (best?.found ?? 0)) best = { text: piece, ...stretch }
      if (best?.found === terms.length) return cut(best.text, best.marks)
    }
    if (searched >= maxSearched) break
  }
  return best ? cut(best.text, best.marks) : cut(texts[0]?.text.slice(0, longest + 1) ?? '', [])
}

interface Mark {
  start: number
  end: number
  term: number
}

/** The matches within one snippet's length that cover the most terms; the first of equals. */
function densest(marks: readonly Mark[]): { marks: Mark[]; found: number } | undefined {
  let best: { marks: Mark[]; found: number } | undefined
  const counts = new Map<number, number>()
  let last = 0
  for (let first = 0; first < marks.length; first++) {
    const start = marks[first]?.start ?? 0
    for (; last < marks.length && (marks[last]?.end ?? 0) - start <= longest - before; last++) {
      const term = marks[last]?.term ?? 0
      counts.set(term, (counts.get(term) ?? 0) + 1)
    }
    if (counts.size > (best?.found ?? 0)) best = { marks: marks.slice(first, last), found: counts.size }
    const deleted = marks[first]?.term ?? 0
    const left = (counts.get(deleted) ?? 0) - 1
    if (left > 0) counts.set(deleted, left)
    else counts.delete(deleted)
    if (last <= first) last = first + 1
  }
  return best
}

const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** Cuts at a nearby space if there is one, never within a character or a match. */
function cut(text: string, marks: readonly Mark[]): Snippet {
  const first = marks[0]?.start ?? 0
  let start = Math.max(0, first - before)
  const space = start === 0 ? -1 : text.slice(start, first).search(/\s/)
  if (space >= 0) start += space + 1
  if (isLow(text.charCodeAt(start))) start++
  let end = Math.min(text.length, start + longest)
  const lastMark = marks.at(-1)?.end ?? start
  const lastSpace = end === text.length ? -1 : text.lastIndexOf(' ', end)
  if (lastSpace > Math.max(lastMark, start + longest / 2)) end = lastSpace
  if (end < text.length && isLow(text.charCodeAt(end))) end--
  const highlights: Snippet['highlights'] = []
  for (const mark of marks) {
    if (mark.end > end) continue
    const last = highlights.at(-1)
    if (last && mark.start - start <= last.end) last.end = Math.max(last.end, mark.end - start)
    else highlights.push({ start: mark.start - start, end: mark.end - start })
  }
  return { text: text.slice(start, end), highlights }
}

/** Returns the word as spelled in a snippet, or unchanged if none contains it. */
export function spelling(word: string, snippets: readonly Snippet[]): string {
  for (const { text, highlights } of snippets)
    for (const { start, end } of highlights) {
      const shown = text.slice(start, end)
      if (searchWordsOf(shown).includes(word)) return shown
    }
  return word
}
