import { conversationHold, joinProjectHolds, projectHoldsSql, staysSql } from '#lib/domains/projects/legal-holds.ts'
import { isByPersonSql } from '#lib/domains/projects/words/repository.ts'
import { statement } from '#lib/stores/postgres/statement.ts'

const withHolds = `WITH ${projectHoldsSql('$now')}`
const isMarked = 'c.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL'

/** The threads of conversations in which a subject wrote, with the date of its first message. */
export const threadsOfSubject = statement('checkpoints.threads-of-subject', {
  takes: { kinds: 'text[]', ids: 'text[]' },
  returns: { thread: 'text', since: 'timestamptz' },
  isPrepared: true,
  sql: `SELECT thread, min(m.created_at) AS since FROM messages m JOIN conversations c ON c.id = m.conversation_id, unnest(c.threads) thread
    WHERE (m.author_kind, m.author_id) IN (SELECT w.kind, w.id FROM unnest($kinds, $ids) AS w(kind, id)) GROUP BY 1`,
})

/** The messages and documents whose rows still exist, with their project, conversation, threads and texts. */
export const existingSources = statement('checkpoints.existing-sources', {
  takes: { sources: 'text[]' },
  returns: { id: 'text', project: 'text', conversation: 'text?', threads: 'text[]', texts: 'text[]' },
  isPrepared: true,
  sql: `SELECT m.id, m.project_id AS project, m.conversation_id AS conversation, c.threads,
      ARRAY[m.content] || ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = m.id) AS texts
    FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE m.id = ANY($sources)
    UNION ALL SELECT d.id, d.project_id, NULL, '{}', ARRAY(SELECT k.content FROM document_chunks k WHERE k.document_id = d.id)
    FROM documents d WHERE d.id = ANY($sources)`,
})

