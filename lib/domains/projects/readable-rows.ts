import { scopeSign } from '#lib/kernel/scoped-ids.ts'
import type { WriterKind } from './rules.ts'

/**
 * SQL: whether the words and the name of an author may be served. Agents may not read data of an author whose processing is restricted (GDPR
 * art. 18(2)), except what they wrote themselves. People of the project may, because they handle the request. `reader` is the parameter with
 * the value of `restrictedReader`: the agent that reads, or null for people.
 */
export const servedAuthorSql = (kind: string, id: string, reader: string): string =>
  `(${reader} IS NULL OR NOT (${kind} <> 'agent' OR ${id} <> ${reader})
    OR NOT EXISTS (SELECT FROM restricted_writers rw WHERE rw.kind = ${kind} AND rw.id = ${id}))`

/** SQL: an author as the API shows one, with the current name if `reader` may read it. Parameters: columns with the author's kind and id. */
export function writerSql(kind: string, id: string, reader?: string): string {
  const name = `CASE ${kind} WHEN 'account' THEN (SELECT w.name FROM account_names w WHERE w.id = ${id})
      WHEN 'participant' THEN (SELECT coalesce(w.name, w.external_id) FROM project_participants w WHERE w.id = ${id})
      ELSE (SELECT coalesce(w.name, w.id) FROM agent_names w WHERE w.id = ${id}) END`
  const served = reader === undefined ? name : `CASE WHEN ${servedAuthorSql(kind, id, reader)} THEN ${name} END`
  return `json_build_object('kind', ${kind}, 'id', ${id}, 'name', ${served})`
}

/** SQL: kind and id of an actor from a column as in the audit log: an agent's id, or `user:<account>`. */
export const doerKindSql = (doer: string): string =>
  `(CASE WHEN starts_with(${doer}, 'user:') THEN 'account' ELSE 'agent' END)`
export const doerIdSql = (doer: string): string =>
  `(CASE WHEN starts_with(${doer}, 'user:') THEN substr(${doer}, 6) ELSE ${doer} END)`
/** SQL: {@link writerSql} from such a column. */
export const doerSql = (doer: string, reader?: string): string => writerSql(doerKindSql(doer), doerIdSql(doer), reader)

/**
 * SQL: the title of a conversation `alias`; empty for an agent if an author whose processing is restricted created the conversation or wrote
 * in it, because a title often repeats their words.
 */
export const servedTitleSql = (alias: string, reader: string): string =>
  `(CASE WHEN ${servedAuthorSql(doerKindSql(`${alias}.created_by`), doerIdSql(`${alias}.created_by`), reader)}
    AND (${reader} IS NULL OR NOT EXISTS (SELECT FROM messages sm
      WHERE sm.conversation_id = ${alias}.id AND NOT ${servedAuthorSql('sm.author_kind', 'sm.author_id', reader)}))
    THEN ${alias}.title ELSE '' END)`

/** SQL: the account that claimed the participation of the author of a row; null for other authors. */
export const claimantSql = (alias: string): string =>
  `(SELECT pc.account_id FROM project_participants pc WHERE ${alias}.author_kind = 'participant' AND pc.id = ${alias}.author_id)`

/** Types of the parameters that identify a reader; their values are a `ProjectReader`. */
export const readerTypes = { account: 'text?', agents: 'text[]', organisation: 'text?', isAdmin: 'bool' } as const

const isReader =
  "((m.kind = 'account' AND m.member_id = $account) OR (m.kind = 'agent' AND m.member_id = ANY($agents)))"
/** SQL: the reader's role in the project `p`; null for non-members. Only members may read content; being an admin is not enough. */
export const projectRoleSql = `(SELECT min(m.role) FROM project_members m
    WHERE m.project_id = p.id AND p.organisation_id = $organisation AND ${isReader})`
/** SQL: the office with which the reader may see that the project `p` exists and close it: `admin`, `manager`, or null. */
export const projectManagersSql = `(CASE WHEN $isAdmin THEN 'admin' WHEN EXISTS (SELECT FROM account_names n
    WHERE n.id = $account AND n.role = 'manager' AND n.organisation_id = p.organisation_id) THEN 'manager' END)`
/** SQL: the projects of which the reader is a member, looked up by member. */
export const memberProjectsSql = `(SELECT m.project_id FROM project_members m WHERE ${isReader})`

const inReadableProject = (alias: string): string =>
  `NOT EXISTS (SELECT FROM projects sp WHERE sp.id = ${alias}.project_id AND sp.erasing_since IS NOT NULL)`

/** SQL: whether neither a conversation `alias` nor its project is being erased. */
export const existingConversation = (alias: string): string =>
  `(${alias}.erasing_since IS NULL AND ${inReadableProject(alias)})`
/** SQL: the same for a message. */
export const existingMessage = (alias: string): string =>
  `(${alias}.erasing_since IS NULL AND ${inReadableProject(alias)}
    AND NOT EXISTS (SELECT FROM conversations sc WHERE sc.id = ${alias}.conversation_id AND sc.erasing_since IS NOT NULL))`
/** SQL: the same for a document. A document made from a message has that message's mark. */
const readableDocument = (alias: string): string => `(${alias}.erasing_since IS NULL AND ${inReadableProject(alias)})`
/** SQL: the same, and the author of the message from which the document was made is not being erased. */
export const lastingDocument = (alias: string): string =>
  `(${readableDocument(alias)} AND NOT EXISTS (SELECT FROM messages sm JOIN fenced sf ON sf.kind = sm.author_kind AND sf.id = sm.author_id
    WHERE sm.id = ${alias}.made_from))`
/** SQL: whether the source of a pointer is not being erased. */
export const existingSource = (alias: string): string =>
  `(NOT EXISTS (SELECT FROM messages so WHERE ${alias}.source_kind = 'message' AND so.id = ${alias}.source_id AND NOT ${existingMessage('so')})
    AND NOT EXISTS (SELECT FROM documents so WHERE ${alias}.source_kind = 'document' AND so.id = ${alias}.source_id AND NOT ${readableDocument('so')}))`

/** SQL: the stored id of a column in the form that clients and other stores use. */
export const shownSql = (column: string): string => `substr(${column}, strpos(${column}, '${scopeSign}') + 1)`
/** SQL: the possible stored ids for an id given by a client, in a project: the id itself, and the id with its project. */
export const possibleSql = (project: string, given: string): string =>
  `ARRAY[${given}, ${project} || '${scopeSign}' || ${given}]`

/**
 * SQL: whether `author` (an account, an agent or a participant) is the author of a row. For an account, this includes rows written on behalf of
 * the participations that it claimed.
 */
export const writtenBy = (kind: WriterKind, alias: string, author = '$1'): string =>
  kind === 'account'
    ? `(${alias}.author_kind, ${alias}.author_id) IN (
        SELECT 'account', ${author}::text UNION ALL SELECT 'participant', pw.id FROM project_participants pw WHERE pw.account_id = ${author})`
    : `${alias}.author_kind = '${kind}' AND ${alias}.author_id = ${author}`
