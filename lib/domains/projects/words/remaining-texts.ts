import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedWords } from '#lib/kernel/data-source.ts'
import { scopedId, shownId } from '#lib/kernel/scoped-ids.ts'
import { redacted } from '#lib/stores/graph/graph.ts'
import { editText, guessedReadings, spokenTexts } from '#lib/text/views.ts'
import { runWeight, tokenize } from '#lib/text/words.ts'
import { isOurKey } from '../cache/rules.ts'
import type { LivingRecord } from '../values/shared-records.ts'
import { occurrences } from './fingerprints.ts'
import { maxRemaining, remainingAfter, remainingNamed, remainingNamedElsewhere, remainingWithin } from './repository.ts'
import { type TextFinder, TextIndex } from './text-index.ts'

/** A remaining message or document with its current and earlier texts. */
export interface RemainingText {
  kind: 'message' | 'document'
  id: string
  /** Whether a person wrote it. Texts of assistants and tools explain no words, because they quote. */
  isByPerson: boolean
  /** As the client stated it. */
  createdAt: Date
  /** When we stored the first text, at the latest. */
  storedAt: Date
  texts: string[]
}

/**
 * Texts of a project that remain: not marked as being erased, and not by an author who is being erased, unless under legal hold. `going`:
 * ids to count as erased in a dry run.
 */
export async function* remainingTexts(
  tx: Transaction,
  project: string,
  now: Date,
  erasedIds: ReadonlySet<string> = new Set(),
): AsyncGenerator<RemainingText> {
  for (const table of ['messages', 'documents'] as const)
    for (let after = ''; ; ) {
      const rows = await remainingAfter(tx, { project, after, now }, table)
      for (const { id, is_by_person: isByPerson, created_at: createdAt, stored_at: storedAt, texts } of rows)
        if (!erasedIds.has(id))
          yield { kind: table === 'messages' ? 'message' : 'document', id, isByPerson, createdAt, storedAt, texts }
      const last = rows.at(-1)
      if (last === undefined || rows.length < maxRemaining[table]) break
      after = last.id
    }
}

/**
 * Runs of erased words that remaining texts of persons in a project also contain. Such runs are explained: in a derived text they do not
 * count as words of the erased author. `places`: all remaining messages and documents with erased words.
 */
export async function explainedRuns(
  tx: Transaction,
  project: string,
  words: ErasedWords,
  now: Date,
  erasedIds?: ReadonlySet<string>,
): Promise<{ runs: Set<number>; places: Pick<RemainingText, 'kind' | 'id'>[] }> {
  const runs = new Set<number>()
  const places: Pick<RemainingText, 'kind' | 'id'>[] = []
  if (words.isEmpty) return { runs, places }
  for await (const { kind, id, isByPerson, texts } of remainingTexts(tx, project, now, erasedIds)) {
    const found = texts.flatMap((text) => words.runsIn(text))
    if (found.length === 0) continue
    if (isByPerson) for (const { run } of found) runs.add(run)
    places.push({ kind, id })
  }
  return { runs, places }
}

/** Maximum length of the texts of the records of one value, in characters. */
export const maxCharacters = 8_000_000

type NamedRows = Awaited<ReturnType<typeof remainingNamed>>
async function recordsNamed(
  rowsAfter: (table: 'messages' | 'documents', after: string) => Promise<NamedRows>,
  erasedIds: ReadonlySet<string>,
): Promise<Map<string, LivingRecord> | undefined> {
  const found = new Map<string, LivingRecord>()
  let characters = 0
  for (const table of ['messages', 'documents'] as const)
    for (let after = ''; ; ) {
      const rows = await rowsAfter(table, after)
      for (const { id, texts, authors, places, created_at: createdAt, updated_at: updatedAt } of rows) {
        for (const text of texts) characters += text.length
        const record = { texts, authors, places, times: [createdAt, updatedAt] }
        if (!erasedIds.has(id)) for (const name of [id, shownId(id)]) found.set(name, record)
      }
      if (characters > maxCharacters) return undefined
      const last = rows.at(-1)
      if (last === undefined || rows.length < maxRemaining[table]) break
      after = last.id
    }
  return found
}
/**
 * Remaining messages and documents of a project with these ids, as stored or as clients see them. Undefined if their texts are longer than
 * {@link maxCharacters}, together with those that count as erased.
 */
export function remainingRecords(
  tx: Transaction,
  project: string,
  ids: readonly string[],
  now: Date,
  erasedIds: ReadonlySet<string> = new Set(),
): Promise<Map<string, LivingRecord> | undefined> {
  const wanted = [...new Set(ids.flatMap((id) => [id, scopedId(project, id)]))]
  return recordsNamed((table, after) => remainingNamed(tx, { project, now, ids: wanted, after }, table), erasedIds)
}
/** As {@link remainingRecords}, in all other projects: only ids that this installation generated, because others occur in several projects. */
export async function remainingRecordsElsewhere(
  tx: Transaction,
  projects: readonly string[],
  given: readonly string[],
  now: Date,
  erasedIds: ReadonlySet<string> = new Set(),
): Promise<Map<string, LivingRecord> | undefined> {
  const ids = given.filter((id) => isOurKey('message', id) || isOurKey('document', id))
  if (ids.length === 0) return new Map()
  return recordsNamed(
    (table, after) => remainingNamedElsewhere(tx, { projects: [...projects], now, ids, after }, table),
    erasedIds,
  )
}

/** Words beside the names of a text that identify it without them. */
const leastOther = 3

