import type { Transaction } from '#lib/kernel/context.ts'
import type { Memory } from '#lib/stores/checkpoints/checkpoints.ts'
import { isDistinctiveText, isGenerated } from '#lib/stores/checkpoints/needles.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

/** The erasing projects with their organizations, and further ids that belong to them, even if their rows no longer exist. */
export interface Erasers {
  projects: readonly string[]
  organisations: readonly string[]
  ids: ReadonlySet<string>
}
/**
 * The owner of an item of the long-term store.
 * - `named`: it names an id of the erasing projects.
 * - `ours`: it names no project, and their organization may claim it.
 * - `sibling`: it belongs to another project of the same organization.
 * - `foreign`: it belongs to another organization, or to nobody known.
 */
export type MemoryOwner = 'named' | 'ours' | 'sibling' | 'foreign'

const words = /[A-Za-z0-9_-]+/g
const generatedIn = (text: string): string[] => (text.match(words) ?? []).filter(isGenerated)
const mostParts = 8

/** All possible names in a namespace or key: its parts, and all sequences of adjacent parts. */
function namesIn(text: string): string[] {
  const starts = [0, ...[...text.matchAll(/[.:\s/]/g)].map(({ index }) => index + 1)].slice(0, mostParts)
  const ends = [...starts.slice(1).map((start) => start - 1), text.length]
  return starts.flatMap((start) => ends.flatMap((end) => (end > start ? [text.slice(start, end)] : [])))
}

/** $1: ids that an item names. */
const projectsNamed = `SELECT DISTINCT p.id AS project, p.organisation_id AS organisation FROM projects p WHERE p.id IN (
    SELECT id FROM projects WHERE id = ANY($1::text[])
    UNION ALL SELECT project_id FROM conversations WHERE id = ANY($1::text[]) OR threads && $1::text[]
    UNION ALL SELECT project_id FROM messages WHERE id = ANY($1::text[])
    UNION ALL SELECT project_id FROM documents WHERE id = ANY($1::text[])
    UNION ALL SELECT project_id FROM provenance WHERE store = 'checkpoints' AND place = ANY($1::text[]))`

/**
 * $1: the erasing organizations; $2: names. Returns the organizations that may claim one of the names (`is_inside`), and all erasing
 * organizations. `is_any`: whether it may claim items that nobody else claims.
 */
const claims = `SELECT * FROM (SELECT o.id, o.is_any, EXISTS (SELECT FROM unnest($2::text[]) AS n(name)
      WHERE n.name = o.id OR starts_with(n.name, o.id || '_')
        OR EXISTS (SELECT FROM unnest(o.namespaces) AS p WHERE p <> '*' AND starts_with(n.name, p))) AS is_inside
    FROM organisation_namespaces o) AS c WHERE is_inside OR id = ANY($1::text[])`

/** Decides by ids and namespaces, never by words: an equal sentence proves nothing. */
export async function ownerOf(tx: Transaction, { namespace, key, value }: Memory, own: Erasers): Promise<MemoryOwner> {
  const names = [...new Set([...namesIn(namespace), ...namesIn(key)])]
  const generated = [namespace, key, value].flatMap(generatedIn)
  const ids = [...new Set([...names.filter(isDistinctiveText), ...generated])]
  if (ids.some((id) => own.ids.has(id) || own.projects.includes(id))) return 'named'
  const named = await queryWithin<{ project: string; organisation: string }>(tx, 'memory-projects', projectsNamed, [
    ids,
  ])
  if (named.some(({ project }) => own.projects.includes(project))) return 'named'
  if (named.length > 0)
    return named.every(({ organisation }) => own.organisations.includes(organisation)) ? 'sibling' : 'foreign'
  const claimed = await queryWithin<{ id: string; is_any: boolean; is_inside: boolean }>(tx, 'memory-claims', claims, [
    own.organisations,
    [...names, ...generated],
  ])
  const isOwn = ({ id }: { id: string }) => own.organisations.includes(id)
  const inside = claimed.filter(({ is_inside }) => is_inside)
  if (inside.some(isOwn)) return 'ours'
  if (inside.length > 0) return 'foreign'
  return claimed.some((one) => isOwn(one) && one.is_any) ? 'ours' : 'foreign'
}

/** Whether one of the organizations may claim every item that names no project. */
export async function mayClaimAny(tx: Transaction, organisations: readonly string[]): Promise<boolean> {
  if (organisations.length === 0) return true
  const rows = await queryWithin(
    tx,
    'memory-claim-any',
    'SELECT 1 FROM organisation_namespaces WHERE id = ANY($1::text[]) AND is_any LIMIT 1',
    [organisations],
  )
  return rows.length > 0
}
