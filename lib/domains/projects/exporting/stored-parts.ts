import type { ExportPage } from '#lib/kernel/exporter.ts'
import { type CheckpointStore, leastId } from '#lib/stores/checkpoints/checkpoints.ts'
import type { ThreadCursor } from '#lib/stores/checkpoints/exporting.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import { type ListedKind, listedKinds } from '#lib/stores/graph/listing.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { messagesOfThread, restrictionsOfExport, threadsOfProject } from './repository.ts'

/** The stores whose project data is part of the export. */
export interface ExportedStores {
  graph: Pick<GraphStore, 'list'>
  checkpoints: Pick<CheckpointStore, 'find' | 'page'>
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

/** Ids that others cannot guess. Clients choose the ids of messages, and a short one may occur in any thread. */
const isDistinctive = (id: string): boolean => id.length >= leastId && /\d/.test(id)

/**
 * Whether a thread contains a message of the project. Every project of an organization may name a thread before its first checkpoint, so the
 * name alone does not make its content part of the project.
 */
async function containsMessage(
  db: Database,
  checkpoints: ExportedStores['checkpoints'],
  project: string,
  thread: string,
): Promise<boolean> {
  for (let after = ''; ; ) {
    const messages = await messagesOfThread(db, { project, thread, after })
    const last = messages.at(-1)
    if (!last) return false
    const ids = messages.flatMap(({ id, refs }) => [id, ...refs]).filter(isDistinctive)
    const texts = messages.flatMap(({ text }) => text ?? [])
    const found = await db.transaction((tx) => checkpoints.find(thread, { ids, texts }, tx))
    if (found.messages.length > 0 || found.standing.size > 0) return true
    after = last.storedId
  }
}

async function* threadPages(
  db: Database,
  checkpoints: ExportedStores['checkpoints'],
  project: string,
  omitted: Set<string>,
): AsyncIterable<ExportPage> {
  for (let after = ''; ; ) {
    const records = await threadsOfProject(db, { project, after })
    for (const { thread, isTied } of records) {
      if (!isTied && !(await containsMessage(db, checkpoints, project, thread))) {
        omitted.add(thread)
        continue
      }
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

export interface NdjsonPart {
  name: string
  pages(): AsyncIterable<ExportPage>
}

/** Yields a header line, a line with the part's name for each record, and a last line with the totals. */
export async function* ndjson(head: object, parts: readonly NdjsonPart[]): AsyncGenerator<string> {
  const totals: Record<string, number> = {}
  yield `${JSON.stringify(head)}\n`
  for (const { name, pages } of parts) {
    const member = `{"part":${JSON.stringify(name)},`
    totals[name] = 0
    for await (const { lines, count } of pages()) {
      yield `${member}${lines.slice(1).replaceAll('\n{', `\n${member}`)}\n`
      totals[name] += count
    }
  }
  yield `${JSON.stringify({ totals })}\n`
}

/**
 * The graph and the checkpoint threads of a project, as parts of its export. `leftOut`: parts that are omitted while something of the
 * project is being erased, or for agents while the processing of another author is restricted, because summaries and facts may contain these
 * words.
 */
export async function storedParts(
  db: Database,
  { graph, checkpoints }: ExportedStores,
  { projectId, group, reader }: { projectId: string; group: string; reader: string | null },
): Promise<{ parts: NdjsonPart[]; leftOut: string[] }> {
  const nameOf = (kind: ListedKind) => `graph_${kind}`
  const omitted = new Set<string>()
  const threadPart = { name: 'checkpoints', pages: () => threadPages(db, checkpoints, projectId, omitted) }
  // It follows the threads. Whether an omitted one exists is not stated: it may be another project's.
  const omittedPart: NdjsonPart = {
    name: 'checkpoints_left_out',
    async *pages() {
      const names = [...omitted]
      for (let at = 0; at < names.length; at += pageSize)
        yield pageOf(names.slice(at, at + pageSize).map((thread_id) => ({ thread_id })))
    },
  }
  const [state] = await restrictionsOfExport(db, { project: projectId, reader })
  if (state?.isRestricted) return { parts: [], leftOut: [...listedKinds.map(nameOf), threadPart.name] }
  if (state?.isErasing) return { parts: [threadPart, omittedPart], leftOut: listedKinds.map(nameOf) }
  const graphParts = listedKinds.map((kind) => ({
    name: nameOf(kind),
    pages: () => graphPages(db, graph, group, kind),
  }))
  return { parts: [...graphParts, threadPart, omittedPart], leftOut: [] }
}