/**
 * A remaining text as it may be in a derived text: with the names of the erased person, and with `mark` in their place. Without the second
 * form, a text of an assistant would no longer be recognized after its names are erased.
 */
export function formsOf(text: string, words: Pick<ErasedWords, 'namesIn'>, mark: string): string[] {
  if (words.namesIn(text).length === 0) return [text]
  // What hardly has other words would be found in any text.
  const others = editText(text, (one) => words.namesIn(one), '')
  if (others === undefined || tokenize(others).length < leastOther) return [text]
  const withoutNames = editText(text, (one) => words.namesIn(one), mark)
  return withoutNames === undefined ? [text] : [text, withoutNames]
}

/** Minimum length in characters at which a match is not a coincidence. */
const minReported = 20
/** Whether a text is too long to occur in others by chance: by its length, or because it is as long as a run. */
export const isDistinctive = (text: string): boolean =>
  text.length >= minReported || tokenize(text).reduce((sum, { weight }) => sum + weight, 0) >= runWeight

/** All remaining texts of a project: the runs of erased words that they explain, and finders for these texts in other texts. */
export interface RemainingTexts {
  explained: ReadonlySet<number>
  /** Names of the erased person that texts of persons contain. */
  explainedNames: ReadonlySet<number>
  long: TextFinder
  /** Those of `long` that persons wrote. */
  persons: TextFinder
  /** Texts so short that they occur in others by chance. */
  short: TextFinder
}
export async function readRemainingTexts(
  tx: Transaction,
  project: string,
  words: ErasedWords,
  now: Date,
  erasedIds?: ReadonlySet<string>,
): Promise<RemainingTexts> {
  const [explained, explainedNames] = [new Set<number>(), new Set<number>()]
  const [long, persons, short] = [new TextIndex(), new TextIndex(), new TextIndex()]
  for await (const { isByPerson, texts } of remainingTexts(tx, project, now, erasedIds))
    for (const text of texts) {
      if (isByPerson) {
        for (const { run } of words.runsIn(text)) explained.add(run)
        for (const { run } of words.namesIn(text)) explainedNames.add(run)
      }
      for (const form of isByPerson ? [text] : formsOf(text, words, redacted))
        if (form.length < minReported) short.add(form)
        else for (const index of isByPerson ? [long, persons] : [long]) index.add(form)
    }
  return { explained, explainedNames, long, persons, short }
}

/** Minimum length of a text in characters. Shorter texts occur in others by chance. */
const leastCharacters = 2
/** Minimum length of a text of six words, in characters. */
const leastOfRun = 11

/** A remaining text that a derived text contains. */
export interface FoundText {
  text: string
  isByPerson: boolean
}

/** `isPartial`: there are more messages or documents than one statement returns. */
async function textsWithin(
  tx: Transaction,
  project: string,
  text: string,
  now: Date,
  erasedIds: ReadonlySet<string>,
  least: number,
): Promise<{ found: FoundText[]; isPartial: boolean }> {
  // An encoded text contains the texts of others in their decoded form only.
  // PostgreSQL rejects zero bytes, which binary values and escapes of JSON contain.
  const all = [text, ...spokenTexts(text)].join('\n').replaceAll('\0', ' ')
  const folded = all.replace(/\s+/g, ' ').toLowerCase()
  // Signs may remain between the words of a reading that is only guessed.
  const words = guessedReadings(text).flatMap((one) => tokenize(one).map(({ word }) => word))
  const asWords = words.length > 0 ? ` ${words.join(' ')} ` : ''
  const found: FoundText[] = []
  let isPartial = false
  for (const table of ['messages', 'documents'] as const) {
    const rows = await remainingWithin(tx, { project, now, text: all, folded, words: asWords, least }, table)
    isPartial ||= rows.length >= maxRemaining[table]
    for (const { id, is_by_person: isByPerson, texts } of rows)
      if (!erasedIds.has(id)) found.push(...texts.map((one) => ({ text: one, isByPerson })))
  }
  return { found: found.filter((one) => occurrences(text, one.text).length > 0), isPartial }
}

/**
 * Texts of remaining messages and documents that a derived text contains completely, of at least `least` characters. They are its other
 * sources, whether or not provenance names them. If there are more messages or documents than one statement returns, distinctive texts are
 * the first, so that short ones, which occur in many texts, hide none of them.
 */
export async function remainingTextsIn(
  tx: Transaction,
  project: string,
  text: string,
  now: Date,
  erasedIds: ReadonlySet<string> = new Set(),
  least = leastCharacters,
): Promise<FoundText[]> {
  const { found, isPartial } = await textsWithin(tx, project, text, now, erasedIds, least)
  if (!isPartial || least >= minReported) return found
  const long = await textsWithin(tx, project, text, now, erasedIds, minReported)
  return [...long.found, ...found.filter((one) => one.text.length < minReported)]
}

/**
 * As {@link remainingTextsIn}, but any number of short texts hides no distinctive one: short texts are only read if there is no distinctive
 * one.
 */
export async function distinctiveTextsIn(
  tx: Transaction,
  project: string,
  text: string,
  now: Date,
  erasedIds?: ReadonlySet<string>,
): Promise<FoundText[]> {
  for (const least of [minReported, leastOfRun]) {
    const found = await remainingTextsIn(tx, project, text, now, erasedIds, least)
    if (found.some((one) => isDistinctive(one.text))) return found
  }
  return remainingTextsIn(tx, project, text, now, erasedIds)
}
