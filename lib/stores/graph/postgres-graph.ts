import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import { queryWithin } from '#lib/stores/postgres/statement.ts'
import type { Episode, GraphChange, GraphStore } from './graph.ts'
import type { ListedElement, ListedKind } from './listing.ts'
import { hasWords, postgresNameMentions, searchedTextOf, textPlaces } from './postgres-names.ts'
import { postgresInGroup, postgresNeighbourhood, preferGraphIndexes } from './postgres-neighbourhood.ts'
import {
  postgresAllTexts,
  postgresEditTexts,
  postgresEntitiesWithoutMentions,
  postgresReadPage,
  postgresTextsAfter,
  postgresTextsWithPhrases,
} from './postgres-texts.ts'
import { episodeColumns, rowsAsEpisodes } from './rows.ts'

const factsAt = `SELECT a.e AS entity, count(*)::int AS n FROM unnest($2::text[]) AS a (e), LATERAL (
    SELECT uuid FROM graph_facts WHERE group_id = $1 AND source = a.e
    UNION SELECT uuid FROM graph_facts WHERE group_id = $1 AND target = a.e) AS f GROUP BY a.e`
const tables = ['facts', 'mentions', 'links', 'gatherings', 'entities', 'episodes'] as const
/** Ids per statement. */
const max = 1_000

/** The first whole words of a long text, which are selective enough. */
function beginningOf(text: string): string {
  const beginning = text.slice(0, 200)
  return (text.length > 200 && beginning.replace(/[a-z0-9]{1,200}$/i, '')) || beginning
}
const [episodePlace] = textPlaces
const searched = `SELECT DISTINCT ON (uuid) ${episodeColumns} FROM unnest($2::text[]) AS a (sought)
  JOIN graph_episodes ON ${hasWords(episodePlace, '$1', 'a.sought')} ORDER BY uuid`

/** Every column that contains ids of episodes, in other queries than erasure uses. */
const namedAsIds = [
  'SELECT count(*)::int AS n FROM graph_episodes WHERE uuid = ANY($2::text[]) AND group_id = $1',
  'SELECT count(*)::int AS n FROM graph_mentions WHERE group_id = $1 AND (episode = ANY($2::text[]))',
  `SELECT count(DISTINCT f.uuid)::int AS n FROM unnest($2::text[]) AS a (id) JOIN graph_facts f ON f.episodes @> ARRAY[a.id] AND f.${postgresInGroup}`,
  'SELECT count(*)::int AS n FROM graph_gatherings WHERE group_id = $1 AND first_episode = ANY($2::text[])',
  'SELECT count(*)::int AS n FROM graph_gatherings WHERE group_id = $1 AND last_episode = ANY($2::text[])',
  `SELECT count(*)::int AS n FROM graph_links WHERE group_id = $1 AND kind IN ('next', 'edge') AND source = ANY($2::text[])`,
  `SELECT count(*)::int AS n FROM graph_links WHERE group_id = $1 AND kind IN ('next', 'episode') AND target = ANY($2::text[])`,
]
/** Also every other column of ids, and every text, through the word index. */
const named = [
  ...namedAsIds,
  'SELECT count(*)::int AS n FROM graph_mentions WHERE group_id = $1 AND (entity = ANY($2::text[]))',
  `SELECT count(*)::int AS n FROM graph_links WHERE group_id = $1 AND kind IN ('member', 'episode') AND source = ANY($2::text[])`,
  `SELECT count(*)::int AS n FROM graph_links WHERE group_id = $1 AND kind IN ('member', 'edge') AND target = ANY($2::text[])`,
  ...textPlaces.map(
    (place) => `SELECT count(*)::int AS n FROM unnest($2::text[]) AS a (id)
      JOIN ${place.table} ON ${hasWords(place, '$1', 'a.id')} WHERE strpos(lower(${searchedTextOf(place)}), lower(a.id)) > 0`,
  ),
]

/** Whether the tables of our database contain no graph at all. */
export async function isEmptyGraph(tx: Transaction): Promise<boolean> {
  const select = { uuid: true }
  return !((await tx.graphEpisode.findFirst({ select })) ?? (await tx.graphEntity.findFirst({ select })))
}

