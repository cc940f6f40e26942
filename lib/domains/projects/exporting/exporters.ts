import type { Exporter, ExportPage, ExportReader, PersonExporter } from '#lib/kernel/exporter.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { stream } from '#lib/kernel/use-case.ts'
import type { Entity, Episode, Fact, GraphStore } from '#lib/stores/graph/graph.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, type RecordQuery, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { projectReaderOf, readableProject } from '../access.ts'
import { exportProject } from '../closing/contract.ts'
import { episodesOfAuthor, exportedPerPage } from '../graph/repository.ts'
import { mayActForParticipants } from '../participants/participant-view.ts'
import { restrictedReader, servedSql } from '../participants/restricting.ts'
import type { ProjectPorts } from '../ports.ts'
import {
  existingConversation,
  existingMessage,
  existingSource,
  lastingDocument,
  servedAuthorSql,
  servedTitleSql,
  shownSql,
  writerSql,
  writtenBy,
} from '../readable-rows.ts'
import type { SeenProject } from '../repository.ts'
import { asDownload, type WriterKind } from '../rules.ts'
import { filesOfProject } from './repository.ts'
import { type NdjsonPart, ndjson, storedParts } from './stored-parts.ts'

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

interface Given extends Omit<RecordQuery, 'values'> {
  part: string
  tables: readonly string[]
  /** Derived from data that the subject provided: only for access requests. */
  isDerived?: true
}

/** Messages that fulfil the condition on `m`, with their edits and attachments. */
const messageParts = (said: string): Given[] => [
  {
    part: 'project_messages',
    tables: ['messages'],
    from: 'messages m',
    where: `${said} AND m.created_at <= $2`,
    at: 'm.created_at',
    id: 'm.id',
    columns: 'm.*',
    weight: 'pg_column_size(m.content)',
    record: jsonObject({
      message_id: shownSql('c.id'),
      conversation_id: shownSql('c.conversation_id'),
      project_id: 'c.project_id',
      role: 'c.role',
      content: 'c.content',
      created_at: utc('c.created_at'),
      updated_at: utc('c.updated_at'),
    }),
  },
  {
    part: 'project_message_edits',
    tables: ['message_edits'],
    from: 'message_edits e JOIN messages m ON m.id = e.message_id',
    where: `${said} AND e.edited_at <= $2`,
    at: 'e.edited_at',
    id: 'e.id',
    columns: 'e.*',
    weight: 'pg_column_size(e.content)',
    record: jsonObject({
      message_id: shownSql('c.message_id'),
      content: 'c.content',
      edited_at: utc('c.edited_at'),
    }),
  },
  {
    part: 'project_attachments',
    tables: ['attachments'],
    from: 'attachments a JOIN messages m ON m.id = a.message_id',
    where: `${said} AND a.created_at <= $2`,
    at: 'a.created_at',
    id: 'a.id',
    columns: 'a.*',
    record: jsonObject({
      attachment_id: 'c.id',
      message_id: shownSql('c.message_id'),
      name: 'c.name',
      media_type: 'c.media_type',
      bytes: 'c.bytes',
      sha256: "encode(c.sha256, 'hex')",
      created_at: utc('c.created_at'),
    }),
  },
]

/** Documents that fulfil the condition on `d`, with their texts. */
const documentParts = (brought: string): Given[] => [
  {
    part: 'project_documents',
    tables: ['documents'],
    from: 'documents d',
    where: `${brought} AND d.created_at <= $2`,
    at: 'd.created_at',
    id: 'd.id',
    columns: 'd.*',
    record: jsonObject({
      document_id: shownSql('c.id'),
      project_id: 'c.project_id',
      kind: 'c.kind',
      name: 'c.name',
      media_type: 'c.media_type',
      bytes: 'c.bytes',
      sha256: "encode(c.sha256, 'hex')",
      created_at: utc('c.created_at'),
    }),
  },
  {
    part: 'project_document_texts',
    tables: ['document_chunks'],
    from: 'document_chunks k JOIN documents d ON d.id = k.document_id',
    where: `${brought} AND d.created_at <= $2`,
    at: 'd.created_at',
    id: "k.document_id || ':' || lpad(k.position::text, 10, '0')",
    columns: 'k.*',
    weight: 'pg_column_size(k.content)',
    record: jsonObject({ document_id: shownSql('c.document_id'), position: 'c.position', content: 'c.content' }),
  },
]

/**
 * The exported records of `$1` at time `$2`: messages, documents and memberships of the subject, without those that are being erased. Texts
 * of others are excluded (GDPR art. 15(4)).
 */
