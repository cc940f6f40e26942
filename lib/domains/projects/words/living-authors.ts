import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch } from '#lib/kernel/data-source.ts'
import { preferIndexes } from '#lib/stores/postgres/personal-tables.ts'
import { viewsOf } from '#lib/text/views.ts'
import { endOfRun, tokenize } from '#lib/text/words.ts'
import { mergeSpans, occurrences } from './fingerprints.ts'
import { namesElsewhere, textsElsewhere } from './repository.ts'

/** Maximum number of patterns in one statement. */
const perStatement = 50
/** Maximum number of patterns for the words of one text. The runs of a longer text are sampled. */
const maxPatterns = 500
/** Maximum number of texts for each pattern. One text that contains the run is enough. */
const maxTexts = 3

/** What may stand between two words: separators, tags, entities and escapes. */
const between = String.raw`(\W|_|<[^<>]*>|&#?\w{2,8};|%\w\w|\\[nrt])*`
const plain = /^[a-z0-9]$/i
const wide = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]$/u
const latin = /^\p{Script=Latin}$/u
const letter = /^\p{L}$/u
/** A letter in both cases, without its marks too, and with up to two marks after it. A database may fold such letters differently or not at all. */
function patternOfLetter(given: string): string {
  const cases = [given, given.toLowerCase(), given.toUpperCase(), given.toUpperCase().toLowerCase()]
  const finalSigma = cases.includes('\u03c3') ? ['\u03c2'] : []
  const forms = [...cases, ...finalSigma]
    .flatMap((one) => [one, one.normalize('NFD')])
    .map((one) => Array.from(one)[0] ?? '')
  return `[${[...new Set(forms)].join('')}].{0,2}`
}
/**
 * The found texts are compared word by word, so a pattern may match too much. It must not match any text, because a query returns few:
 * letters of Latin with marks match any characters, as Latin words have other letters.
 */
const patternOfWord = (word: string): string =>
  Array.from(word, (one) => {
    if (plain.test(one) || wide.test(one)) return one
    return letter.test(one) && !latin.test(one) ? patternOfLetter(one) : '.{0,3}'
  }).join('')
/** Maximum number of words in a pattern. A text that begins alike is compared completely. */
const maxWords = 30
/** Fewer words may be a name, which a participant of another project has too. */
const maxNameWords = 5
/** Matches no text. */
const nothing = '$.^'
const unescaped = (text: string): string => text.replace(/\\[bfnrt]/g, '  ')
/** A regular expression of PostgreSQL that finds the first words of a text, whatever separates them. */
const patternOf = (given: string): string => {
  const text = unescaped(given)
  return tokenize(text)
    .slice(0, maxWords)
    .map(({ start, end }) => patternOfWord(text.slice(start, end).normalize('NFKC')))
    .join(between)
}

/** Patterns of the first and of the last half of the words: a border between two parts of a document leaves one of them in one part. */
function halvesOf(pattern: string): { head: string; tail: string } {
  const words = pattern.split(between)
  if (words.length < 2) return { head: nothing, tail: nothing }
  const half = Math.ceil(words.length / 2)
  return { head: words.slice(0, half).join(between), tail: words.slice(-half).join(between) }
}

/** The texts of all runs within a text; the complete text if it is shorter than a run. */
function runTexts(text: string): string[] {
  const tokens = tokenize(text)
  const found: string[] = []
  for (let from = 0; from < tokens.length; from++) {
    const end = endOfRun(tokens, from)
    if (end === undefined) break
    found.push(text.slice(tokens[from]?.start, tokens[end - 1]?.end))
  }
  return found.length > 0 ? found : [text]
}

/** The words of a match, decoded. */
function decodedPart(text: string, { start, end, view }: Pick<ErasedRunMatch, 'start' | 'end' | 'view'>): string {
  const layer = view && viewsOf(text).layers[view.depth - 1]
  return layer ? layer.text.slice(view.start, view.end) : text.slice(start, end)
}

