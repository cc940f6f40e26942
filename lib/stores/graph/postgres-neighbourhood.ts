import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/statement.ts'
import {
  type CommunityNeighbour,
  endedWithin,
  type Mentioning,
  maxCounted,
  maxEnded,
  type Neighbourhood,
  type SagaNeighbour,
} from './graph.ts'
import { entityColumns, episodeColumns, factColumns, rowsAsEntities, rowsAsEpisodes, rowsAsFacts } from './rows.ts'

const episodesOf = `SELECT ${episodeColumns} FROM graph_episodes WHERE group_id = $1 AND uuid = ANY($2::text[]) ORDER BY uuid`
/** Restricts to the group without using its index: with few known rows, the planner considers scanning a whole group cheap. */
export const postgresInGroup = "group_id || '' = $1"
/**
 * SQL: the uuids of facts with one of these sources. Each source is one search of the index: a search for all of them
 * (`&&`) compares each fact with each source.
 */
export const postgresFactsFrom = (sources: string) => `SELECT s.uuid FROM unnest(${sources}::text[]) AS a (e), LATERAL (
    SELECT f.uuid FROM graph_facts f WHERE f.episodes @> ARRAY[a.e] AND f.${postgresInGroup} OFFSET 0) AS s`
/** Facts by their sources; by the episodes' `entityEdges` only if a fact has no source. */
const factsOf = `SELECT ${factColumns} FROM graph_facts WHERE group_id = $1 AND uuid IN (${postgresFactsFrom('$2')})
  UNION ALL SELECT ${factColumns} FROM graph_facts WHERE group_id = $1 AND uuid = ANY($3::text[]) AND episodes = '{}'
  ORDER BY uuid`
/** $3: ends of the facts; $4: facts that have no other source. */
const entitiesOf = `SELECT ${entityColumns} FROM graph_entities WHERE group_id = $1 AND uuid IN (
    SELECT entity FROM graph_mentions WHERE group_id = $1 AND episode = ANY($2::text[])
    UNION SELECT a.e FROM unnest($3::text[]) AS a (e)
      WHERE NOT EXISTS (SELECT FROM graph_mentions m WHERE m.group_id = $1 AND m.entity = a.e)
        AND NOT EXISTS (SELECT FROM graph_facts f WHERE f.group_id = $1 AND f.source = a.e AND f.uuid <> ALL($4::text[]))
        AND NOT EXISTS (SELECT FROM graph_facts f WHERE f.group_id = $1 AND f.target = a.e AND f.uuid <> ALL($4::text[])))
  ORDER BY uuid`
const lockEntities = `${entitiesOf} FOR UPDATE`
const mentionsOf = `SELECT a.e AS entity, n.n FROM unnest($2::text[]) AS a (e), LATERAL (SELECT count(*)::int AS n FROM (
    SELECT FROM graph_mentions m WHERE m.group_id = $1 AND m.entity = a.e AND m.episode <> ALL($3::text[]) LIMIT $4::int) AS counted) AS n
  WHERE n.n > 0`
const ownMentions = `SELECT episode, entity FROM graph_mentions WHERE group_id = $1 AND episode = ANY($2::text[]) AND entity = ANY($3::text[])
  ORDER BY episode, entity`
/** $2: ids that were passed or recorded; $3: when the episodes were created; $4: excluded ids. */
const endedOf = `SELECT ${factColumns} FROM graph_facts WHERE group_id = $1 AND uuid = ANY($2::text[]) AND uuid <> ALL($4::text[])
  UNION SELECT * FROM (SELECT ${factColumns} FROM graph_facts f WHERE group_id = $1 AND expired_at IS NOT NULL AND uuid <> ALL($4::text[])
    AND EXISTS (SELECT FROM unnest($3::timestamptz[]) AS a (t) WHERE f.expired_at BETWEEN a.t AND a.t + $5 * interval '1 ms')
    AND f.expired_at BETWEEN (SELECT min(t) FROM unnest($3::timestamptz[]) AS a (t))
      AND (SELECT max(t) FROM unnest($3::timestamptz[]) AS a (t)) + $5 * interval '1 ms'
    ORDER BY expired_at, uuid LIMIT ${maxEnded}) AS inside
  ORDER BY uuid`
// Members are collected once. A query per community would scan the members of a large page for each community.
const communitiesOf = `WITH RECURSIVE within AS MATERIALIZED (
    SELECT source, array_agg(target ORDER BY target) AS members FROM graph_links
    WHERE group_id = $1 AND kind = 'member' AND target = ANY($2::text[]) GROUP BY source),
  above AS (
    SELECT source FROM within
    UNION SELECT l.source FROM above a, LATERAL (
      SELECT source FROM graph_links WHERE group_id = $1 AND kind = 'member' AND target = a.source OFFSET 0) AS l)
  SELECT uuid, name, summary, coalesce(w.members, '{}') AS members,
    (SELECT count(*)::int FROM (SELECT FROM graph_links l WHERE l.group_id = $1 AND l.kind = 'member' AND l.source = g.uuid
      AND l.target <> ALL($2::text[]) LIMIT $3::int) AS counted) AS others
  FROM graph_gatherings g LEFT JOIN within w ON w.source = g.uuid
  WHERE group_id = $1 AND kind = 'community' AND uuid IN (SELECT source FROM above) ORDER BY uuid`
