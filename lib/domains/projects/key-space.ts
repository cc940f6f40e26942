import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { isDistinctiveText } from '#lib/stores/checkpoints/search-strings.ts'
import { onlyClaimant } from './checkpoints/repository.ts'
import { keySpaceClaimants } from './repository.ts'
import type { OwnershipReader } from './values/readable.ts'

/**
 * Who may claim data in connected stores. Three rules read the same assigned prefixes (`organisation_namespaces`), with these differences:
 * - `outsideNamespace` (provenance/claims.ts) decides when a client names a graph group or thread. It compares the beginning of the id, so
 *   only `<organization's id>_` or an assigned prefix counts, and the own prefix decides first. Only existing organizations own prefixes.
 * - `ownerByNames` (values/place-owners.ts) decides when an erasure finds a thread, group or item. Every part of the name may begin with
 *   a prefix. If parts belong to several organizations, an own part decides. Ids of projects and people in the name also count.
 * - {@link claimOf} decides when an erasure finds a key of the cache or an object. Prefixes count at the beginning and behind a prefix of
 *   KP_POINTER_PREFIXES. Ids of organizations count anywhere, also of deleted organizations, and one foreign id refuses the key, because
 *   applications write texts of their users into keys.
 *
 * An id that none of these prefixes covers belongs to an organization that may claim every id (`is_any`).
 */
const Claimant = z.strictObject({ id: z.string(), namespaces: z.array(z.string()), isAny: z.boolean() })
export type Claimant = z.output<typeof Claimant>
/**
 * The part of the cache and of the object store that belongs to some organizations without any pointer: their keys below the prefixes of
 * KP_POINTER_PREFIXES. All projects of all organizations write below these prefixes.
 */
export interface KeySpace {
  prefixes: readonly string[]
  claimants: readonly Claimant[]
  /** Prefixes that an admin assigned to other organizations. */
  others: readonly string[]
  /** Without known claimants: whether one organization alone may claim every id, which must be theirs. */
  isOfOne?: boolean
}
/**
 * The key space of the organizations of these projects. `recorded`: their organizations when an erasure was planned, because rows of
 * projects and organizations can be deleted before the erasure is verified.
 */
export async function keySpaceOf(
  tx: Transaction,
  prefixes: readonly string[],
  { projects = [], recorded = [] }: { projects?: Iterable<string>; recorded?: readonly Claimant[] },
): Promise<KeySpace> {
  const rows = await keySpaceClaimants(tx, { ids: recorded.map(({ id }) => id), projects: [...projects] })
  const own = rows.filter(({ is_own }) => is_own).map(({ id, namespaces, isAny }) => ({ id, namespaces, isAny }))
  const ended = recorded.filter(({ id }) => !own.some((one) => one.id === id))
  const claimants = [...own, ...ended]
  return {
    prefixes,
    claimants,
    ...(claimants.length === 0 && { isOfOne: (await onlyClaimant(tx, {})).length > 0 }),
    others: rows.filter(({ is_own }) => !is_own).flatMap(({ namespaces }) => namespaces),
  }
}

const organisationIds = /(?<![0-9A-Za-z])org_[0-9A-Za-z]{22}(?![0-9A-Za-z])/g

/** Who may claim a key: the organizations of the key space, another organization, or nobody by its name. */
function claimOf({ prefixes, claimants, others }: KeySpace, key: string): 'own' | 'other' | undefined {
  const named: readonly string[] = key.match(organisationIds) ?? []
  const heads = [key, ...prefixes.flatMap((prefix) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []))]
  const begins = (namespaces: readonly string[]): boolean =>
    namespaces.some((one) => one !== '*' && heads.some((head) => head.startsWith(one)))
  if (claimants.some(({ namespaces }) => begins(namespaces))) return 'own'
  if (begins(others)) return 'other'
  if (named.length === 0) return undefined
  return named.every((one) => claimants.some(({ id }) => id === one)) ? 'own' : 'other'
}

