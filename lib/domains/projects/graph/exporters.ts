import type { Exporter, ExportPage, ExportReader, PersonExporter } from '#lib/kernel/exporter.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { Entity, Episode, Fact, GraphStore } from '#lib/stores/graph/graph.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { WriterKind } from '../rules.ts'
import { episodesOfAuthor, exportedPerPage } from './repository.ts'

type Pointed = Awaited<ReturnType<typeof episodesOfAuthor>>[number]

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
  for (let after = { group: '', ref: '' }; ; ) {
    const rows = await episodesOfAuthor(db, { author, until, ...after, agents }, kind)
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
    if (rows.length < exportedPerPage) return
    after = { group: last.group, ref: last.ref }
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
