import { stream } from '#lib/kernel/use-case.ts'
import { jsonObject, type RecordQuery, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { projectReaderOf, readableProject } from '../access.ts'
import { exportProject } from '../closing/contract.ts'
import { mayActForParticipants } from '../participants/participant-view.ts'
import { isPerson, servedSql } from '../participants/restricting.ts'
import type { ProjectPorts } from '../ports.ts'
import { existingSource, shownSql, writerSql } from '../readable-rows.ts'
import type { SeenProject } from '../repository.ts'
import { asDownload } from '../rules.ts'
import { filesOfProject } from './repository.ts'
import { type NdjsonPart, ndjson, storedParts } from './stored-parts.ts'

interface ExportFile {
  /** Path in the archive. */
  name: string
  bytes(): Promise<AsyncIterable<Uint8Array> | undefined>
}
export interface ExportHead {
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
/** SQL: excludes data that is being erased and, for agents, texts of restricted participants. */
const readable = `m.erasing_since IS NULL AND c.erasing_since IS NULL AND ${servedSql('m', '$3::boolean')}`
const readableDocument = `d.erasing_since IS NULL AND ${servedSql('d', '$3::boolean')}`
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

/** All records of the project `$1` that existed at `$2`, for a person or an agent (`$3`), by creation time. */
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
    record: jsonObject({ member: writerSql('c.kind', 'c.member_id'), role: 'c.role', added_at: utc('c.added_at') }),
  },
  participants: {
    from: 'project_participants x',
    where: 'x.project_id = $1 AND x.created_at <= $2',
    at: 'x.created_at',
    id: 'x.id',
    columns: 'x.*',
    record: participantRecord('c.email'),
  },
  conversations: {
    from: 'conversations x',
    where: 'x.project_id = $1 AND x.created_at <= $2 AND x.erasing_since IS NULL',
    at: 'x.created_at',
    id: 'x.id',
    columns: 'x.*',
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
  isForPerson: boolean,
): AsyncGenerator<ExportFile> {
  for (let after = ''; ; ) {
    const rows = await filesOfProject(db, { project, until, isForPerson, after })
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
    const isForPerson = isPerson(ctx.actor)
    const stored = await storedParts(db, ports.stored, { projectId, group, isForPerson })
    const head = {
      project_id: projectId,
      exported_at: until.toISOString(),
      schema_version: ports.shapes.schemaVersion,
      ...(stored.leftOut.length > 0 && { left_out: stored.leftOut }),
    }
    const valuesOf = ({ where }: Shape) => [projectId, until, ...(where.includes('$3') ? [isForPerson] : [])]
    const ofRows = Object.entries(shapes).map(([name, shape]) => ({
      name,
      pages: () => recordPages(db, { ...recordsOf(name, shape, project), values: valuesOf(shape) }),
    }))
    const parts = [...ofRows, ...stored.parts]
    return {
      body:
        format === 'zip'
          ? ports.shapes.zip(head, parts, filesOf(ports, projectId, until, isForPerson))
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
