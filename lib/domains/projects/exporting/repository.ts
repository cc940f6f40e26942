import { statement } from '#lib/stores/postgres/statement.ts'
import { servedSql } from '../participants/restricting.ts'
import { shownSql } from '../readable-rows.ts'

const isServed = (alias: string) => `${alias}.erasing_since IS NULL AND ${servedSql(alias, '$reader')}`
/** Files of a project after an object key, at most 100. */
export const filesOfProject = statement('projects.files', {
  takes: { project: 'text', until: 'timestamptz', reader: 'text?', after: 'text' },
  returns: { folder: 'text', name: 'text', object_key: 'text' },
  isPrepared: true,
  sql: `SELECT f.* FROM (
      SELECT 'documents/' || ${shownSql('d.id')} AS folder, d.name, d.object_key FROM documents d
        WHERE d.project_id = $project AND d.created_at <= $until AND ${isServed('d')} AND d.object_key > $after
      UNION ALL SELECT 'attachments/' || x.id, x.name, x.object_key
        FROM attachments x JOIN messages m ON m.id = x.message_id JOIN conversations c ON c.id = m.conversation_id
        WHERE m.project_id = $project AND x.created_at <= $until AND ${isServed('m')} AND c.erasing_since IS NULL
          AND x.object_key > $after) AS f
    ORDER BY f.object_key LIMIT 100`,
})

/** Threads of a project's conversations, and threads that its pointers name, except those with content that is being erased. */
export const threadsOfProject = statement('projects.threads', {
  takes: { project: 'text', after: 'text' },
  returns: { thread: 'text' },
  isPrepared: true,
  sql: `SELECT DISTINCT t.thread FROM (
      SELECT unnest(c.threads) AS thread FROM conversations c WHERE c.project_id = $project
      UNION ALL SELECT v.place FROM provenance v WHERE v.project_id = $project AND v.store = 'checkpoints' AND v.place <> ''
        AND NOT EXISTS (SELECT FROM conversations o WHERE o.threads @> ARRAY[v.place] AND o.project_id <> $project)) AS t
    WHERE t.thread > $after AND NOT EXISTS (SELECT FROM conversations c WHERE c.threads @> ARRAY[t.thread]
        AND (c.erasing_since IS NOT NULL OR EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id AND m.erasing_since IS NOT NULL)))
      AND NOT EXISTS (SELECT FROM provenance v JOIN messages m ON m.id = v.source_id
        WHERE v.store = 'checkpoints' AND v.place = t.thread AND v.project_id = $project AND m.erasing_since IS NOT NULL)
    ORDER BY t.thread LIMIT 100`,
})

const wroteSql = ['messages', 'documents']
  .map(
    (table) =>
      `EXISTS (SELECT FROM ${table} x WHERE x.author_kind = rw.kind AND x.author_id = rw.id AND x.project_id = $project)`,
  )
  .join(' OR ')
/**
 * Whether a part of the project is being erased, and whether the processing of one of its participants, or of another author in it, is
 * restricted for the agent that reads.
 */
export const restrictionsOfExport = statement('projects.restrictions-of-export', {
  takes: { project: 'text', reader: 'text?' },
  returns: { isErasing: 'bool', isRestricted: 'bool' },
  isPrepared: true,
  sql: `SELECT $reader IS NOT NULL AND (EXISTS (SELECT FROM restricted_participants WHERE project_id = $project)
      OR EXISTS (SELECT FROM restricted_writers rw WHERE (rw.kind <> 'agent' OR rw.id <> $reader) AND (${wroteSql}))) AS "isRestricted",
    ${['messages', 'documents', 'conversations']
      .map((table) => `EXISTS (SELECT FROM ${table} WHERE project_id = $project AND erasing_since IS NOT NULL)`)
      .join(' OR ')} AS "isErasing"`,
})
