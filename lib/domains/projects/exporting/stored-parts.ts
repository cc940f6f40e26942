import type { ExportPage } from '#lib/kernel/data-source.ts'
import type { CheckpointStore } from '#lib/stores/checkpoints/checkpoints.ts'
import type { ThreadCursor } from '#lib/stores/checkpoints/exporting.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import { type ListedKind, listedKinds } from '#lib/stores/graph/listing.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { NdjsonPart } from './ndjson.ts'

/** The stores whose project data is part of the export. */
export interface ExportedStores {
  graph: Pick<GraphStore, 'list'>
  checkpoints: Pick<CheckpointStore, 'page'>
}

/** Nodes per page. */
const pageSize = 200
const pageOf = (records: readonly object[]): ExportPage => ({
  lines: records.map((record) => JSON.stringify(record)).join('\n'),
  count: records.length,
})

async function* graphPages(
  db: Database,
  graph: ExportedStores['graph'],
  group: string,
  kind: ListedKind,
): AsyncIterable<ExportPage> {
  for (let after = ''; ; ) {
    const found = await db.transaction((tx) => graph.list(group, kind, after, pageSize, tx))
    if (found.length > 0) yield pageOf(found.map(({ record }) => record))
    const last = found.at(-1)
    if (!last || found.length < pageSize) return
    after = last.uuid
  }
}

/** SQL: threads of a project's conversations, and threads that its pointers name, except those with content that is being erased. */
const threads = `SELECT DISTINCT t.thread FROM (
    SELECT unnest(c.threads) AS thread FROM conversations c WHERE c.project_id = $1
    UNION ALL SELECT v.place FROM provenance v WHERE v.project_id = $1 AND v.store = 'checkpoints' AND v.place <> ''
      AND NOT EXISTS (SELECT FROM conversations o WHERE o.threads @> ARRAY[v.place] AND o.project_id <> $1)) AS t
  WHERE t.thread > $2 AND NOT EXISTS (SELECT FROM conversations c WHERE c.threads @> ARRAY[t.thread]
      AND (c.erasing_since IS NOT NULL OR EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id AND m.erasing_since IS NOT NULL)))
    AND NOT EXISTS (SELECT FROM provenance v JOIN messages m ON m.id = v.source_id
      WHERE v.store = 'checkpoints' AND v.place = t.thread AND v.project_id = $1 AND m.erasing_since IS NOT NULL)
  ORDER BY t.thread LIMIT 100`

async function* threadPages(
  db: Database,
  checkpoints: ExportedStores['checkpoints'],
  projectId: string,
): AsyncIterable<ExportPage> {
  for (let after = ''; ; ) {
    const records = await db.query<{ thread: string }>('project-threads', threads, [projectId, after])
    for (const { thread } of records) {
      let cursor: ThreadCursor | undefined
      do {
        const from: ThreadCursor | undefined = cursor
        const { rows, next } = await db.transaction((tx) => checkpoints.page(thread, from, tx))
        if (rows.length > 0) yield pageOf(rows)
        cursor = next
      } while (cursor)
    }
    const last = records.at(-1)
    if (!last) return
    after = last.thread
  }
}

const erasing = `SELECT 1 AS found WHERE EXISTS (SELECT FROM messages WHERE project_id = $1 AND erasing_since IS NOT NULL)
  OR EXISTS (SELECT FROM documents WHERE project_id = $1 AND erasing_since IS NOT NULL)
  OR EXISTS (SELECT FROM conversations WHERE project_id = $1 AND erasing_since IS NOT NULL)`

const restricted = 'SELECT 1 AS found FROM restricted_participants WHERE project_id = $1 LIMIT 1'

/**
 * The graph and the checkpoint threads of a project, as parts of its export. `leftOut`: parts that are omitted while something of the
 * project is being erased, or for agents while the processing of a participant is restricted, because summaries and facts may contain these
 * words.
 */
export async function storedParts(
  db: Database,
  { graph, checkpoints }: ExportedStores,
  { projectId, group, isForPerson }: { projectId: string; group: string; isForPerson: boolean },
): Promise<{ parts: NdjsonPart[]; leftOut: string[] }> {
  const nameOf = (kind: ListedKind) => `graph_${kind}`
  const threadPart = { name: 'checkpoints', pages: () => threadPages(db, checkpoints, projectId) }
  if (!isForPerson && (await db.query('project-restricted', restricted, [projectId])).length > 0)
    return { parts: [], leftOut: [...listedKinds.map(nameOf), threadPart.name] }
  if ((await db.query('project-erasing', erasing, [projectId])).length > 0)
    return { parts: [threadPart], leftOut: listedKinds.map(nameOf) }
  const graphParts = listedKinds.map((kind) => ({
    name: nameOf(kind),
    pages: () => graphPages(db, graph, group, kind),
  }))
  return { parts: [...graphParts, threadPart], leftOut: [] }
}
