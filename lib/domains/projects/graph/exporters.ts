import { existingMessage, lastingDocument } from '#lib/domains/projects/existing-rows.ts'
import { writtenBy } from '#lib/domains/projects/exporting/exporters.ts'
import type { Exporter, ExportPage, ExportReader, PersonExporter } from '#lib/kernel/data-source.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { Entity, Episode, Fact, GraphStore } from '#lib/stores/graph/graph.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { WriterKind } from '../rules.ts'

/** Pointers on one page. The neighbourhood of each is read. */
const pageSize = 50

interface Pointed extends Record<string, unknown> {
  ref: string
  group: string
  project: string
  sources: string[]
}
/** Messages and documents of the authors that the condition selects, without those that are being erased. */
const sourcesBy = (
  isTheirs: (alias: string) => string,
) => `SELECT m.id FROM messages m WHERE ${isTheirs('m')} AND ${existingMessage('m')}
    UNION ALL SELECT d.id FROM documents d WHERE ${isTheirs('d')} AND ${lastingDocument('d')}`
/** $1: an author of that kind. */
const ownSources = (kind: WriterKind) => sourcesBy((alias) => writtenBy(kind, alias))
/** $5: agents of the same person. Their words do not count as words of others. */
const theirAgents = sourcesBy((alias) => `${alias}.author_kind = 'agent' AND ${alias}.author_id = ANY($5::text[])`)
/**
 * Episodes after a cursor, ordered by group and id, whose pointers name only this author. An episode that is also derived from another
 * author is left out because it may contain that author's personal data (GDPR art. 15(4)).
 */
const pointed = (
  kind: WriterKind,
) => `SELECT v.ref, p.group_id AS group, min(p.id) AS project, array_agg(DISTINCT v.source_id ORDER BY v.source_id) AS sources
  FROM provenance v JOIN projects p ON p.id = v.project_id
  WHERE v.store = 'graph' AND v.place IN ('', p.group_id) AND v.at <= $2 AND (p.group_id, v.ref) > ($3, $4)
    AND v.source_id IN (${ownSources(kind)})
    AND NOT EXISTS (SELECT FROM provenance o WHERE o.store = 'graph' AND o.ref = v.ref AND o.project_id = v.project_id
      AND o.place IN ('', p.group_id) AND o.source_id NOT IN (${ownSources(kind)} UNION ALL ${theirAgents}))
  GROUP BY p.group_id, v.ref ORDER BY p.group_id, v.ref LIMIT ${pageSize}`

function recordOf(
  { project, sources }: Pointed,
  episode: Episode,
  facts: readonly Fact[],
  entities: readonly Entity[],
): string {
  const ends = new Set(facts.flatMap(({ source, target }) => [source, target]))
  return JSON.stringify({
    episode_id: episode.uuid,
    project_id: project,
    source_ids: sources.map(shownId),
    name: episode.name,
    content: episode.content,
    created_at: episode.createdAt.toISOString(),
    valid_at: episode.validAt.toISOString(),
    facts: facts.map(({ uuid, name, fact, source, target }) => ({
      fact_id: uuid,
      name,
      fact,
      from: source,
      to: target,
    })),
    entities: entities
      .filter(({ uuid }) => ends.has(uuid))
      .map(({ uuid, name, labels }) => ({ entity_id: uuid, name, labels })),
  })
}

async function* pagesOf(
  db: Database,
  graph: GraphStore,
  kind: WriterKind,
  author: string,
  { until, agents }: ExportReader,
): AsyncIterable<ExportPage> {
  for (let after: [string, string] = ['', '']; ; ) {
    const rows = await db.query<Pointed>(`graph-exported-${kind}`, pointed(kind), [
      ...[author, until, ...after],
      agents,
    ])
    const last = rows.at(-1)
    if (!last) return
    const lines: string[] = []
    for (const [group, ofGroup] of Map.groupBy(rows, (row) => row.group)) {
      const found = await db.transaction((tx) =>
        graph.read(
          group,
          ofGroup.map(({ ref }) => ref),
          tx,
        ),
      )
      for (const row of ofGroup) {
        const episode = found.episodes.find(({ uuid }) => uuid === row.ref)
        if (!episode) continue
        // Only facts whose first source is this episode: the wording of other facts comes from other authors.
        const facts = found.facts.filter(({ episodes }) => episodes[0] === row.ref)
        lines.push(recordOf(row, episode, facts, found.entities))
      }
    }
    if (lines.length > 0) yield { lines: lines.join('\n'), count: lines.length }
    if (rows.length < pageSize) return
    after = [last.group, last.ref]
  }
}

const common = {
  part: 'graph_episodes',
  // Derived from what the subject wrote: only for access (GDPR art. 15).
  bases: ['all'],
  tables: ['graph_episodes', 'graph_facts', 'graph_entities', 'graph_mentions'],
} as const

/** Exports of graph data derived from an agent's messages and documents. */
export const graphExporters = (db: Database, graph: GraphStore): Exporter[] => [
  { ...common, pages: (agentId, reader) => pagesOf(db, graph, 'agent', agentId, reader) },
]
/** Exports of graph data derived from a person's messages and documents. */
export const graphPersonExporters = (db: Database, graph: GraphStore): PersonExporter[] => [
  { ...common, pages: (accountId, reader) => pagesOf(db, graph, 'account', accountId, reader) },
]
/** Exports of graph data derived from a participant's messages and documents. */
export const graphParticipantExporters = (db: Database, graph: GraphStore): PersonExporter[] => [
  { ...common, pages: (participantId, reader) => pagesOf(db, graph, 'participant', participantId, reader) },
]
