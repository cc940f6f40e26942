import type { ErasureScope, ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { type AuthoredTable, scopePart, scopeSubject, writersOf } from './legal-holds.ts'

/** A kind of scope and a table in which it covers rows. Each combination has its own SQL. */
export interface CoveredTable {
  scope: 'subject' | ProjectPart['kind']
  table: AuthoredTable
}
/** All combinations. A document covers no messages. */
export const coveredTables: readonly CoveredTable[] = [
  ...(['subject', 'project', 'conversation', 'message', 'document'] as const).map(
    (scope): CoveredTable => ({ scope, table: 'documents' }),
  ),
  ...(['subject', 'project', 'conversation', 'message'] as const).map(
    (scope): CoveredTable => ({ scope, table: 'messages' }),
  ),
]
/** The parameters of {@link coveredSql}. Each combination uses some of them. */
export const coveredParameters = { kinds: 'text[]', ids: 'text[]', part: 'text', project: 'text' } as const

/** SQL condition on `x` for the rows that a scope covers. Documents made from a message are erased with it. */
export function coveredSql({ scope, table }: CoveredTable): string {
  // Looks up each writer in the index of authors.
  const written = (alias: string) =>
    `(${alias}.author_kind, ${alias}.author_id) IN (SELECT w.kind, w.id FROM unnest($kinds, $ids) AS w(kind, id))`
  const isMessages = table === 'messages'
  switch (scope) {
    case 'subject':
      return isMessages
        ? written('x')
        : `x.id IN (SELECT d.id FROM documents d WHERE ${written('d')}
            UNION SELECT d.id FROM messages m JOIN documents d ON d.made_from = m.id WHERE ${written('m')})`
    case 'project':
      return 'x.project_id = $part'
    case 'conversation':
      return isMessages
        ? 'x.conversation_id = $part AND x.project_id = $project'
        : 'x.made_from IN (SELECT m.id FROM messages m WHERE m.conversation_id = $part AND m.project_id = $project)'
    case 'message':
      return `${isMessages ? 'x.id' : 'x.made_from'} = $part AND x.project_id = $project`
    case 'document':
      return 'x.id = $part AND x.project_id = $project'
  }
}

/** The combination and parameters for the rows of a table that a scope covers; undefined if it covers none. */
export function coveredRows(scope: ErasureScope, table: AuthoredTable) {
  const subject = scopeSubject(scope)
  const part = scopePart(scope)
  const { kinds, ids } = subject ? writersOf(subject) : { kinds: [], ids: [] }
  const kind = subject ? 'subject' : part?.kind
  const isCovered = coveredTables.some((one) => one.scope === kind && one.table === table)
  if (kind === undefined || !isCovered || (subject && ids.length === 0)) return undefined
  const which: CoveredTable = { scope: kind, table }
  return { which, values: { kinds, ids, part: part?.id ?? '', project: part?.project ?? '' } }
}
