import type { Transaction } from '#lib/kernel/context.ts'
import { refsOfOtherProjects, remainingSourcesOf, remainingTextsNaming } from './repository.ts'

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
  const rows = await remainingSourcesOf(tx, { store, refs, now, project })
  return new Set(rows.filter(({ source }) => !goes.has(source)).map(({ ref }) => ref))
}

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
  const rows = await remainingTextsNaming(tx, { store, refs, now, erased: [...goes] })
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
  const rows = await refsOfOtherProjects(tx, { store, refs, projects })
  return new Set(rows.map(({ ref }) => ref))
}
