import type { Transaction } from '#lib/kernel/context.ts'
import type { Memory } from '#lib/stores/checkpoints/checkpoints.ts'
import { isDistinctiveText } from '#lib/stores/checkpoints/needles.ts'
import { generatedIn, namesIn } from '../values/ownership.ts'
import { anyClaimsAll, claimsTo, projectsNamed } from './repository.ts'

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

/** Decides by ids and namespaces, never by words: an equal sentence proves nothing. */
export async function ownerOf(tx: Transaction, { namespace, key, value }: Memory, own: Erasers): Promise<MemoryOwner> {
  const names = [...new Set([...namesIn(namespace), ...namesIn(key)])]
  const generated = [namespace, key, value].flatMap(generatedIn)
  const ids = [...new Set([...names.filter(isDistinctiveText), ...generated])]
  if (ids.some((id) => own.ids.has(id) || own.projects.includes(id))) return 'named'
  const named = await projectsNamed(tx, { ids })
  if (named.some(({ project }) => own.projects.includes(project))) return 'named'
  if (named.length > 0)
    return named.every(({ organisation }) => own.organisations.includes(organisation)) ? 'sibling' : 'foreign'
  const claimed = await claimsTo(tx, { organisations: own.organisations, names: [...names, ...generated] })
  const isOwn = ({ id }: { id: string }) => own.organisations.includes(id)
  const inside = claimed.filter(({ is_inside }) => is_inside)
  if (inside.some(isOwn)) return 'ours'
  if (inside.length > 0) return 'foreign'
  return claimed.some((one) => isOwn(one) && one.is_any) ? 'ours' : 'foreign'
}

/** Whether one of the organizations may claim every item that names no project. */
export async function mayClaimAny(tx: Transaction, organisations: readonly string[]): Promise<boolean> {
  return organisations.length === 0 || (await anyClaimsAll(tx, { organisations })).length > 0
}
