import { scopeSubject } from '#lib/domains/projects/legal-holds.ts'
import type { Sources } from '#lib/domains/projects/provenance/sources.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { GraphStore, GraphText, TextEdit } from '#lib/stores/graph/graph.ts'
import { halfRuns } from '#lib/text/words.ts'
import { SourceSpan } from '../words/run-words.ts'
import { TextIndex } from '../words/text-index.ts'
import { type ErasedTexts, isOnlyNames } from './erased-texts.ts'
import { type NamesOf, namesOfSubject } from './subject-names.ts'

/** Result of a search for erased words in a group. */
export interface FoundByWords {
  /** Episodes with erased words in their content. */
  episodes: string[]
  /** Entities whose names are erased words, including entities of a partial ingestion. */
  deleteEntities: string[]
  edits: TextEdit[]
}

/** Above this number of phrases, reading every text is cheaper than an index search for each phrase. */
const maxPhrases = 400

/**
 * Finds all texts of a group that contain erased words, with the text layer that verification also uses: an index finds no encoded words.
 * Episodes and facts from before the first erased source are searched by full-text indexes only. Reads these too if the erased texts no longer
 * exist, if there are many of them, or if verification found residue (`isThorough`). `only`: the records to search.
 */
export async function searchWords(
  parts: { graph: GraphStore; sources: Sources; namesOf: NamesOf },
  scope: ErasureScope,
  group: string,
  erased: ErasedTexts,
  { isThorough, only, now }: { isThorough: boolean; only?: ReadonlySet<string>; now: Date },
  tx: Transaction,
): Promise<FoundByWords> {
  const { graph, sources, namesOf } = parts
  const bare = await graph.bareEntities(group, tx)
  const bareNames = new TextIndex(bare.map(({ name }) => name).filter((name) => name.length > 1))
  const phrases = new Set<string>()
  const inErased = new Set<string>()
  const sought = new SourceSpan()
  for await (const batch of sources.of(scope, tx, now))
    for (const source of batch) {
      if (source.group !== group) continue
      sought.add(source)
      for (const text of source.texts) {
        if (phrases.size <= maxPhrases) for (const phrase of phrasesOf(text)) phrases.add(phrase)
        for (const { start, end } of bareNames.spansIn(text)) inErased.add(text.slice(start, end))
      }
    }
  const subject = scopeSubject(scope)
  if (subject) for (const name of await namesOfSubject(namesOf, subject, tx)) phrases.add(name)

  const found: FoundByWords = { episodes: [], deleteEntities: [], edits: [] }
  const episodes = new Set<string>()
  const deleted = new Set<string>()
  const seen = new Set<string>()
  const look = async (given: readonly GraphText[]) => {
    const texts = given.filter(({ kind, id, field }) => only?.has(id) !== false && !seen.has(`${kind} ${id} ${field}`))
    for (const { kind, id, field } of texts) seen.add(`${kind} ${id} ${field}`)
    await erased.prepare(
      texts.map(({ text }) => text),
      tx,
    )
    for (const one of texts) {
      if (one.kind === 'episode' && one.field === 'content') {
        if (erased.words.runsIn(one.text).length > 0) episodes.add(one.id)
        const edit = erased.edit(one)
        if (edit) found.edits.push(edit)
      } else if (one.kind === 'entity' && one.field === 'name' && isErasedName(erased, one.text)) deleted.add(one.id)
      else {
        const edit = erased.edit(one)
        if (edit) found.edits.push(edit)
      }
    }
  }
  const since = isThorough || phrases.size > maxPhrases ? undefined : sought.since
  for await (const texts of await graph.texts(group, tx, erased.mayMatter, since)) await look(texts)
  if (since) await look(await graph.textsWith(group, [...phrases], tx))
  const namedInErased = new TextIndex(inErased)
  const edited = new Set(found.edits.map(({ id }) => id))
  for (const { uuid, name } of bare)
    if (only) continue
    else if (
      edited.has(uuid) ||
      namedInErased.spansIn(name).some(({ start, end }) => end - start >= name.trim().length)
    )
      deleted.add(uuid)
  found.episodes = [...episodes].sort()
  found.deleteEntities = [...deleted].sort()
  return found
}

const isErasedName = (erased: ErasedTexts, name: string): boolean =>
  erased.unexplained(name).length > 0 || isOnlyNames(erased.words, name)

/** Minimum length in characters at which a text identifies its author, as in `Fingerprints`. */
const leastCharacters = 20
function phrasesOf(text: string): string[] {
  if (text.trim().length < leastCharacters) return []
  const pieces = halfRuns(text)
  return pieces.length > 0 ? pieces : [text.trim()]
}
