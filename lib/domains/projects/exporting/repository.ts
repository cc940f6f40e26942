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

/**
 * Threads of a project's conversations, and threads that its pointers name, except those with content that is being erased. `isTied`: the
 * thread contains a generated id of the project or of one of its conversations, so that nobody else can have named it.
 */
export const threadsOfProject = statement('projects.threads', {
  takes: { project: 'text', after: 'text' },
  returns: { thread: 'text', isTied: 'bool' },
  isPrepared: true,
  sql: `SELECT DISTINCT t.thread, strpos(t.thread, $project) > 0
      OR EXISTS (SELECT FROM regexp_matches(t.thread, 'conv_[0-9A-Za-z]{22}', 'g') AS r (ids) JOIN conversations o ON o.id = r.ids[1]
        WHERE o.project_id = $project) AS "isTied" FROM (
      SELECT unnest(c.threads) AS thread FROM conversations c WHERE c.project_id = $project
      UNION ALL SELECT v.place FROM provenance v WHERE v.project_id = $project AND v.store = 'checkpoints' AND v.place <> ''
        AND NOT EXISTS (SELECT FROM conversations o WHERE o.threads @> ARRAY[v.place] AND o.project_id <> $project)) AS t
    WHERE t.thread > $after AND NOT EXISTS (SELECT FROM conversations c WHERE c.threads @> ARRAY[t.thread]
        AND (c.erasing_since IS NOT NULL OR EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id AND m.erasing_since IS NOT NULL)))
      AND NOT EXISTS (SELECT FROM provenance v JOIN messages m ON m.id = v.source_id
        WHERE v.store = 'checkpoints' AND v.place = t.thread AND v.project_id = $project AND m.erasing_since IS NOT NULL)
    ORDER BY t.thread LIMIT 100`,
})

/** Messages of a thread's conversation, and messages whose pointers name the thread, with the ids under which it may contain them. */
export const messagesOfThread = statement('projects.messages-of-thread', {
  takes: { project: 'text', thread: 'text', after: 'text' },
  returns: { storedId: 'text', id: 'text', refs: 'text[]', text: 'text?' },
  isPrepared: true,
  sql: `SELECT m.id AS "storedId", ${shownSql('m.id')} AS id, ARRAY(SELECT v.ref FROM provenance v
        WHERE v.source_id = m.id AND v.project_id = $project AND v.store = 'checkpoints' AND v.place = $thread) AS refs,
      CASE WHEN m.role = 'user' THEN m.content END AS text
    FROM messages m WHERE m.project_id = $project AND m.erasing_since IS NULL AND m.id > $after
      AND (m.conversation_id IN (SELECT c.id FROM conversations c WHERE c.project_id = $project AND c.threads @> ARRAY[$thread])
        OR m.id IN (SELECT v.source_id FROM provenance v WHERE v.project_id = $project AND v.store = 'checkpoints' AND v.place = $thread))
    ORDER BY m.id LIMIT 200`,
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
