import { z } from 'zod'
import { type GraphPage, identifiersOf } from './graph.ts'
import type { CypherQuery } from './neo4j-connection.ts'
import { pairsOf, textsOfRecord } from './neo4j-texts.ts'
import { lock } from './neo4j-values.ts'

const Cursor = z.strictObject({ of: z.enum(['n', 'r']), from: z.number(), until: z.number() })
const GraphRecord = z.object({
  at: z.string(),
  group: z.string().nullable(),
  uuid: z.string().nullable(),
  labels: z.array(z.string()),
  pairs: z.array(z.tuple([z.string(), z.unknown()])),
  type: z.string().optional(),
  written: z.string().nullable(),
})
const Most = z.tuple([z.object({ most: z.number().nullable() })])

/** Neo4j may name the zone after the offset: `2026-01-31T12:00:00Z[Etc/UTC]`. A text without a zone is no exact time. */
function timeOf(written: string | null): Date | undefined {
  const [iso] = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)(?=$|\[)/.exec(written ?? '') ?? []
  const time = new Date(iso ?? Number.NaN)
  return Number.isNaN(time.getTime()) ? undefined : time
}

/** How many internal ids one page covers. */
const idsAtOnce = 2_000
const max = { n: 'MATCH (n) RETURN max(id(n)) AS most', r: 'MATCH ()-[r]->() RETURN max(id(r)) AS most' }
/** By internal id: unlike an index, this also finds records without a group, without a uuid, and with any label. */
const page = {
  n: `UNWIND range($from, $to) AS i MATCH (n) WHERE id(n) = i AND NOT n:KnowledgePulseGroup AND NOT n:KnowledgePulsePage
    RETURN elementId(n) AS at, toStringOrNull(n.group_id) AS group, toStringOrNull(n.uuid) AS uuid, labels(n) AS labels,
      toStringOrNull(n.created_at) AS written, ${pairsOf('n')}`,
  r: `UNWIND range($from, $to) AS i MATCH (a)-[r]->() WHERE id(r) = i
    RETURN elementId(r) AS at, toStringOrNull(CASE WHEN type(r) = 'RELATES_TO' THEN r.group_id ELSE coalesce(r.group_id, a.group_id) END) AS group,
      toStringOrNull(r.uuid) AS uuid, [] AS labels, type(r) AS type, toStringOrNull(r.created_at) AS written, ${pairsOf('r')}`,
}

/** A page of all nodes, then of all relationships, of whichever group. It is the same range of internal ids when it is read again. */
export async function neo4jReadPage(ask: CypherQuery, after: string | null, until?: string): Promise<GraphPage> {
  const lastId = async (of: 'n' | 'r') => Most.parse(await ask(max[of]))[0].most ?? -1
  const at = after === null ? { of: 'n' as const, from: 0, until: await lastId('n') } : Cursor.parse(JSON.parse(after))
  const to = Math.min(at.from + idsAtOnce - 1, at.until)
  const rows = to < at.from ? [] : z.array(GraphRecord).parse(await ask(page[at.of], { from: at.from, to }))
  const next =
    until !== undefined
      ? null
      : to < at.until
        ? { ...at, from: to + 1 }
        : at.of === 'n'
          ? { of: 'r' as const, from: 0, until: await lastId('r') }
          : null
  return {
    elements: rows.map(({ at: id, group, written, ...row }) => ({
      id,
      kind: row.type === undefined ? 'node' : 'link',
      group,
      texts: textsOfRecord({ at: id, ...row }),
      identifiers: identifiersOf([group, row.uuid, ...row.labels, row.type]),
      writtenAt: timeOf(written),
    })),
    next: next && JSON.stringify(next),
  }
}

const Properties = z.array(z.object({ at: z.string(), p: z.record(z.string(), z.unknown()) }))
const ungrouped = {
  node: 'MATCH (x) WHERE elementId(x) IN $ids AND x.group_id IS NULL',
  link: 'MATCH ()-[x]->() WHERE elementId(x) IN $ids AND x.group_id IS NULL',
}

/** Changes texts of records without a group. Returns how many records changed. Embeddings of a changed record are removed. */
export async function neo4jCutUngrouped(
  ask: CypherQuery,
  kind: 'node' | 'link',
  ids: readonly string[],
  cut: (text: string) => string | undefined,
): Promise<number> {
  let changed = 0
  for (const { at, p } of Properties.parse(
    await ask(`${ungrouped[kind]} RETURN elementId(x) AS at, properties(x) AS p`, { ids }),
  )) {
    const changes: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(p)) {
      // Other records refer to a uuid.
      if (key === lock || key === 'uuid' || key.endsWith('_embedding')) continue
      const isList = Array.isArray(value)
      const text = isList ? value.filter((one) => typeof one === 'string').join('\n') : value
      if (typeof text !== 'string') continue
      const rest = cut(text)
      // Words may begin in one element of a list and end in the next: such a list is removed.
      if (rest !== undefined) changes[key] = isList ? null : rest
    }
    if (Object.keys(changes).length === 0) continue
    for (const key of Object.keys(p)) if (key.endsWith('_embedding')) changes[key] = null
    await ask(`${ungrouped[kind]} SET x += $changes`, { ids: [at], changes })
    changed++
  }
  return changed
}
