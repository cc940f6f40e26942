import { type AuthoredTable, joinProjectHolds, projectHoldsSql, staysSql } from '#lib/domains/projects/legal-holds.ts'
import { statement } from '#lib/stores/postgres/statement.ts'

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
export const mostRemaining: Record<AuthoredTable, number> = { messages: 1_000, documents: 20 }
const textsOf: Record<AuthoredTable, string> = {
  messages:
    'ARRAY[x.content] || ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id ORDER BY e.edited_at, e.id)',
  documents: 'ARRAY(SELECT k.content FROM document_chunks k WHERE k.document_id = x.id ORDER BY k.position)',
}
const isMarked: Record<AuthoredTable, [join: string, marked: string]> = {
  messages: [
    'JOIN conversations c ON c.id = x.conversation_id JOIN projects p ON p.id = x.project_id',
    'c.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL',
  ],
  // Texts of a project that is being erased do not explain any words.
  documents: ['JOIN projects p ON p.id = x.project_id', 'p.erasing_since IS NOT NULL'],
}
const remaining = (table: AuthoredTable, where: string): string => `WITH ${projectHoldsSql('$now')}
  SELECT x.id, ${textsOf[table]} AS texts FROM ${table} x ${isMarked[table][0]} ${joinProjectHolds('x')}
  WHERE x.project_id = $project AND ${staysSql('x', isMarked[table][1])} AND ${where} ORDER BY x.id LIMIT ${mostRemaining[table]}`

/** Remaining messages or documents of a project after an id, with their current and earlier texts. */
export const remainingAfter = statement('words.remaining-after', {
  takes: { project: 'text', after: 'text', now: 'timestamptz' },
  returns: { id: 'text', texts: 'text[]' },
  isPrepared: true,
  variants: ['messages', 'documents'],
  sql: (table: AuthoredTable) => remaining(table, 'x.id > $after'),
})

/** Minimum length of a text in characters. Shorter texts occur in others by chance. */
const leastCharacters = 2
const isContained = (content: string): string =>
  `char_length(${content}) >= ${leastCharacters} AND (strpos($text, ${content}) > 0 OR strpos($folded, btrim(regexp_replace(${content}, '\\s+', ' ', 'g'))) > 0)`

/** Remaining messages or documents of a project that `text` may contain completely. `folded` is the text with single spaces. */
export const remainingWithin = statement('words.remaining-within', {
  takes: { project: 'text', now: 'timestamptz', text: 'text', folded: 'text' },
  returns: { id: 'text', texts: 'text[]' },
  isPrepared: true,
  variants: ['messages', 'documents'],
  sql: (table: AuthoredTable) =>
    remaining(
      table,
      table === 'messages'
        ? isContained('x.content')
        : `EXISTS (SELECT FROM document_chunks k WHERE k.document_id = x.id AND ${isContained('k.content')})`,
    ),
})
