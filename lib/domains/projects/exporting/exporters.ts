import type { Exporter, PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, type RecordQuery, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { existingConversation, existingMessage, lastingDocument, shownSql } from '../readable-rows.ts'
import type { WriterKind } from '../rules.ts'

/**
 * SQL: whether `author` (an account, an agent or a participant) is the author of a row. For an account, this includes rows written on behalf of
 * the participations that it claimed.
 */
export const writtenBy = (kind: WriterKind, alias: string, author = '$1'): string =>
  kind === 'account'
    ? `(${alias}.author_kind, ${alias}.author_id) IN (
        SELECT 'account', ${author}::text UNION ALL SELECT 'participant', pw.id FROM project_participants pw WHERE pw.account_id = ${author})`
    : `${alias}.author_kind = '${kind}' AND ${alias}.author_id = ${author}`

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
