import type { Episode } from './graph.ts'
import type { CypherQuery } from './neo4j-connection.ts'
import { hasWord, inProperties, namings, neo4jInGroup, phrases, type WordIndexes } from './neo4j-indexes.ts'
import { neo4jEpisodes } from './neo4j-values.ts'

/** Ids per query: each becomes a phrase in each of four properties, and Lucene allows 1,024 clauses. */
const idsAtOnce = 200
const textsAtOnce = 400
/** How many characters of a text are searched: enough to be selective. */
const longest = 200

// The index returns too many episodes for an id with few letters, so the query also filters by the id itself, and little is read.
const naming = `CALL db.index.fulltext.queryNodes('${namings}', $query) YIELD node AS e WHERE e.group_id = $group
  WITH DISTINCT e, toLower(coalesce(e.name, '') + ' ' + coalesce(e.source_description, '') + ' ' + coalesce(e.episode_metadata, '')) AS names
  WHERE any(id IN $ids WHERE names CONTAINS toLower(id)) RETURN properties(e) AS p`
/** For ids without a letter, which the index of letters does not contain: searches the names of the group without its contents. */
const numbered = naming.replace(/CALL .* YIELD node AS e WHERE/, 'MATCH (e:Episodic) WHERE')
const saying = `CALL db.index.fulltext.queryNodes($index, $query) YIELD node AS e WHERE e.group_id = $group AND e:Episodic
  RETURN DISTINCT properties(e) AS p`

const hasLetter = /\p{L}/u

/**
 * The inner words of a text, as they occur in an episode whatever was added around it: the first and last word may be joined with
 * adjacent text.
 */
function midst(text: string): string {
  const words = text.trim().slice(0, longest).split(/\s+/)
  const inner = words.length > 2 ? words.slice(1, -1).join(' ') : text.trim().slice(0, longest)
  return hasWord.test(inner) ? inner : text.trim().slice(0, longest)
}

/** Episodes that may contain one of the ids or texts, found through the indexes of names and words. */
export async function searchFullText(
  ask: CypherQuery,
  group: string,
  { ids, texts }: { ids: readonly string[]; texts: readonly string[] },
  words: WordIndexes,
): Promise<Episode[]> {
  const found = new Map<string, Episode>()
  const look = async (text: string, parameters: Record<string, unknown>) => {
    for (const episode of neo4jEpisodes(await ask(text, { group, ...parameters }))) found.set(episode.uuid, episode)
  }
  const lettered = ids.filter((id) => hasLetter.test(id))
  const others = ids.filter((id) => !hasLetter.test(id))
  for (const { texts: some, query } of phrases(lettered, idsAtOnce))
    await look(naming, { ids: some, query: hasLetter.test(group) ? neo4jInGroup(group, query) : query })
  if (others.length > 0) await look(numbered, { ids: others })
  for (const { texts: some } of phrases(texts.map(midst), textsAtOnce)) {
    await look(saying, { index: words.nodes, query: neo4jInGroup(group, inProperties(['content'], some)) })
  }
  return [...found.values()]
}
