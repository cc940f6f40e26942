import { memoize } from '#lib/kernel/concurrency.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { leavesTogether, type PieceSpan, runsAcross, type StringLeaf, withoutSpans } from '#lib/stores/virtual-texts.ts'
import { technical } from '#lib/text/json.ts'
import { erasedKey } from '#lib/text/layer.ts'
import { areInKeys, editText, readerText } from '#lib/text/views.ts'
import { tokenize } from '#lib/text/words.ts'
import { besides, cutFrom, decideDerivedText } from '../words/derived-text.ts'
import { mergeSpans, occurrences, type TextSpan } from '../words/fingerprints.ts'
import { type LivingAuthorsOptions, livingAuthors } from '../words/living-authors.ts'
import {
  distinctiveTextsIn,
  type FoundText,
  formsOf,
  isDistinctive,
  maxCharacters,
  remainingRecords,
  remainingRecordsElsewhere,
  remainingTexts,
  remainingTextsIn,
} from '../words/remaining-texts.ts'
import { namesOfProject } from '../words/repository.ts'
import { isContact } from '../words/run-words.ts'
import { isOfOthers, type Ownership, type Readable } from './readable.ts'
import {
  areExplained,
  explainedTexts,
  foldedText,
  idsToRead,
  type LivingRecord,
  recordsOf,
  sharedRecordsOf,
  withoutErasedRecords,
} from './shared-records.ts'

/** The sources of a value that pointers of an erased source name. */
export interface Naming {
  /** Texts of the erased sources whose pointers name the value. */
  named: readonly string[]
  /** Texts of the remaining sources whose pointers name the value. */
  remaining: readonly string[]
}
/** The erased ids for which a value is searched. */
export interface SoughtIds {
  erased: ReadonlySet<string>
  /** Whether a text contains one of them. */
  namesErased(text: string): boolean
}
export type ValueDecision = { decision: 'untouched' | 'retained' | 'deleted' } | { decision: 'cut'; text: string }

/** Called only for a value that contains erased words. By default, the value belongs to the erasing projects. */
type OwnershipOf = () => Promise<Ownership>

/** A part of a value whose strings are read together with those of other parts: an item of a list, a field, a line. */
export class ValuePart {
  readonly n: number
  value: unknown
  constructor(n: number, value: unknown) {
    this.n = n
    this.value = value
  }
}