const givenOf = (kind: WriterKind): Given[] => {
  const doer = kind === 'account' ? "'user:' || $1" : '$1'
  const wrote = (alias: string) => writtenBy(kind, alias)
  const said = `${wrote('m')} AND ${existingMessage('m')}`
  const brought = `${wrote('d')} AND ${lastingDocument('d')}`
  return [
    {
      part: 'project_memberships',
      tables: ['project_members', 'projects'],
      from: 'project_members m JOIN projects p ON p.id = m.project_id',
      where: `m.kind = '${kind}' AND m.member_id = $1 AND m.added_at <= $2 AND p.erasing_since IS NULL`,
      at: 'm.added_at',
      id: 'm.project_id',
      columns: 'm.project_id, p.name, p.status, m.role, m.added_at',
      record: jsonObject({
        project_id: 'c.project_id',
        project: 'c.name',
        status: 'c.status',
        role: 'c.role',
        added_at: utc('c.added_at'),
      }),
    },
    {
      part: 'project_conversations',
      tables: ['conversations'],
      from: 'conversations x',
      where: `(x.created_by = ${doer} OR x.id IN (SELECT m.conversation_id FROM messages m WHERE ${said}))
        AND x.created_at <= $2 AND ${existingConversation('x')}`,
      at: 'x.created_at',
      id: 'x.id',
      columns: `x.id, x.project_id, x.created_at, CASE WHEN x.created_by = ${doer} THEN x.title END AS title`,
      // A title that somebody else gave contains their words.
      record: jsonObject({
        conversation_id: shownSql('c.id'),
        project_id: 'c.project_id',
        title: 'c.title',
        created_at: utc('c.created_at'),
      }),
    },
    ...messageParts(said),
    ...documentParts(brought),
    {
      part: 'project_provenance',
      tables: ['provenance'],
      isDerived: true,
      from: 'provenance v',
      where: `v.at <= $2 AND v.source_id IN (SELECT m.id FROM messages m WHERE ${said} UNION ALL SELECT d.id FROM documents d WHERE ${brought})`,
      at: 'v.at',
      id: 'v.id',
      columns: 'v.*',
      record: jsonObject({
        source_id: shownSql('c.source_id'),
        store: 'c.store',
        ref: 'c.ref',
        place: "nullif(c.place, '')",
        at: utc('c.at'),
      }),
    },
  ]
}

const ofParticipations = (where: string): Given => ({
  part: 'project_participations',
  tables: ['project_participants'],
  from: 'project_participants x',
  where: `${where} AND x.created_at <= $2`,
  at: 'x.created_at',
  id: 'x.id',
  columns: 'x.*',
  record: jsonObject({
    participant_id: 'c.id',
    project_id: 'c.project_id',
    external_id: 'c.external_id',
    name: 'c.name',
    email: 'c.email',
    claimed_at: utc('c.claimed_at'),
    restricted_at: utc('c.restricted_at'),
    created_at: utc('c.created_at'),
  }),
})
/** An agent has no participations; a participant is not a member. */
function partsOf(kind: WriterKind): Given[] {
  const given = givenOf(kind)
  if (kind === 'agent') return given
  if (kind === 'account') return [...given, ofParticipations('x.account_id = $1')]
  return [ofParticipations('x.id = $1'), ...given.filter(({ part }) => part !== 'project_memberships')]
}

const exportersOf = (db: Database, kind: WriterKind) =>
  partsOf(kind).map(({ part, tables, isDerived, ...shape }): Exporter & PersonExporter => ({
    part,
    tables,
    bases: isDerived ? ['all'] : ['provided', 'all'],
    pages: (id, { until }) => recordPages(db, { ...shape, values: [id, until] }),
  }))

/** Exports of an agent's data in projects. */
export const projectExporters = (db: Database): Exporter[] => exportersOf(db, 'agent')
/** Exports of a person's data in projects, including memberships. */
export const projectPersonExporters = (db: Database): PersonExporter[] => exportersOf(db, 'account')
/** Exports of the data of a participant of a project. */
export const participantExporters = (db: Database): PersonExporter[] => exportersOf(db, 'participant')

interface ExportFile {
  /** Path in the archive. */
  name: string
  bytes(): Promise<AsyncIterable<Uint8Array> | undefined>
}
interface ExportHead {
  project_id: string
  exported_at: string
  schema_version: string
  /** Parts that are not included, for example while something of the project is being erased. */
  left_out?: string[]
}
/** The export formats, which another domain implements. */
export interface ExportShapes {
  shapes: {
    schemaVersion: string
    zip(head: ExportHead, parts: readonly NdjsonPart[], files: AsyncIterable<ExportFile>): AsyncIterable<Uint8Array>
  }
}

