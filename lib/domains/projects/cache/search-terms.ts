import { scopePart } from '#lib/domains/projects/legal-holds.ts'
import { textsNaming } from '#lib/domains/projects/provenance/shared-pointers.ts'
import type { Sources } from '#lib/domains/projects/provenance/sources.ts'
import type { Naming } from '#lib/domains/projects/values/value-decider.ts'
import { Fingerprints } from '#lib/domains/projects/words/fingerprints.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { ownPrefix } from '#lib/stores/cache/cache.ts'
import { groupsOf } from './repository.ts'
import { addErasedId, type Chosen, isOurKey, mayBeOurKey, mayDeleteKey } from './rules.ts'

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
  for await (const page of sources.of(scope, tx, now))
    for (const { kind, id, project, conversation, threads, texts, pointers } of page) {
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
      for (const text of texts) found.words.add(text)
      for (const { store, ref } of pointers) {
        if (store !== 'cache') continue
        if (!mayDeleteKey(ref, ownPrefix)) found.foreign.add(ref)
        else if (!named.get(ref)?.push(...texts)) named.set(ref, [...texts])
      }
    }
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
