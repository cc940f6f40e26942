import { statement } from '#lib/stores/postgres/statement.ts'

/** Counts a subject's documents and the attachments of its messages. */
export const filesOf = statement('objects.files-of-subject', {
  takes: { kinds: 'text[]', ids: 'text[]' },
  returns: { count: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `WITH writer AS (SELECT * FROM unnest($kinds, $ids) AS w(kind, id)),
      own AS (
        SELECT a.created_at FROM messages m JOIN attachments a ON a.message_id = m.id
          WHERE (m.author_kind, m.author_id) IN (SELECT kind, id FROM writer)
        UNION ALL SELECT d.created_at FROM documents d WHERE (d.author_kind, d.author_id) IN (SELECT kind, id FROM writer))
    SELECT count(*)::int4 AS count, min(created_at) AS since FROM own`,
})
