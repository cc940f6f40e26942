import { randomBytes } from 'node:crypto'
import type { ErasedWords } from '#lib/kernel/data-source.ts'
import { crossesBorder, isScattered } from '#lib/text/borders.ts'
import type { FoundSpan } from '#lib/text/layer.ts'
import { alwaysCapital, familyLabels, givenLabels, labelWords } from '#lib/text/name-data.ts'
import { nameForms } from '#lib/text/names.ts'
import { comparedForms, digitsIn, isNumberOfCountry, leastDigits, numbersIn } from '#lib/text/numbers.ts'
import { NameFilter, RunFilter } from '#lib/text/run-filter.ts'
import { exactPlace, searchViews, spokenTexts } from '#lib/text/views.ts'
import {
  endOfRun,
  foldWord,
  hashed,
  hashOfWord,
  mixed,
  type Seeds,
  tokenize,
  type WordToken,
  wordWeight,
} from '#lib/text/words.ts'

export type { FoundSpan as TextSpan } from '#lib/text/layer.ts'

type TextSpan = FoundSpan
/** The position of a run of an erased text in another text, with its fingerprint. */
interface FingerprintMatch extends TextSpan {
  run: number
  /** Only files of the erased sources have this run. */
  isOfFile?: true
}

/** A name in a form of a text. */
interface FoundName extends FingerprintMatch {
  /** The part of the form that has the labels and the values of a name in separate fields. */
  fields?: TextSpan
  isNumber?: boolean
}

/** Shorter texts occur too often by chance to identify their author. They are erased only if provenance names them. */
const leastCharacters = 20
const keyBytes = 8
/**
 * The version of the format, before the key. Fingerprints without it were made of words that were folded by lower case only; they are
 * still compared in this way.
 */
const currentVersion = 2

/** Fingerprints by number of words. */
type Short = Map<number, Set<number>>

/** Words between a label of a form and the label of the other part of the name. */
const maxBetweenLabels = 40
/** Words of a value of such a field. */
const maxOfValue = 60

// The words of fingerprints that were stored before the format had a version. They must stay as they are: the erased texts no longer
// exist, so these fingerprints cannot be made again.

const unspaced =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}'
const isWithinWord = `[[\\p{L}\\p{N}]--[${unspaced}]]`
const tokenPattern = new RegExp(`[${unspaced}]|${isWithinWord}(?:['’]?(?:${isWithinWord}|\\p{M}))*`, 'gv')
const isUnspaced = new RegExp(`^[${unspaced}]`, 'v')

