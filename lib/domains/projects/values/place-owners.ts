import { createHash } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'
import { isDistinctiveText } from '#lib/stores/checkpoints/search-strings.ts'
import {
  claimsTo,
  idsOfProjects,
  onlyClaimant,
  organisationsOfProjects,
  projectsNamed,
} from '../checkpoints/repository.ts'
import { generatedIn, namesIn } from './readable.ts'

/** The erasing projects with their organizations, and further ids that belong to them, even if their rows no longer exist. */
export interface Erasers {
  projects: readonly string[]
  organisations: readonly string[]
  ids: ReadonlySet<string>
}
/**
 * The owner of a thread, a graph group or an item of the long-term store.
 * - `named`: it names an id of the erasing projects.
 * - `ours`: it names no project, and their organization may claim it.
 * - `sibling`: it belongs to another project of the same organization.
 * - `foreign`: it belongs to another organization, or to nobody known.
 */
export type PlaceOwner = 'named' | 'ours' | 'sibling' | 'foreign'

/** The owner by some ids; undefined if they name no project. */
export async function ownerByIds(
  tx: Transaction,
  ids: readonly string[],
  own: Erasers,
): Promise<PlaceOwner | undefined> {
  if (ids.some((id) => own.ids.has(id) || own.projects.includes(id))) return 'named'
  const named = await projectsNamed(tx, { ids: [...new Set(ids)] })
  if (named.some(({ project }) => own.projects.includes(project))) return 'named'
  if (named.length === 0) return undefined
  return named.every(({ organisation }) => own.organisations.includes(organisation)) ? 'sibling' : 'foreign'
}

/**
 * The owner by names alone: anybody can write an id of theirs into a value that others store, but only the application chooses the id of a
 * thread or group, and the namespace and key of an item.
 */
export async function ownerByNames(tx: Transaction, given: readonly string[], own: Erasers): Promise<PlaceOwner> {
  const names = [...new Set(given.flatMap(namesIn))]
  const generated = given.flatMap(generatedIn)
  const claimed = await claimsTo(tx, { organisations: own.organisations, names: [...names, ...generated] })
  const isOwn = ({ id }: { id: string }) => own.organisations.includes(id)
  const inside = claimed.filter(({ is_inside }) => is_inside)
  if (inside.length > 0 && !inside.some(isOwn) && own.organisations.length > 0) return 'foreign'
  const owner = await ownerByIds(tx, [...names.filter(isDistinctiveText), ...generated], own)
  if (owner) return owner
  if (inside.length > 0) return inside.some(isOwn) ? 'ours' : 'foreign'
  return claimed.some((one) => isOwn(one) && one.is_any) ? 'ours' : 'foreign'
}

/** Of these places, those whose names have a generated id of the projects. One query for all. */
export async function placesNaming(
  tx: Transaction,
  places: readonly string[],
  projects: readonly string[],
): Promise<Set<string>> {
  const named = places.map((place) => ({ place, ids: generatedIn(place) })).filter(({ ids }) => ids.length > 0)
  if (named.length === 0 || projects.length === 0) return new Set()
  const asked = [...new Set(named.flatMap(({ ids }) => ids))]
  const rows = await idsOfProjects(tx, { ids: asked, projects: [...projects] })
  const own = new Set([...projects, ...rows.map(({ id }) => id)])
  return new Set(named.flatMap(({ place, ids }) => (ids.some((id) => own.has(id)) ? [place] : [])))
}

/**
 * Whether something may be erased in a place that no row of the registry names. Asks once for the same names. `outside`: hashes of the
 * places for which the answer was no, because names may be personal data.
 */
export function placeRule(within: <T>(run: (tx: Transaction) => Promise<T>) => Promise<T>, own: Erasers) {
  const known = new Map<string, Promise<boolean>>()
  const outside = new Set<string>()
  const decide = async (names: readonly string[]): Promise<boolean> =>
    within(async (tx) => {
      const owner = await ownerByNames(tx, names, own)
      if (owner !== 'foreign') return owner !== 'sibling'
      if (own.organisations.length > 0) return false
      // The rows of the erased projects, which tell their organizations, no longer exist.
      const organisations = (await onlyClaimant(tx, {})).map(({ id }) => id)
      return organisations.length > 0 && (await ownerByNames(tx, names, { ...own, organisations })) === 'ours'
    })
  return {
    outside,
    async mayErase(...names: string[]): Promise<boolean> {
      const place = JSON.stringify(names)
      const asked = known.get(place) ?? decide(names)
      known.set(place, asked)
      const may = await asked
      if (!may) outside.add(createHash('sha256').update(place).digest('base64url').slice(0, 22))
      return may
    },
  }
}

/** The erasing projects, their organizations and further ids. `organisations`: those that a plan recorded. */
export async function erasersOf(
  tx: Transaction,
  projects: readonly string[],
  ids: Iterable<string> = [],
  organisations: Iterable<string> = [],
): Promise<Erasers> {
  const rows = await organisationsOfProjects(tx, { projects })
  const found = new Set([...rows.map(({ organisation }) => organisation), ...organisations])
  return { projects, organisations: [...found], ids: new Set(ids) }
}
