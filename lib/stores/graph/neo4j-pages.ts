import { z } from 'zod'
import type { GraphChange, GraphOutcome, GraphStore } from './graph.ts'
import type { CypherQuery, CypherRow, CypherSession } from './neo4j-connection.ts'
import { listedFactsIndex, phrases, type WordIndexes } from './neo4j-indexes.ts'
import { neo4jNameMentions } from './neo4j-names.ts'
import { neo4jNeighbourhood, unlock } from './neo4j-neighbourhood.ts'
import { neo4jEditTexts } from './neo4j-texts.ts'
import { coreOfEntity, coreOfFact, coreOfGathering, lock } from './neo4j-values.ts'

const Place = z.object({
  kind: z.enum(['fact', 'entity', 'episode', 'community', 'saga']),
  id: z.string(),
  field: z.string(),
})
const Outcome: z.ZodType<GraphOutcome> = z.object({
  episodesDeleted: z.number(),
  entitiesDeleted: z.number(),
  deleted: z.array(z.string()).default([]),
  orphaned: z.array(z.string()).default([]),
  factsDeleted: z.number(),
  factsChanged: z.number(),
  blanked: z.number(),
  episodesCut: z.number().default(0),
  textsEdited: z.number().default(0),
  mentions: z.array(Place),
  told: z
    .object({
      personal: z.number(),
      unreferenced: z.number(),
      unproven: z.array(z.string()),
      counts: z.record(z.string(), z.number()).default({}),
      met: z.record(z.string(), z.array(z.string())).default({}),
      gone: z.array(z.string()).default([]),
    })
    .default({ personal: 0, unreferenced: 0, unproven: [], counts: {}, met: {}, gone: [] }),
})
const Pages = z.array(z.object({ outcome: z.string().nullable() }))

// Both block until a transaction that took the same node commits: the page's node blocks a repetition of the page, the group's node any
// other change of the group.
const takePage = 'MERGE (p:KnowledgePulsePage {key: $key}) WITH p SET p.taken = true RETURN p.outcome AS outcome'
export const makeGroup = 'MERGE (:KnowledgePulseGroup {group_id: $group})'
const takeGroup = 'MATCH (g:KnowledgePulseGroup {group_id: $group}) SET g.taken = true RETURN 1 AS taken'
const keepOutcome = 'MATCH (p:KnowledgePulsePage {key: $key}) SET p.outcome = $outcome REMOVE p.taken'

const facts = 'UNWIND $ids AS id MATCH ()-[r:RELATES_TO {uuid: id}]->() WHERE r.group_id = $group WITH DISTINCT r'
const blankableNodes = (label: string) =>
  `UNWIND $ids AS id MATCH (n:${label} {uuid: id}) WHERE n.group_id = $group WITH DISTINCT n`
const strip = (of: string, core: readonly string[]) =>
  `FOREACH (key IN [key IN keys(${of}) WHERE NOT key IN ${JSON.stringify([...core, lock])}] | REMOVE ${of}[key])`

const deleteFacts = `${facts}, r.uuid AS uuid DELETE r RETURN uuid`
const deleteFactsAt =
  'UNWIND $ids AS id MATCH (n:Entity {uuid: id})-[r:RELATES_TO]-() WHERE n.group_id = $group WITH DISTINCT r, r.uuid AS uuid DELETE r RETURN uuid'
const changeFacts = `UNWIND $rows AS row MATCH ()-[r:RELATES_TO {uuid: row.uuid}]->() WHERE r.group_id = $group WITH DISTINCT r, row
  SET r.episodes = [one IN r.episodes WHERE NOT one IN row.without] ${strip('r', coreOfFact)} RETURN r.uuid AS uuid`
const editEpisodes = `UNWIND $rows AS row MATCH (n:Episodic {uuid: row.uuid}) WHERE n.group_id = $group AND n.content <> row.content
  SET n.content = row.content RETURN n.uuid AS uuid`
const removeMentions = `UNWIND $rows AS row MATCH (:Episodic {uuid: row.episode})-[r:MENTIONS]->(:Entity {uuid: row.entity}) WHERE r.group_id = $group DELETE r`
const blankFacts = `${facts} SET r.name = 'RELATES_TO', r.fact = '' REMOVE r.fact_embedding, r.reference_time RETURN r.uuid AS uuid`
const restoreFacts = `${facts} REMOVE r.invalid_at, r.expired_at RETURN r.uuid AS uuid`
const naming = `CALL db.index.fulltext.queryNodes('${listedFactsIndex}', $query) YIELD node AS n WHERE n.group_id = $group
  AND any(one IN n.entity_edges WHERE one IN $ids) RETURN DISTINCT n.uuid AS uuid`
const forgetFacts = `UNWIND $ids AS id MATCH (n:Episodic {uuid: id}) WHERE n.group_id = $group
  SET n.entity_edges = [one IN n.entity_edges WHERE NOT one IN $facts] RETURN n.uuid AS uuid`
const link = `UNWIND $links AS l MATCH (a:Episodic {uuid: l.from}) WHERE a.group_id = $group
  MATCH (b:Episodic {uuid: l.to}) WHERE b.group_id = $group
  MERGE (a)-[r:NEXT_EPISODE]->(b) ON CREATE SET r.uuid = randomUUID(), r.group_id = $group, r.created_at = datetime()`