const nextOf = `SELECT source AS from, target AS to FROM graph_links WHERE group_id = $1 AND kind = 'next' AND source = ANY($2::text[])
  UNION SELECT source, target FROM graph_links WHERE group_id = $1 AND kind = 'next' AND target = ANY($2::text[]) ORDER BY 1, 2`
/** $3: the episodes and their neighbours. */
const sagasOf = `WITH said AS MATERIALIZED (
    SELECT source, array_agg(target ORDER BY target) AS episodes FROM graph_links
    WHERE group_id = $1 AND kind = 'episode' AND target = ANY($3::text[]) GROUP BY source)
  SELECT uuid, name, summary, first_episode AS "firstEpisode", last_episode AS "lastEpisode",
    summarized_to AS "summarizedTo", coalesce(s.episodes, '{}') AS episodes,
    (SELECT count(*)::int FROM (SELECT FROM graph_links l WHERE l.group_id = $1 AND l.kind = 'episode' AND l.source = g.uuid
      AND l.target <> ALL($2::text[]) LIMIT $4::int) AS counted) AS others
  FROM graph_gatherings g LEFT JOIN said s ON s.source = g.uuid WHERE group_id = $1 AND kind = 'saga' AND uuid IN (
    SELECT source FROM graph_links WHERE group_id = $1 AND kind = 'episode' AND target = ANY($2::text[])
    UNION SELECT uuid FROM graph_gatherings WHERE group_id = $1 AND first_episode = ANY($2::text[])
    UNION SELECT uuid FROM graph_gatherings WHERE group_id = $1 AND last_episode = ANY($2::text[]))
  ORDER BY uuid`

/**
 * Until the end of the transaction, statements use indexes and are planned for their parameters: a plan made while a group was small
 * would scan the group after it has grown.
 */
export const preferGraphIndexes = (tx: Transaction) =>
  queryWithin(
    tx,
    'graph-by-index',
    `SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)`,
    [],
  )

/**
 * Reads episodes of a group and what they are connected to, only through mentions and indexes. `locks`: first locks the entities in the
 * order of their uuids, so that no other transaction judges or changes them meanwhile. A change needs to know only whether there are other
 * mentions and members, so they are not counted any further.
 */
export async function postgresNeighbourhood(
  tx: Transaction,
  group: string,
  asked: readonly string[],
  ended: readonly string[],
  { locks }: { locks: boolean },
): Promise<Neighbourhood> {
  const ask = (name: string, text: string, ...values: unknown[]) =>
    queryWithin<Record<string, unknown>>(tx, `graph-${name}`, text, [group, ...values])
  await preferGraphIndexes(tx)
  const counted = locks ? 1 : maxCounted
  const episodes = rowsAsEpisodes(await ask('episodes', episodesOf, asked))
  const ids = episodes.map(({ uuid }) => uuid)
  const listedFacts = [...new Set(episodes.flatMap(({ entityEdges }) => entityEdges))]
  const facts = rowsAsFacts(await ask('facts', factsOf, ids, listedFacts))
  const ends = [...new Set(facts.flatMap(({ source, target }) => [source, target]))]
  const erased = new Set(ids)
  const alone = facts.filter((fact) => fact.episodes.every((one) => erased.has(one))).map(({ uuid }) => uuid)
  const entities = rowsAsEntities(
    locks
      ? await ask('entities-locked', lockEntities, ids, ends, alone)
      : await ask('entities', entitiesOf, ids, ends, alone),
  )
  const entityIds = entities.map(({ uuid }) => uuid)
  const mentions = await queryWithin<{ entity: string; n: number }>(tx, 'graph-mentions', mentionsOf, [
    group,
    entityIds,
    ids,
    counted,
  ])
  const times = episodes.map(({ createdAt }) => createdAt)
  const own = facts.map(({ uuid }) => uuid)
  const next = await queryWithin<{ from: string; to: string }>(tx, 'graph-next', nextOf, [group, ids])
  const around = [...new Set([...ids, ...next.flatMap(({ from, to }) => [from, to])])]
  return {
    group,
    episodes,
    entities,
    otherMentions: new Map(mentions.map(({ entity, n }) => [entity, n])),
    facts,
    mentions: await queryWithin<Mentioning & Record<string, unknown>>(tx, 'graph-own-mentions', ownMentions, [
      group,
      ids,
      entityIds,
    ]),
    ended: rowsAsFacts(await ask('ended', endedOf, [...ended, ...listedFacts], times, own, endedWithin)),
    communities: await queryWithin<CommunityNeighbour & Record<string, unknown>>(
      tx,
      'graph-communities',
      communitiesOf,
      [group, entityIds, counted],
    ),
    sagas: await queryWithin<SagaNeighbour & Record<string, unknown>>(tx, 'graph-sagas', sagasOf, [
      group,
      ids,
      around,
      counted,
    ]),
    next,
  }
}