/**
 * Whether the organizations may claim a key without an id of their projects in it. It begins with one of the prefixes, and
 * - begins with a prefix that an admin assigned to such an organization, before or behind the common prefix, or
 * - contains the id of such an organization, and belongs to no other organization by these rules, or
 * - belongs to no other organization by these rules, if such an organization may claim every id.
 *
 * An application can write texts of its users into its keys, so the id of an organization behind the id or prefix of another one proves nothing.
 */
export const isInKeySpace = (space: KeySpace, key: string): boolean =>
  space.claimants.length > 0 && space.prefixes.some((prefix) => key.startsWith(prefix)) && mayClaim(space, key)

/**
 * Whether the organizations may claim a key by the same rules, below any prefix. If no organization is known, because an older plan recorded
 * none, it is a key that no organization claims, if only one could.
 */
function mayClaim(space: KeySpace, key: string): boolean {
  const claim = claimOf(space, key)
  if (claim !== undefined) return claim === 'own'
  return space.claimants.length === 0 ? space.isOfOne === true : space.claimants.some(({ isAny }) => isAny)
}

/** The organizations of a key space as values of `within` items of a plan. */
export const recordedClaimants = ({ claimants }: KeySpace): string[] =>
  claimants.map((claimant) => JSON.stringify(claimant))
/** Values of `within` items of a plan: ids of projects and conversations, and organizations. */
export function splitWithin(values: readonly string[]): { anchors: string[]; recorded: Claimant[] } {
  const isClaimant = (value: string): boolean => value.startsWith('{')
  return {
    anchors: values.filter((value) => !isClaimant(value)),
    recorded: values.filter(isClaimant).map((value) => Claimant.parse(JSON.parse(value))),
  }
}

/** What decides whether an erased id may erase something in an entry or object. */
interface PlaceRules {
  space: KeySpace
  /** Whether the name contains an erased id, or an id of an erasing project or of its conversations. */
  isNamed(name: string): boolean
  /** Reads whose the place is, by the ids in its name. */
  ownershipOf: OwnershipReader
}
/**
 * Whether an erased id may erase something in a place. Anybody can write an id of theirs into a text that others store, so an id follows the
 * same rules as words: nothing is erased in the place of another project or organization, nor in one that nobody owns, unless the
 * organization may claim it.
 *
 * Anybody can also choose the external id of a participant or the id of a thread. So these ids of others protect no place that has a generated
 * id of the erasing projects. Ids that the plan recorded decide first, because verification has no rows of what was erased.
 */
export async function mayEraseById({ space, isNamed, ownershipOf }: PlaceRules, name: string): Promise<boolean> {
  const claim = claimOf(space, name)
  if (claim === 'other') return false
  const owners = await ownershipOf.ownersIn(name)
  const theirs = owners.filter(({ isOwn, isElsewhere }) => isElsewhere && !isOwn)
  const places = theirs.filter(({ kind }) => kind !== 'participant')
  if (places.some(({ isById }) => isById)) return false
  if (isNamed(name) || ownershipOf.hasOwnId(name)) return true
  if (places.length > 0) return false
  if (owners.some(({ isOwn, kind }) => isOwn || kind === 'source')) return true
  const people = theirs.filter(({ kind }) => kind === 'participant')
  if (people.some(({ isById }) => isById)) return false
  // An application uses the same external id for a person in all projects of its organization.
  const isOurs = ({ organisation }: { organisation: string | null }) =>
    space.claimants.some(({ id }) => id === organisation)
  const strangers = people.filter((one) => !isOurs(one))
  const known = owners.filter(({ kind, isElsewhere }) => kind === 'participant' && !isElsewhere)
  if (ownershipOf.isPerson && known.length > 0 && strangers.length === 0) return true
  if (claim === 'own') return true
  const shared = new Set(owners.flatMap((one) => (isOurs(one) ? [one.externalId] : [])))
  const isTheirs = strangers.some(({ externalId }) => !shared.has(externalId) && isDistinctiveText(externalId ?? ''))
  return !isTheirs && mayClaim(space, name)
}
