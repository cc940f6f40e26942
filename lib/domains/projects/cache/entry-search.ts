import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { type CacheStore, ownPrefix } from '#lib/stores/cache/cache.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import { type Claimant, type KeySpace, keySpaceOf } from '../key-space.ts'
import { scopePart, scopeSubject, writersOf } from '../legal-holds.ts'
import { foreignRefs, textsNaming } from '../provenance/pointers.ts'
import type { Sources } from '../provenance/sources.ts'
import { ownershipReader } from '../values/readable.ts'
import { type Naming, valueDeciderIn } from '../values/value-decider.ts'
import { Fingerprints } from '../words/fingerprints.ts'
import { addNames, SourceWords } from '../words/run-words.ts'
import { groupsOf } from './repository.ts'
import { addErasedId, type Chosen, isOurKey, mayBeOurKey, mayDeleteKey, uniqueInProject } from './rules.ts'
import { type CacheFinding, type CacheSearch, labelOf, scanCache } from './scan.ts'

export interface CacheSourcePorts {
  db: Database
  cache: Pick<
    CacheStore,
    | 'find'
    | 'names'
    | 'drop'
    | 'contentHash'
    | 'dropUnchanged'
    | 'forget'
    | 'read'
    | 'page'
    | 'texts'
    | 'change'
    | 'expires'
    | 'note'
    | 'notes'
    | 'forgetNotes'
    | 'confirm'
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

/** Search terms for the cache from the rows of a scope. Read while these rows exist. */
export interface CacheTerms {
  /** Erased ids that this installation generated. */
  ids: Set<string>
  /** Erased ids that clients chose. */
  chosen: Map<string, Chosen>
  /** Remaining conversations, threads and projects that contained an erased source. */
  near: Set<string>
  /** Ids that applications chose for the projects: the groups of their graphs. */
  groups: Set<string>
  /** Generated ids of the projects and conversations. */
  anchors: Set<string>
  projects: Set<string>
  /** Ids of all erased sources. */
  sources: Set<string>
  /** Keys that provenance names, with the texts that they may contain. */
  names: Map<string, Naming>
  foreign: Set<string>
  words: Fingerprints
}

export async function gatherCacheTerms(
  sources: Sources,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<CacheTerms> {
  const found: CacheTerms = {
    ids: new Set(),
    chosen: new Map(),
    near: new Set(),
    groups: new Set(),
    anchors: new Set(),
    projects: new Set(),
    sources: new Set(),
    names: new Map(),
    foreign: new Set(),
    words: new Fingerprints(),
  }
  const named = new Map<string, string[]>()
  const words = new SourceWords(found.words)
  for await (const page of sources.of(scope, tx, now))
    for (const source of page) {
      const { kind, id, project, conversation, threads, texts, pointers } = source
      const anchors = [
        project,
        ...(conversation !== null && isOurKey('conversation', conversation) ? [conversation] : []),
      ]
      found.projects.add(project)
      for (const anchor of anchors) found.anchors.add(anchor)
      addErasedId(found, kind, id, anchors)
      found.sources.add(id)
      for (const one of [...anchors, ...(conversation === null ? [] : [shownId(conversation)]), ...threads])
        if (anchors.includes(one) || !mayBeOurKey(one)) found.near.add(one)
      words.add(source)
      for (const { store, ref } of pointers) {
        if (store !== 'cache') continue
        if (!mayDeleteKey(ref, ownPrefix)) found.foreign.add(ref)
        else if (!named.get(ref)?.push(...texts)) named.set(ref, [...texts])
      }
    }
  words.all()
  addNames(found.words, await sources.names(scope, tx, found.projects))
  for (const { project, group, threads } of await sources.whole(scope, tx, now)) {
    found.anchors.add(project)
    found.projects.add(project)
    if (group !== null) addErasedId(found, 'project', project, [project])
    // A thread has the id of its conversation, unless the application chose another.
    for (const id of [...threads, ...(group === null ? [] : [group])])
      if (id !== project) addErasedId(found, found.near.has(id) ? 'conversation' : 'project', id, [project])
  }
  const part = scopePart(scope)
  if (part?.kind === 'conversation' && found.sources.size > 0)
    addErasedId(found, 'conversation', part.id, [part.project])
  for (const id of [...found.ids, ...found.chosen.keys()]) found.near.delete(id)
  for (const { group } of await groupsOf(tx, { projects: [...found.projects] })) found.groups.add(group)
  const remaining = await textsNaming(tx, 'cache', [...named.keys()], found.sources, now)
  for (const [name, texts] of named) found.names.set(name, { named: texts, remaining: remaining.get(name) ?? [] })
  return found
}

/** A search for gathered terms. `subjects`: ids of the erased person or agents. */
export async function cacheSearchOf(
  ports: CacheSourcePorts,
  { ids, chosen, near, groups, anchors, names }: CacheTerms,
  subjects: readonly string[],
  by: Pick<CacheSearch, 'wordDecider' | 'ownershipOf' | 'space'>,
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
  const wordDecider = valueDeciderIn(db, tx, words, { projects, now, erasedIds: sources })
  const space = await cacheKeySpace(ports, tx, projects)
  const who = idsOfSubject(scopeSubject(scope))
  const erased = new Set([...ids, ...sources, ...who])
  const within = <T>(work: (tx: Transaction) => Promise<T>) => work(tx)
  const ownershipOf = ownershipReader({ within, projects, erased, isPerson: who.length > 0 })
  const sought = await cacheSearchOf(ports, terms, who, { wordDecider, space, ownershipOf })
  const found = new Map<string, CacheFinding>()
  const add = async (finding: CacheFinding) => {
    const known = found.get(finding.name)
    if (known) known.changes = [...(known.changes ?? []), ...(finding.changes ?? [])]
    else found.set(finding.name, finding)
  }
  if (ids.size + chosen.size > 0) await scanCache(cache, sought, add)
  else if (sought.indexed.size > 0) await scanCache(cache, sought, add, [...sought.indexed])
  const unnamed = [...found.values()].flatMap(({ name, isUnnamed }) => (isUnnamed ? [name] : []))
  const foreign = await foreignRefs(tx, 'cache', unnamed, [...projects])
  return [...found.values()].filter(({ name }) => !foreign.has(name))
}