const blankEntities = `${blankableNodes('Entity')} SET n.summary = '' ${strip('n', coreOfEntity)} RETURN n.uuid AS uuid`
const blankCommunities = `${blankableNodes('Community')} SET n.name = '', n.summary = '' REMOVE n.name_embedding ${strip('n', coreOfGathering)} RETURN n.uuid AS uuid`
const changeSagas = `UNWIND $sagas AS s MATCH (n:Saga {uuid: s.uuid}) WHERE n.group_id = $group
  SET n.summary = '', n.first_episode_uuid = s.firstEpisode, n.last_episode_uuid = s.lastEpisode
  REMOVE n.last_summarized_at, n.last_summarized_episode_valid_at ${strip('n', coreOfGathering)} RETURN n.uuid AS uuid`
const remove = (label: string) => `${blankableNodes(label)}, n.uuid AS uuid DETACH DELETE n RETURN uuid`

const Uuids = z.array(z.object({ uuid: z.string() }))

/** Applies the change. Deletions are counted as they are found, so facts at a deleted entity count whatever episodes they list. */
async function neo4jApplyChange({ ask, seek }: CypherSession, group: string, change: GraphChange) {
  const each = async (text: string, ids: readonly string[], more: CypherRow = {}): Promise<string[]> =>
    ids.length === 0 ? [] : Uuids.parse(await ask(text, { group, ids, ...more })).map(({ uuid }) => uuid)
  const { deleteEpisodes, deleteEntities } = change
  const erasedFacts = [...(await each(deleteFacts, change.deleteFacts)), ...(await each(deleteFactsAt, deleteEntities))]
  const rows = async (text: string, some: readonly object[]): Promise<string[]> =>
    some.length === 0 ? [] : Uuids.parse(await ask(text, { group, rows: some })).map(({ uuid }) => uuid)
  const changed = await rows(changeFacts, change.changeFacts)
  const blanked = change.changeFacts.filter(({ isBlanked }) => isBlanked).map(({ uuid }) => uuid)
  await each(blankFacts, blanked)
  const restored = await each(restoreFacts, change.restoreFacts)
  for (const { texts, query } of phrases(erasedFacts)) {
    const found = Uuids.parse(await seek(naming, { group, ids: texts, query })).map(({ uuid }) => uuid)
    await each(forgetFacts, found, { facts: texts })
  }
  if (change.link.length > 0) await ask(link, { group, links: change.link })
  const entities = await each(blankEntities, change.blankEntities)
  const communities = await each(blankCommunities, change.blankCommunities)
  const sagas =
    change.changeSagas.length === 0 ? [] : Uuids.parse(await ask(changeSagas, { group, sagas: change.changeSagas }))
  const cut = await rows(editEpisodes, change.editEpisodes)
  await rows(removeMentions, change.removeMentions)
  const erasedCommunities = await each(remove('Community'), change.deleteCommunities)
  const erasedSagas = await each(remove('Saga'), change.deleteSagas)
  const erasedEntities = await each(remove('Entity'), deleteEntities)
  const erasedEpisodes = await each(remove('Episodic'), deleteEpisodes)
  const textsEdited = await neo4jEditTexts({ ask }, group, change.editTexts)
  return {
    episodesCut: cut.length,
    textsEdited,
    episodesDeleted: erasedEpisodes.length,
    entitiesDeleted: erasedEntities.length,
    factsDeleted: erasedFacts.length,
    factsChanged: new Set([...changed, ...restored]).size,
    blanked: entities.length + communities.length + sagas.length + erasedCommunities.length + erasedSagas.length,
  }
}

/** Changes a page of a group once: a repetition returns the stored outcome. `ask` belongs to the transaction of the change. */
export async function neo4jChangePage(
  { ask, seek, words }: { ask: CypherQuery; seek: CypherQuery; words: WordIndexes },
  [group, episodes, key, decide, , ended = []]: Parameters<GraphStore['change']>,
): Promise<GraphOutcome> {
  const [page] = Pages.parse(await ask(takePage, { key }))
  if (page?.outcome != null) return Outcome.parse(JSON.parse(page.outcome))
  if ((await ask(takeGroup, { group })).length === 0) await ask(makeGroup, { group })
  const found = await neo4jNeighbourhood({ ask, seek }, group, episodes, ended, { locks: true })
  const change = decide(found)
  const counts = await neo4jApplyChange({ ask, seek }, group, change)
  const deleted = new Set(change.deleteEntities)
  const outcome: GraphOutcome = {
    ...counts,
    deleted: change.deleteEntities,
    orphaned: found.entities.flatMap(({ uuid }) => (deleted.has(uuid) ? [] : [uuid])),
    mentions: await neo4jNameMentions({ ask, seek }, group, change.names, change.redact, words),
    told: change.told,
  }
  const ends = found.facts.flatMap(({ source, target }) => [source, target])
  await unlock(ask, [...new Set([...found.entities.map(({ uuid }) => uuid), ...ends])])
  await ask('MATCH (g:KnowledgePulseGroup {group_id: $group}) REMOVE g.taken', { group })
  await ask(keepOutcome, { key, outcome: JSON.stringify(outcome) })
  return outcome
}
