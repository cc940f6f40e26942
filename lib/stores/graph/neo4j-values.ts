import { isDate, isDateTime, isLocalDateTime, types } from 'neo4j-driver'
import { z } from 'zod'
import type { Entity, Episode, Fact } from './graph.ts'
import type { CypherRow } from './neo4j-connection.ts'

/** The properties of Graphiti's own model; all others are attributes. */
export const coreOfEntity = ['uuid', 'name', 'group_id', 'summary', 'name_embedding', 'labels', 'created_at']
export const coreOfFact = [
  'uuid',
  'name',
  'group_id',
  'fact',
  'fact_embedding',
  'episodes',
  'created_at',
  'valid_at',
  'invalid_at',
  'expired_at',
  'reference_time',
  'source_node_uuid',
  'target_node_uuid',
  'source_uuid',
  'target_uuid',
]
export const coreOfGathering = [
  'uuid',
  'name',
  'group_id',
  'summary',
  'name_embedding',
  'created_at',
  'first_episode_uuid',
  'last_episode_uuid',
  'last_summarized_at',
  'last_summarized_episode_valid_at',
]
/** The property that we set to lock a node, removed before the end of the transaction. */
export const lock = 'knowledgepulse_lock'

const asDate = (value: unknown): unknown => {
  // The driver's own conversion computes with big integers; with a plain offset, this gives the same instant.
  if (isDateTime(value) && typeof value.timeZoneOffsetSeconds === 'number' && Number(value.year) >= 100)
    return new Date(
      Date.UTC(
        ...([Number(value.year), Number(value.month) - 1, Number(value.day)] as const),
        ...([Number(value.hour), Number(value.minute), Number(value.second) - value.timeZoneOffsetSeconds] as const),
        Math.floor(Number(value.nanosecond) / 1_000_000),
      ),
    )
  if (isDateTime(value) || isLocalDateTime(value) || isDate(value)) return value.toStandardDate()
  return typeof value === 'string' ? new Date(value) : value
}
const time = z.preprocess(asDate, z.date())
const maybe = z.preprocess((value) => asDate(value ?? null), z.date().nullable())
const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '')
const words = z
  .array(z.string())
  .nullish()
  .transform((value) => value ?? [])

/** Graphiti stores an episode's metadata as JSON text, because a property cannot be a map. */
const metadata = z
  .string()
  .nullish()
  .transform((value): Record<string, unknown> => {
    if (value == null) return {}
    try {
      const parsed = z.record(z.string(), z.unknown()).safeParse(JSON.parse(value))
      return parsed.success ? parsed.data : { value }
    } catch {
      return { value }
    }
  })

/** A property as a JSON value; times in ISO 8601. */
export const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain)
  const date = asDate(value)
  if (date instanceof Date && typeof value !== 'string') return date.toISOString()
  return typeof value === 'object' && value !== null ? String(value) : value
}
const attributesOf = (properties: CypherRow, core: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(properties)
      .filter(([key]) => !core.includes(key) && key !== lock)
      .map(([key, value]) => [key, plain(value)]),
  )

const episode = z
  .object({
    uuid: z.string(),
    name: text,
    source: text,
    source_description: text,
    content: text,
    entity_edges: words,
    created_at: time,
    valid_at: time,
    episode_metadata: metadata,
  })
  .transform(
    (e): Episode => ({
      uuid: e.uuid,
      name: e.name,
      source: e.source,
      sourceDescription: e.source_description,
      content: e.content,
      entityEdges: e.entity_edges,
      createdAt: e.created_at,
      validAt: e.valid_at,
      metadata: e.episode_metadata,
    }),
  )
const properties = z.record(z.string(), z.unknown())
const entity = z
  .object({
    p: z.looseObject({ uuid: z.string(), name: text, summary: text, created_at: time }),
    all: properties,
    labels: z.array(z.string()),
  })
  .transform(
    ({ p, all, labels }): Entity => ({
      uuid: p.uuid,
      name: p.name,
      labels: labels.filter((label) => label !== 'Entity').sort(),
      summary: p.summary,
      attributes: attributesOf(all, coreOfEntity),
      createdAt: p.created_at,
    }),
  )
const fact = z
  .object({
    p: z.looseObject({
      uuid: z.string(),
      name: text,
      fact: text,
      episodes: words,
      created_at: time,
      valid_at: maybe,
      invalid_at: maybe,
      expired_at: maybe,
      reference_time: maybe,
    }),
    all: properties,
    source: z.string(),
    target: z.string(),
  })
  .transform(
    ({ p, all, source, target }): Fact => ({
      uuid: p.uuid,
      source,
      target,
      name: p.name,
      fact: p.fact,
      episodes: p.episodes,
      attributes: attributesOf(all, coreOfFact),
      createdAt: p.created_at,
      validAt: p.valid_at,
      invalidAt: p.invalid_at,
      expiredAt: p.expired_at,
      referenceTime: p.reference_time,
    }),
  )

const byUuid = (one: { uuid: string }, other: { uuid: string }) =>
  one.uuid < other.uuid ? -1 : one.uuid > other.uuid ? 1 : 0
/** Distinct records, ordered by uuid. */
export const sortedByUuid = <T extends { uuid: string }>(items: readonly T[]): T[] =>
  [...new Map(items.map((item) => [item.uuid, item])).values()].sort(byUuid)

/** From rows with the properties under `p`. */
export const neo4jEpisodes = (rows: readonly CypherRow[]): Episode[] =>
  sortedByUuid(rows.map(({ p }) => episode.parse(p)))
/** From rows with the properties under `p`, and `labels`. */
export const neo4jEntities = (rows: readonly CypherRow[]): Entity[] =>
  sortedByUuid(rows.map(({ p, labels }) => entity.parse({ p, all: p, labels })))
/** From rows with the properties under `p`, and the uuids of both ends under `source` and `target`. */
export const neo4jFacts = (rows: readonly CypherRow[]): Fact[] =>
  sortedByUuid(rows.map(({ p, source, target }) => fact.parse({ p, all: p, source, target })))

export const asTime = (date: Date | null): unknown => (date === null ? null : types.DateTime.fromStandardDate(date))
export const asWatermark = (value: unknown): Date | null => maybe.parse(value)
