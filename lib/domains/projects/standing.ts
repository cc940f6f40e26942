const inStandingProject = (alias: string): string =>
  `NOT EXISTS (SELECT FROM projects sp WHERE sp.id = ${alias}.project_id AND sp.erasing_since IS NOT NULL)`

/** SQL: that neither a conversation, by its alias, nor what it lies in is being erased. */
export const standingConversation = (alias: string): string =>
  `(${alias}.erasing_since IS NULL AND ${inStandingProject(alias)})`
/** SQL: the same of a message. */
export const standingMessage = (alias: string): string =>
  `(${alias}.erasing_since IS NULL AND ${inStandingProject(alias)}
    AND NOT EXISTS (SELECT FROM conversations sc WHERE sc.id = ${alias}.conversation_id AND sc.erasing_since IS NOT NULL))`
/** SQL: the same of a document; what was made from a message has the message's mark. */
const standingDocument = (alias: string): string => `(${alias}.erasing_since IS NULL AND ${inStandingProject(alias)})`
/** SQL: the same, and that it was not made from the words of somebody who is being erased, with whom it goes. */
export const lastingDocument = (alias: string): string =>
  `(${standingDocument(alias)} AND NOT EXISTS (SELECT FROM messages sm JOIN fenced sf ON sf.kind = sm.author_kind AND sf.id = sm.author_id
    WHERE sm.id = ${alias}.made_from))`
/** SQL: that what a pointer came of is not being erased. */
export const standingSource = (alias: string): string =>
  `(NOT EXISTS (SELECT FROM messages so WHERE ${alias}.source_kind = 'message' AND so.id = ${alias}.source_id AND NOT ${standingMessage('so')})
    AND NOT EXISTS (SELECT FROM documents so WHERE ${alias}.source_kind = 'document' AND so.id = ${alias}.source_id AND NOT ${standingDocument('so')}))`
