import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import { preferIndexes } from '#lib/stores/postgres/personal-tables.ts'
import { viewsOf } from '#lib/text/views.ts'
import { endOfRun, tokenize } from '#lib/text/words.ts'
import { mergeSpans, occurrences } from './fingerprints.ts'
import { remainingTexts } from './remaining-texts.ts'
import { namesElsewhere, textsElsewhere } from './repository.ts'

/** Maximum number of patterns in one statement. */
const perStatement = 50
/** Above one of these numbers of patterns, for the words of one text or of all texts together, all texts of other projects are read. */
const maxPatterns = 5_000
const maxAsked = 20_000
/**
 * At most this many characters are read: an erasure does it within its transaction. Each text counts as some hundred characters more, and each
 * project as some thousand, for the statements.
 */
const maxCharacters = 200_000_000
const perText = 200
const perProject = 2_000
/** For how long pages of one erasure use what the first of them read, in milliseconds. */
const freshFor = 10 * 60_000
/** Projects that one query lists. */
const projectsAtOnce = 1_000
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
const isShort = (text: string): boolean => tokenize(text).length <= maxNameWords
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
  /** The erased words, if `runsIn` finds these and no others: then all pages of an erasure read the texts of other projects once. */
  words?: ErasedWords
  /** Called when words could not be compared with the texts of other authors, because there are too many. */
  onUncompared?: (() => void) | undefined
  limits?: { patterns?: number; asked?: number; characters?: number }
}
/** What was read of all texts of persons in other projects. */
interface AllRead {
  runs: ReadonlySet<number>
  /** False: they are too long to be read completely. */
  isComplete: boolean
  at: Date
}
const readBefore = new WeakMap<ErasedWords, Map<string, AllRead>>()
/**
 * What living authors of other projects wrote. Another person's message explains its own words in every project, so that data without an
 * owner is not erased because the erased person wrote an equal sentence. Queries only for words that matched.
 */
export interface LivingAuthors {
  /**
   * Of these matches in a text, the runs that such an author also wrote, those that only files have (their copies in other projects are not
   * read, and an application has files that nobody sent), and those that could not be sought because there are too many. A complete reading
   * counts the words that remain for this reason.
   */
  explained(text: string, matches: readonly ErasedRunMatch[]): Promise<Set<number>>
  /** Whether such an author wrote six consecutive words of a text. */
  haveWritten(text: string): Promise<boolean>
}

/** A part of a text, with the runs in it. */
interface Piece {
  text: string
  runs: readonly number[]
}

