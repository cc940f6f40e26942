import type { Episode } from './graph.ts'
import type { Ask } from './neo4j-connection.ts'
import { hasWord, inGroup, inProperties, namings, phrases, type WordIndexes } from './neo4j-indexes.ts'
import { asEpisodes } from './neo4j-values.ts'

/** Ids of one query: each stands for a phrase in each of four properties, and Lucene takes 1,024 clauses. */
const idsAtOnce = 200
const textsAtOnce = 400
/** Characters of a text that are looked for: enough to be one of few. */
const longest = 200

// What the index finds is too much where an id has few letters; what the id stands in is asked for here, so that little is read.
const naming = `CALL db.index.fulltext.queryNodes('${namings}', $query) YIELD node AS e WHERE e.group_id = $group
  WITH DISTINCT e, toLower(coalesce(e.name, '') + ' ' + coalesce(e.source_description, '') + ' ' + coalesce(e.episode_metadata, '')) AS names
  WHERE any(id IN $ids WHERE names CONTAINS toLower(id)) RETURN properties(e) AS p`
/** Ids without a letter, which the index of letters does not know: by the names of the group, without its contents. */
const numbered = naming.replace(/CALL .* YIELD node AS e WHERE/, 'MATCH (e:Episodic) WHERE')
const saying = `CALL db.index.fulltext.queryNodes($index, $query) YIELD node AS e WHERE e.group_id = $group AND e:Episodic
  RETURN DISTINCT properties(e) AS p`

const hasLetter = /\p{L}/u

/**
 * Words in the midst of a text, as they stand in an episode whatever was put around it: the first and the last may have grown together
 * with what stands beside them.
 */
function midst(text: string): string {
  const words = text.trim().slice(0, longest).split(/\s+/)
  const inner = words.length > 2 ? words.slice(1, -1).join(' ') : text.trim().slice(0, longest)
  return hasWord.test(inner) ? inner : text.trim().slice(0, longest)
}

/** Episodes that may name one of the ids, or have one of the texts, by the indexes of their names and words. */
export async function search(
  ask: Ask,
  group: string,
  { ids, texts }: { ids: readonly string[]; texts: readonly string[] },
  words: WordIndexes,
): Promise<Episode[]> {
  const found = new Map<string, Episode>()
  const look = async (text: string, parameters: Record<string, unknown>) => {
    for (const episode of asEpisodes(await ask(text, { group, ...parameters }))) found.set(episode.uuid, episode)
  }
  const lettered = ids.filter((id) => hasLetter.test(id))
  const others = ids.filter((id) => !hasLetter.test(id))
  for (const { texts: some, query } of phrases(lettered, idsAtOnce))
    await look(naming, { ids: some, query: hasLetter.test(group) ? inGroup(group, query) : query })
  if (others.length > 0) await look(numbered, { ids: others })
  for (const { texts: some } of phrases(texts.map(midst), textsAtOnce)) {
    await look(saying, { index: words.nodes, query: inGroup(group, inProperties(['content'], some)) })
  }
  return [...found.values()]
}