type Shape = Omit<RecordQuery, 'values'>
/** SQL: excludes data that is being erased and, for an agent, texts of other restricted authors. */
const readable = `m.erasing_since IS NULL AND c.erasing_since IS NULL AND ${servedSql('m', '$3::text')}`
const readableDocument = `d.erasing_since IS NULL AND ${servedSql('d', '$3::text')}`
const ofMessages = 'JOIN messages m ON m.id = x.message_id JOIN conversations c ON c.id = m.conversation_id'

const participantRecord = (email: string): string =>
  jsonObject({
    id: 'c.id',
    external_id: 'c.external_id',
    name: 'c.name',
    email,
    claimed: 'c.account_id IS NOT NULL',
    created_at: utc('c.created_at'),
    updated_at: utc('c.updated_at'),
  })

/** All records of the project `$1` that existed at `$2`, for a person (`$3` is null) or an agent (`$3` is its id), by creation time. */
const shapes: Record<string, Shape> = {
  project: {
    from: 'projects p',
    where: 'p.id = $1 AND p.created_at <= $2',
    at: 'p.created_at',
    id: 'p.id',
    columns: 'p.*',
    record: jsonObject({
      id: 'c.id',
      name: 'c.name',
      status: 'c.status',
      group_id: 'c.group_id',
      region: 'c.region',
      entity_kinds: 'c.entity_kinds',
      created_at: utc('c.created_at'),
      updated_at: utc('c.updated_at'),
      closing_at: utc('c.closing_at'),
      closes_at: utc('c.closes_at'),
    }),
  },
  members: {
    from: 'project_members m',
    where: 'm.project_id = $1 AND m.added_at <= $2',
    at: 'm.added_at',
    id: "m.kind || ':' || m.member_id",
    columns: 'm.*',
    record: jsonObject({
      member: writerSql('c.kind', 'c.member_id', '$3::text'),
      role: 'c.role',
      added_at: utc('c.added_at'),
    }),
  },
  participants: {
    from: 'project_participants x',
    where: 'x.project_id = $1 AND x.created_at <= $2',
    at: 'x.created_at',
    id: 'x.id',
    columns: `x.id, x.external_id, x.account_id, x.created_at, x.updated_at, ${['name', 'email']
      .map(
        (column) =>
          `CASE WHEN ${servedAuthorSql("'participant'", 'x.id', '$3::text')} THEN x.${column} END AS ${column}`,
      )
      .join(', ')}`,
    record: participantRecord('c.email'),
  },
  conversations: {
    from: 'conversations x',
    where: 'x.project_id = $1 AND x.created_at <= $2 AND x.erasing_since IS NULL',
    at: 'x.created_at',
    id: 'x.id',
    columns: `x.id, ${servedTitleSql('x', '$3::text')} AS title, x.region, x.threads, x.created_at, x.updated_at`,
    record: jsonObject({
      id: shownSql('c.id'),
      title: 'c.title',
      region: 'c.region',
      threads: 'c.threads',
      created_at: utc('c.created_at'),
      updated_at: utc('c.updated_at'),
    }),
  },
  messages: {
    from: 'messages m JOIN conversations c ON c.id = m.conversation_id',
    where: `m.project_id = $1 AND m.created_at <= $2 AND ${readable}`,
    at: 'm.created_at',
    id: 'm.id',
    columns: 'm.*',
    weight: 'pg_column_size(m.content)',
    record: jsonObject({
      id: shownSql('c.id'),
      conversation_id: shownSql('c.conversation_id'),
      role: 'c.role',
      author: writerSql('c.author_kind', 'c.author_id'),
      content: 'c.content',
      written_by: 'c.written_by',
      created_at: utc('c.created_at'),
      updated_at: utc('c.updated_at'),
    }),
  },
  edits: {
    from: `message_edits x ${ofMessages}`,
    where: `m.project_id = $1 AND x.edited_at <= $2 AND ${readable}`,
    at: 'x.edited_at',
    id: 'x.id',
    columns: 'x.*',
    weight: 'pg_column_size(x.content)',
    record: jsonObject({
      id: 'c.id',
      message_id: shownSql('c.message_id'),
      content: 'c.content',
      edited_at: utc('c.edited_at'),
    }),
  },
  attachments: {
    from: `attachments x ${ofMessages}`,
    where: `m.project_id = $1 AND x.created_at <= $2 AND ${readable}`,
    at: 'x.created_at',
    id: 'x.id',
    columns: 'x.*',
    record: jsonObject({
      id: 'c.id',
      message_id: shownSql('c.message_id'),
      name: 'c.name',
      media_type: 'c.media_type',
      bytes: 'c.bytes',
      sha256: "encode(c.sha256, 'hex')",
      created_at: utc('c.created_at'),
    }),
  },
  documents: {
    from: 'documents d',
    where: `d.project_id = $1 AND d.created_at <= $2 AND ${readableDocument}`,
    at: 'd.created_at',
    id: 'd.id',
    columns: 'd.*',
    record: jsonObject({
      id: shownSql('c.id'),
      kind: 'c.kind',
      name: 'c.name',
      media_type: 'c.media_type',
      bytes: 'c.bytes',
      sha256: "encode(c.sha256, 'hex')",
      author: writerSql('c.author_kind', 'c.author_id'),
      created_at: utc('c.created_at'),
    }),
  },
  document_chunks: {
    from: 'document_chunks x JOIN documents d ON d.id = x.document_id',
    where: `d.project_id = $1 AND d.created_at <= $2 AND ${readableDocument}`,
    at: 'd.created_at',
    id: "x.document_id || ':' || lpad(x.position::text, 10, '0')",
    columns: 'x.*',
    weight: 'pg_column_size(x.content)',
    record: jsonObject({ document_id: shownSql('c.document_id'), position: 'c.position', content: 'c.content' }),
  },
  provenance: {
    from: 'provenance v',
    where: `v.project_id = $1 AND v.at <= $2 AND ${existingSource('v')}`,
    at: 'v.at',
    id: 'v.id',
    columns: 'v.*',
    record: jsonObject({
      source_kind: 'c.source_kind',
      source_id: shownSql('c.source_id'),
      store: 'c.store',
      ref: 'c.ref',
      place: "nullif(c.place, '')",
      ended: 'c.ended',
      at: utc('c.at'),
    }),
  },
}

