import type { Community, Mentioning, Saga } from '#lib/stores/graph/graph.ts'
import {
  entityColumns,
  episodeColumns,
  factColumns,
  rowsAsEntities,
  rowsAsEpisodes,
  rowsAsFacts,
} from '#lib/stores/graph/rows.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { GraphPlanting } from './planted-graph.ts'

/** Rows per statement. */
const max = 2_000
const embedding = "'{0.25,0.5}'::double precision[]"

/** Plants graphs in the main database, and reads them back. */
export function postgresPlanting(db: Database): GraphPlanting {
  const put = async (group: string, table: string, columns: string, select: string, items: readonly unknown[]) => {
    for (let at = 0; at < items.length; at += max)
      await db.query(
        undefined,
        `INSERT INTO ${table} (group_id, ${columns}) SELECT $1, ${select} FROM jsonb_array_elements($2::jsonb) AS i`,
        [group, JSON.stringify(items.slice(at, at + max))],
      )
  }
  const array = (key: string) => `ARRAY(SELECT jsonb_array_elements_text(i->'${key}'))`
  const time = (key: string) => `(i->>'${key}')::timestamptz`
  return {
    async plant({ group, episodes, entities, facts, mentions, communities, sagas, next }) {
      await put(
        group,
        'graph_episodes',
        'uuid, name, source, source_description, content, created_at, valid_at, metadata',
        `i->>'uuid', i->>'name', i->>'source', i->>'sourceDescription', i->>'content', ${time('createdAt')}, ${time('validAt')}, i->'metadata'`,
        episodes,
      )
      await put(
        group,
        'graph_entities',
        'uuid, name, labels, summary, attributes, created_at, name_embedding',
        `i->>'uuid', i->>'name', ${array('labels')}, i->>'summary', i->'attributes', ${time('createdAt')}, ${embedding}`,
        entities,
      )
      await put(
        group,
        'graph_facts',
        'uuid, source, target, name, fact, episodes, attributes, created_at, valid_at, invalid_at, expired_at, reference_time, fact_embedding',
        `i->>'uuid', i->>'source', i->>'target', i->>'name', i->>'fact', ${array('episodes')}, i->'attributes', ${time('createdAt')}, ${time('validAt')}, ${time('invalidAt')}, ${time('expiredAt')}, ${time('referenceTime')}, ${embedding}`,
        facts,
      )
      await put(group, 'graph_mentions', 'episode, entity', `i->>'episode', i->>'entity'`, mentions)
      const gatherings = [
        ...communities.map(({ uuid, name, summary }) => ({ uuid, name, summary, kind: 'community' })),
        ...sagas.map(({ episodes: _, ...saga }) => ({ ...saga, kind: 'saga' })),
      ]
      await put(
        group,
        'graph_gatherings',
        'uuid, kind, name, summary, first_episode, last_episode, summarized_to, created_at, name_embedding',
        `i->>'uuid', i->>'kind', i->>'name', i->>'summary', i->>'firstEpisode', i->>'lastEpisode', ${time('summarizedTo')}, now(), CASE i->>'kind' WHEN 'community' THEN ${embedding} ELSE '{}' END`,
        gatherings,
      )
      await put(group, 'graph_links', 'kind, source, target', `i->>'kind', i->>'source', i->>'target'`, [
        ...communities.flatMap(({ uuid, members }) =>
          members.map((target) => ({ kind: 'member', source: uuid, target })),
        ),
        ...sagas.flatMap((saga) => saga.episodes.map((target) => ({ kind: 'episode', source: saga.uuid, target }))),
        ...next.map(({ from, to }) => ({ kind: 'next', source: from, target: to })),
        ...episodes.flatMap(({ uuid, entityEdges }) =>
          [...new Set(entityEdges)].map((target) => ({ kind: 'edge', source: uuid, target })),
        ),
      ])
    },
    async standing(group) {
      const ask = <R extends Record<string, unknown>>(text: string) => db.query<R>(undefined, text, [group])
      const gathered = (kind: string, link: string, key: string) =>
        `SELECT uuid, name, summary, first_episode AS "firstEpisode", last_episode AS "lastEpisode", summarized_to AS "summarizedTo",
           ARRAY(SELECT target FROM graph_links l WHERE l.group_id = $1 AND l.kind = '${link}' AND l.source = g.uuid ORDER BY 1) AS "${key}"
         FROM graph_gatherings g WHERE group_id = $1 AND kind = '${kind}' ORDER BY uuid`
      const communities = await ask<Community & Record<string, unknown>>(gathered('community', 'member', 'members'))
      const embedded = await ask<{ uuid: string }>(
        `SELECT uuid FROM graph_entities WHERE group_id = $1 AND cardinality(name_embedding) > 0
         UNION ALL SELECT uuid FROM graph_facts WHERE group_id = $1 AND cardinality(fact_embedding) > 0
         UNION ALL SELECT uuid FROM graph_gatherings WHERE group_id = $1 AND cardinality(name_embedding) > 0 ORDER BY uuid`,
      )
      return {
        group,
        episodes: rowsAsEpisodes(
          await ask(`SELECT ${episodeColumns} FROM graph_episodes WHERE group_id = $1 ORDER BY uuid`),
        ),
        entities: rowsAsEntities(
          await ask(`SELECT ${entityColumns} FROM graph_entities WHERE group_id = $1 ORDER BY uuid`),
        ),
        facts: rowsAsFacts(await ask(`SELECT ${factColumns} FROM graph_facts WHERE group_id = $1 ORDER BY uuid`)),
        mentions: await ask<Mentioning & Record<string, unknown>>(
          'SELECT episode, entity FROM graph_mentions WHERE group_id = $1 ORDER BY 1, 2',
        ),
        communities: communities.map(({ uuid, name, summary, members }) => ({ uuid, name, summary, members })),
        sagas: await ask<Saga & Record<string, unknown>>(gathered('saga', 'episode', 'episodes')),
        next: await ask<{ from: string; to: string }>(
          `SELECT source AS from, target AS to FROM graph_links WHERE group_id = $1 AND kind = 'next' ORDER BY 1, 2`,
        ),
        embedded: embedded.map(({ uuid }) => uuid),
      }
    },
  }
}
