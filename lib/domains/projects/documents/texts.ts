/** Characters on each side of the border between two parts: more than a run of erased words has. */
const besideBorder = 300

/**
 * SQL: the text around the border between the parts `k` and `n` of a document, which follow each other. Words that are cut off at its ends are left out, unless
 * the script writes no spaces.
 */
export const borderSql = `regexp_replace(right(k.content, ${besideBorder}), '^\\S{0,40}\\s', '') || regexp_replace(left(n.content, ${besideBorder}), '\\s\\S{0,40}$', '')`
/** SQL: joins the part `n` that follows the part `k`. */
export const joinNextPart = 'JOIN document_chunks n ON n.document_id = k.document_id AND n.position = k.position + 1'

/** SQL: the parts of a document in which its text is stored, and the text around each border between two of them, where a sentence may continue. */
export const textsOfDocumentSql = (id: string): string =>
  `ARRAY(SELECT k.content FROM document_chunks k WHERE k.document_id = ${id} ORDER BY k.position)
    || ARRAY(SELECT ${borderSql} FROM document_chunks k ${joinNextPart} WHERE k.document_id = ${id} ORDER BY k.position)`
