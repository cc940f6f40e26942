import { type AuthoredTable, joinProjectHolds, projectHoldsSql, staysSql } from '#lib/domains/projects/legal-holds.ts'
import { statement } from '#lib/stores/postgres/statement.ts'
import { borderSql, joinNextPart, textsOfDocumentSql } from '../documents/texts.ts'

/** Prevents concurrent additions to the erased words of a run until the transaction ends. */
export const lockErasedWords = statement('words.lock', {
  takes: { run: 'text' },
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtextextended('erased_words ' || $run, 0))::text AS lock`,
})

export const versionOfErasedWords = statement('words.version', {
  takes: { run: 'text' },
  returns: { version: 'int4' },
  isPrepared: true,
  sql: 'SELECT version FROM erased_words WHERE run_id = $run',
})

/** Stores the erased words of a run, or replaces them and increments their version. */
export const writeErasedWords = statement('words.write', {
  takes: { run: 'text', projects: 'text[]', fingerprints: 'bytea' },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO erased_words (run_id, projects, fingerprints) VALUES ($run, $projects, $fingerprints)
    ON CONFLICT (run_id) DO UPDATE SET version = erased_words.version + 1, projects = excluded.projects, fingerprints = excluded.fingerprints`,
})

/** Maximum number of messages or documents that one statement returns. */
export const maxRemaining: Record<AuthoredTable, number> = { messages: 1_000, documents: 20 }
const textsOf: Record<AuthoredTable, string> = {
  messages:
    'ARRAY[x.content] || ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id ORDER BY e.edited_at, e.id)',
  documents: textsOfDocumentSql('x.id'),
}
const isMarked: Record<AuthoredTable, [join: string, marked: string]> = {
  messages: [
    'JOIN conversations c ON c.id = x.conversation_id JOIN projects p ON p.id = x.project_id',
    'c.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL',
  ],
  // Texts of a project that is being erased do not explain any words.
  documents: ['JOIN projects p ON p.id = x.project_id', 'p.erasing_since IS NOT NULL'],
}
/**
 * SQL: whether a person wrote the row. Assistants, tools and system prompts are not authors: they quote. The role decides, because a
 * backend token writes the messages of its users. A participant is always a person, and an artifact is made by an agent.
 */
export const isByPersonSql: Record<AuthoredTable, string> = {
  messages: `(x.role = 'user' OR x.author_kind = 'participant')`,
  documents: `x.kind = 'document'`,
}
/** SQL: when we stored the first text at the latest. Clients state `created_at`. */
const storedAtOf: Record<AuthoredTable, string> = {
  messages: 'coalesce((SELECT min(e.edited_at) FROM message_edits e WHERE e.message_id = x.id), x.updated_at)',
  documents: 'x.updated_at',
}
const columnsOfText = (table: AuthoredTable): string =>
  `x.id, ${isByPersonSql[table]} AS is_by_person, x.created_at, ${storedAtOf[table]} AS stored_at, ${textsOf[table]} AS texts`
const remaining = (
  table: AuthoredTable,
  where: string,
  columns = columnsOfText(table),
  projects = 'x.project_id = $project',
): string => `WITH ${projectHoldsSql('$now')}
  SELECT ${columns} FROM ${table} x ${isMarked[table][0]} ${joinProjectHolds('x')}
  WHERE ${projects} AND ${staysSql('x', isMarked[table][1])} AND ${where} ORDER BY x.id LIMIT ${maxRemaining[table]}`

const textColumns = {
  id: 'text',
  is_by_person: 'bool',
  created_at: 'timestamptz',
  stored_at: 'timestamptz',
  texts: 'text[]',
} as const
/** Remaining messages or documents of a project after an id, with their current and earlier texts. */
export const remainingAfter = statement('words.remaining-after', {
  takes: { project: 'text', after: 'text', now: 'timestamptz' },
  returns: textColumns,
  isPrepared: true,
  variants: ['messages', 'documents'],
  sql: (table: AuthoredTable) => remaining(table, 'x.id > $after'),
})

