import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/statement-runner.ts'
import type { GraphChange } from './graph.ts'
import { postgresEditTexts } from './postgres-texts.ts'

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
export async function postgresApplyChange(tx: Transaction, group: string, change: GraphChange) {
  const ask = async (name: string, text: string, ...values: unknown[]) =>
    queryWithin<{ uuid: string }>(tx, `graph-${name}`, text, [group, ...values])
  const { deleteEpisodes, deleteEntities } = change
  const erasedFacts = (await ask('delete-facts', deleteFacts, change.deleteFacts, deleteEntities)).map(
    ({ uuid }) => uuid,
  )
  const changed = await ask(
    'change-facts',
    changeFacts,
    change.changeFacts.flatMap(({ uuid, without: gone }) => gone.map(() => uuid)),
    change.changeFacts.flatMap(({ without: gone }) => gone),
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