/** Episodes that contain one of the ids or the beginning of one of the texts. */
async function searchEpisodes(
  tx: Transaction,
  group: string,
  { ids, texts }: { ids: readonly string[]; texts: readonly string[] },
): Promise<Episode[]> {
  const found = new Map<string, Episode>()
  await preferGraphIndexes(tx)
  const sought = [...ids, ...texts.map(beginningOf)]
  for (let at = 0; at < sought.length; at += max)
    for (const one of rowsAsEpisodes(
      await queryWithin(tx, 'graph-search', searched, [group, sought.slice(at, at + max)]),
    ))
      found.set(one.uuid, one)
  return [...found.values()]
}

/** How many columns of ids and texts still contain one of the episodes, by other queries than those of an erasure. */
const countResidue = (
  db: Database,
  group: string,
  episodes: readonly string[],
  asIds: readonly string[],
): Promise<number> =>
  snapshot(db, { enable_seqscan: 'off', jit: 'off' }, async (ask) => {
    let left = 0
    const count = async (ids: readonly string[], texts: readonly string[]) => {
      for (let at = 0; at < ids.length; at += max)
        for (const text of texts) {
          const [row] = await ask<{ n: number }>(text, [group, ids.slice(at, at + max)])
          left += row?.n ?? 0
        }
    }
    await count(episodes, named)
    await count(asIds, namedAsIds)
    return left
  })

/** Deletes up to `limit` records of a group, and returns how many it deleted. */
async function dropGroup(tx: Transaction, group: string, limit: number): Promise<number> {
  let deletedCount = 0
  for (const table of tables) {
    const rows = await queryWithin<{ n: number }>(
      tx,
      `graph-drop-${table}`,
      `WITH gone AS (DELETE FROM graph_${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM graph_${table} WHERE group_id = $1 LIMIT $2)) RETURNING 1)
       SELECT count(*)::int AS n FROM gone`,
      [group, limit - deletedCount],
    )
    deletedCount += rows[0]?.n ?? 0
    if (deletedCount >= limit) break
  }
  return deletedCount
}

const linked = (kind: string): string =>
  `(SELECT coalesce(jsonb_agg(l.target ORDER BY l.target), '[]') FROM graph_links l
     WHERE l.group_id = x.group_id AND l.kind = '${kind}' AND l.source = x.uuid)`
const mentioned = `(SELECT coalesce(jsonb_agg(m.entity ORDER BY m.entity), '[]') FROM graph_mentions m
  WHERE m.group_id = x.group_id AND m.episode = x.uuid)`
const shapes: Record<ListedKind, { from: string; where?: string; more?: string }> = {
  episodes: { from: 'graph_episodes', more: `jsonb_build_object('mentions', ${mentioned})` },
  entities: { from: 'graph_entities' },
  facts: { from: 'graph_facts' },
  communities: {
    from: 'graph_gatherings',
    where: "x.kind = 'community'",
    more: `jsonb_build_object('members', ${linked('member')})`,
  },
  sagas: {
    from: 'graph_gatherings',
    where: "x.kind = 'saga'",
    more: `jsonb_build_object('episodes', ${linked('episode')})`,
  },
}

/** A page of a group, ordered by uuid, after `after`. */
async function postgresListGroup(
  tx: Transaction,
  group: string,
  kind: ListedKind,
  after: string,
  max: number,
): Promise<ListedElement[]> {
  const { from, where = 'true', more = "'{}'::jsonb" } = shapes[kind]
  return queryWithin<{ uuid: string; record: Record<string, unknown> }>(
    tx,
    `graph-listed-${kind}`,
    `SELECT x.uuid, (to_jsonb(x) - ARRAY['group_id', 'kind', 'name_embedding', 'fact_embedding']) || ${more} AS record
     FROM ${from} x WHERE x.group_id = $1 AND x.uuid > $2 AND ${where} ORDER BY x.uuid LIMIT $3`,
    [group, after, max],
  )
}

