import { z } from 'zod'
import { Problem } from '#lib/kernel/problem.ts'
import type { Episode, GraphChange, GraphOutcome, GraphStore } from './graph.ts'
import type { ListedElement, ListedKind } from './listing.ts'
import { type CypherQuery, type CypherRow, type CypherSession, connectNeo4j } from './neo4j-connection.ts'
import {
  hasWord,
  inProperties,
  listedFactsIndex,
  namings,
  neo4jIndexes,
  neo4jInGroup,
  phrases,
  type WordIndexes,
} from './neo4j-indexes.ts'
import { neo4jNameMentions } from './neo4j-names.ts'
import { neo4jNeighbourhood, unlock } from './neo4j-neighbourhood.ts'
import { neo4jCutUngrouped, neo4jReadPage } from './neo4j-reading.ts'
import {
  isOther,
  neo4jAllTexts,
  neo4jEditTexts,
  neo4jEntitiesWithoutMentions,
  neo4jTextsAfter,
  neo4jTextsWithPhrases,
} from './neo4j-texts.ts'
import { coreOfEntity, coreOfFact, coreOfGathering, lock, neo4jEpisodes, plain } from './neo4j-values.ts'

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
const episodesNamingFacts = `CALL db.index.fulltext.queryNodes('${listedFactsIndex}', $query) YIELD node AS n WHERE n.group_id = $group
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
    const found = Uuids.parse(await seek(episodesNamingFacts, { group, ids: texts, query })).map(({ uuid }) => uuid)
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

/** Ids per query: each becomes a phrase in each of four properties, and Lucene allows 1,024 clauses. */
const idsPerSearch = 200
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
  for (const { texts: some, query } of phrases(lettered, idsPerSearch))
    await look(naming, { ids: some, query: hasLetter.test(group) ? neo4jInGroup(group, query) : query })
  if (others.length > 0) await look(numbered, { ids: others })
  for (const { texts: some } of phrases(texts.map(midst), textsAtOnce)) {
    await look(saying, { index: words.nodes, query: neo4jInGroup(group, inProperties(['content'], some)) })
  }
  return [...found.values()]
}

const Count = z.array(z.object({ n: z.number() }))
/** The value `n` of the query's only row. */
export const countOf = async (ask: CypherQuery, text: string, parameters: Record<string, unknown>): Promise<number> =>
  Count.parse(await ask(text, parameters))[0]?.n ?? 0

/** The group of each episode that exists. */
async function groupsOf(ask: CypherQuery, episodes: readonly string[]): Promise<Map<string, string>> {
  const Rows = z.array(z.object({ uuid: z.string(), group: z.string() }))
  const rows = await ask(
    'UNWIND $ids AS id MATCH (e:Episodic {uuid: id}) RETURN DISTINCT e.uuid AS uuid, e.group_id AS group ORDER BY uuid, group DESC',
    { ids: episodes },
  )
  return new Map(Rows.parse(rows).map(({ uuid, group }) => [uuid, group]))
}

/** The number of facts of each entity that has any. */
async function factsAt(ask: CypherQuery, group: string, entities: readonly string[]): Promise<Map<string, number>> {
  const rows = await ask(
    'UNWIND $ids AS id MATCH (n:Entity {uuid: id}) WHERE n.group_id = $group WITH n.uuid AS uuid, COUNT { MATCH (n)-[r:RELATES_TO]-() RETURN DISTINCT r } AS n WHERE n > 0 RETURN uuid, n',
    { group, ids: entities },
  )
  const Rows = z.array(z.object({ uuid: z.string(), n: z.number() }))
  return new Map(Rows.parse(rows).map(({ uuid, n }) => [uuid, n]))
}

// In this order, so that a node has few relationships when it is deleted.
const drops = [
  'MATCH ()-[r:RELATES_TO]->() WHERE r.group_id = $group WITH r LIMIT toInteger($max) DELETE r RETURN count(*) AS n',
  ...['Episodic', 'Saga', 'Community', 'Entity'].map(
    (label) =>
      `MATCH (n:${label}) WHERE n.group_id = $group WITH n LIMIT toInteger($max) DETACH DELETE n RETURN count(*) AS n`,
  ),
  `MATCH (n) WHERE ${isOther} WITH n LIMIT toInteger($max) DETACH DELETE n RETURN count(*) AS n`,
]
const total = `CALL () {
    ${['Episodic', 'Saga', 'Community', 'Entity'].map((label) => `MATCH (n:${label}) WHERE n.group_id = $group RETURN sum(1 + COUNT { (n)-->() }) AS n`).join(' UNION ALL ')}
    UNION ALL MATCH (n) WHERE ${isOther} RETURN sum(1 + COUNT { (n)-->() }) AS n
  } RETURN sum(n) AS n`

/** Deletes at most `max` nodes and relationships, in several transactions. Returns how many. */
async function neo4jDropGroup(
  writing: <T>(work: (ask: CypherQuery) => Promise<T>) => Promise<T>,
  group: string,
  max: number,
): Promise<number> {
  let deleted = 0
  for (const text of drops) {
    if (deleted >= max) break
    deleted += await writing((ask) => countOf(ask, text, { group, max: max - deleted }))
  }
  // Nothing remains, so the lock node of the group is also deleted.
  if (deleted < max) await writing((ask) => ask('MATCH (g:KnowledgePulseGroup {group_id: $group}) DELETE g', { group }))
  return deleted
}

const neo4jCountGroup = (ask: CypherQuery, group: string): Promise<number> => countOf(ask, total, { group })

const nodes = (label: string, more: string): string =>
  `MATCH (n:${label}) WHERE n.group_id = $group AND n.uuid > $after WITH n ORDER BY n.group_id, n.uuid LIMIT toInteger($max)
   RETURN n.uuid AS uuid, properties(n) AS p, ${more} AS more`
const queries: Record<ListedKind, string> = {
  episodes: nodes('Episodic', '{mentions: [(n)-[:MENTIONS]->(e) | e.uuid]}'),
  entities: nodes('Entity', "{labels: [label IN labels(n) WHERE label <> 'Entity']}"),
  facts: `MATCH (a)-[r:RELATES_TO]->(b) WHERE r.group_id = $group AND r.uuid > $after WITH a, r, b ORDER BY r.group_id, r.uuid LIMIT toInteger($max)
   RETURN r.uuid AS uuid, properties(r) AS p, {source: a.uuid, target: b.uuid} AS more`,
  communities: nodes('Community', '{members: [(n)-[:HAS_MEMBER]->(e) | e.uuid]}'),
  sagas: nodes('Saga', '{episodes: [(n)-[:HAS_EPISODE]->(e) | e.uuid]}'),
}
const Rows = z.array(
  z.object({ uuid: z.string(), p: z.record(z.string(), z.unknown()), more: z.record(z.string(), z.unknown()) }),
)
const isShown = (key: string): boolean => key !== 'group_id' && key !== lock && !key.endsWith('_embedding')

/** A page of a group, ordered by uuid, after `after`. */
async function neo4jListGroup(
  ask: CypherQuery,
  group: string,
  kind: ListedKind,
  after: string,
  max: number,
): Promise<ListedElement[]> {
  const rows = Rows.parse(await ask(queries[kind], { group, after, max }))
  return rows.map(({ uuid, p, more }) => {
    const properties = Object.entries(p).filter(([key]) => isShown(key))
    return { uuid, record: { ...Object.fromEntries(properties.map(([key, value]) => [key, plain(value)])), ...more } }
  })
}

const linksOf =
  'UNWIND $ids AS id MATCH (n:Episodic {uuid: id}) WHERE n.group_id = $group RETURN sum(COUNT { (n)--() }) AS n'

const nodesNaming = `CALL db.index.fulltext.queryNodes($index, $query) YIELD node AS n WHERE n.group_id = $group
  WITH DISTINCT n, properties(n) AS p WHERE any(key IN keys(p) WHERE NOT key ENDS WITH '_embedding' AND any(id IN $ids WHERE
    CASE WHEN p[key] IS :: LIST<STRING NOT NULL> THEN any(one IN p[key] WHERE toLower(one) CONTAINS toLower(id))
      WHEN p[key] IS :: STRING THEN toLower(p[key]) CONTAINS toLower(id) ELSE false END)) RETURN count(n) AS n`
const relationsNaming = nodesNaming
  .replace('queryNodes', 'queryRelationships')
  .replace('YIELD node AS n', 'YIELD relationship AS n')

/** Properties that contain only ids of episodes. */
const idsOf = { nodes: ['uuid', 'first_episode_uuid', 'last_episode_uuid'], relations: ['episodes'] }
const nodesOfIds = `CALL db.index.fulltext.queryNodes($index, $query) YIELD node AS n WHERE n.group_id = $group
  WITH DISTINCT n WHERE (n:Episodic AND n.uuid IN $ids) OR n.first_episode_uuid IN $ids OR n.last_episode_uuid IN $ids RETURN count(n) AS n`
const relationsOfIds = `CALL db.index.fulltext.queryRelationships($index, $query) YIELD relationship AS n WHERE n.group_id = $group
  WITH DISTINCT n WHERE any(one IN n.episodes WHERE one IN $ids) RETURN count(n) AS n`
/** Each of these properties is a clause, and Lucene allows 1,024 clauses. */
const idsAtOnce = 300

/**
 * Searches the words of every property, including ids and lists of ids, and not by the queries that erasure uses. `ask` runs each query in
 * its own transaction, so that nodes and relationships are searched at the same time.
 */
async function neo4jResidue(
  ask: CypherQuery,
  group: string,
  episodes: readonly string[],
  asIds: readonly string[],
  words: WordIndexes,
): Promise<number> {
  let left = 0
  for (const { texts, query } of phrases(episodes, words.phrases)) {
    const parameters = { group, ids: texts, query: neo4jInGroup(group, query) }
    const counts = await Promise.all([
      countOf(ask, linksOf, { group, ids: texts }),
      countOf(ask, nodesNaming, { ...parameters, index: words.nodes }),
      countOf(ask, relationsNaming, { ...parameters, index: words.relations }),
    ])
    for (const count of counts) left += count
  }
  for (const { texts: ids } of phrases(asIds, idsAtOnce)) {
    left += await countOf(ask, linksOf, { group, ids })
    for (const [of, text] of [
      ['nodes', nodesOfIds],
      ['relations', relationsOfIds],
    ] as const) {
      const query = neo4jInGroup(group, inProperties(idsOf[of], ids))
      left += await countOf(ask, text, { group, ids, index: words[of], query })
    }
  }
  return left
}

/**
 * A Neo4j database that Graphiti writes to. It does not take part in our database's transactions. A change is a separate transaction
 * that stores its outcome under its key: a repetition after a crash between the two commits changes nothing and counts the same.
 */
export function neo4jGraph(url: string): GraphStore {
  const connection = connectNeo4j(url)
  const indexes = neo4jIndexes(connection)
  const reading = async <T>(work: (ask: CypherQuery) => Promise<T>): Promise<T> => {
    await indexes.ready()
    return connection.read(work)
  }
  /** Each query in its own transaction, so that several can run at the same time. */
  const each: CypherQuery = (text, parameters) => reading((ask) => ask(text, parameters))
  const writing = async <T>(work: (ask: CypherQuery) => Promise<T>): Promise<T> => {
    await indexes.ready()
    return connection.write(work)
  }
  // Runs as a writer, because in a cluster the leader has all committed data. Within a group, only late writes of other applications can
  // change data meanwhile.
  const seek: CypherQuery = (text, parameters) => connection.write((ask) => ask(text, parameters))
  /** Another process that found new property names may have replaced our word indexes: retry with the new ones. */
  const withWords = async <T>(work: (words: WordIndexes) => Promise<T>): Promise<T> => {
    let words = await indexes.words()
    for (;;)
      try {
        return await work(words)
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        const now = await indexes.words()
        if (now.nodes === words.nodes) throw error
        words = now
      }
  }
  return {
    provider: 'neo4j',
    async state() {
      const since = performance.now()
      try {
        await connection.ping()
        return { state: 'ok', latency: performance.now() - since }
      } catch (error) {
        const detail = error instanceof Problem ? error.detail : undefined
        return { state: 'down', latency: performance.now() - since, ...(detail === undefined ? {} : { detail }) }
      }
    },
    read: (group, episodes, _tx, ended = []) =>
      reading((ask) => neo4jNeighbourhood({ ask, seek: ask }, group, episodes, ended, { locks: false })),
    change: (...page) =>
      withWords(async (words) => {
        // In a separate transaction: two transactions that create and lock the node at the same time would conflict.
        await writing((ask) => ask(makeGroup, { group: page[0] }))
        return writing((ask) => neo4jChangePage({ ask, seek, words }, page))
      }),
    namesIn: (group, names) =>
      withWords((words) => reading((ask) => neo4jNameMentions({ ask, seek: ask }, group, names, false, words))),
    forget: (keyPrefix) =>
      writing(
        async (ask) =>
          void (await ask('MATCH (p:KnowledgePulsePage) WHERE p.key STARTS WITH $keyPrefix DELETE p', { keyPrefix })),
      ),
    list: (group, kind, after, max) => reading((ask) => neo4jListGroup(ask, group, kind, after, max)),
    groupsOf: (episodes) => reading((ask) => groupsOf(ask, episodes)),
    factsAt: (group, entities) => reading((ask) => factsAt(ask, group, entities)),
    episodes: async (group, after, max) =>
      neo4jEpisodes(
        await reading((ask) =>
          ask(
            'MATCH (e:Episodic) WHERE e.group_id = $group AND e.uuid > $after WITH e ORDER BY e.group_id, e.uuid LIMIT toInteger($max) RETURN properties(e) AS p',
            { group, after, max },
          ),
        ),
      ),
    search: (group, sought) => withWords((words) => reading((ask) => searchFullText(ask, group, sought, words))),
    episodesById: async (group, ids) =>
      neo4jEpisodes(
        await reading((ask) =>
          ask(
            'UNWIND $ids AS id MATCH (e:Episodic {uuid: id}) WHERE e.group_id = $group WITH DISTINCT e RETURN properties(e) AS p',
            { group, ids },
          ),
        ),
      ),
    texts: async (group, _tx, mayMatter = () => true, since) => neo4jAllTexts(each, group, mayMatter, since),
    page: (after, _tx, until) => neo4jReadPage(each, after, until),
    cutUngrouped: (kind, ids, cut) => connection.write((ask) => neo4jCutUngrouped(ask, kind, ids, cut)),
    textsWith: (group, phrases) =>
      withWords((words) => reading((ask) => neo4jTextsWithPhrases(ask, group, phrases, words))),
    bareEntities: (group) => reading((ask) => neo4jEntitiesWithoutMentions(ask, group)),
    exposedTexts: (group, episodes) => neo4jTextsAfter(each, group, episodes),
    residue: (group, episodes, asIds = []) => withWords((words) => neo4jResidue(each, group, episodes, asIds, words)),
    dropGroup: (group, max) => neo4jDropGroup(writing, group, max),
    countGroup: (group) => reading((ask) => neo4jCountGroup(ask, group)),
    close: () => connection.close(),
  }
}