/** Like lists of participants, without email addresses for members who do not act for participants. */
const recordsOf = (name: string, shape: Shape, project: SeenProject): Shape =>
  name === 'participants' && !mayActForParticipants(project) ? { ...shape, record: participantRecord('NULL') } : shape

/** The files of the project, ordered by key and opened one at a time. Files erased in the meantime are omitted. */
async function* filesOf(
  { db, objects }: Pick<ProjectPorts, 'db' | 'objects'>,
  project: string,
  until: Date,
  reader: string | null,
): AsyncGenerator<ExportFile> {
  for (let after = ''; ; ) {
    const rows = await filesOfProject(db, { project, until, reader, after })
    for (const { folder, name, object_key } of rows)
      yield { name: `files/${folder.replaceAll(/[^\w./-]/g, '_')}/${name}`, bytes: () => objects.get(object_key) }
    const last = rows.at(-1)
    if (!last) return
    after = last.object_key
  }
}

/** The use case that exports a project for a member. */
export const projectExport = (ports: Pick<ProjectPorts, 'db' | 'objects' | 'stored'> & ExportShapes) => ({
  exportProject: stream(exportProject, async (ctx, { params: { projectId }, query: { format } }) => {
    const { db } = ports
    const project = await readableProject(db, projectReaderOf(ctx), projectId)
    const { groupId: group } = project
    const until = ctx.now
    const reader = restrictedReader(ctx.actor)
    const stored = await storedParts(db, ports.stored, { projectId, group, reader })
    const head = {
      project_id: projectId,
      exported_at: until.toISOString(),
      schema_version: ports.shapes.schemaVersion,
      ...(stored.leftOut.length > 0 && { left_out: stored.leftOut }),
    }
    const valuesOf = (shape: Shape) => [
      projectId,
      until,
      ...(Object.values(shape).some((sql) => typeof sql === 'string' && sql.includes('$3')) ? [reader] : []),
    ]
    const ofRows = Object.entries(shapes).map(([name, shape]) => ({
      name,
      pages: () => recordPages(db, { ...recordsOf(name, shape, project), values: valuesOf(shape) }),
    }))
    const parts = [...ofRows, ...stored.parts]
    return {
      body:
        format === 'zip'
          ? ports.shapes.zip(head, parts, filesOf(ports, projectId, until, reader))
          : ndjson(head, parts),
      resourceId: projectId,
      details: { format },
      headers: {
        'Content-Type': format === 'zip' ? 'application/zip' : 'application/x-ndjson',
        'Content-Disposition': asDownload(`project-${projectId}.${format}`),
      },
    }
  }),
})
