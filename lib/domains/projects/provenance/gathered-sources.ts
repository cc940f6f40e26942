import { wholeConversations, wholeProjects } from '#lib/domains/projects/containers/whole-containers.ts'
import {
  type AuthoredTable,
  covered,
  joinProjectHolds,
  plannedSql,
  projectHoldSql,
  projectHoldsSql,
  scopePart,
  scopeSubject,
} from '#lib/domains/projects/legal-holds.ts'
import type { WriterKind } from '#lib/domains/projects/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/data-source.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import type { Source, Sources, StoredPointer, WholeContainer } from './sources.ts'

/** Maximum sources per batch, maximum bytes of their texts (a single larger source is allowed), and ids per query. */
const batchSize = 500
const batchBytes = 4 * 1024 * 1024
const idsAtOnce = 5_000

interface SourceRow {
  id: string
  project: string
  group: string
  conversation: string | null
  threads: string[] | null
  created_at: Date
  author_kind: WriterKind
  author_id: string
  author_name: string | null
  texts: string[]
  objects: string[]
  pointers: StoredPointer[]
}

const weights: Record<AuthoredTable, string> = {
  messages: `octet_length(x.content) + coalesce((SELECT sum(octet_length(e.content)) FROM message_edits e WHERE e.message_id = x.id), 0)`,
  documents: `coalesce((SELECT sum(octet_length(k.content)) FROM document_chunks k WHERE k.document_id = x.id), 0)`,
}
/** SQL: the next sources after `$4` that are not under legal hold, with the bytes of their texts. */
const nextIds = (kind: AuthoredTable, where: string): string => `WITH ${projectHoldsSql('$3')},
  candidate AS MATERIALIZED (SELECT x.id FROM ${kind} x ${joinProjectHolds('x')}
    WHERE ${where} AND x.id > $4 AND ${projectHoldSql} IS NULL ORDER BY x.id LIMIT ${idsAtOnce})
  SELECT x.id, (${weights[kind]})::int AS weight FROM ${kind} x WHERE x.id IN (SELECT id FROM candidate) ORDER BY x.id`

/** Divides sources into batches within the limits. A batch always has at least one source. */
function* together(rows: readonly { id: string; weight: number }[]): Generator<string[]> {
  let ids: string[] = []
  let bytes = 0
  for (const { id, weight } of rows) {
    if (ids.length > 0 && (ids.length === batchSize || bytes + weight > batchBytes)) {
      yield ids
      ids = []
      bytes = 0
    }
    ids.push(id)
    bytes += weight
  }
  if (ids.length > 0) yield ids
}

const common = `x.id, x.project_id AS project, p.group_id AS group, x.created_at, x.author_kind, x.author_id,
  CASE x.author_kind WHEN 'account' THEN (SELECT n.name FROM account_names n WHERE n.id = x.author_id)
    WHEN 'participant' THEN (SELECT n.name FROM project_participants n WHERE n.id = x.author_id)
    ELSE (SELECT n.name FROM agent_names n WHERE n.id = x.author_id) END AS author_name,
  coalesce((SELECT json_agg(json_build_object('store', v.store, 'ref', v.ref, 'place', v.place, 'ended', v.ended) ORDER BY v.store, v.place, v.ref)
    FROM provenance v WHERE v.source_id = x.id), '[]') AS pointers`
const details: Record<AuthoredTable, string> = {
  messages: `SELECT ${common}, x.conversation_id AS conversation, c.threads,
      ARRAY[x.content] || ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id ORDER BY e.edited_at, e.id) AS texts,
      ARRAY(SELECT a.object_key FROM attachments a WHERE a.message_id = x.id ORDER BY a.object_key) AS objects
    FROM messages x JOIN projects p ON p.id = x.project_id JOIN conversations c ON c.id = x.conversation_id
    WHERE x.id = ANY($1::text[]) ORDER BY x.id`,
  documents: `SELECT ${common}, NULL::text AS conversation, NULL::text[] AS threads,
      ARRAY(SELECT k.content FROM document_chunks k WHERE k.document_id = x.id ORDER BY k.position) AS texts, ARRAY[x.object_key] AS objects
    FROM documents x JOIN projects p ON p.id = x.project_id WHERE x.id = ANY($1::text[]) ORDER BY x.id`,
}

const sourceOf = (kind: Source['kind'], row: SourceRow): Source => ({
  kind,
  id: row.id,
  project: row.project,
  group: row.group,
  conversation: row.conversation,
  threads: row.threads ?? [],
  createdAt: row.created_at,
  author: { kind: row.author_kind, id: row.author_id, name: row.author_name },
  texts: row.texts,
  objects: row.objects,
  pointers: row.pointers,
})

async function* batches(
  kind: AuthoredTable,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): AsyncGenerator<Source[]> {
  const which = covered(scope, kind)
  if (!which) return
  for (let after = ''; ; ) {
    const next = await queryWithin<{ id: string; weight: number }>(
      tx,
      `source-ids-${nameOf(scope)}-${kind}`,
      nextIds(kind, which.where),
      [...which.values, now, after],
    )
    for (const ids of together(next)) {
      const rows = await queryWithin<SourceRow>(tx, `sources-${kind}`, details[kind], [ids])
      yield rows.map((row) => sourceOf(kind === 'messages' ? 'message' : 'document', row))
    }
    const last = next.at(-1)
    if (last === undefined || next.length < idsAtOnce) return
    after = last.id
  }
}
const nameOf = (scope: ErasureScope): string => scopePart(scope)?.kind ?? 'subject'

/** The sources that a scope covers, read from rows while they exist: messages, then documents, ordered by id. */
export const gatheredSources = (): Sources => ({
  async *of(scope, tx, now) {
    for (const kind of ['messages', 'documents'] as const) yield* batches(kind, scope, tx, now)
  },

  async whole(scope, tx, now): Promise<WholeContainer[]> {
    const projects = await wholeProjects(scope, tx, now)
    const wholes = projects.map(({ id, ...project }): WholeContainer => ({ project: id, ...project }))
    if (scopePart(scope)?.kind !== 'conversation' && !scopeSubject(scope)) return wholes
    const inWhole = new Set(projects.map(({ id }) => id))
    const rows = await wholeConversations(scope, tx, now)
    const free = rows.filter(({ hold, project }) => hold === null && !inWhole.has(project))
    for (const [project, conversations] of Map.groupBy(free, (row) => row.project))
      wholes.push({
        ...{ project, group: null, conversations: conversations.map(({ id }) => id) },
        threads: conversations.flatMap(({ threads }) => threads),
      })
    return wholes
  },

  async held(scope, tx, now) {
    const held: Record<string, number> = {}
    for (const kind of ['messages', 'documents'] as const) {
      const which = covered(scope, kind)
      if (!which) continue
      const rows = await queryWithin<{ hold: string; n: number }>(
        tx,
        `sources-held-${nameOf(scope)}-${kind}`,
        `SELECT hold, count(*)::int AS n FROM (${plannedSql(kind, which.where)}) AS f WHERE hold IS NOT NULL GROUP BY hold`,
        [...which.values, now],
      )
      for (const { hold, n } of rows) held[hold] = (held[hold] ?? 0) + n
    }
    return held
  },
})