const deleteFacts = `DELETE FROM graph_facts WHERE group_id = $1 AND uuid IN (
    SELECT unnest($2::text[])
    UNION SELECT uuid FROM graph_facts WHERE group_id = $1 AND source = ANY($3::text[])
    UNION SELECT uuid FROM graph_facts WHERE group_id = $1 AND target = ANY($3::text[]))
  RETURNING uuid`
/** The array without these values, in its order. */
const without = (column: string, values: string) =>
  `ARRAY(SELECT o.x FROM unnest(${column}) WITH ORDINALITY AS o (x, n) WHERE o.x <> ALL(${values}) ORDER BY o.n)`
/** $2 and $3: facts and sources to remove from them, in parallel; $4: all facts, including those without sources to remove; $5: facts to empty. */
const changeFacts = `UPDATE graph_facts f SET episodes = ${without('f.episodes', 'coalesce(a.gone, ARRAY[]::text[])')}, attributes = '{}',
    name = CASE WHEN e.uuid IS NULL THEN f.name ELSE 'RELATES_TO' END, fact = CASE WHEN e.uuid IS NULL THEN f.fact ELSE '' END,
    fact_embedding = CASE WHEN e.uuid IS NULL THEN f.fact_embedding ELSE '{}' END,
    reference_time = CASE WHEN e.uuid IS NULL THEN f.reference_time END
  FROM unnest($4::text[]) AS c (uuid) LEFT JOIN (SELECT b.uuid, array_agg(b.gone) AS gone FROM unnest($2::text[], $3::text[]) AS b (uuid, gone) GROUP BY b.uuid) AS a
    ON a.uuid = c.uuid LEFT JOIN (SELECT DISTINCT uuid FROM unnest($5::text[]) AS d (uuid)) AS e ON e.uuid = c.uuid
  WHERE f.group_id = $1 AND f.uuid = c.uuid RETURNING f.uuid`
const editEpisodes = `UPDATE graph_episodes e SET content = a.content FROM unnest($2::text[], $3::text[]) AS a (uuid, content)
  WHERE e.group_id = $1 AND e.uuid = a.uuid AND e.content <> a.content RETURNING e.uuid`
const removeMentions = `DELETE FROM graph_mentions WHERE group_id = $1 AND (episode, entity) IN (SELECT * FROM unnest($2::text[], $3::text[]))`
const restoreFacts = `UPDATE graph_facts SET invalid_at = NULL, expired_at = NULL
  WHERE group_id = $1 AND uuid = ANY($2::text[]) RETURNING uuid`
const forgetFacts = `DELETE FROM graph_links WHERE group_id = $1 AND kind = 'edge' AND target = ANY($2::text[])`
const deleteMentions = `DELETE FROM graph_mentions WHERE group_id = $1 AND (episode, entity) IN (
    SELECT episode, entity FROM graph_mentions WHERE group_id = $1 AND episode = ANY($2::text[])
    UNION SELECT episode, entity FROM graph_mentions WHERE group_id = $1 AND entity = ANY($3::text[]))`
const kinds = `ARRAY['member', 'episode', 'next', 'edge']`
const deleteLinks = `DELETE FROM graph_links WHERE group_id = $1 AND (kind, source, target) IN (
    SELECT kind, source, target FROM graph_links WHERE group_id = $1 AND kind = ANY(${kinds}) AND source = ANY($2::text[])
    UNION SELECT kind, source, target FROM graph_links WHERE group_id = $1 AND kind = ANY(${kinds}) AND target = ANY($2::text[]))`
const link = `INSERT INTO graph_links (group_id, kind, source, target)
  SELECT $1, 'next', a.f, a.t FROM unnest($2::text[], $3::text[]) AS a (f, t) ON CONFLICT DO NOTHING`
const blankEntities = `UPDATE graph_entities SET summary = '', attributes = '{}'
  WHERE group_id = $1 AND uuid = ANY($2::text[]) RETURNING uuid`