/** A JSON value, or the text. */
export function parsedValue(text: string): unknown {
  if (!/^\s*[[{"]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
/** The lines of NDJSON, or the complete JSON value; undefined for other texts. */
function jsonParts(text: string): ValuePart[] | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  const whole = parsedValue(text)
  if (typeof whole !== 'string') return [new ValuePart(0, whole)]
  const lines = text.split('\n')
  const parts = lines.map((line, n) => new ValuePart(n, line.trim() === '' ? '' : parsedValue(line)))
  const isLines = parts.every(({ value }, n) => typeof value !== 'string' || lines[n]?.trim() === '')
  return isLines && parts.length > 1 ? parts : undefined
}
const textOfParts = (parts: readonly ValuePart[]): string =>
  parts.map(({ value }) => (value === '' ? '' : JSON.stringify(value))).join('\n')

type PartLeaf = StringLeaf<number>
function children(value: unknown, owner: number) {
  if (value instanceof ValuePart) return { children: [['value', value.value] as [string, unknown]], owner: value.n }
  if (Array.isArray(value)) return { children: value.map((item, at): [number, unknown] => [at, item]), owner }
  return typeof value === 'object' && value !== null ? { children: Object.entries(value), owner } : undefined
}
const partLeaves = (parts: readonly ValuePart[]) => leavesTogether(parts, -1, children)

/** Removes the spans from the strings. Returns the numbers of the changed parts. */
export function cutLeaves(spans: ReadonlyMap<PartLeaf, readonly PieceSpan[]>): Set<number> {
  const changed = new Set<number>()
  const removed = new Map<unknown[], Set<number>>()
  for (const [{ container, key, text, owner }, cuts] of spans) {
    const cut = withoutSpans(text, cuts)
    const rest = /[\p{L}\p{N}]/u.test(cut) ? cut : ''
    changed.add(owner)
    if (Array.isArray(container) && typeof key === 'number') {
      if (rest === '') removed.set(container, (removed.get(container) ?? new Set()).add(key))
      else container[key] = rest
    } else Reflect.set(container, key, rest)
  }
  for (const [list, positions] of removed)
    for (const at of [...positions].sort((one, other) => other - one)) list.splice(at, 1)
  return changed
}

export interface ValueDecider {
  /**
   * In a value that does not belong to the erasing projects, the texts of every living author explain words. If the value names somebody
   * else, it is only deleted if nothing but erased words would remain.
   */
  decide(value: Readable, naming?: Naming, ownership?: OwnershipOf): Promise<ValueDecision>
  /** Whether a value contains erased words that no remaining text explains. */
  hasErasedWords(value: Readable, ownership?: OwnershipOf): Promise<boolean>
  /**
   * A name of a field without names and addresses of the erased person, never empty. Undefined if it contains other erased words: its value
   * is derived from them.
   */
  withoutNames(name: string, ownership?: OwnershipOf): Promise<string | undefined>
  /** The parts of strings in which words stand that no single string contains. The strings of all parts are read together. */
  acrossParts(parts: readonly ValuePart[], ownership?: OwnershipOf): Promise<Map<StringLeaf<number>, PieceSpan[]>>
  /**
   * A value without the records of erased ids, and without erased words in the other records. Undefined if anything in it may derive from
   * what is erased, or if no message or document of somebody else would remain.
   */
  withoutRecords(value: Readable, sought: SoughtIds, ownership?: OwnershipOf): Promise<string | undefined>
  /** Whether a value contains the complete text of a remaining message or document, other than by chance. */
  hasRemainingText(value: Readable): Promise<boolean>
}

const hasWords = (text: string): boolean => /[\p{L}\p{N}]/u.test(text)
const folded = (text: string): string =>
  ` ${tokenize(text)
    .map(({ word }) => word)
    .join(' ')} `

/** A string in a JSON text, decoded. */
interface Leaf {
  text: string
  /** Offset of the literal in the JSON text, including its quotes. */
  start: number
  end: number
  isKey: boolean
  /** The property that has this value. */
  property: string
}
const deepest = 3

/** Whether a text is one JSON value or NDJSON. */
export function isJson(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false
  const parses = (one: string) => {
    try {
      JSON.parse(one)
      return true
    } catch {
      return false
    }
  }
  return parses(text) || text.split('\n').every((line) => line.trim() === '' || parses(line))
}

function leavesOf(text: string): Leaf[] {
  const leaves: Leaf[] = []
  let property = ''
  for (const { index, 0: literal } of text.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
    const end = index + literal.length
    const isKey = /^\s*:/.test(text.slice(end, end + 64))
    const decoded = String(JSON.parse(literal))
    if (isKey) property = decoded
    leaves.push({ text: decoded, start: index, end, isKey, property: isKey ? '' : property })
  }
  return leaves
}

/** The decoded strings of a JSON text, including strings nested in JSON strings. For plain text, the text. */
export function stringsOf(text: string, depth = 0): { text: string; isKey: boolean; isTechnical: boolean }[] {
  if (depth >= deepest || !isJson(text)) return [{ text, isKey: false, isTechnical: false }]
  return leavesOf(text).flatMap(({ text: one, isKey, property }) =>
    isKey
      ? [{ text: one, isKey, isTechnical: true }]
      : stringsOf(one, depth + 1).map((inner) => ({
          ...inner,
          isTechnical: inner.isTechnical || technical.test(property),
        })),
  )
}

/** Rounds after which words that remain in a cut text are given up. */
const maxRounds = 4

/**
 * Removes the spans that `spansOf` returns for a text, in whatever encoding they were found, and searches the result again. Null if nothing
 * that people wrote would remain, if words remain, or if the name of a property contains spans of `sourcesOf`: its value is derived from them.
 */
export function cutStrings(
  text: string,
  spansOf: (one: string) => TextSpan[],
  sourcesOf: (one: string) => TextSpan[] = spansOf,
): string | null {
  let rest = text
  for (let round = 0; round < maxRounds; round++) {
    const spans = spansOf(rest)
    if (spans.length === 0) return rest
    const cut = cutFrom(rest, spans, sourcesOf(rest))
    if (cut === null) return null
    rest = cut
  }
  return spansOf(rest).length === 0 ? rest : null
}

/** The strings of a text that people wrote, without technical ones. */
const spokenOf = (strings: ReturnType<typeof stringsOf>): string =>
  strings.flatMap(({ text, isTechnical }) => (isTechnical ? [] : [text])).join('\n')

/** Erased words and names in a text. */
const matchesOf = (words: ErasedWords, text: string): ErasedRunMatch[] =>
  words.isEmpty ? [] : [...words.runsIn(text), ...words.namesIn(text)]

interface ValueDeciderOptions {
  /** Runs a function in the transaction that reads remaining texts. */
  within: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>
  /** The projects whose remaining messages and documents explain words. */
  projects: readonly string[]
  now: Date
  /** Ids that count as erased. */
  erasedIds?: ReadonlySet<string>
  onUncompared?: LivingAuthorsOptions['onUncompared']
}

const lengthOf = ({ texts }: LivingRecord): number => texts.reduce((sum, { length }) => sum + length, 0)

/** The texts of the projects that remain. */
function remainingReader(
  words: ErasedWords,
  matches: (text: string) => ErasedRunMatch[],
  { within, projects, now, erasedIds = new Set(), onUncompared }: ValueDeciderOptions,
) {
  /** Messages and documents by their ids. Values of a run name the same ones, and each may be much longer than the value. */
  const known = new Map<string, LivingRecord>()
  let knownLength = 0
  /** Ids of which the texts together are too long. */
  const tooLong: ReadonlySet<string>[] = []
  return {
    /** Runs of erased words that remaining texts also contain. */
    explained: memoize(() =>
      within(async (tx) => {
        const runs = new Set<number>()
        for (const project of projects)
          for await (const { isByPerson, texts } of remainingTexts(tx, project, now, erasedIds))
            if (isByPerson) for (const text of texts) for (const { run } of matches(text)) runs.add(run)
        return runs
      }),
    ),
    /** At most {@link maxFound} texts of each project. */
    textsIn: (text: string): Promise<FoundText[]> =>
      within(async (tx) => {
        const found: FoundText[] = []
        for (const project of projects)
          found.push(...longestFirst(await remainingTextsIn(tx, project, text, now, erasedIds)).slice(0, maxFound))
        return found
      }),
    /** Texts that may show that others wrote a text: distinctive ones, or short ones if there are no others. */
    theirsIn: (text: string): Promise<FoundText[]> =>
      within(async (tx) => {
        const found: FoundText[] = []
        for (const project of projects) found.push(...(await distinctiveTextsIn(tx, project, text, now, erasedIds)))
        return found
      }),
    /** Undefined if their texts are too long to be compared. */
    async records(ids: readonly string[]): Promise<Map<string, LivingRecord> | undefined> {
      const found = new Map<string, LivingRecord>()
      let length = 0
      const add = (id: string, record: LivingRecord | undefined) => {
        if (!record || found.has(id)) return
        found.set(id, record)
        length += lengthOf(record)
      }
      for (const id of ids) add(id, known.get(id))
      const missing = ids.filter((id) => !found.has(id))
      if (missing.length === 0 || length > maxCharacters) return length > maxCharacters ? undefined : found
      const asked = new Set(missing)
      if (tooLong.some((one) => one.isSubsetOf(asked))) return undefined
      const read = await within(async (tx) => {
        const all = new Map<string, LivingRecord>()
        for (const project of projects) {
          const records = await remainingRecords(tx, project, missing, now, erasedIds)
          if (!records) return undefined
          for (const [id, record] of records) all.set(id, record)
        }
        // A list may contain messages of several projects. Those of living authors are not erased with one of them.
        const others = missing.filter((id) => !all.has(id))
        const elsewhere = await remainingRecordsElsewhere(tx, projects, others, now, erasedIds)
        if (!elsewhere) return undefined
        for (const [id, record] of elsewhere) all.set(id, record)
        return all
      })
      if (!read) {
        tooLong.unshift(asked)
        tooLong.length = Math.min(tooLong.length, maxTooLong)
        return undefined
      }
      const before = length
      for (const id of missing) add(id, read.get(id))
      if (knownLength + length - before > maxCharacters) {
        known.clear()
        knownLength = 0
      }
      knownLength += length - before
      for (const id of missing) {
        const record = read.get(id)
        if (record) known.set(id, record)
      }
      return length > maxCharacters ? undefined : found
    },
    /** The words in the names of people in the projects. */
    names: memoize(() =>
      within(async (tx) => {
        const found = new Set<string>()
        for (const project of projects)
          for (const { name } of await namesOfProject(tx, { project, now }))
            for (const { word } of tokenize(name)) found.add(word)
        return found
      }),
    ),
    living: livingAuthors({ within, projects, now, erasedIds, runsIn: matches, words, onUncompared }),
  }
}

/** At most this many values whose messages are too long are remembered. */
const maxTooLong = 20
/** At most this many texts of one project explain words of a value. */
const maxFound = 50
/** Short texts occur in many values, so they must not displace a long one. */
const longestFirst = (found: readonly FoundText[]): FoundText[] =>
  found.length <= maxFound ? [...found] : found.toSorted((one, other) => other.text.length - one.text.length)
const personsOf = (found: readonly FoundText[]): string[] =>
  found.flatMap(({ text, isByPerson }) => (isByPerson ? [text] : []))

/** A time of day in brackets before a statement, and labels that name nobody. */
const timeOfLine = /^[ \t]*\[[\d\s:.,TZ/+-]{0,24}\d:\d\d[\d\s:.,TZ/+-]{0,12}\]/gm
const roles = new Set(['user', 'assistant', 'human', 'ai', 'agent', 'customer', 'bot', '用户', '助手', '客户', '客服'])
/**
 * Whether remaining texts are in a value other than by chance. A short one, such as `ok`, is in many texts: then such texts and the names of
 * people in the project must be everything that the value says. `names`: their words.
 */
async function areTheirs(
  spoken: string,
  found: readonly Pick<FoundText, 'text'>[],
  names: () => Promise<ReadonlySet<string>>,
): Promise<boolean> {
  if (found.some(({ text }) => isDistinctive(text))) return true
  if (found.length === 0) return false
  const text = readerText(spoken).replace(timeOfLine, '')
  const spans = mergeSpans(found.flatMap((one) => occurrences(text, one.text)))
  let next = 0
  const rest = tokenize(text).flatMap(({ word, start, end }) => {
    while ((spans[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next++
    const span = spans[next]
    return (span !== undefined && span.start <= start && end <= span.end) || roles.has(word) ? [] : [word]
  })
  if (rest.length === 0) return true
  const known = await names()
  return rest.every((word) => known.has(word))
}

interface TextMatches {
  text: string
  found: ErasedRunMatch[]
}
const ofProjects: OwnershipOf = async () => 'own'

/**
 * Decides about values of caches and objects by their words, as `decideDerivedText` does for texts. Values may be JSON, compressed or
 * binary. Only text is cut.
 */
export function valueDecider(words: ErasedWords, options: ValueDeciderOptions): ValueDecider {
  const matches = (text: string) => matchesOf(words, text)
  const remaining = remainingReader(words, matches, options)
  /** Searches the text and its strings: a run may span several strings of a JSON text. */
  const matchesIn = (text: string, strings: readonly { text: string }[]): TextMatches[] =>
    [...(strings.length === 1 && strings[0]?.text === text ? [] : strings), { text }].flatMap((one) => {
      const found = matches(one.text)
      return found.length > 0 ? [{ text: one.text, found }] : []
    })
  /** Also searches the strings of a JSON text together. */
  const allMatchesIn = (text: string, strings: readonly { text: string }[]): TextMatches[] => {
    const parts = jsonParts(text)
    return [...matchesIn(text, strings), ...(parts ? matchesAcross(parts) : [])]
  }
  /** The runs that remaining texts explain: those of the projects, or of every living author. */
  async function explainedIn(all: readonly TextMatches[], ownership: Ownership): Promise<ReadonlySet<number>> {
    if (all.length === 0) return new Set()
    const runs = new Set(await remaining.explained())
    // A name in a place of somebody else may be somebody else's.
    if (isOfOthers(ownership))
      for (const { text } of all) for (const name of words.namesIn(text)) if (!isContact(text, name)) runs.add(name.run)
    if (ownership !== 'own')
      for (const { text, found } of all) {
        const unknown = found.filter(({ run }) => !runs.has(run))
        if (unknown.length > 0) for (const run of await remaining.living.explained(text, unknown)) runs.add(run)
      }
    // Two remaining texts of persons that follow one another contain a run together.
    const apart = new Set<number>()
    const together = new Set<number>()
    for (const { text, found } of all) {
      const unknown = found.filter(({ run }) => !runs.has(run))
      if (unknown.length === 0) continue
      const named = new Set(words.namesIn(text).map(({ run }) => run))
      const theirs = personsOf(await remaining.textsIn(text)).flatMap((one) => occurrences(text, one))
      for (const match of unknown) {
        const isTogether = !named.has(match.run) && besides(text, [match], theirs).length === 0
        if (isTogether) together.add(match.run)
        else apart.add(match.run)
      }
    }
    return runs.union(together.difference(apart))
  }
  /** Matches that span several strings of these parts. */
  const matchesAcross = (parts: readonly ValuePart[]): TextMatches[] =>
    [...partLeaves(parts)].flatMap(({ leaves, glues }) =>
      glues.flatMap((glue) => {
        const across = runsAcross(
          leaves.map(({ text }) => text),
          matches,
          glue,
        )
        return across.matches.length > 0 ? [{ text: across.text, found: across.matches }] : []
      }),
    )
  /** The parts of strings with runs that span several strings and are not known. */
  function spansAcross(parts: readonly ValuePart[], known: ReadonlySet<number>): Map<StringLeaf<number>, PieceSpan[]> {
    const spans = new Map<StringLeaf<number>, PieceSpan[]>()
    for (const { leaves, glues } of partLeaves(parts))
      for (const glue of glues) {
        const texts = leaves.map(({ text }) => text)
        for (const [at, cuts] of runsAcross(texts, matches, glue, (run) => !known.has(run)).spans) {
          const leaf = leaves[at]
          if (leaf) spans.set(leaf, [...(spans.get(leaf) ?? []), ...cuts])
        }
      }
    return spans
  }
  /** A text without the unknown words that span several of its strings. */
  function withoutAcross(text: string, known: ReadonlySet<number>): string {
    const parts = jsonParts(text)
    if (!parts) return text
    const spans = spansAcross(parts, known)
    if (spans.size === 0) return text
    cutLeaves(spans)
    return textOfParts(parts)
  }
  /** Whether all unknown matches are names, not addresses, numbers or words. Other people's words may surround them. */
  const areNames = (all: readonly TextMatches[], known: ReadonlySet<number>): boolean =>
    all.every(({ text, found }) => {
      const names = new Set(words.namesIn(text).flatMap((name) => (isContact(text, name) ? [] : [name.run])))
      return found.every(({ run }) => known.has(run) || names.has(run))
    })
  /** Removes names and leaves the words around them, whose author is not known. A value that cannot be cut is deleted. */
  function decideByNames({ form, text }: Readable, spoken: string, known: ReadonlySet<number>): ValueDecision {
    const spansOf = (one: string): TextSpan[] => mergeSpans(matches(one).filter(({ run }) => !known.has(run)))
    // The value of a property with a name may be somebody else's.
    const ofNothing = () => []
    const spokenRest = cutStrings(spoken, spansOf, ofNothing)
    if (spokenRest === null || !hasWords(spokenRest)) return { decision: 'deleted' }
    if (form !== 'text') return { decision: 'deleted' }
    const cut = cutStrings(text, spansOf, ofNothing)
    const rest = cut === null ? null : withoutAcross(cut, known)
    const isClean = rest !== null && !unexplained(allMatchesIn(rest, stringsOf(rest)), known)
    return isClean ? { decision: 'cut', text: rest } : { decision: 'deleted' }
  }
  const unexplained = (all: readonly TextMatches[], known: ReadonlySet<number>): boolean =>
    all.some(({ found }) => found.some(({ run }) => !known.has(run)))

  /** Decides about a value with erased words, or with a complete text of an erased source (`named`). */
  async function decideByWords(
    { form, text }: Readable,
    spoken: string,
    naming: Naming | undefined,
    {
      named,
      known,
      hasErased,
      ownership,
    }: { named: readonly string[]; known: ReadonlySet<number>; hasErased: boolean; ownership: Ownership },
  ): Promise<ValueDecision> {
    let persons: readonly string[] = []
    const isUnknown = ({ run }: ErasedRunMatch): boolean => !known.has(run)
    const sourcesOf = (one: string): TextSpan[] =>
      mergeSpans([
        ...besides(
          one,
          words.runsIn(one).filter(isUnknown),
          persons.flatMap((sought) => occurrences(one, sought)),
        ),
        ...named.flatMap((sought) => occurrences(one, sought)),
      ])
    const spansOf = (one: string): TextSpan[] =>
      mergeSpans([...sourcesOf(one), ...words.namesIn(one).filter(isUnknown)])
    let mayBeTheirs = isOfOthers(ownership)
    if (hasErased) {
      // Without words of other authors, the remaining texts need not be read.
      const rest = cutStrings(spoken, spansOf, sourcesOf)
      if (rest === null || !hasWords(rest)) return { decision: 'deleted' }
      mayBeTheirs ||= ownership === 'nobody' && (await remaining.living.haveWritten(rest))
    }
    const found = await remaining.textsIn(spoken)
    persons = personsOf(found)
    const reported = (naming?.remaining ?? []).flatMap((one) => formsOf(one, words, ''))
    const others = [...reported, ...found.map((one) => one.text)]
    /** Only erased sources report the value: what remains of it must be somebody else's. */
    const isTheirsIn = async (rest: string): Promise<boolean> => {
      if (naming === undefined || naming.remaining.length > 0 || mayBeTheirs) return true
      const said = spokenOf(stringsOf(rest))
      // Texts of assistants lose the words that they quote, in the value and in the project.
      const cut = found.flatMap(({ text }) => {
        const spans = mergeSpans(words.runsIn(text).filter(isUnknown))
        const left = spans.length > 0 ? cutFrom(text, spans) : null
        return left !== null && occurrences(said, left).length > 0 ? [{ text: left }] : []
      })
      return areTheirs(said, [...cut, ...(await remaining.theirsIn(said))], remaining.names)
    }
    const decided = decideDerivedText(
      { text: spoken, isNamed: naming !== undefined, named, remaining: others, persons },
      { runsIn: matches },
      known,
    )
    if (areInKeys(text, sourcesOf(text))) return { decision: 'deleted' }
    // Remaining texts contain every word, so the value is theirs.
    if (decided.decision === 'retained') return (await isTheirsIn(text)) ? decided : { decision: 'deleted' }
    const cut = form === 'text' ? cutStrings(text, spansOf, sourcesOf) : null
    const rest = cut === null ? null : withoutAcross(cut, known)
    const isTheirs = async () =>
      mayBeTheirs || (rest !== null && (await remaining.textsIn(spokenOf(stringsOf(rest)))).length > 0)
    if (decided.decision !== 'cut' && !(hasErased && (await isTheirs())))
      return { decision: hasErased ? 'deleted' : decided.decision }
    if (form !== 'text') return { decision: 'deleted' }
    const isClean = rest !== null && !unexplained(allMatchesIn(rest, stringsOf(rest)), known)
    return rest !== null && isClean && (await isTheirsIn(rest))
      ? { decision: 'cut', text: rest }
      : { decision: 'deleted' }
  }

  const decide: ValueDecider['decide'] = async (value, naming, ownershipOf = ofProjects) => {
    const strings = stringsOf(value.text)
    const all = allMatchesIn(value.text, strings)
    if (all.length === 0 && !naming) return { decision: 'untouched' }
    const ownership = all.length > 0 ? await ownershipOf() : 'own'
    const known = await explainedIn(all, ownership)
    const hasWordsOfRun = unexplained(all, known)
    const folding = naming && naming.named.length > 0 ? folded(strings.map((one) => one.text).join('\n')) : ''
    // Another source of the value may have the same text: then the words are also that author's.
    const isAlsoTheirs = (one: string) => naming?.remaining.some((text) => folded(text).includes(folded(one))) === true
    const named = [...new Set(naming?.named ?? [])].filter(
      (one) => folded(one).trim() !== '' && folding.includes(folded(one)) && !isAlsoTheirs(one),
    )
    const hasErased = hasWordsOfRun || named.length > 0
    if (!hasErased && !naming) return { decision: 'retained' }
    if (value.form === 'binary') return { decision: hasWordsOfRun || naming ? 'deleted' : 'untouched' }
    if (!naming && areNames(all, known)) return decideByNames(value, spokenOf(strings), known)
    return decideByWords(value, spokenOf(strings), naming, { named, known, hasErased, ownership })
  }

  return {
    decide,
    async hasErasedWords({ text }, ownershipOf = ofProjects) {
      const all = allMatchesIn(text, stringsOf(text))
      return all.length > 0 && unexplained(all, await explainedIn(all, await ownershipOf()))
    },
    async withoutNames(name, ownershipOf = ofProjects) {
      const all = allMatchesIn(name, stringsOf(name))
      if (all.length === 0) return undefined
      const known = await explainedIn(all, await ownershipOf())
      const isOfNames = ({ text, found }: TextMatches) => {
        const names = new Set(words.namesIn(text).map(({ run }) => run))
        return found.every(({ run }) => known.has(run) || names.has(run))
      }
      if (!all.every(isOfNames)) return undefined
      const rest = editText(name, (one) => words.namesIn(one).filter(({ run }) => !known.has(run)))?.trim()
      return rest !== undefined && hasWords(rest) ? rest : erasedKey
    },
    async withoutRecords({ form, text }, sought, ownershipOf = ofProjects) {
      const shared = form === 'text' ? sharedRecordsOf(text) : undefined
      const ids = shared && idsToRead(shared, sought.erased)
      const living = ids && (await remaining.records(ids))
      const left = living && withoutErasedRecords(text, shared, { ...sought, living })
      if (!left) return undefined
      // A report that names the value says nothing about the rest, because the registry explains it.
      const decided = await decide({ form, text: left.text }, undefined, ownershipOf)
      if (decided.decision === 'deleted') return undefined
      if (decided.decision !== 'cut') return left.text
      const isTheirs = stringsOf(decided.text).some(
        ({ text: one }) => left.texts.has(foldedText(one)) && isDistinctive(one),
      )
      return isTheirs && !sought.namesErased(decided.text) ? decided.text : undefined
    },
    async acrossParts(parts, ownershipOf = ofProjects) {
      const all = matchesAcross(parts)
      if (all.length === 0) return new Map()
      return spansAcross(parts, await explainedIn(all, await ownershipOf()))
    },
    async hasRemainingText({ form, text }) {
      if (form === 'binary') return false
      // Records that name their messages need no comparison with every text of the project.
      const shared = form === 'text' ? recordsOf(text) : undefined
      const ids = shared && idsToRead(shared, new Set())
      const living = ids && (await remaining.records(ids))
      const texts = living && explainedTexts(shared, living)
      if (texts && (texts.values().some(isDistinctive) || areExplained(shared, living))) return true
      const spoken = spokenOf(stringsOf(text))
      return areTheirs(spoken, await remaining.theirsIn(spoken), remaining.names)
    },
  }
}

/** A {@link valueDecider} that reads remaining texts in the given transaction, or else in a transaction for each read. */
export const valueDeciderIn = (
  db: Database,
  tx: Transaction | undefined,
  words: ErasedWords,
  { projects, ...how }: Omit<ValueDeciderOptions, 'within' | 'projects'> & { projects: Iterable<string> },
): ValueDecider =>
  valueDecider(words, {
    ...how,
    within: (work) => (tx ? work(tx) : db.transaction(work)),
    projects: [...new Set(projects)],
  })

/** For values whose sources no longer exist: a value with another author's text and no erased words now belongs to that author. */
export const orphanedValueDecider = (wordDecider: ValueDecider): ValueDecider => ({
  ...wordDecider,
  async decide(value, naming, ownership) {
    const isTheirs =
      naming && !(await wordDecider.hasErasedWords(value, ownership)) && (await wordDecider.hasRemainingText(value))
    return isTheirs ? { decision: 'untouched' } : wordDecider.decide(value, naming, ownership)
  },
})