const isContained = (content: string): string =>
  `char_length(${content}) >= $least AND (strpos($text, ${content}) > 0 OR strpos($folded, lower(btrim(regexp_replace(${content}, '\\s+', ' ', 'g')))) > 0
    OR ($words <> '' AND strpos($words, ' ' || btrim(regexp_replace(lower(${content}), '[[:punct:][:space:]]+', ' ', 'g')) || ' ') > 0))`

/**
 * Remaining messages or documents of a project of which `text` may contain a complete text, current or earlier, of at least `least`
 * characters. `folded` is the text in lower case with single spaces, `words` are the words of readings that are only guessed.
 */
export const remainingWithin = statement('words.remaining-within', {
  takes: { project: 'text', now: 'timestamptz', text: 'text', folded: 'text', words: 'text', least: 'int4' },
  returns: textColumns,
  isPrepared: true,
  variants: ['messages', 'documents'],
  sql: (table: AuthoredTable) =>
    remaining(
      table,
      table === 'messages'
        ? `(${isContained('x.content')} OR x.id IN (SELECT e.message_id FROM message_edits e JOIN messages f ON f.id = e.message_id
            WHERE f.project_id = $project AND ${isContained('e.content')}))`
        : `EXISTS (SELECT FROM document_chunks k WHERE k.document_id = x.id AND ${isContained('k.content')})`,
    ),
})

const isFenced = (kind: string, id: string): string =>
  `EXISTS (SELECT FROM fenced f WHERE f.kind = '${kind}' AND f.id = ${id})
    AND NOT EXISTS (SELECT FROM held_writers w WHERE w.kind = '${kind}' AND w.id = ${id})`
/**
 * Names of participants and members of a project, at most a thousand of each, without people who are being erased: while an erasure runs,
 * the same names are known as after it.
 */
export const namesOfProject = statement('words.names-of-project', {
  takes: { project: 'text', now: 'timestamptz' },
  returns: { name: 'text!' },
  isPrepared: true,
  sql: `WITH ${projectHoldsSql('$now')}
    (SELECT a.name FROM project_participants a WHERE a.project_id = $project AND a.name IS NOT NULL
      AND NOT (${isFenced('participant', 'a.id')} AND NOT EXISTS (SELECT FROM held_projects h WHERE h.id = a.project_id))
      ORDER BY a.id LIMIT 1000)
    UNION ALL (SELECT n.name FROM project_members m JOIN account_names n ON n.id = m.member_id
      WHERE m.project_id = $project AND m.kind = 'account' AND n.name IS NOT NULL AND NOT (${isFenced('account', 'm.member_id')})
      ORDER BY m.member_id LIMIT 1000)`,
})

