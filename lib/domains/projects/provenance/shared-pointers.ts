import { possibleSql } from '#lib/domains/projects/chosen-ids.ts'
import { joinProjectHolds, projectHoldsSql, staysSql } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

const standing = `WITH ${projectHoldsSql('$3')},
  named AS MATERIALIZED (SELECT v.ref, v.source_kind, v.source_id FROM provenance v WHERE v.store = $1 AND v.ref = ANY($2::text[])
    UNION SELECT r.ref, k.kind, i.id FROM unnest($2::text[]) AS r(ref), (VALUES ('message'), ('document')) AS k(kind), unnest(${possibleSql('$4::text', 'r.ref')}) AS i(id)
      WHERE $1 = 'checkpoints')
  SELECT n.ref, x.id AS source FROM named n JOIN messages x ON n.source_kind = 'message' AND x.id = n.source_id
    JOIN conversations c ON c.id = x.conversation_id ${joinProjectHolds('x')} WHERE ${staysSql('x', 'c.erasing_since IS NOT NULL')} AND ($4::text IS NULL OR x.project_id = $4)
  UNION SELECT n.ref, x.id FROM named n JOIN documents x ON n.source_kind = 'document' AND x.id = n.source_id
    ${joinProjectHolds('x')} WHERE ${staysSql('x')} AND ($4::text IS NULL OR x.project_id = $4)`

/**
 * Of these references, those that remaining messages or documents also name. In checkpoints, references are message ids, and a remaining
 * source may also have the id itself; such ids are only unique within `project`. Shared data is deleted with its last source.
 */
export async function othersOf(
  tx: Transaction,
  store: 'cache' | 'checkpoints' | 'objects',
  refs: readonly string[],
  goes: ReadonlySet<string>,
  now: Date,
  project: string | null = null,
): Promise<Set<string>> {
  if (refs.length === 0) return new Set()
  const rows = await queryWithin<{ ref: string; source: string }>(tx, 'pointers-of-others', standing, [
    store,
    refs,
    now,
    project,
  ])
  return new Set(rows.filter(({ source }) => !goes.has(source)).map(({ ref }) => ref))
}

/** Maximum number of remaining sources to read. */
const mostNaming = 500
const namingTexts = `WITH ${projectHoldsSql('$3')}
  SELECT * FROM (SELECT v.ref, x.id AS source, ARRAY[x.content] || ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id) AS texts
    FROM provenance v JOIN messages x ON v.source_kind = 'message' AND x.id = v.source_id
    JOIN conversations c ON c.id = x.conversation_id ${joinProjectHolds('x')}
    WHERE v.store = $1 AND v.ref = ANY($2::text[]) AND ${staysSql('x', 'c.erasing_since IS NOT NULL')}
  UNION ALL SELECT v.ref, x.id, ARRAY(SELECT k.content FROM document_chunks k WHERE k.document_id = x.id ORDER BY k.position)
    FROM provenance v JOIN documents x ON v.source_kind = 'document' AND x.id = v.source_id ${joinProjectHolds('x')}
    WHERE v.store = $1 AND v.ref = ANY($2::text[]) AND ${staysSql('x')}) AS f WHERE NOT source = ANY($4::text[]) LIMIT ${mostNaming}`

/** The texts of remaining sources whose pointers name these keys, by key. */
export async function textsNaming(
  tx: Transaction,
  store: 'cache' | 'objects',
  refs: readonly string[],
  goes: ReadonlySet<string>,
  now: Date,
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>()
  if (refs.length === 0) return found
  const rows = await queryWithin<{ ref: string; texts: string[] }>(tx, 'texts-naming', namingTexts, [
    store,
    refs,
    now,
    [...goes],
  ])
  for (const { ref, texts } of rows) found.set(ref, [...(found.get(ref) ?? []), ...texts])
  return found
}

/** The keys that only pointers of other projects name. */
export async function foreignRefs(
  tx: Transaction,
  store: 'cache' | 'objects',
  refs: readonly string[],
  projects: readonly string[],
): Promise<Set<string>> {
  if (refs.length === 0) return new Set()
  const rows = await queryWithin<{ ref: string }>(
    tx,
    'foreign-refs',
    `SELECT v.ref FROM provenance v WHERE v.store = $1 AND v.ref = ANY($2::text[]) GROUP BY v.ref
     HAVING bool_and(v.project_id <> ALL($3::text[]))`,
    [store, refs, projects],
  )
  return new Set(rows.map(({ ref }) => ref))
}
