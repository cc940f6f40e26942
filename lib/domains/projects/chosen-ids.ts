import { scopeSign } from '#lib/kernel/scoped-ids.ts'
import type { ProjectQuery } from './access.ts'

/** SQL: the stored id of a column in the form that clients and other stores use. */
export const shownSql = (column: string): string => `substr(${column}, strpos(${column}, '${scopeSign}') + 1)`
/** SQL: the possible stored ids for an id given by a client, in a project. */
export const possibleSql = (project: string, given: string): string =>
  `ARRAY[${given}, ${project} || '${scopeSign}' || ${given}]`

type Kind = 'conversation' | 'message' | 'document'

const stored = (kind: Kind): string => `SELECT g.given, x.id FROM unnest($2::text[]) AS g(given)
  JOIN ${kind}s x ON x.id = ANY(${possibleSql('$1::text', 'g.given')}) AND x.project_id = $1`
/** Maps ids given by a client to the stored ids in the project. Unknown ids are omitted. */
export async function storedIds(
  ask: ProjectQuery,
  kind: Kind,
  projectId: string,
  given: readonly string[],
): Promise<Map<string, string>> {
  const rows = await ask<{ given: string; id: string }>(`stored-${kind}`, stored(kind), [projectId, given])
  return new Map(rows.map((row) => [row.given, row.id]))
}

/** SQL: the stored id of an erased part, from erasure records of the project. */
const erased = `SELECT id FROM (
    SELECT part_id AS id FROM erasure_scopes WHERE project_id = $1 AND part_kind = $2 AND part_id = ANY(${possibleSql('$1::text', '$3::text')})
    UNION ALL SELECT e.id FROM erased_records e WHERE e.id = $1 || '${scopeSign}' || $3) AS f LIMIT 1`
/** The stored id for an id given by a client; the given id if the project has no such record. */
export async function storedId(ask: ProjectQuery, kind: Kind, projectId: string, given: string): Promise<string> {
  const found = (await storedIds(ask, kind, projectId, [given])).get(given)
  if (found !== undefined) return found
  const [gone] = await ask<{ id: string }>('stored-erased', erased, [projectId, kind, given])
  return gone?.id ?? given
}

interface IdLocation {
  projectId: string
  conversationId?: string | undefined
  messageId?: string | undefined
  documentId?: string | undefined
}
/** The parameters of a path, with stored ids. */
export async function storedIdOwner<P extends IdLocation>(ask: ProjectQuery, place: P): Promise<P> {
  const { projectId, conversationId, messageId, documentId } = place
  const stored = { ...place }
  if (conversationId !== undefined)
    stored.conversationId = await storedId(ask, 'conversation', projectId, conversationId)
  if (messageId !== undefined) stored.messageId = await storedId(ask, 'message', projectId, messageId)
  if (documentId !== undefined) stored.documentId = await storedId(ask, 'document', projectId, documentId)
  return stored
}

/**
 * Finds ids that were erased before ids were stored with their project. The erasure of a part names its project. The erasure of a person or
 * agent does not, so such an id is rejected in every project, unless it was generated: generated ids are unique.
 */
const erasedFormerly = `SELECT 1 AS found FROM erased_records e JOIN erasure_scopes r ON r.receipt_id = e.receipt_id
  WHERE e.id = $2 AND (r.project_id = $1 OR (r.part_kind IS NULL AND e.id !~ '^[a-z]{2,8}_[0-9A-Za-z]{22}$'))`
export const wasErasedFormerly = async (ask: ProjectQuery, projectId: string, chosen: string): Promise<boolean> =>
  (await ask('erased-formerly', erasedFormerly, [projectId, chosen])).length > 0