const placesOf: Record<AuthoredTable, string> = {
  messages: 'ARRAY[p.id, p.group_id, c.id] || c.threads',
  documents: 'ARRAY[p.id, p.group_id]',
}
const recordColumns = {
  id: 'text',
  texts: 'text[]',
  authors: 'text[]',
  places: 'text[]',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const
const namedSql = (table: AuthoredTable, projects?: string): string =>
  remaining(
    table,
    'x.id = ANY($ids) AND x.id > $after',
    `x.id, x.created_at, x.updated_at, ${textsOf[table]} AS texts, array_remove(${placesOf[table]}, NULL) AS places,
        array_remove(ARRAY[x.author_id, x.written_by]
          || (SELECT ARRAY[a.name, a.external_id, a.email] FROM project_participants a WHERE a.id = x.author_id)
          || (SELECT ARRAY[n.name] FROM account_names n WHERE n.id = x.author_id), NULL) AS authors`,
    projects,
  )
/** Remaining messages or documents of a project with these ids, after an id, with what describes their authors and places. */
export const remainingNamed = statement('words.remaining-named', {
  takes: { project: 'text', now: 'timestamptz', ids: 'text[]', after: 'text' },
  returns: recordColumns,
  isPrepared: true,
  variants: ['messages', 'documents'],
  sql: (table: AuthoredTable) => namedSql(table),
})
/** As {@link remainingNamed}, in all other projects. */
export const remainingNamedElsewhere = statement('words.remaining-named-elsewhere', {
  takes: { projects: 'text[]', now: 'timestamptz', ids: 'text[]', after: 'text' },
  returns: recordColumns,
  isPrepared: true,
  variants: ['messages', 'documents'],
  sql: (table: AuthoredTable) => namedSql(table, 'x.project_id <> ALL($projects)'),
})

/** Names of participants of other projects that match a pattern, except those in `erased`. At most `max` for each pattern, with its number. */
export const namesElsewhere = statement('words.names-elsewhere', {
  takes: { projects: 'text[]', patterns: 'text[]', erased: 'text[]', max: 'int4' },
  returns: { n: 'int4', text: 'text!' },
  sql: `SELECT (g.n - 1)::int4 AS n, f.name AS text FROM unnest($patterns) WITH ORDINALITY AS g(pattern, n) CROSS JOIN LATERAL (
      SELECT a.name FROM project_participants a WHERE a.name ~* g.pattern AND a.project_id <> ALL($projects) AND a.id <> ALL($erased) LIMIT $max) AS f`,
})

/** Texts around the borders of documents that match a pattern, and of whose parts one matches half of it. Its trigram index finds the part. */
const besideBorder = (isFound: string): string =>
  `SELECT ${borderSql} FROM document_chunks k ${joinNextPart} JOIN documents x ON x.id = k.document_id ${isMarked.documents[0]} ${joinProjectHolds('x')}
    WHERE ${isFound} AND (${borderSql}) ~* g.pattern AND x.project_id <> ALL($projects) AND x.id <> ALL($erased) AND ${isByPersonSql.documents}
      AND ${staysSql('x', isMarked.documents[1])} LIMIT $max`

/**
 * Texts of persons that match a pattern of words, in messages, their earlier texts and documents that remain in other projects. At most
 * `max` for each pattern, with its number. The trigram indexes of the texts find them.
 */
export const textsElsewhere = statement('words.texts-elsewhere', {
  takes: {
    projects: 'text[]',
    patterns: 'text[]',
    /** Patterns of the first and of the last half of the words: one of them is on one side of a border between two parts of a document. */
    heads: 'text[]',
    tails: 'text[]',
    erased: 'text[]',
    now: 'timestamptz',
    max: 'int4',
  },
  returns: { n: 'int4', text: 'text' },
  sql: `WITH ${projectHoldsSql('$now')}
    SELECT (g.n - 1)::int4 AS n, f.text FROM unnest($patterns, $heads, $tails) WITH ORDINALITY AS g(pattern, head, tail, n) CROSS JOIN LATERAL (
      (SELECT x.content AS text FROM messages x ${isMarked.messages[0]} ${joinProjectHolds('x')}
        WHERE x.content ~* g.pattern AND x.project_id <> ALL($projects) AND x.id <> ALL($erased) AND ${isByPersonSql.messages}
          AND ${staysSql('x', isMarked.messages[1])} LIMIT $max)
      UNION ALL (SELECT e.content FROM message_edits e JOIN messages x ON x.id = e.message_id ${isMarked.messages[0]} ${joinProjectHolds('x')}
        WHERE e.content ~* g.pattern AND x.project_id <> ALL($projects) AND x.id <> ALL($erased) AND ${isByPersonSql.messages}
          AND ${staysSql('x', isMarked.messages[1])} LIMIT $max)
      UNION ALL (SELECT k.content FROM document_chunks k JOIN documents x ON x.id = k.document_id ${isMarked.documents[0]} ${joinProjectHolds('x')}
        WHERE k.content ~* g.pattern AND x.project_id <> ALL($projects) AND x.id <> ALL($erased) AND ${isByPersonSql.documents}
          AND ${staysSql('x', isMarked.documents[1])} LIMIT $max)
      UNION ALL (${besideBorder('k.content ~* g.head')})
      UNION ALL (${besideBorder('n.content ~* g.tail')})) AS f`,
})