const blankCommunities = `UPDATE graph_gatherings SET name = '', summary = '', name_embedding = '{}', attributes = '{}'
  WHERE group_id = $1 AND uuid = ANY($2::text[]) AND kind = 'community' RETURNING uuid`
const changeSagas = `UPDATE graph_gatherings g SET summary = '', attributes = '{}', summarized_to = NULL, first_episode = a.f, last_episode = a.l
  FROM unnest($2::text[], $3::text[], $4::text[]) AS a (uuid, f, l)
  WHERE g.group_id = $1 AND g.uuid = a.uuid AND g.kind = 'saga' RETURNING g.uuid`
const deleteIn = (table: string) => `DELETE FROM ${table} WHERE group_id = $1 AND uuid = ANY($2::text[]) RETURNING uuid`

/** Applies the change. Deletions are counted as they are found, so facts at a deleted entity count whatever episodes they list. */
async function postgresApplyChange(tx: Transaction, group: string, change: GraphChange) {
  const ask = async (name: string, text: string, ...values: unknown[]) =>
    queryWithin<{ uuid: string }>(tx, `graph-${name}`, text, [group, ...values])
  const { deleteEpisodes, deleteEntities } = change
  const erasedFacts = (await ask('delete-facts', deleteFacts, change.deleteFacts, deleteEntities)).map(
    ({ uuid }) => uuid,
  )
  const changed = await ask(
    'change-facts',
    changeFacts,
    change.changeFacts.flatMap(({ uuid, without: deletedCount }) => deletedCount.map(() => uuid)),
    change.changeFacts.flatMap(({ without: deletedCount }) => deletedCount),
    change.changeFacts.map(({ uuid }) => uuid),
    change.changeFacts.filter(({ isBlanked }) => isBlanked).map(({ uuid }) => uuid),
  )
  const restored = await ask('restore-facts', restoreFacts, change.restoreFacts)
  await ask('forget-facts', forgetFacts, erasedFacts)
  const cut = await ask(
    'edit-episodes',
    editEpisodes,
    change.editEpisodes.map(({ uuid }) => uuid),
    change.editEpisodes.map(({ content }) => content),
  )
  await ask(
    'remove-mentions',
    removeMentions,
    change.removeMentions.map(({ episode }) => episode),
    change.removeMentions.map(({ entity }) => entity),
  )
  await ask('delete-mentions', deleteMentions, deleteEpisodes, deleteEntities)
  const gatherings = [...change.deleteCommunities, ...change.deleteSagas]
  await ask('delete-links', deleteLinks, [...deleteEpisodes, ...deleteEntities, ...gatherings])
  await ask(
    'link',
    link,
    change.link.map(({ from }) => from),
    change.link.map(({ to }) => to),
  )
  const entities = await ask('blank-entities', blankEntities, change.blankEntities)
  const communities = await ask('blank-communities', blankCommunities, change.blankCommunities)
  const sagas = await ask(
    'change-sagas',
    changeSagas,
    change.changeSagas.map(({ uuid }) => uuid),
    change.changeSagas.map(({ firstEpisode }) => firstEpisode),
    change.changeSagas.map(({ lastEpisode }) => lastEpisode),
  )
  const erasedGatherings = await ask('delete-gatherings', deleteIn('graph_gatherings'), gatherings)
  const erasedEntities = await ask('delete-entities', deleteIn('graph_entities'), deleteEntities)
  const erasedEpisodes = await ask('delete-episodes', deleteIn('graph_episodes'), deleteEpisodes)
  const textsEdited = await postgresEditTexts(tx, group, change.editTexts)
  return {
    episodesDeleted: erasedEpisodes.length,
    entitiesDeleted: erasedEntities.length,
    factsDeleted: erasedFacts.length,
    factsChanged: new Set([...changed, ...restored].map(({ uuid }) => uuid)).size,
    episodesCut: cut.length,
    textsEdited,
    blanked: entities.length + communities.length + sagas.length + erasedGatherings.length,
  }
}