const isAscii = /^[\0-\x7f]*$/
const asciiPattern = /[a-z0-9]+(?:'[a-z0-9]+)*/g

/** {@link formerTokens} for ASCII. */
function tokenizeAscii(text: string): WordToken[] {
  const tokens: WordToken[] = []
  for (const { 0: found, index } of text.toLowerCase().matchAll(asciiPattern)) {
    const word = found.includes("'") ? found.replaceAll("'", '') : found
    tokens.push({ word, start: index, end: index + found.length, weight: wordWeight })
  }
  return tokens
}

/** The words of a text in order, folded by lower case and compatibility forms only. */
function formerTokens(text: string): WordToken[] {
  if (isAscii.test(text)) return tokenizeAscii(text)
  const tokens: WordToken[] = []
  for (const { 0: found, index } of text.matchAll(tokenPattern))
    tokens.push({
      word: found.normalize('NFKC').toLowerCase().replace(/['’]/g, ''),
      start: index,
      end: index + found.length,
      weight: isUnspaced.test(found) ? 1 : wordWeight,
    })
  return tokens
}

/**
 * Keyed fingerprints of erased texts. They find runs of erased words in other texts after the words are deleted, and do not reveal them.
 * A fingerprint has 53 bits: comparing 10⁶ stored with 10⁶ other runs gives a false match in about one of 10⁴ cases.
 */
export class Fingerprints {
  readonly #seeds: Seeds
  readonly #key: Buffer
  readonly #isFormer: boolean
  #sorted = new Float64Array()
  #added: number[] = []
  /**
   * Runs that only files have, and the marks of these files. They are stored as negative numbers, which versions that do not distinguish
   * them never find.
   */
  #ofFiles = new Float64Array()
  #addedOfFiles: number[] = []
  /** Whole texts that are shorter than a run. */
  readonly #short: Short = new Map()
  readonly #names: Short = new Map()
  /** Names of ordinary words, which count with capitals only. */
  readonly #capitalized: Short = new Map()
  /** Forms of names that may name somebody else. */
  readonly #uncertain: Short = new Map()
  /** The first words of all these names, as lower halves of hashes. Stored fingerprints do not contain them. */
  #firsts: Set<number> | undefined = new Set()
  /** Telephone numbers, by their digits. */
  readonly #numbers = new Set<number>()
  /** Hashes of the most recently read tokens. Each token is part of several runs. */
  #hashedTokens: readonly WordToken[] = []
  #hashes: (readonly [number, number])[] = []
  /** Built by the first search after a change. */
  #textFilter: RunFilter | undefined
  #nameFilter: NameFilter | undefined
  #labels: { given: Set<number>; family: Set<number>; some: Uint8Array } | undefined

  constructor(key: Buffer = randomBytes(keyBytes), { isFormer = false } = {}) {
    this.#key = key
    this.#isFormer = isFormer
    this.#seeds = [key.readUInt32LE(0), key.readUInt32LE(4)]
  }

  /** Fingerprints with the same key can be merged and are found in one pass. */
  get key(): string {
    return this.#key.toString('base64url')
  }

  /** Whether a run or a name has this fingerprint. */
  has(run: number): boolean {
    this.#settle()
    if (has(this.#sorted, run) || has(this.#ofFiles, run) || this.#numbers.has(run)) return true
    const sets = [this.#short, this.#names, this.#capitalized]
    return sets.some((set) => [...set.values()].some((runs) => runs.has(run)))
  }

  /** What a fingerprint is here: a name that may be removed, or one that may be somebody else's. */
  nameOf(run: number): 'certain' | 'uncertain' | undefined {
    if (run < 0) return this.nameOf(-run) === undefined ? undefined : 'uncertain'
    const isIn = (set: Short) => [...set.values()].some((runs) => runs.has(run))
    if (isIn(this.#names) || isIn(this.#capitalized)) return 'certain'
    return isIn(this.#uncertain) ? 'uncertain' : undefined
  }

  /** Merges fingerprints with the same key. */
  static merged(all: readonly Fingerprints[]): Fingerprints {
    const [first] = all
    const made = new Fingerprints(first ? first.#key : undefined)
    for (const one of all) {
      if (!one.#key.equals(made.#key)) throw new TypeError('fingerprints with different keys cannot be merged')
      one.#settle()
      for (const [length, runs] of one.#short) for (const run of runs) addTo(made.#short, length, run)
      for (const [from, to] of [
        [one.#names, made.#names],
        [one.#capitalized, made.#capitalized],
        [one.#uncertain, made.#uncertain],
      ] as const)
        for (const [length, runs] of from) for (const run of runs) addTo(to, length, run)
      for (const run of one.#numbers) made.#numbers.add(run)
      made.#firsts = one.#firsts && made.#firsts?.union(one.#firsts)
    }
    made.#sorted = union(all.map((one) => one.#sorted))
    made.#ofFiles = union(all.map((one) => one.#ofFiles)).filter((run) => !has(made.#sorted, run))
    return made
  }

  get isEmpty(): boolean {
    const { size } = this.#names
    return (
      this.#sorted.length +
        this.#added.length +
        this.#ofFiles.length +
        this.#addedOfFiles.length +
        this.#short.size +
        size +
        this.#capitalized.size +
        this.#uncertain.size +
        this.#numbers.size ===
      0
    )
  }

  /**
   * Adds the runs of an erased text, as it is written and decoded. A text shorter than a run is added as a whole if it has at least 20
   * characters.
   */
  add(text: string): void {
    this.#textFilter = undefined
    for (const one of this.#isFormer ? [text] : spokenTexts(text)) this.#addText(one)
  }
  #addText(text: string): void {
    const tokens = this.#tokens(text)
    for (let from = 0; from < tokens.length; from++) {
      const end = endOfRun(tokens, from)
      if (end === undefined) {
        if (from === 0 && tokens.reduce((sum, { word }) => sum + word.length + 1, -1) >= leastCharacters)
          addTo(this.#short, tokens.length, this.#hash(tokens, 0, tokens.length))
        return
      }
      this.#added.push(this.#hash(tokens, from, end))
    }
  }
  /**
   * Adds the runs of a file, and that its words are compared. `parts`: its text, without what others explain. Shorter texts count only if
   * people wrote them as a message.
   */
  addFile(key: string, parts: readonly string[]): void {
    this.#textFilter = undefined
    this.#addedOfFiles.push(this.#hashOf([fileMark(key)]))
    for (const part of parts)
      for (const text of this.#isFormer ? [part] : spokenTexts(part)) {
        const tokens = this.#tokens(text)
        for (let from = 0; from < tokens.length; from++) {
          const end = endOfRun(tokens, from)
          if (end === undefined) break
          this.#addedOfFiles.push(this.#hash(tokens, from, end))
        }
      }
  }
  get hasFiles(): boolean {
    this.#settle()
    return this.#ofFiles.length > 0
  }
  /** Whether {@link addFile} added the words of this file. */
  hasFile(key: string): boolean {
    this.#settle()
    return has(this.#ofFiles, this.#hashOf([fileMark(key)]))
  }

  /** Adds a name, an email address or a telephone number of an erased person, of any length, in every form that is certain. */
  addName(name: string): void {
    this.#nameFilter = undefined
    if (this.#isFormer) {
      const tokens = formerTokens(name)
      if (tokens.length > 0) addTo(this.#names, tokens.length, this.#hash(tokens, 0, tokens.length))
      return
    }
    const { certain, capitalized, uncertain } = nameForms(name)
    for (const [forms, to] of [
      [certain, this.#names],
      [capitalized, this.#capitalized],
      [uncertain, this.#uncertain],
    ] as const)
      for (const words of forms) this.#addForm(to, words)
  }
  #addForm(to: Short, words: readonly string[]): void {
    addTo(to, words.length, this.#hashOf(words))
    this.#firsts?.add(hashOfWord(words[0] ?? '', this.#seeds)[1])
  }
  /** Adds a name of a single word, which may be any word: it is only counted. */
  addUncertainName(name: string): void {
    if (this.#isFormer) return
    this.#nameFilter = undefined
    const { certain, capitalized, uncertain } = nameForms(name)
    for (const words of [...certain, ...capitalized, ...uncertain]) this.#addForm(this.#uncertain, words)
  }
  /** Adds a telephone number by one of the forms in which it may be dialed. */
  addNumber(written: string): void {
    if (this.#isFormer) {
      this.addName(written)
      return
    }
    const digits = digitsIn(written)
    const form = written.startsWith('?') ? `?${digits}` : digits
    if (digits.length >= leastDigits) this.#numbers.add(this.#hashOf([numberWord(form)]))
  }
  /** Adds a telephone number that may be somebody else's, by one of its forms: it is only counted. */
  addUncertainNumber(written: string): void {
    const digits = digitsIn(written)
    const form = written.startsWith('?') ? `?${digits}` : digits
    if (this.#isFormer || digits.length < leastDigits) return
    this.#nameFilter = undefined
    addTo(this.#uncertain, lengthOfNumbers, this.#hashOf([numberWord(form)]))
  }

  /**
   * Runs of erased texts in another text, in any encoding. They may overlap. Offsets are those of the text; `view` names the decoded form
   * in which the run was found.
   */
  runsIn(text: string): FingerprintMatch[] {
    this.#settle()
    if (this.#sorted.length + this.#ofFiles.length + this.#short.size === 0) return []
    return distinct(
      text,
      searchViews(text, (view) => (this.#isFormer ? this.#formerRuns(view) : this.#runsOf(view))),
    )
  }
  #runsOf(text: string): FingerprintMatch[] {
    this.#textFilter ??= new RunFilter(this.#seeds, this.#allRuns(), this.#short)
    const isStored = (start: number, end: number) => {
      const tokens = tokenize(text.slice(start, end))
      const run = this.#hash(tokens, 0, tokens.length)
      return this.#hasRun(run) || this.#short.get(tokens.length)?.has(run) === true
    }
    return this.#textFilter.some(text, isStored) ? this.#everyRun(tokenize(text)) : []
  }
  #formerRuns(text: string): FingerprintMatch[] {
    return this.#everyRun(formerTokens(text))
  }
  #everyRun(tokens: readonly WordToken[]): FingerprintMatch[] {
    const found: FingerprintMatch[] = []
    for (let from = 0; from < tokens.length; from++) {
      const isNone = this.#sorted.length + this.#ofFiles.length === 0
      const end = isNone ? undefined : endOfRun(tokens, from)
      if (end !== undefined) this.#note(found, tokens, from, end, (run) => this.#hasRun(run))
      for (const [length, runs] of this.#short)
        if (from + length <= tokens.length) this.#note(found, tokens, from, from + length, (run) => runs.has(run))
    }
    return found
  }

  #hasRun(run: number): boolean {
    return has(this.#sorted, run) || has(this.#ofFiles, run)
  }
  #allRuns(): Float64Array {
    return this.#ofFiles.length === 0 ? this.#sorted : union([this.#sorted, this.#ofFiles])
  }

  /** Names, email addresses and telephone numbers of the erased person in a text, in any usual form and encoding. */
  namesIn(text: string): FingerprintMatch[] {
    if (this.#names.size + this.#capitalized.size + this.#numbers.size === 0) return []
    if (this.#isFormer)
      return distinct(
        text,
        searchViews(text, (view) => this.#formerNames(view)).filter((one) => !crossesBorder(text, one)),
      )
    // Runs were sought before: the words of the last form are still hashed.
    const isLastFirst = true
    const all = searchViews(
      text,
      (view): FoundName[] => [...this.#namesOf(view).certain, ...this.#numbersOf(view).map(asNumber)],
      { isLastFirst },
    )
    return distinct(text, all.filter((one) => isOneName(text, one)).map(matchOf))
  }
  /** Words that may be a name of the erased person, and are too uncertain to remove. */
  uncertainIn(text: string): FingerprintMatch[] {
    if (this.#uncertain.size + this.#capitalized.size + this.#names.size === 0) return []
    const certain = this.namesIn(text)
    const all = searchViews(text, (view): (FoundName & { isCertain?: boolean })[] => {
      const found = this.#namesOf(view)
      return [
        ...found.uncertain,
        ...this.#uncertainNumbersOf(view),
        ...found.certain.map((one) => ({ ...one, isCertain: true })),
      ]
    })
    return distinct(text, asUncertain(text, all)).filter(
      ({ start, end }) => !certain.some((one) => one.start <= start && one.end >= end),
    )
  }
  /** What {@link namesIn} and {@link uncertainIn} return. Most texts contain neither, which one pass shows. */
  certainAndUncertainIn(text: string): { certain: FingerprintMatch[]; uncertain: FingerprintMatch[] } {
    const isAny =
      this.#isFormer ||
      searchViews(
        text,
        (view) => {
          const { certain, uncertain } = this.#namesOf(view)
          return [...certain, ...uncertain, ...this.#numbersOf(view).map(asNumber), ...this.#uncertainNumbersOf(view)]
        },
        { isLastFirst: true },
      ).length > 0
    return isAny ? { certain: this.namesIn(text), uncertain: this.uncertainIn(text) } : { certain: [], uncertain: [] }
  }
  /**
   * All names in a text in one pass: those that {@link namesIn} returns, and words with a capital that may be a name. A text in lower case
   * contains too many of these words.
   */
  everyNameIn(text: string): { certain: FingerprintMatch[]; uncertain: FingerprintMatch[] } {
    if (this.#isFormer || this.#uncertain.size + this.#capitalized.size + this.#names.size === 0)
      return { certain: this.namesIn(text), uncertain: [] }
    const all = searchViews(
      text,
      (view): (FoundName & { isCertain?: boolean; hasCapital?: boolean })[] => {
        const { certain, uncertain } = this.#namesOf(view)
        const hasCapital = ({ start }: TextSpan) => /^\P{Ll}/u.test(view.slice(start, start + 2))
        return [
          ...certain.map((one) => ({ ...one, isCertain: true, hasCapital: hasCapital(one) })),
          ...this.#numbersOf(view).map((one) => ({ ...asNumber(one), isCertain: true })),
          ...uncertain.filter(hasCapital).map((one) => ({ ...one, hasCapital: true })),
          ...this.#uncertainNumbersOf(view).map((one) => ({ ...one, hasCapital: true })),
        ]
      },
      { isLastFirst: true },
    )
    const certain = distinct(text, all.filter((one) => one.isCertain && isOneName(text, one)).map(matchOf))
    const within = (one: TextSpan) => certain.some(({ start, end }) => start <= one.start && end >= one.end)
    const capitals = all.filter(({ hasCapital }) => hasCapital)
    return {
      certain,
      uncertain: distinct(
        text,
        asUncertain(text, capitals).filter((one) => !within(one)),
      ),
    }
  }
  /** The fingerprints of every form of somebody's name: who has one of the forms has all. */
  formsOf(name: string): number[] {
    const found = this.everyNameIn(name)
    const some = [...found.certain, ...found.uncertain].map(({ run }) => run)
    // Making the forms takes longer, and most names have no word of an erased one.
    if (this.#isFormer || (some.length === 0 && this.uncertainIn(name).length === 0)) return some
    const { certain, capitalized } = nameForms(name)
    for (const words of [...certain, ...capitalized]) {
      const run = this.#hashOf(words)
      if ([this.#names, this.#capitalized, this.#uncertain].some((set) => set.get(words.length)?.has(run)))
        some.push(run)
    }
    return some
  }
  #formerNames(text: string): FingerprintMatch[] {
    const found: FingerprintMatch[] = []
    const tokens = formerTokens(text)
    for (let from = 0; from < tokens.length; from++)
      for (const [length, runs] of this.#names)
        if (from + length <= tokens.length) this.#note(found, tokens, from, from + length, (run) => runs.has(run))
    return found
  }
  #namesOf(text: string): { certain: FoundName[]; uncertain: FingerprintMatch[] } {
    this.#nameFilter ??= new NameFilter(this.#seeds, this.#firsts, this.#names, this.#capitalized, this.#uncertain)
    const certain: FoundName[] = []
    const uncertain: FingerprintMatch[] = []
    if (this.#names.size + this.#capitalized.size + this.#uncertain.size === 0) return { certain, uncertain }
    const candidates: [from: number, to: number, without: number][] = []
    this.#nameFilter.each(text, (from, to, without) => candidates.push([from, to, without]))
    const hasLabels = this.#hasLabels()
    if (candidates.length === 0 && !hasLabels) return { certain, uncertain }
    // Confirming hashes other texts.
    const words = wordsOfHashed(text)
    const fields = hasLabels ? this.#fieldsOf(text, words) : []
    for (const [from, to, without] of candidates) {
      const folded: string[] = []
      if (without >= 0 && isConjunction(text, words.starts[without] ?? 0)) continue
      for (let at = from; at < to; at++) if (at !== without) folded.push(words.words(at))
      const run = this.#hashOf(folded)
      const match = { run, start: words.starts[from] ?? 0, end: words.ends[to - 1] ?? 0 }
      if (this.#names.get(folded.length)?.has(run)) certain.push(match)
      else if (this.#capitalized.get(folded.length)?.has(run))
        (isProperName(text, words, from, to) ? certain : uncertain).push(match)
      else if (this.#uncertain.get(folded.length)?.has(run)) uncertain.push(match)
    }
    for (const one of fields) certain.push(one)
    return { certain, uncertain }
  }
  /** Whether the hashed words may contain labels of both parts of a name. */
  #hasLabels(): boolean {
    this.#labels ??= {
      given: this.#lowsOf(givenLabels),
      family: this.#lowsOf(familyLabels),
      some: new Uint8Array(0x10000),
    }
    const { given, family, some } = this.#labels
    if (some[0] === 0) for (const low of [0, ...given, ...family]) some[low & 0xffff] = 1
    const { lows, count } = hashed
    let [hasGiven, hasFamily] = [false, false]
    for (let at = 0; at < count && !(hasGiven && hasFamily); at++) {
      const low = lows[at] ?? 0
      if (some[low & 0xffff] === 0) continue
      hasGiven ||= given.has(low)
      hasFamily ||= family.has(low)
    }
    return hasGiven && hasFamily
  }
  /** Names whose parts are the values of separate fields: `first_name: Iris`, `last_name: Probe`. */
  #fieldsOf(text: string, { words, starts, ends, lows }: ReturnType<typeof wordsOfHashed>): FoundName[] {
    const { given = new Set<number>(), family = new Set<number>() } = this.#labels ?? {}
    const found: FoundName[] = []
    const families: number[] = []
    const givens: number[] = []
    // Folding a word costs more than the rest, and a text of labels repeats few of them.
    const isLabel = (labels: ReadonlySet<string>, confirmed: Map<number, boolean>, at: number): boolean => {
      const low = lows[at] ?? 0
      const known = confirmed.get(low) ?? labels.has(words(at))
      confirmed.set(low, known)
      return known
    }
    const [ofGiven, ofFamily, ofLabel] = [
      new Map<number, boolean>(),
      new Map<number, boolean>(),
      new Map<number, boolean>(),
    ]
    for (let at = 0; at < lows.length; at++) {
      const low = lows[at] ?? 0
      if (given.has(low) && isLabel(givenLabels, ofGiven, at)) givens.push(at)
      if (family.has(low) && isLabel(familyLabels, ofFamily, at)) families.push(at)
    }
    if (givens.length === 0 || families.length === 0) return found
    const isLabelAt = (at: number) => ofGiven.get(lows[at] ?? 0) === true || ofFamily.get(lows[at] ?? 0) === true
    /** The first word of the value of a label; undefined if a label follows. */
    const valueAfter = (label: number): number | undefined => {
      let from = label + 1
      while (from < lows.length && isLabel(labelWords, ofLabel, from)) from++
      return from < lows.length && !isLabelAt(from) ? from : undefined
    }
    const valuesOf = (labels: readonly number[]): { label: number; from: number }[] =>
      labels.flatMap((label) => {
        // In `first name`, the second word is a part of the label.
        const isSecond = label > 0 && isLabelAt(label - 1) && isLabel(labelWords, ofLabel, label)
        const from = isSecond ? undefined : valueAfter(label)
        return from === undefined ? [] : [{ label, from }]
      })
    const lengthsAt = (from: number): [from: number, to: number][] => {
      // Scripts without spaces have a word for each character.
      let whole = from + 1
      const continues = (at: number) => /^[-\u2010]?$/.test(text.slice(ends[at - 1], starts[at]))
      while (whole < lows.length && whole < from + maxOfValue && continues(whole)) whole++
      return [...new Set([1, 2, 3, whole - from])].flatMap((length) =>
        from + length <= lows.length ? [[from, from + length] as [number, number]] : [],
      )
    }
    // `name` alone names a family only where no other label does: near those it may be the name of anything.
    const some = valuesOf(families)
    const clear = some.filter(({ label }) => !isLabel(labelWords, ofLabel, label))
    let near = 0
    const isClear = ({ label }: { label: number }): boolean => {
      while (near < clear.length && (clear[near]?.label ?? 0) < label - maxBetweenLabels) near++
      const nearest = clear[near]?.label
      return nearest === undefined || nearest > label + maxBetweenLabels || !isLabel(labelWords, ofLabel, label)
    }
    const labels = [
      ...valuesOf(givens).map((one) => ({ ...one, isGiven: true })),
      ...some.filter(isClear).map((one) => ({ ...one, isGiven: false })),
    ].sort((one, other) => one.label - other.label)
    for (let at = 1; at < labels.length; at++) {
      const [one, other] = [labels[at - 1], labels[at]]
      if (!one || !other || one.isGiven === other.isGiven || other.label > one.label + maxBetweenLabels) continue
      if (leavesRecord(text.slice(starts[one.label], starts[other.label]))) continue
      // Further labels belong to the next record: each has one partner.
      at++
      const [given, family] = one.isGiven ? [one, other] : [other, one]
      for (const [from, to] of lengthsAt(given.from))
        for (const [otherFrom, otherTo] of lengthsAt(family.from)) {
          if (this.#nameFilter?.mayBe(lows, [from, to], [otherFrom, otherTo]) !== true) continue
          const parts = [...range(from, to), ...range(otherFrom, otherTo)].map(words)
          const run = this.#hashOf(parts)
          if (!this.#names.get(parts.length)?.has(run) && !this.#capitalized.get(parts.length)?.has(run)) continue
          const fields = { start: starts[one.label] ?? 0, end: Math.max(ends[to - 1] ?? 0, ends[otherTo - 1] ?? 0) }
          found.push({ run, start: starts[from] ?? 0, end: ends[to - 1] ?? 0, fields })
          found.push({ run, start: starts[otherFrom] ?? 0, end: ends[otherTo - 1] ?? 0, fields })
        }
    }
    return found
  }
  #lowsOf(words: ReadonlySet<string>): Set<number> {
    return new Set([...words].map((word) => hashOfWord(foldWord(word), this.#seeds)[1]))
  }
  #numbersOf(text: string, numbers: ReadonlySet<number> = this.#numbers): FingerprintMatch[] {
    const found: FingerprintMatch[] = []
    if (numbers.size === 0) return found
    for (const number of numbersIn(text))
      for (const { form, needs } of comparedForms(number)) {
        const run = this.#hashOf([numberWord(form)])
        if (!numbers.has(run) || (needs !== undefined && !isNumberOfCountry(needs, form))) continue
        found.push({ run, start: number.start, end: number.end })
        break
      }
    return found
  }

  /** Telephone numbers that may be somebody else's. */
  #uncertainNumbersOf(text: string): FoundName[] {
    const numbers = this.#uncertain.get(lengthOfNumbers)
    return numbers ? this.#numbersOf(text, numbers).map(asNumber) : []
  }

  /** The version, the key and the fingerprints. They can confirm a guessed text, but no text can be recovered from them. */
  toBytes(): Buffer {
    this.#settle()
    const flat = (of: Short) => [...of].flatMap(([length, runs]) => [...runs].flatMap((run) => [length, run]))
    const lists = this.#isFormer
      ? [flat(this.#short), flat(this.#names)]
      : [flat(this.#short), flat(this.#names), flat(this.#capitalized), flat(this.#uncertain), [...this.#numbers]]
    const numbers = Float64Array.from([...lists.map(({ length }) => length), ...lists.flat()])
    const ofFiles = this.#ofFiles.map((run) => -run).reverse()
    return Buffer.concat([
      Buffer.from(this.#isFormer ? [] : [currentVersion]),
      this.#key,
      Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength),
      Buffer.from(ofFiles.buffer, ofFiles.byteOffset, ofFiles.byteLength),
      Buffer.from(this.#sorted.buffer, this.#sorted.byteOffset, this.#sorted.byteLength),
    ])
  }

  static fromBytes(bytes: Buffer): Fingerprints {
    // Without a version, the length is a multiple of eight.
    const isFormer = bytes.length % keyBytes === 0
    if (!isFormer && bytes[0] !== currentVersion)
      throw new Error(
        `These fingerprints have the format ${bytes[0]}, which this version cannot read. Update KnowledgePulse.`,
      )
    const content = isFormer ? bytes : bytes.subarray(1)
    const found = new Fingerprints(Buffer.from(content.subarray(0, keyBytes)), { isFormer })
    found.#firsts = undefined
    const numbers = new Float64Array(new Uint8Array(content.subarray(keyBytes)).buffer)
    const sets = isFormer
      ? [found.#short, found.#names]
      : [found.#short, found.#names, found.#capitalized, found.#uncertain]
    let at = isFormer ? 2 : 5
    sets.forEach((set, index) => {
      const until = at + (numbers[index] ?? 0)
      for (; at < until; at += 2) addTo(set, numbers[at] ?? 0, numbers[at + 1] ?? 0)
    })
    if (!isFormer) for (const until = at + (numbers[4] ?? 0); at < until; at++) found.#numbers.add(numbers[at] ?? 0)
    const runs = numbers.slice(at)
    const first = runs.findIndex((run) => run >= 0)
    const negative = first === -1 ? runs.length : first
    found.#sorted = runs.slice(negative)
    found.#ofFiles = runs
      .slice(0, negative)
      .reverse()
      .map((run) => -run)
    return found
  }

  #tokens(text: string): WordToken[] {
    return this.#isFormer ? formerTokens(text) : tokenize(text)
  }

  #note(
    found: FingerprintMatch[],
    tokens: readonly WordToken[],
    from: number,
    end: number,
    isKnown: (run: number) => boolean,
  ) {
    const run = this.#hash(tokens, from, end)
    if (!isKnown(run)) return
    const isOfFile = has(this.#ofFiles, run) && ({ isOfFile: true } as const)
    found.push({ run, start: tokens[from]?.start ?? 0, end: tokens[end - 1]?.end ?? 0, ...isOfFile })
  }

  #settle(): void {
    if (this.#added.length + this.#addedOfFiles.length === 0) return
    this.#sorted = union([this.#sorted, this.#added])
    // What a message also says is not only in files.
    this.#ofFiles = union([this.#ofFiles, this.#addedOfFiles]).filter((run) => !has(this.#sorted, run))
    this.#added = []
    this.#addedOfFiles = []
    this.#textFilter = undefined
  }

  #hash(tokens: readonly WordToken[], from: number, end: number): number {
    if (this.#hashedTokens !== tokens) {
      this.#hashedTokens = tokens
      this.#hashes = tokens.map(({ word }) => hashOfWord(word, this.#seeds))
    }
    return this.#combined(this.#hashes, from, end)
  }
  #hashOf(words: readonly string[]): number {
    return this.#combined(
      words.map((word) => hashOfWord(word, this.#seeds)),
      0,
      words.length,
    )
  }
  #combined(hashes: readonly (readonly [number, number])[], from: number, end: number): number {
    let high = this.#seeds[0]
    let low = this.#seeds[1]
    for (let at = from; at < end; at++) {
      const word = hashes[at] ?? this.#seeds
      high = mixed(high ^ word[0])
      low = mixed(low ^ word[1])
    }
    return fingerprintOf(high, low)
  }
}

/** Whether a single letter between two words is a word, such as `y` or `и`, and not an initial. */
const isConjunction = (text: string, at: number): boolean => /^[yeioauыаивіскуоя](?!\.)/u.test(text.slice(at, at + 2))
/**
 * Whether the spelling shows that ordinary words are a name: each has a capital, and at least one of them would not have it otherwise, at the
 * beginning of a sentence, as the name of a month, or in a line of capitals.
 */
function isProperName(text: string, words: ReturnType<typeof wordsOfHashed>, from: number, to: number): boolean {
  let isShown = false
  for (let at = from; at < to; at++) {
    const [start, end] = [words.starts[at] ?? 0, words.ends[at] ?? 0]
    if (!/^\P{Ll}/u.test(text.slice(start, start + 2))) return false
    const lead = text.slice(Math.max(0, start - 8), start)
    const led = lead.trimEnd()
    const isFirst =
      at === from && (led === '' || lead.slice(led.length).includes('\n') || /[.!?:;"“„(*•>-]$/u.test(led))
    const [before = '', after = ''] = [text[start - 2], text[end + 1]]
    const isLoud =
      end - start > 1 && !/\p{Ll}/u.test(text.slice(start, end)) && /\p{Lu}/u.test(at === from ? before : after)
    isShown ||= !isFirst && !isLoud && !alwaysCapital.has(words.words(at))
  }
  return isShown
}

/** Words in a telephone number: none, so that no name has as many. */
const lengthOfNumbers = 0
const asNumber = (match: FingerprintMatch): FoundName => ({ ...match, isNumber: true })
const matchOf = ({ run, start, end, view }: FoundName): FingerprintMatch => ({ run, start, end, ...(view && { view }) })
/** Whether the words of a name belong together: names are not made of the words of two people. */
function isOneName(text: string, found: FoundName): boolean {
  const { fields, isNumber, view } = found
  if (isNumber) return true
  if (!fields) return !crossesBorder(text, found)
  return view === undefined || !isScattered(text, { depth: view.depth, ...fields })
}
/**
 * What may be a name, with certain names whose words are in several values. These are known by the negative of their fingerprint, so that
 * the removal of the same name beside them does not affect them.
 */
const asUncertain = (text: string, all: readonly (FoundName & { isCertain?: boolean })[]): FingerprintMatch[] =>
  all.flatMap((one) => {
    if (!one.isCertain) return [matchOf(one)]
    return one.fields || isOneName(text, one) ? [] : [{ ...matchOf(one), run: -one.run }]
  })
/** Whether a part of a text closes more brackets than it opened before: what follows belongs to another record. */
function leavesRecord(text: string): boolean {
  let depth = 0
  for (const [sign] of text.matchAll(/[[\]{}]/g)) {
    depth += sign === '{' || sign === '[' ? 1 : -1
    if (depth < 0) return true
  }
  return false
}

/** The words of erased texts without those that only files have. */
export const withoutFileWords = (words: ErasedWords): ErasedWords => ({
  isEmpty: words.isEmpty,
  runsIn: (text) => words.runsIn(text).filter(({ isOfFile }) => !isOfFile),
  namesIn: (text) => words.namesIn(text),
  uncertainIn: (text) => words.uncertainIn?.(text) ?? [],
})

/** No word of a text contains a space. */
const fileMark = (key: string): string => `file ${key}`
const numberWord = (digits: string): string => `#${digits}`
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)

/** A copy of the most recently hashed words, with their folded forms on demand. */
function wordsOfHashed(text: string) {
  const { count } = hashed
  const starts = hashed.starts.slice(0, count)
  const ends = hashed.ends.slice(0, count)
  return {
    starts,
    ends,
    lows: hashed.lows.slice(0, count),
    words: (at: number) => foldWord(text.slice(starts[at], ends[at])),
  }
}

/** Several decoded forms of a text may contain the same run at the same place: the most decoded one can be cut best. */
function distinct(text: string, matches: readonly FingerprintMatch[]): FingerprintMatch[] {
  const found = new Map<string, FingerprintMatch>()
  for (const match of matches.toReversed()) {
    const { depth, start, end } = exactPlace(text, match)
    const place = `${match.run} ${depth} ${start} ${end}`
    if (!found.has(place)) found.set(place, match)
  }
  return [...found.values()].reverse().sort((one, other) => one.start - other.start)
}

const fingerprintOf = (high: number, low: number): number => (high >>> 11) * 2 ** 32 + (low >>> 0)

function addTo(sets: Short, length: number, run: number): void {
  const set = sets.get(length) ?? new Set()
  sets.set(length, set.add(run))
}

/** All numbers once, sorted. */
function union(all: readonly ArrayLike<number>[]): Float64Array<ArrayBuffer> {
  const numbers = new Float64Array(all.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const some of all) {
    numbers.set(some, at)
    at += some.length
  }
  numbers.sort()
  return numbers.filter((one, n) => n === 0 || one !== numbers[n - 1])
}

function has(sorted: Float64Array, run: number): boolean {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((sorted[middle] ?? 0) < run) from = middle + 1
    else to = middle
  }
  return sorted[from] === run
}

/** Sorts spans, and merges those that overlap or are adjacent. Spans of different decoded forms are not merged. */
export function mergeSpans(spans: readonly TextSpan[]): TextSpan[] {
  const found: TextSpan[] = []
  const byDepth = Map.groupBy(spans, ({ view }) => view?.depth ?? 0)
  for (const [depth, some] of byDepth) {
    const own: TextSpan[] = []
    const at = (span: TextSpan) => span.view ?? span
    for (const span of [...some].sort((one, other) => at(one).start - at(other).start)) {
      const last = own.at(-1)
      if (!last || at(span).start > at(last).end) {
        own.push({ ...span, ...(span.view && { view: { ...span.view } }) })
        continue
      }
      const end = Math.max(at(last).end, at(span).end)
      if (last.view) last.view.end = end
      last.start = Math.min(last.start, span.start)
      last.end = depth === 0 ? end : Math.max(last.end, span.end)
    }
    for (const { start, end, view } of own) found.push(view ? { start, end, view } : { start, end })
  }
  return found.sort((one, other) => one.start - other.start)
}

/** Positions at which a text contains another text completely, word by word, in any encoding. */
export function occurrences(text: string, sought: string): TextSpan[] {
  const words = tokenize(sought).map(({ word }) => word)
  if (words.length === 0) return []
  return searchViews(text, (view) => occurrencesIn(tokenize(view), words))
}
function occurrencesIn(tokens: readonly WordToken[], words: readonly string[]): TextSpan[] {
  const found: TextSpan[] = []
  for (let from = 0; from + words.length <= tokens.length; from++)
    if (words.every((word, at) => tokens[from + at]?.word === word))
      found.push({ start: tokens[from]?.start ?? 0, end: tokens[from + words.length - 1]?.end ?? 0 })
  return found
}
