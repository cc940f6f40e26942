import { eachWord } from './words.ts'

/** Words of a query that count; what follows is left out, so that no query is slow. */
const mostQueryWords = 24

/** One thing that is asked for. */
export interface Term {
  /** As it was typed. */
  typed: string
  /** `tsquery` that finds it. */
  query: string
  /** The words in it that all must be there. */
  words: readonly string[]
  /** What else it is written as: the whole of its parts. */
  beside: readonly string[]
  /** Latin letters and no parts: what a typing error may have changed. */
  isPlain: boolean
}
export interface Query {
  terms: readonly Term[]
  /** Neighbours that were typed as one (`"lock file"`, `package.json`), as a `tsquery` with distances; better where they are so. */
  phrases: readonly string[]
}

/** So frequent in English that they tell nothing, in the form that the index has. */
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

/** Particles: they stand in every text. */
const particles = new Set('的了吗呢吧和与及在是の は が を に で と も'.replaceAll(' ', ''))

/** Pieces without spaces; of Chinese and Japanese the words that a dictionary finds, so that they need not be neighbours. */
function* pieces(text: string): Iterable<string> {
  for (const piece of text.split(/\s+/)) {
    if (piece === '') continue
    if (!spaceless.test(piece)) {
      yield piece
      continue
    }
    // Characters that the dictionary leaves alone are a word that it does not know.
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
  /** Those that take a place each. */
  words: string[]
  /** Wholes and pairs, which share a place. */
  beside: string[]
  /** Where it stands in its piece. */
  start: number
  end: number
}
function taken(piece: string): Taken[] {
  const runs: Taken[] = []
  eachWord(piece, (word, start, end, step) => {
    const last = runs.at(-1)
    // The parts of `readFile` have one stretch of text, and so does the whole; neighbours of `构建` overlap.
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
    // Pairs say which characters are neighbours; a single character is all there is of a word of one.
    const all = (beside.length > 0 ? beside : words).slice(0, mostQueryWords / 2)
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

/** What a person typed, as what is looked for; no terms where it holds no word. Wildcards and other signs are passed over. */
export function queryOf(text: string): Query {
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
        if (terms.has(term.query) || words + term.words.length > mostQueryWords) continue
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
  const telling = all.filter(({ words: own }) => own.some((word) => !stopWords.has(word) && !particles.has(word)))
  return { terms: telling.length > 0 ? telling : all, phrases: [...phrases] }
}