/** The graph if no Neo4j is connected: tables of our database, changed in the caller's transaction. */
export const postgresGraph = (db: Database): GraphStore => ({
  provider: 'postgresql',
  async state() {
    const since = performance.now()
    const isUp = await db.pool.query('SELECT 1').then(
      () => true,
      () => false,
    )
    return { state: isUp ? 'ok' : 'down', latency: performance.now() - since }
  },
  read: (group, episodes, tx, ended = []) => postgresNeighbourhood(tx, group, episodes, ended, { locks: false }),
  async change(group, episodes, _key, decide, tx, ended = []) {
    // One change per group at a time: concurrent erasures in a group are rare, and chains of episodes have no row that could be locked.
    await queryWithin(tx, 'graph-lock', `SELECT pg_advisory_xact_lock(hashtextextended('graph ' || $1, 0))`, [group])
    const found = await postgresNeighbourhood(tx, group, episodes, ended, { locks: true })
    const change = decide(found)
    const counts = await postgresApplyChange(tx, group, change)
    const deletedCount = new Set(change.deleteEntities)
    return {
      ...counts,
      deleted: change.deleteEntities,
      orphaned: found.entities.flatMap(({ uuid }) => (deletedCount.has(uuid) ? [] : [uuid])),
      mentions: await postgresNameMentions(tx, group, change.names, change.redact),
      told: change.told,
    }
  },
  namesIn: (group, names, tx) => postgresNameMentions(tx, group, names, false),
  // Nothing to delete: pages are recorded in the transaction that erased them.
  async forget() {},
  async groupsOf(episodes, tx) {
    const rows = await queryWithin<{ uuid: string; group: string }>(
      tx,
      'graph-groups',
      'SELECT uuid, group_id AS group FROM graph_episodes WHERE uuid = ANY($1::text[]) ORDER BY uuid, group_id DESC',
      [episodes],
    )
    return new Map(rows.map(({ uuid, group }) => [uuid, group]))
  },
  async factsAt(group, entities, tx) {
    const rows = await queryWithin<{ entity: string; n: number }>(tx, 'graph-facts-at', factsAt, [group, entities])
    return new Map(rows.map(({ entity, n }) => [entity, n]))
  },
  list: (group, kind, after, limit, tx) => postgresListGroup(tx, group, kind, after, limit),
  episodes: async (group, after, limit, tx) =>
    rowsAsEpisodes(
      await queryWithin(
        tx,
        'graph-episodes-after',
        `SELECT ${episodeColumns} FROM graph_episodes WHERE group_id = $1 AND uuid > $2 ORDER BY uuid LIMIT $3`,
        [group, after, limit],
      ),
    ),
  search: (group, sought, tx) => searchEpisodes(tx, group, sought),
  episodesById: async (group, ids, tx) =>
    rowsAsEpisodes(
      await queryWithin(
        tx,
        'graph-episodes-by-id',
        `SELECT ${episodeColumns} FROM graph_episodes WHERE group_id = $1 AND uuid = ANY($2::text[]) ORDER BY uuid`,
        [group, ids],
      ),
    ),
  texts: async (group, tx, mayMatter = () => true, since) => postgresAllTexts(tx, group, mayMatter, since),
  page: (after, tx, until) => postgresReadPage(tx, after, until),
  // Every row has a group.
  cutUngrouped: async () => 0,
  textsWith: (group, phrases, tx) => postgresTextsWithPhrases(tx, group, phrases),
  bareEntities: (group, tx) => postgresEntitiesWithoutMentions(tx, group),
  exposedTexts: (group, episodes, tx) => postgresTextsAfter(tx, group, episodes),
  residue: (group, episodes, asIds = []) => countResidue(db, group, episodes, asIds),
  dropGroup: (group, limit, tx) => dropGroup(tx, group, limit),
  async countGroup(group, tx) {
    const rows = await queryWithin<{ n: number }>(
      tx,
      'graph-count',
      `SELECT (${tables.map((table) => `(SELECT count(*) FROM graph_${table} WHERE group_id = $1)`).join(' + ')})::int AS n`,
      [group],
    )
    return rows[0]?.n ?? 0
  },
  async close() {},
})