export function livingAuthors(options: LivingAuthorsOptions): LivingAuthors {
  const { within, projects, now, erasedIds, runsIn, words, onUncompared, limits = {} } = options
  const { patterns: most = maxPatterns, asked: mostAsked = maxAsked, characters: longest = maxCharacters } = limits
  const known = new Map<number, boolean>()
  let asked = 0
  let all: AllRead | undefined
  const mayAsk = (count: number): boolean => count <= most && asked + count <= mostAsked
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
  /** Searches for pieces of a text and notes their runs and those in the found texts. */
  async function read(pieces: readonly Piece[]): Promise<void> {
    // Different words may have one pattern.
    const sought = [...Map.groupBy(pieces, ({ text }) => patternOf(text))].filter(([pattern]) => pattern !== '')
    const isUnknown = ({ runs }: Piece) => runs.some((run) => !known.get(run))
    for (let rest = sought; rest.length > 0; ) {
      const some = rest.slice(0, perStatement)
      asked += some.length
      for (const { n, text } of await textsWith(some.map(([pattern]) => pattern))) {
        for (const { run } of runsIn(text)) known.set(run, true)
        // The pattern matches texts with other words too.
        for (const piece of some[n]?.[1].filter(isUnknown) ?? [])
          if (occurrences(text, unescaped(piece.text)).length > 0) for (const run of piece.runs) known.set(run, true)
      }
      // A found text usually has the following runs too.
      rest = rest.slice(perStatement).filter(([, all]) => all.some(isUnknown))
    }
  }
  /** The runs in all texts of persons in other projects, up to the limit. */
  async function everyText(): Promise<AllRead> {
    const runs = new Set<number>()
    let left = longest
    for (let after = ''; ; ) {
      const page = await within((tx) =>
        tx.project.findMany({
          where: { id: { gt: after, notIn: [...projects] } },
          orderBy: { id: 'asc' },
          take: projectsAtOnce,
          select: { id: true },
        }),
      )
      for (const { id } of page) {
        left -= perProject
        await within(async (tx) => {
          for await (const { isByPerson, texts } of remainingTexts(tx, id, now, erasedIds)) {
            for (const text of texts) left -= text.length + perText
            if (left < 0) return
            if (isByPerson) for (const text of texts) for (const { run } of runsIn(text)) runs.add(run)
          }
        })
        if (left < 0) return { runs, isComplete: false, at: now }
      }
      const last = page.at(-1)
      if (!last) return { runs, isComplete: true, at: now }
      after = last.id
    }
  }
  /** Reads all texts, at most once. If they were read completely, only names are unknown afterwards. */
  async function readAll(): Promise<AllRead> {
    if (all) return all
    const shared = words && (readBefore.get(words) ?? new Map<string, AllRead>())
    const place = JSON.stringify([[...projects].sort(), [...erasedIds].sort()])
    const before = shared?.get(place)
    all = before && now.getTime() - before.at.getTime() < freshFor ? before : await everyText()
    if (words && shared) readBefore.set(words, shared.set(place, all))
    for (const run of all.runs) known.set(run, true)
    return all
  }
  /** Seeks the authors of matches that are not known. Returns the runs that could not be sought. */
  async function seek(text: string, unknown: readonly ErasedRunMatch[]): Promise<Set<number>> {
    const left = () => unknown.filter(({ run }) => !known.has(run))
    const pieces = () => left().map((one) => ({ text: decodedPart(text, one), runs: [one.run] }))
    const isAllRead = all?.isComplete === true
    const spans = isAllRead ? [] : mergeSpans(unknown)
    // Usually an author wrote the complete sentence or nothing of it.
    if (mayAsk(spans.length))
      await read(
        spans.map((span) => ({
          text: decodedPart(text, span),
          runs: unknown.flatMap((one) => (one.start >= span.start && one.end <= span.end ? [one.run] : [])),
        })),
      )
    // Words that nobody looked for must not count as words that nobody else wrote.
    const unsought = new Set<number>()
    if (!isAllRead && mayAsk(new Set(left().map(({ run }) => run)).size)) await read(pieces())
    else {
      const { isComplete } = await readAll()
      // Names are asked by their patterns in any case: participants have them too.
      const short = [...new Map(pieces().flatMap((one) => (isShort(one.text) ? [[one.runs[0], one]] : []))).values()]
      const sought = short.slice(0, most)
      await read(sought)
      const isSought = new Set(sought.flatMap(({ runs }) => runs))
      const isOpen = new Set((isComplete ? short.slice(most) : pieces()).flatMap(({ runs }) => runs))
      for (const { run } of left()) if (isOpen.has(run) && !isSought.has(run)) unsought.add(run)
    }
    for (const { run } of left()) if (!unsought.has(run)) known.set(run, false)
    return unsought
  }
  return {
    async explained(text, given) {
      const [ofFiles, matches] = [given.filter(({ isOfFile }) => isOfFile), given.filter(({ isOfFile }) => !isOfFile)]
      const unknown = matches.filter(({ run }) => !known.has(run))
      const unsought = unknown.length > 0 ? await seek(text, unknown) : new Set<number>()
      if (unsought.size > 0) onUncompared?.()
      const theirs = matches.flatMap(({ run }) => (known.get(run) || unsought.has(run) ? [run] : []))
      return new Set([...ofFiles.map(({ run }) => run), ...theirs])
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
