import { type AuthoredTable, joinProjectHolds, projectHoldsSql, staysSql } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedWords } from '#lib/kernel/data-source.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { occurrences } from './fingerprints.ts'
import { type TextFinder, TextIndex } from './text-index.ts'

/** A remaining message or document with its current and earlier texts. */
export interface RemainingText {
  kind: 'message' | 'document'
  id: string
  texts: string[]
}

/** Messages and documents per query. */
const atOnce: Record<AuthoredTable, number> = { messages: 1_000, documents: 20 }
const textsOf: Record<AuthoredTable, string> = {
  messages:
    'ARRAY[x.content] || ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id ORDER BY e.edited_at, e.id)',
  documents: 'ARRAY(SELECT k.content FROM document_chunks k WHERE k.document_id = x.id ORDER BY k.position)',
}
const isMarked: Record<AuthoredTable, [join: string, marked: string]> = {
  messages: [
    'JOIN conversations c ON c.id = x.conversation_id JOIN projects p ON p.id = x.project_id',
    'c.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL',
  ],
  // Texts of a project that is being erased do not explain any words.
  documents: ['JOIN projects p ON p.id = x.project_id', 'p.erasing_since IS NOT NULL'],
}
/** $1: the project; $2: return ids after this one; $3: the present. `and` adds a condition, with parameters from $4. */
const remaining = (kind: AuthoredTable, and = ''): string => `WITH ${projectHoldsSql('$3')}
  SELECT x.id, ${textsOf[kind]} AS texts FROM ${kind} x ${isMarked[kind][0]} ${joinProjectHolds('x')}
  WHERE x.project_id = $1 AND x.id > $2 AND ${staysSql('x', isMarked[kind][1])} ${and} ORDER BY x.id LIMIT ${atOnce[kind]}`

/**
 * Texts of a project that remain: not marked as being erased, and not by an author who is being erased, unless under legal hold. `going`:
 * ids to count as erased in a dry run.
 */
export async function* remainingTexts(
  tx: Transaction,
  project: string,
  now: Date,
  going: ReadonlySet<string> = new Set(),
): AsyncGenerator<RemainingText> {
  for (const kind of ['messages', 'documents'] as const)
    for (let after = ''; ; ) {
      const rows = await queryWithin<{ id: string; texts: string[] }>(tx, `remaining-${kind}`, remaining(kind), [
        project,
        after,
        now,
      ])
      for (const { id, texts } of rows)
        if (!going.has(id)) yield { kind: kind === 'messages' ? 'message' : 'document', id, texts }
      const last = rows.at(-1)
      if (last === undefined || rows.length < atOnce[kind]) break
      after = last.id
    }
}

/**
 * Runs of erased words that remaining messages and documents of a project also contain, with these messages and documents. Such runs are
 * explained: in a derived text they do not count as words of the erased author.
 */
export async function explainedRuns(
  tx: Transaction,
  project: string,
  words: ErasedWords,
  now: Date,
  going?: ReadonlySet<string>,
): Promise<{ runs: Set<number>; places: Pick<RemainingText, 'kind' | 'id'>[] }> {
  const runs = new Set<number>()
  const places: Pick<RemainingText, 'kind' | 'id'>[] = []
  if (words.isEmpty) return { runs, places }
  for await (const { kind, id, texts } of remainingTexts(tx, project, now, going)) {
    const found = texts.flatMap((text) => words.runsIn(text))
    if (found.length === 0) continue
    for (const { run } of found) runs.add(run)
    places.push({ kind, id })
  }
  return { runs, places }
}

/** Minimum length in characters at which a match is not a coincidence. */
const leastTold = 20

/** All remaining texts of a project: the runs of erased words that they explain, and finders for these texts in other texts. */
export interface RemainingTexts {
  explained: ReadonlySet<number>
  long: TextFinder
  /** Texts so short that they occur in others by chance. */
  short: TextFinder
}
export async function readRemainingTexts(
  tx: Transaction,
  project: string,
  words: ErasedWords,
  now: Date,
  going?: ReadonlySet<string>,
): Promise<RemainingTexts> {
  const [explained, long, short] = [new Set<number>(), new TextIndex(), new TextIndex()]
  for await (const { texts } of remainingTexts(tx, project, now, going))
    for (const text of texts) {
      for (const { run } of words.runsIn(text)) explained.add(run)
      if (text.length >= leastTold) long.add(text)
      else short.add(text)
    }
  return { explained, long, short }
}

/** Minimum length in characters. Shorter texts occur in others by chance. */
const leastCharacters = 2
const mostFound = 50

/**
 * Texts of remaining messages and documents that a derived text contains completely. They are its other sources, whether or not provenance
 * names them. `$4` is the text.
 */
export async function remainingTextsIn(
  tx: Transaction,
  project: string,
  text: string,
  now: Date,
  going: ReadonlySet<string> = new Set(),
): Promise<string[]> {
  const folded = text.replace(/\s+/g, ' ')
  const contains = (content: string) =>
    `char_length(${content}) >= ${leastCharacters} AND (strpos($4, ${content}) > 0 OR strpos($5, btrim(regexp_replace(${content}, '\\s+', ' ', 'g'))) > 0)`
  const found: string[] = []
  const where: Record<AuthoredTable, string> = {
    messages: `AND ${contains('x.content')}`,
    documents: `AND EXISTS (SELECT FROM document_chunks k WHERE k.document_id = x.id AND ${contains('k.content')})`,
  }
  for (const kind of ['messages', 'documents'] as const) {
    const rows = await queryWithin<{ id: string; texts: string[] }>(
      tx,
      `remaining-in-${kind}`,
      remaining(kind, where[kind]),
      [project, '', now, text, folded],
    )
    for (const { id, texts } of rows) if (!going.has(id)) found.push(...texts)
  }
  return found.filter((one) => occurrences(text, one).length > 0).slice(0, mostFound)
}
