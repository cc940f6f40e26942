import { statement } from '#lib/stores/postgres/statement.ts'
import {
  type CoveredTable,
  coveredParameters,
  coveredSql,
  coveredTables,
  joinProjectHolds,
  projectHoldSql,
  projectHoldsSql,
  staysSql,
} from '../legal-holds.ts'
import { existingMessage, lastingDocument, writtenBy } from '../readable-rows.ts'
import type { WriterKind } from '../rules.ts'

const withHolds = `WITH ${projectHoldsSql('$now')}`
const messageStays = staysSql('x', 'c.erasing_since IS NOT NULL')

/** Counts the episodes that pointers of a subject's messages and documents name. */
export const episodesOfSubject = statement('graph.episodes-of-subject', {
  takes: { kinds: 'text[]', ids: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(DISTINCT (v.place, v.ref))::int4 AS n, min(v.at) AS since FROM provenance v
    LEFT JOIN messages m ON v.source_kind = 'message' AND m.id = v.source_id
    LEFT JOIN documents d ON v.source_kind = 'document' AND d.id = v.source_id
    WHERE v.store = 'graph' AND (m.author_kind, m.author_id) IN (SELECT * FROM unnest($kinds, $ids))
      OR v.store = 'graph' AND (d.author_kind, d.author_id) IN (SELECT * FROM unnest($kinds, $ids))`,
})

/** The texts of messages and documents whose rows still exist. */
export const textsOfSources = statement('graph.texts-of-sources', {
  takes: { sources: 'text[]' },
  returns: { source: 'text', text: 'text' },
  isPrepared: true,
  sql: `SELECT id AS source, content AS text FROM messages WHERE id = ANY($sources)
    UNION ALL SELECT message_id, content FROM message_edits WHERE message_id = ANY($sources)
    UNION ALL SELECT document_id, content FROM document_chunks WHERE document_id = ANY($sources)`,
})

/** Facts that episodes ended, as reported by messages and documents of the group's own project. Ignores reports of other projects. */
export const reportedEndings = statement('graph.reported-endings', {
  takes: { group: 'text', episodes: 'text[]' },
  returns: { ref: 'text', ended: 'text[]!' },
  isPrepared: true,
  sql: `SELECT v.ref, v.ended FROM provenance v JOIN projects p ON p.id = v.project_id
    WHERE v.store = 'graph' AND v.ref = ANY($episodes) AND v.place IN ('', $group) AND p.group_id = $group AND v.ended <> '{}'
      AND (EXISTS (SELECT FROM messages m WHERE v.source_kind = 'message' AND m.id = v.source_id AND m.project_id = p.id)
        OR EXISTS (SELECT FROM documents d WHERE v.source_kind = 'document' AND d.id = v.source_id AND d.project_id = p.id))
    ORDER BY v.ref, v.id`,
})

/** Records of a scope in a group that are not under legal hold, with their episodes. */
export const erasedInGroup = statement('graph.erased-in-group', {
  takes: { ...coveredParameters, now: 'timestamptz', group: 'text' },
  returns: { source: 'text', ref: 'text?' },
  isPrepared: true,
  variants: coveredTables,
  sql: (which: CoveredTable) => `${withHolds}
    SELECT x.id AS source, v.ref FROM ${which.table} x JOIN projects p ON p.id = x.project_id ${joinProjectHolds('x')}
      LEFT JOIN provenance v ON v.source_id = x.id AND v.store = 'graph' AND v.place IN ('', $group)
    WHERE ${coveredSql(which)} AND p.group_id = $group AND ${projectHoldSql} IS NULL`,
})

/** Ids of the records of a scope in a group, whether or not they are already marked as being erased. */
export const idsInGroup = statement('graph.ids-in-group', {
  takes: { ...coveredParameters, group: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  variants: coveredTables,
  sql: (which: CoveredTable) =>
    `SELECT x.id FROM ${which.table} x JOIN projects p ON p.id = x.project_id WHERE ${coveredSql(which)} AND p.group_id = $group`,
})

const byThem = '(SELECT w.kind, w.id FROM unnest($kinds, $ids) AS w (kind, id))'

/** Groups of the projects in which a person participates or wrote, without projects under legal hold. */
export const groupsOfWriters = statement('graph.groups-of-writers', {
  takes: { kinds: 'text[]', ids: 'text[]', now: 'timestamptz' },
  returns: { group: 'text' },
  isPrepared: true,
  sql: `${withHolds} SELECT p.group_id AS group FROM projects p
    WHERE p.id IN (SELECT project_id FROM project_members WHERE (kind, member_id) IN ${byThem}
        UNION SELECT project_id FROM messages WHERE (author_kind, author_id) IN ${byThem}
        UNION SELECT project_id FROM documents WHERE (author_kind, author_id) IN ${byThem})
      AND p.status <> 'closed' AND NOT EXISTS (SELECT FROM held_projects h WHERE h.id = p.id) ORDER BY 1`,
})

/** Records of a project with texts that people read: their two fields, and the texts of each. */
const readable = {
  messages: [
    'messages x',
    'ARRAY[x.content]',
    'ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id ORDER BY e.edited_at, e.id)',
  ],
  documents: [
    'documents x',
    'ARRAY[x.name]',
    'ARRAY(SELECT k.content FROM document_chunks k WHERE k.document_id = x.id ORDER BY k.position)',
  ],
  conversations: ['conversations x', 'ARRAY[x.title]', `'{}'::text[]`],
} as const
export type ReadableTable = keyof typeof readable
export const readableTables = ['messages', 'documents', 'conversations'] as const
/** Records that one statement returns. */
export const readableAtOnce = 200
/** Texts of authors other than the given ones in the project of a group, and titles of its conversations, after an id. */
export const textsOfOthers = statement('graph.texts-of-others', {
  takes: { group: 'text', after: 'text', kinds: 'text[]', ids: 'text[]' },
  returns: { id: 'text', first: 'text[]', second: 'text[]' },
  isPrepared: true,
  variants: readableTables,
  sql: (table: ReadableTable) => {
    const [from, first, second] = readable[table]
    const byOthers =
      table === 'conversations'
        ? '$kinds::text[] IS NOT NULL AND $ids::text[] IS NOT NULL'
        : `(x.author_kind, x.author_id) NOT IN ${byThem}`
    return `SELECT x.id, ${first} AS first, ${second} AS second FROM projects p JOIN ${from} ON x.project_id = p.id
      WHERE p.group_id = $group AND x.id > $after AND ${byOthers} ORDER BY x.id LIMIT ${readableAtOnce}`
  },
})

const textsOfMessages =
  'ARRAY[x.content] || ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id ORDER BY e.edited_at, e.id)'
const textsOfDocuments = 'ARRAY(SELECT k.content FROM document_chunks k WHERE k.document_id = x.id ORDER BY k.position)'

/**
 * The sources of episodes in the group's own project: those with pointers to them, and those that the episodes name. `naming` and `named`
 * are pairs of episodes and ids that they name.
 */
export const sourcesOfEpisodes = statement('graph.sources-of-episodes', {
  takes: { group: 'text', naming: 'text[]', named: 'text[]', episodes: 'text[]', now: 'timestamptz' },
  returns: { ref: 'text', source: 'text', texts: 'text[]', stays: 'bool' },
  isPrepared: true,
  sql: `${withHolds},
    named AS MATERIALIZED (
      SELECT v.ref, v.source_kind AS kind, v.source_id AS id, v.project_id FROM provenance v JOIN projects p ON p.id = v.project_id
        WHERE v.store = 'graph' AND v.ref = ANY($episodes) AND v.place IN ('', $group) AND p.group_id = $group
      UNION SELECT a.ref, k.kind, a.id, p.id FROM unnest($naming, $named) AS a (ref, id), projects p, (VALUES ('message'), ('document')) AS k (kind)
        WHERE p.group_id = $group)
    SELECT n.ref, x.id AS source, ${textsOfMessages} AS texts, ${messageStays} AS stays
      FROM named n JOIN messages x ON n.kind = 'message' AND x.id = n.id AND x.project_id = n.project_id JOIN conversations c ON c.id = x.conversation_id ${joinProjectHolds('x')}
    UNION ALL SELECT n.ref, x.id, ${textsOfDocuments}, ${staysSql('x')}
      FROM named n JOIN documents x ON n.kind = 'document' AND x.id = n.id AND x.project_id = n.project_id ${joinProjectHolds('x')}`,
})

/** Remaining messages and documents of the group's own project with pointers to these episodes. Ignores pointers of other projects. */
export const remainingSourcesOfEpisodes = statement('graph.remaining-sources-of-episodes', {
  takes: { group: 'text', episodes: 'text[]', now: 'timestamptz' },
  returns: { ref: 'text', source: 'text' },
  isPrepared: true,
  sql: `${withHolds},
    named AS MATERIALIZED (SELECT DISTINCT v.ref, v.source_kind, v.source_id, v.project_id FROM provenance v JOIN projects p ON p.id = v.project_id
      WHERE v.store = 'graph' AND v.ref = ANY($episodes) AND v.place IN ('', $group) AND p.group_id = $group)
    SELECT n.ref, x.id AS source FROM named n JOIN messages x ON n.source_kind = 'message' AND x.id = n.source_id AND x.project_id = n.project_id
      JOIN conversations c ON c.id = x.conversation_id ${joinProjectHolds('x')} WHERE ${messageStays}
    UNION SELECT n.ref, x.id FROM named n JOIN documents x ON n.source_kind = 'document' AND x.id = n.source_id AND x.project_id = n.project_id
      ${joinProjectHolds('x')} WHERE ${staysSql('x')}`,
})

/** Locks the existing projects of groups, so that nobody joins one until the transaction ends. */
export const lockProjectsOfGroups = statement('graph.lock-projects', {
  takes: { groups: 'text[]' },
  returns: { group: 'text' },
  isPrepared: true,
  sql: `SELECT p.group_id AS group FROM projects p WHERE p.group_id = ANY($groups) AND p.status <> 'closed' AND p.erasing_since IS NULL
    ORDER BY p.id FOR UPDATE`,
})

/** Messages and documents of the authors that the condition selects, without those that are being erased. */
const sourcesBy = (isTheirs: (alias: string) => string): string =>
  `SELECT m.id FROM messages m WHERE ${isTheirs('m')} AND ${existingMessage('m')}
    UNION ALL SELECT d.id FROM documents d WHERE ${isTheirs('d')} AND ${lastingDocument('d')}`

/** Pointers on one page. The neighbourhood of each is read. */
export const exportedPerPage = 50

/**
 * Episodes after a cursor, ordered by group and id, whose pointers name only this author. An episode that is also derived from another
 * author is left out because it may contain that author's personal data (GDPR art. 15(4)). `agents` are agents of the same person.
 */
export const episodesOfAuthor = statement('graph.episodes-of-author', {
  takes: { author: 'text', until: 'timestamptz', group: 'text', ref: 'text', agents: 'text[]' },
  returns: { ref: 'text', group: 'text', project: 'text', sources: 'text[]' },
  isPrepared: true,
  variants: ['account', 'agent', 'participant'],
  sql: (kind: WriterKind) => {
    const own = sourcesBy((alias) => writtenBy(kind, alias, '$author'))
    const ofAgents = sourcesBy((alias) => `${alias}.author_kind = 'agent' AND ${alias}.author_id = ANY($agents)`)
    return `SELECT v.ref, p.group_id AS group, min(p.id) AS project, array_agg(DISTINCT v.source_id ORDER BY v.source_id) AS sources
      FROM provenance v JOIN projects p ON p.id = v.project_id
      WHERE v.store = 'graph' AND v.place IN ('', p.group_id) AND v.at <= $until AND (p.group_id, v.ref) > ($group, $ref)
        AND v.source_id IN (${own})
        AND NOT EXISTS (SELECT FROM provenance o WHERE o.store = 'graph' AND o.ref = v.ref AND o.project_id = v.project_id
          AND o.place IN ('', p.group_id) AND o.source_id NOT IN (${own} UNION ALL ${ofAgents}))
      GROUP BY p.group_id, v.ref ORDER BY p.group_id, v.ref LIMIT ${exportedPerPage}`
  },
})
