import { z } from 'zod'
import type { Entity, Episode, Fact } from './graph.ts'

const properties = z.record(z.string(), z.unknown())
const words = z.array(z.string())
const time = z.date()
const maybe = z.date().nullable()

/** The columns of each table, named like the members of {@link Episode}, {@link Entity} and {@link Fact}. */
export const episodeColumns = `uuid, name, source, source_description AS "sourceDescription", content,
  ARRAY(SELECT l.target FROM graph_links l WHERE l.group_id = graph_episodes.group_id AND l.kind = 'edge' AND l.source = graph_episodes.uuid
    ORDER BY l.target) AS "entityEdges", created_at AS "createdAt", valid_at AS "validAt", metadata`
export const entityColumns = 'uuid, name, labels, summary, attributes, created_at AS "createdAt"'
export const factColumns = `uuid, source, target, name, fact, episodes, attributes, created_at AS "createdAt", valid_at AS "validAt",
  invalid_at AS "invalidAt", expired_at AS "expiredAt", reference_time AS "referenceTime"`

const episode = z.object({
  uuid: z.string(),
  name: z.string(),
  source: z.string(),
  sourceDescription: z.string(),
  content: z.string(),
  entityEdges: words,
  createdAt: time,
  validAt: time,
  metadata: properties,
})
const entity = z.object({
  uuid: z.string(),
  name: z.string(),
  labels: words,
  summary: z.string(),
  attributes: properties,
  createdAt: time,
})
const fact = z.object({
  uuid: z.string(),
  source: z.string(),
  target: z.string(),
  name: z.string(),
  fact: z.string(),
  episodes: words,
  attributes: properties,
  createdAt: time,
  validAt: maybe,
  invalidAt: maybe,
  expiredAt: maybe,
  referenceTime: maybe,
})
type Rows = readonly Record<string, unknown>[]
export const rowsAsEpisodes = (rows: Rows): Episode[] => z.array(episode).parse(rows)
export const rowsAsEntities = (rows: Rows): Entity[] => z.array(entity).parse(rows)
export const rowsAsFacts = (rows: Rows): Fact[] => z.array(fact).parse(rows)
