const inStandingProject = (alias: string): string =>
  `NOT EXISTS (SELECT FROM projects sp WHERE sp.id = ${alias}.project_id AND sp.erasing_since IS NOT NULL)`

/** SQL: whether neither a conversation `alias` nor its project is being erased. */
export const existingConversation = (alias: string): string =>
  `(${alias}.erasing_since IS NULL AND ${inStandingProject(alias)})`
/** SQL: the same for a message. */
export const existingMessage = (alias: string): string =>
  `(${alias}.erasing_since IS NULL AND ${inStandingProject(alias)}
    AND NOT EXISTS (SELECT FROM conversations sc WHERE sc.id = ${alias}.conversation_id AND sc.erasing_since IS NOT NULL))`
/** SQL: the same for a document. A document made from a message has that message's mark. */
const standingDocument = (alias: string): string => `(${alias}.erasing_since IS NULL AND ${inStandingProject(alias)})`
/** SQL: the same, and the author of the message from which the document was made is not being erased. */
export const lastingDocument = (alias: string): string =>
  `(${standingDocument(alias)} AND NOT EXISTS (SELECT FROM messages sm JOIN fenced sf ON sf.kind = sm.author_kind AND sf.id = sm.author_id
    WHERE sm.id = ${alias}.made_from))`
/** SQL: whether the source of a pointer is not being erased. */
export const existingSource = (alias: string): string =>
  `(NOT EXISTS (SELECT FROM messages so WHERE ${alias}.source_kind = 'message' AND so.id = ${alias}.source_id AND NOT ${existingMessage('so')})
    AND NOT EXISTS (SELECT FROM documents so WHERE ${alias}.source_kind = 'document' AND so.id = ${alias}.source_id AND NOT ${standingDocument('so')}))`