/** Of these messages, those of persons that remain in the projects. */
export const remainingMessages = statement('checkpoints.remaining-messages', {
  takes: { projects: 'text[]', ids: 'text[]', now: 'timestamptz' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `${withHolds}
    SELECT x.id FROM messages x JOIN conversations c ON c.id = x.conversation_id JOIN projects p ON p.id = x.project_id ${joinProjectHolds('x')}
    WHERE x.project_id = ANY($projects) AND x.id = ANY($ids) AND ${isByPersonSql.messages} AND ${staysSql('x', isMarked)}`,
})

/** The threads under legal hold: a hold on the project, or on an author of messages in a conversation that lists the thread. */
export const holdsOfThreads = statement('checkpoints.holds-of-threads', {
  takes: { threads: 'text[]', now: 'timestamptz' },
  returns: { thread: 'text', hold: 'text' },
  isPrepared: true,
  sql: `${withHolds},
    listed AS (SELECT t.thread, c.id, c.project_id FROM conversations c CROSS JOIN LATERAL unnest(c.threads) AS t(thread)
      WHERE c.threads && $threads AND t.thread = ANY($threads))
    SELECT thread, min(hold) AS hold FROM (
      SELECT l.thread, hp.hold FROM listed l JOIN held_projects hp ON hp.id = l.project_id
      UNION ALL SELECT l.thread, hw.hold FROM listed l JOIN messages x ON x.conversation_id = l.id
        JOIN held_writers hw ON hw.kind = x.author_kind AND hw.id = x.author_id
      UNION ALL SELECT v.place, hp.hold FROM provenance v JOIN held_projects hp ON hp.id = v.project_id
        WHERE v.store = 'checkpoints' AND v.place = ANY($threads)) AS found
    GROUP BY thread`,
})

/** Locks the conversations that list the threads, so that no message is added until the transaction ends. */
export const lockConversationsOf = statement('checkpoints.lock-conversations', {
  takes: { threads: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT c.id FROM conversations c WHERE c.threads && $threads ORDER BY c.id FOR UPDATE',
})

/** The projects that own the threads: those with a conversation that lists it, otherwise those with a pointer to it. */
export const projectsOfThreads = statement('checkpoints.projects-of-threads', {
  takes: { threads: 'text[]' },
  returns: { thread: 'text', project: 'text' },
  isPrepared: true,
  sql: `WITH listed AS (SELECT DISTINCT thread, c.project_id AS project FROM conversations c, unnest(c.threads) thread
      WHERE c.threads && $threads AND thread = ANY($threads))
    SELECT thread, project FROM listed
    UNION ALL SELECT DISTINCT v.place, v.project_id FROM provenance v
      WHERE v.store = 'checkpoints' AND v.place = ANY($threads) AND v.place NOT IN (SELECT thread FROM listed)`,
})

/**
 * A conversation `c` of a project `p` that remains: it is under legal hold, or nothing is erasing it and it has a remaining message, or it
 * has no messages and its creator remains.
 */
const conversationStays = `(${conversationHold} IS NOT NULL OR (c.erasing_since IS NULL AND p.erasing_since IS NULL AND p.status <> 'closed' AND (
    EXISTS (SELECT FROM messages x ${joinProjectHolds('x')} WHERE x.conversation_id = c.id AND ${staysSql('x')})
    OR NOT EXISTS (SELECT FROM messages x WHERE x.conversation_id = c.id)
      AND NOT EXISTS (SELECT FROM fenced f WHERE c.created_by = CASE f.kind WHEN 'account' THEN 'user:' || f.id ELSE f.id END))))`

/** Of these threads, those that remaining conversations list, apart from the given conversations. */
export const threadsListedElsewhere = statement('checkpoints.threads-listed-elsewhere', {
  takes: { threads: 'text[]', conversations: 'text[]', now: 'timestamptz' },
  returns: { thread: 'text' },
  isPrepared: true,
  sql: `${withHolds}
    SELECT DISTINCT t.thread FROM conversations c JOIN projects p ON p.id = c.project_id CROSS JOIN LATERAL unnest(c.threads) AS t(thread)
    WHERE c.threads && $threads AND t.thread = ANY($threads) AND c.id <> ALL($conversations) AND ${conversationStays}`,
})

/** Remaining messages and documents with pointers to these threads. Counts only projects with a conversation that lists the thread. */
export const sourcesOfThreads = statement('checkpoints.sources-of-threads', {
  takes: { threads: 'text[]', now: 'timestamptz' },
  returns: { thread: 'text', source: 'text' },
  isPrepared: true,
  sql: `${withHolds},
    named AS MATERIALIZED (SELECT DISTINCT v.place AS thread, v.source_kind, v.source_id FROM provenance v
      JOIN conversations c ON c.project_id = v.project_id AND c.threads @> ARRAY[v.place] WHERE v.store = 'checkpoints' AND v.place = ANY($threads))
    SELECT n.thread, x.id AS source FROM named n JOIN messages x ON n.source_kind = 'message' AND x.id = n.source_id
      JOIN conversations c ON c.id = x.conversation_id ${joinProjectHolds('x')} WHERE ${staysSql('x', 'c.erasing_since IS NOT NULL')}
    UNION SELECT n.thread, x.id FROM named n JOIN documents x ON n.source_kind = 'document' AND x.id = n.source_id
      ${joinProjectHolds('x')} WHERE ${staysSql('x')}`,
})

/** Authors of messages that remain, in conversations that list one of the threads. */
export const authorsInThreads = statement('checkpoints.authors-in-threads', {
  takes: { threads: 'text[]', now: 'timestamptz' },
  returns: { thread: 'text', kind: 'text', id: 'text', messages: 'int4' },
  isPrepared: true,
  sql: `${withHolds}
    SELECT t.thread, x.author_kind AS kind, x.author_id AS id, count(*)::int4 AS messages
    FROM conversations c CROSS JOIN LATERAL unnest(c.threads) AS t(thread) JOIN messages x ON x.conversation_id = c.id ${joinProjectHolds('x')}
    WHERE c.threads && $threads AND t.thread = ANY($threads) AND ${staysSql('x', 'c.erasing_since IS NOT NULL')}
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
})

export const organisationsOfProjects = statement('checkpoints.organisations-of-projects', {
  takes: { projects: 'text[]' },
  returns: { organisation: 'text' },
  isPrepared: true,
  sql: 'SELECT DISTINCT organisation_id AS organisation FROM projects WHERE id = ANY($projects)',
})

/** The projects that own one of the ids that an item of the long-term store names. */
export const projectsNamed = statement('checkpoints.projects-named', {
  takes: { ids: 'text[]' },
  returns: { project: 'text', organisation: 'text' },
  isPrepared: true,
  sql: `SELECT DISTINCT p.id AS project, p.organisation_id AS organisation FROM projects p WHERE p.id IN (
    SELECT id FROM projects WHERE id = ANY($ids)
    UNION ALL SELECT project_id FROM conversations WHERE id = ANY($ids) OR threads && $ids
    UNION ALL SELECT project_id FROM messages WHERE id = ANY($ids)
    UNION ALL SELECT project_id FROM documents WHERE id = ANY($ids)
    UNION ALL SELECT project_id FROM provenance WHERE store = 'checkpoints' AND place = ANY($ids))`,
})

/** Of these ids, those that belong to the projects: their own, and those of their conversations, threads, messages, documents and pointers. */
export const idsOfProjects = statement('checkpoints.ids-of-projects', {
  takes: { ids: 'text[]', projects: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM projects WHERE id = ANY($ids) AND id = ANY($projects)
    UNION SELECT id FROM conversations WHERE id = ANY($ids) AND project_id = ANY($projects)
    UNION SELECT t.thread FROM conversations c CROSS JOIN LATERAL unnest(c.threads) AS t(thread)
      WHERE c.threads && $ids AND t.thread = ANY($ids) AND c.project_id = ANY($projects)
    UNION SELECT id FROM messages WHERE id = ANY($ids) AND project_id = ANY($projects)
    UNION SELECT id FROM documents WHERE id = ANY($ids) AND project_id = ANY($projects)
    UNION SELECT place FROM provenance WHERE store = 'checkpoints' AND place = ANY($ids) AND project_id = ANY($projects)`,
})

/**
 * The organizations that may claim one of the names (`is_inside`), and all given organizations. `is_any`: whether the organization may
 * claim items that nobody else claims.
 */
export const claimsTo = statement('checkpoints.claims', {
  takes: { organisations: 'text[]', names: 'text[]' },
  returns: { id: 'text', is_any: 'bool', is_inside: 'bool' },
  isPrepared: true,
  sql: `SELECT * FROM (SELECT o.id, o.is_any, EXISTS (SELECT FROM unnest($names) AS n(name)
      WHERE n.name = o.id OR starts_with(n.name, o.id || '_')
        OR EXISTS (SELECT FROM unnest(o.namespaces) AS p WHERE p <> '*' AND starts_with(n.name, p))) AS is_inside
    FROM organisation_namespaces o) AS c WHERE is_inside OR id = ANY($organisations)`,
})

/** Returns one row if one of the organizations may claim items that nobody else claims. */
export const anyClaimsAll = statement('checkpoints.any-claims-all', {
  takes: { organisations: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT id FROM organisation_namespaces WHERE id = ANY($organisations) AND is_any LIMIT 1',
})

/** Returns a row if only one organization has people, so that it may claim every item. */
export const onlyClaimant = statement('checkpoints.only-claimant', {
  takes: {},
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM organisation_namespaces WHERE is_any AND NOT '*' = ANY(namespaces) LIMIT 1`,
})
