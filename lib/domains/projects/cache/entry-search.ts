import { type Claimant, type KeySpace, keySpaceOf } from '#lib/domains/projects/key-space.ts'
import { scopeSubject, writersOf } from '#lib/domains/projects/legal-holds.ts'
import { foreignRefs } from '#lib/domains/projects/provenance/shared-pointers.ts'
import type { Sources } from '#lib/domains/projects/provenance/sources.ts'
import { ownershipReader } from '#lib/domains/projects/values/ownership.ts'
import { valueDeciderIn } from '#lib/domains/projects/values/value-decider.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { CacheStore } from '#lib/stores/cache/cache.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import { type Chosen, mayBeOurKey, uniqueInProject } from './rules.ts'
import type { CacheTerms } from './search-terms.ts'
import { type CacheFinding, type CacheSearch, labelOf, surveyCache } from './survey.ts'

export interface CacheSourcePorts {
  db: Database
  cache: Pick<
    CacheStore,
    | 'find'
    | 'names'
    | 'drop'
    | 'forget'
    | 'read'
    | 'page'
    | 'texts'
    | 'change'
    | 'expires'
    | 'note'
    | 'notes'
    | 'forgetNotes'
  >
  sources: Sources
  whatIsMissing: MissingStoreData
  /** Prefixes of keys of all organizations (KP_POINTER_PREFIXES). */
  pointerPrefixes: readonly string[]
  /** Entries without a TTL are cached values too (KP_CACHE_INVALIDATE_PROJECT). */
  invalidatesProject: boolean
}

export const idsOfSubject = (subject: Subject | undefined): string[] => (subject ? writersOf(subject).ids : [])
export const projectsAmong = (anchors: Iterable<string>): string[] => [...anchors].filter((id) => id.startsWith('prj_'))

/** Names of existing entries, by their labels. */
export async function namesLabelled({ cache }: CacheSourcePorts, labels: readonly string[]): Promise<string[]> {
  const wanted = new Set(labels)
  return wanted.size === 0 ? [] : cache.names((name) => wanted.has(labelOf(name)) || wanted.has(name))
}

/** Ids to look up in the index. A client's id that looks generated, or that is unique only in its project, may belong to others. */
export function indexedIds(ids: Iterable<string>, chosen: Iterable<Chosen>): string[] {
  const all = [...ids]
  const inProject = uniqueInProject(all)
  return [...all, ...[...chosen].map(({ id }) => id).filter((id) => !mayBeOurKey(id) && !inProject.has(id))]
}

/** Names of entries that the index lists under these ids. */
export const namesInIndex = async ({ cache }: CacheSourcePorts, ids: readonly string[]): Promise<Set<string>> =>
  new Set(ids.length === 0 ? [] : await cache.find({ patterns: [], about: ids }))

/** The keys that the organizations of the projects may claim. */
export const cacheKeySpace = (
  { pointerPrefixes }: CacheSourcePorts,
  tx: Transaction,
  projects: Iterable<string>,
  recorded: readonly Claimant[] = [],
): Promise<KeySpace> => keySpaceOf(tx, pointerPrefixes, { projects, recorded })

/** A search for gathered terms. `subjects`: ids of the erased person or agents. */
export async function cacheSearchOf(
  ports: CacheSourcePorts,
  { ids, chosen, near, groups, anchors, names }: CacheTerms,
  subjects: readonly string[],
  by: Pick<CacheSearch, 'judge' | 'ownershipOf' | 'space'>,
): Promise<CacheSearch> {
  return {
    ids,
    chosen: [...chosen.values()],
    near,
    anchors,
    names,
    ...by,
    keys: [...anchors, ...near, ...groups],
    isCached: async (name) => ports.invalidatesProject || ports.cache.expires(name),
    indexed: await namesInIndex(ports, [...indexedIds(ids, chosen.values()), ...subjects]),
    around: await namesInIndex(ports, [...near]),
  }
}

/** Returns what an erasure would do to every entry. Read-only. */
export async function findEntries(
  ports: CacheSourcePorts,
  scope: ErasureScope,
  terms: CacheTerms,
  tx: Transaction,
  now: Date,
): Promise<CacheFinding[]> {
  const { db, cache } = ports
  const { projects, sources, words, ids, chosen } = terms
  const judge = valueDeciderIn(db, tx, words, { projects, now, going: sources })
  const space = await cacheKeySpace(ports, tx, projects)
  const who = idsOfSubject(scopeSubject(scope))
  const erased = new Set([...ids, ...sources, ...who])
  const within = <T>(work: (tx: Transaction) => Promise<T>) => work(tx)
  const ownershipOf = ownershipReader({ within, projects, erased, isPerson: who.length > 0 })
  const sought = await cacheSearchOf(ports, terms, who, { judge, space, ownershipOf })
  const found = new Map<string, CacheFinding>()
  const add = async (finding: CacheFinding) => {
    const known = found.get(finding.name)
    if (known) known.changes = [...(known.changes ?? []), ...(finding.changes ?? [])]
    else found.set(finding.name, finding)
  }
  if (ids.size + chosen.size > 0) await surveyCache(cache, sought, add)
  else if (sought.indexed.size > 0) await surveyCache(cache, sought, add, [...sought.indexed])
  const prefixed = [...found.values()].flatMap(({ name, isPrefixed }) => (isPrefixed ? [name] : []))
  const foreign = await foreignRefs(tx, 'cache', prefixed, [...projects])
  return [...found.values()].filter(({ name }) => !foreign.has(name))
}
