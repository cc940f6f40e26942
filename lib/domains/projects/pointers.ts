import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type Issue, Problem } from '#lib/kernel/problem.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import type { SeenProject } from './access.ts'
import type { Pointer } from './provenance-contract.ts'

export interface ToldPointer extends Pointer {
  source: string
  kind: 'message' | 'document'
  /** Where in the body it stands. */
  path: Issue['path']
}

/** That checkpoints know a message by its id is so wherever LangGraph was handed it: written down without being told. */
export const defaultsOf = (messageId: string): ToldPointer[] => [
  { store: 'checkpoints', ref: messageId, source: messageId, kind: 'message', path: [] },
]
export const objectPointer = (source: string, kind: ToldPointer['kind'], key: string): ToldPointer => ({
  store: 'objects',
  ref: key,
  source,
  kind,
  path: [],
})

const objectsOf = (projectId: string, { kind, source }: ToldPointer): string =>
  `projects/${projectId}/${kind}s/${source}`

/** Threads of conversations of other projects, and what else others' pointers name already. */
const foreign = `SELECT i.n FROM unnest($2::int[], $3::text[], $4::text[], $5::text[]) AS i(n, store, ref, place)
  WHERE (i.store = 'checkpoints' AND i.place <> '' AND EXISTS (
      SELECT FROM conversations c WHERE c.threads @> ARRAY[i.place] AND c.project_id <> $1))
    OR (i.store = 'graph' AND i.place <> '' AND EXISTS (SELECT FROM projects p WHERE p.group_id = i.place AND p.id <> $1))
    OR (i.store IN ('objects', 'cache') AND EXISTS (
      SELECT FROM provenance v WHERE v.store = i.store AND v.ref = i.ref AND v.project_id <> $1))`

/**
 * What a pointer names is erased with its source: so it may name nothing that another project says is its own, nor objects of ours but its
 * source's. Throws `invalid` with every entry that does.
 */
export async function confine(tx: Transaction, { id }: SeenProject, told: readonly ToldPointer[]): Promise<void> {
  if (told.length === 0) return
  const rows = await queryWithin<{ n: number }>(tx, 'foreign-pointers', foreign, [
    id,
    told.map((_, n) => n),
    told.map(({ store }) => store),
    told.map(({ ref }) => ref),
    told.map(({ place = '' }) => place),
  ])
  const others = new Set(rows.map(({ n }) => n))
  const issues = told.flatMap((entry, n): Issue[] => {
    const own = objectsOf(id, entry)
    const isOurs = entry.store === 'objects' && entry.ref.startsWith('projects/')
    const isOwn = entry.ref === own || entry.ref.startsWith(`${own}/`)
    if (others.has(n))
      return [
        {
          path: [...entry.path, entry.store === 'objects' || entry.store === 'cache' ? 'ref' : 'place'],
          message: 'belongs to another project',
        },
      ]
    return isOurs && !isOwn ? [{ path: [...entry.path, 'ref'], message: 'is an object of something else' }] : []
  })
  if (issues.length > 0)
    throw new Problem('invalid', {
      detail: 'Some entries point at what is not of this project. None was kept.',
      issues,
    })
}

/** Writes pointers down; facts that a known one ended are added to it. Returns how many were new. */
export async function store(
  tx: Transaction,
  told: readonly ToldPointer[],
  { projectId, toldBy, now }: { projectId: string; toldBy: string; now: Date },
): Promise<number> {
  // The same pointer twice in one statement is one, with the facts of both.
  const once = new Map<string, ToldPointer & { place: string; ended: string[] }>()
  for (const { place = '', ended = [], ...entry } of told) {
    const key = JSON.stringify([entry.source, entry.store, place, entry.ref])
    once.set(key, { ...entry, place, ended: [...new Set([...(once.get(key)?.ended ?? []), ...ended])] })
  }
  const rows = [...once.values()].map((entry) => ({ ...entry, id: newId('prov') }))
  const made = await queryWithin<{ is_new: boolean }>(
    tx,
    'store-provenance',
    `INSERT INTO provenance AS v (id, project_id, source_kind, source_id, store, ref, place, ended, told_by, at)
     SELECT r.id, $2, r.kind, r.source, r.store, r.ref, r.place, r.ended, $3, $4::timestamptz
     FROM json_to_recordset($1::json) AS r(id text, kind text, source text, store text, ref text, place text, ended text[])
     ORDER BY r.source, r.store, r.place, r.ref
     ON CONFLICT (source_id, store, place, ref) DO UPDATE
       SET ended = ARRAY(SELECT DISTINCT e FROM unnest(v.ended || excluded.ended) AS e ORDER BY e)
     RETURNING xmax = 0 AS is_new`,
    [JSON.stringify(rows), projectId, toldBy, now],
  )
  return made.filter(({ is_new }) => is_new).length
}