export interface LivingAuthorsOptions {
  within: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>
  /** The erasing projects. Their texts are read otherwise. */
  projects: readonly string[]
  now: Date
  /** Ids of messages, documents and participants that count as erased. */
  erasedIds: ReadonlySet<string>
  /** Erased runs and names in a text. */
  runsIn(text: string): readonly ErasedRunMatch[]
}
/**
 * What living authors of other projects wrote. Another person's message explains its own words in every project, so that data without an
 * owner is not erased because the erased person wrote an equal sentence. Queries only for words that matched.
 */
export interface LivingAuthors {
  /**
   * Of these matches in a text, the runs that such an author also wrote, and those that only files have: their copies in other projects are
   * not read, and an application has files that nobody sent.
   */
  explained(text: string, matches: readonly ErasedRunMatch[]): Promise<Set<number>>
  /** Whether such an author wrote six consecutive words of a text. */
  haveWritten(text: string): Promise<boolean>
}

export function livingAuthors({ within, projects, now, erasedIds, runsIn }: LivingAuthorsOptions): LivingAuthors {
  const known = new Map<number, boolean>()
  const textsWith = (patterns: readonly string[]): Promise<{ n: number; text: string }[]> =>
    within(async (tx) => {
      await preferIndexes(tx)
      const erased = [...erasedIds]
      const halves = patterns.map(halvesOf)
      const [heads, tails] = [halves.map(({ head }) => head), halves.map(({ tail }) => tail)]
      const found = await textsElsewhere(tx, { projects, erased, now, max: maxTexts, patterns, heads, tails })
      const short = patterns.map((one) => (one.split(between).length <= maxNameWords ? one : nothing))
      if (short.every((one) => one === nothing)) return found
      return [...found, ...(await namesElsewhere(tx, { projects, erased, max: maxTexts, patterns: short }))]
    })
  /** Searches for pieces of a text and notes their runs and those in the found texts. `runs`: the runs of each piece. */
  async function read(pieces: readonly { text: string; runs: readonly number[] }[]): Promise<void> {
    const sought = new Map(pieces.map((one) => [patternOf(one.text), one]))
    sought.delete('')
    const patterns = [...sought.keys()].slice(0, maxPatterns)
    for (let at = 0; at < patterns.length; at += perStatement) {
      const some = patterns.slice(at, at + perStatement)
      for (const { n, text } of await textsWith(some)) {
        for (const { run } of runsIn(text)) known.set(run, true)
        const piece = sought.get(some[n] ?? '')
        // The pattern matches texts with other words too.
        if (piece?.runs.some((run) => !known.get(run)) && occurrences(text, unescaped(piece.text)).length > 0)
          for (const run of piece.runs) known.set(run, true)
      }
    }
  }
  return {
    async explained(text, given) {
      const [ofFiles, matches] = [given.filter(({ isOfFile }) => isOfFile), given.filter(({ isOfFile }) => !isOfFile)]
      const unknown = matches.filter(({ run }) => !known.has(run))
      const spans = mergeSpans(unknown)
      if (spans.length > 0) {
        // Usually an author wrote the complete sentence or nothing of it.
        await read(
          spans.map((span) => ({
            text: decodedPart(text, span),
            runs: unknown.flatMap((one) => (one.start >= span.start && one.end <= span.end ? [one.run] : [])),
          })),
        )
        const rest = unknown.filter(({ run }) => !known.has(run))
        await read(rest.map((one) => ({ text: decodedPart(text, one), runs: [one.run] })))
        for (const { run } of unknown) if (!known.has(run)) known.set(run, false)
      }
      return new Set([...ofFiles.map(({ run }) => run), ...matches.flatMap(({ run }) => (known.get(run) ? [run] : []))])
    },
    async haveWritten(text) {
      const runs = runTexts(text)
      const step = Math.max(1, Math.ceil(runs.length / perStatement))
      const sampled = runs.filter((_, at) => at % step === 0)
      if (tokenize(text).length <= 2) return false
      const found = await textsWith(sampled.map(patternOf))
      return found.some((one) => occurrences(one.text, unescaped(sampled[one.n] ?? '')).length > 0)
    },
  }
}
