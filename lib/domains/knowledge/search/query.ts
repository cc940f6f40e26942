import { eachWord } from './words.ts'

/** Maximum words of a query; further words are ignored, so that no query is slow. */
const maxQueryWords = 24

/** One search term. */
export interface Term {
  /** As typed. */
  typed: string
  /** A PostgreSQL `tsquery` that finds the term. */
  query: string
  /** Words in the query that must all occur. */
  words: readonly string[]
  /** Alternative spelling: the compound without its parts. */
  beside: readonly string[]
  /** Whether the term is one word of Latin letters. Only for such words are similar ones suggested. */
  isPlain: boolean
}
export interface Query {
  terms: readonly Term[]
  /** Adjacent words typed as one (`"lock file"`, `package.json`), as a `tsquery` with distances; matches rank higher. */
  phrases: readonly string[]
}

/** Stop words of English, in the stemmed form of the index. */
const stopWords = new Set(
  'a about after all also am an and ani ar as at be becaus been but by can could did do doe for from get had ha have he her him hi how i if in into is it its let me my no not of on or our out she should so some than that the their them then there these thei thi to too up us wa we were what when where which while who whose whom whi why will with would you your s t d ll re ve don'.split(
    ' ',
  ),
)

export const isStopWord = (word: string): boolean => stopWords.has(word)

const lexeme = (word: string): string => `'${word}'`
const unitId = /\bkp:(?:trace|pattern|sop|skill):(?=[\w-])/g
const spaceless = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]/u
const chinese = new Intl.Segmenter('zh', { granularity: 'word' })

/** Particles that occur in every text. */
const particles = new Set('的了吗呢吧和与及在是の は が を に で と も'.replaceAll(' ', ''))

/** Splits at spaces. Chinese and Japanese are split into dictionary words, which need not be adjacent in a match. */
function* pieces(text: string): Iterable<string> {
  for (const piece of text.split(/\s+/)) {
    if (piece === '') continue
    if (!spaceless.test(piece)) {
      yield piece
      continue
    }
    // Consecutive single characters form a word that the dictionary lacks.
    let unknown = ''
    for (const { segment } of chinese.segment(piece)) {
      if (segment.length === 1 && spaceless.test(segment) && !particles.has(segment)) {
        unknown += segment
        continue
      }
      if (unknown !== '') yield unknown
      unknown = ''
      yield segment
    }
    if (unknown !== '') yield unknown
  }
}

interface Taken {
  /** The words of the query; each occupies one position of a phrase. */
  words: string[]
  /** Compounds and pairs, which share a position. */
  beside: string[]
  /** Offset within the piece. */
  start: number
  end: number
}
function taken(piece: string): Taken[] {
  const runs: Taken[] = []
  eachWord(piece, (word, start, end, step) => {
    const last = runs.at(-1)
    // The parts of `readFile` and the whole share one range of text; adjacent pairs of `构建` overlap.
    if (last && start < last.end) last.end = Math.max(last.end, end)
    else runs.push({ words: [], beside: [], start, end })
    const run = runs.at(-1)
    if (step === 1) run?.words.push(word)
    else run?.beside.push(word)
    if (run && spaceless.test(word)) run.end = Math.max(run.end, end)
  })
  return runs
}

function termOf(typed: string, { words, beside }: Taken): Term {
  if (spaceless.test(typed)) {
    // Pairs record which characters are adjacent; a word of one character has no pairs.
    const all = (beside.length > 0 ? beside : words).slice(0, maxQueryWords / 2)
    return { typed, query: all.map(lexeme).join(' & '), words: all, beside: [], isPlain: false }
  }
  const parts = words.map(lexeme).join(' & ')
  const [whole] = beside
  return {
    typed,
    query: whole === undefined ? parts : `(${lexeme(whole)} | (${parts}))`,
    words,
    beside,
    isPlain: words.length === 1 && /^[a-z]/.test(words[0] ?? ''),
  }
}

/** Parses a search text. The result has no terms if the text has no words. Wildcards and other symbols are ignored. */
export function parseQuery(text: string): Query {
  const terms = new Map<string, Term>()
  const phrases = new Set<string>()
  let words = 0
  const take = (stretch: string, isQuoted: boolean): void => {
    const sequence: string[] = []
    for (const piece of pieces(stretch)) {
      const runs = taken(piece)
      const own = runs.flatMap((run) => run.words)
      sequence.push(...own)
      if (own.length > 1 && !isQuoted && !spaceless.test(piece)) phrase(own)
      for (const run of runs) {
        const term = termOf(piece.slice(run.start, run.end), run)
        if (terms.has(term.query) || words + term.words.length > maxQueryWords) continue
        words += term.words.length
        terms.set(term.query, term)
      }
    }
    if (isQuoted && sequence.length > 1) phrase(sequence)
  }
  const phrase = (sequence: readonly string[]): void => {
    if (phrases.size < 4) phrases.add(sequence.slice(0, 8).map(lexeme).join(' <-> '))
  }
  text
    .normalize('NFC')
    .replace(unitId, '')
    .split(/["“”„]/)
    .forEach((stretch, at) => {
      take(stretch, at % 2 === 1)
    })
  const all = [...terms.values()]
  const distinctive = all.filter(({ words: own }) => own.some((word) => !stopWords.has(word) && !particles.has(word)))
  return { terms: distinctive.length > 0 ? distinctive : all, phrases: [...phrases] }
}
