import type { Transaction } from '#lib/kernel/context.ts'
import type { Scope } from '#lib/kernel/holder.ts'
import type { GraphStore, GraphText, TextEdit } from '#lib/stores/graph/graph.ts'
import { subjectOf } from '../held.ts'
import type { Sources } from '../sources.ts'
import { TextIndex } from '../words/text-index.ts'
import { halfRuns } from '../words/tokens.ts'
import { type ErasedTexts, isOnlyNames } from './erased-texts.ts'
import { type NamesOf, namesOfSubject } from './subject-names.ts'

/** What a search for erased words found in a group. */
export interface FoundByWords {
  /** Episodes whose content has erased words. */
  episodes: string[]
  /** Entities that are called by erased words, and those of a partial ingestion. */
  deleteEntities: string[]
  edits: TextEdit[]
}

/** Phrases from which on reading every text costs less than asking an index for each. */
const mostPhrases = 400

/**
 * Everything in a group that has erased words, by full-text indexes; every text is read where the erased texts are gone, where there are many
 * of them, or where verification found something that the indexes had not (`isThorough`).
 */
export async function searchWords(
  parts: { graph: GraphStore; sources: Sources; namesOf: NamesOf },
  scope: Scope,
  group: string,
  erased: ErasedTexts,
  { isThorough, now }: { isThorough: boolean; now: Date },
  tx: Transaction,
): Promise<FoundByWords> {
  const { graph, sources, namesOf } = parts
  const bare = await graph.bareEntities(group, tx)
  const bareNames = new TextIndex(bare.map(({ name }) => name).filter((name) => name.length > 1))
  const phrases = new Set<string>()
  const inErased = new Set<string>()
  let count = 0
  for await (const batch of sources.of(scope, tx, now))
    for (const source of batch) {
      if (source.group !== group) continue
      count++
      for (const text of source.texts) {
        if (phrases.size <= mostPhrases) for (const phrase of phrasesOf(text)) phrases.add(phrase)
        for (const { start, end } of bareNames.spansIn(text)) inErased.add(text.slice(start, end))
      }
    }
  const subject = subjectOf(scope)
  if (subject) for (const name of await namesOfSubject(namesOf, subject, tx)) phrases.add(name)

  const found: FoundByWords = { episodes: [], deleteEntities: [], edits: [] }
  const episodes = new Set<string>()
  const deleted = new Set<string>()
  const look = async (texts: readonly GraphText[]) => {
    await erased.prepare(
      texts.map(({ text }) => text),
      tx,
    )
    for (const one of texts) {
      if (one.kind === 'episode' && one.field === 'content') {
        if (erased.words.runsIn(one.text).length > 0) episodes.add(one.id)
      } else if (one.kind === 'entity' && one.field === 'name' && isErasedName(erased, one.text)) deleted.add(one.id)
      else {
        const edit = erased.edit(one)
        if (edit) found.edits.push(edit)
      }
    }
  }
  if (!isThorough && count > 0 && phrases.size <= mostPhrases)
    await look(await graph.textsWith(group, [...phrases], tx))
  else for await (const texts of await graph.texts(group, tx, erased.mayMatter)) await look(texts)
  const namedInErased = new TextIndex(inErased)
  const edited = new Set(found.edits.map(({ id }) => id))
  for (const { uuid, name } of bare)
    if (edited.has(uuid) || namedInErased.spansIn(name).some(({ start, end }) => end - start >= name.trim().length))
      deleted.add(uuid)
  found.episodes = [...episodes].sort()
  found.deleteEntities = [...deleted].sort()
  return found
}

const isErasedName = (erased: ErasedTexts, name: string): boolean =>
  erased.unexplained(name).length > 0 || isOnlyNames(erased.words, name)

/** Texts from which on they identify their author, as in `Fingerprints`. */
const leastCharacters = 20
function phrasesOf(text: string): string[] {
  if (text.trim().length < leastCharacters) return []
  const pieces = halfRuns(text)
  return pieces.length > 0 ? pieces : [text.trim()]
}
