import { addErasedId, type Chosen, isOurKey } from '#lib/domains/projects/cache/rules.ts'
import { scopePart } from '#lib/domains/projects/legal-holds.ts'
import { textsNaming } from '#lib/domains/projects/provenance/shared-pointers.ts'
import type { Source, Sources } from '#lib/domains/projects/provenance/sources.ts'
import type { Naming } from '#lib/domains/projects/values/value-decider.ts'
import { Fingerprints } from '#lib/domains/projects/words/fingerprints.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { mayDeleteObject } from './rules.ts'

/** Search terms for objects from the rows of a scope. Read while these rows exist. */
export interface ObjectTerms {
  /** Keys of attachments and documents. */
  rows: Set<string>
  /** Keys that provenance names, with the texts that they may contain. */
  names: Map<string, Naming>
  foreign: Set<string>
  /** The first sources. Their key prefixes are listed. */
  listed: Source[]
  count: number
  ids: Set<string>
  chosen: Map<string, Chosen>
  anchors: Set<string>
  projects: Set<string>
  sources: Set<string>
  /** Projects that are erased completely. */
  whole: string[]
  words: Fingerprints
}

export async function gatherObjectTerms(
  sources: Sources,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
  mostListed: number,
): Promise<ObjectTerms> {
  const found: ObjectTerms = {
    ...{ rows: new Set(), names: new Map(), foreign: new Set(), listed: [], count: 0, ids: new Set() },
    ...{ chosen: new Map(), anchors: new Set(), projects: new Set(), sources: new Set(), whole: [] },
    words: new Fingerprints(),
  }
  const named = new Map<string, string[]>()
  for await (const page of sources.of(scope, tx, now))
    for (const source of page) {
      const { kind, id, project, conversation, texts, objects, pointers } = source
      const anchors = [
        project,
        ...(conversation !== null && isOurKey('conversation', conversation) ? [conversation] : []),
      ]
      for (const anchor of anchors) found.anchors.add(anchor)
      found.projects.add(project)
      addErasedId(found, kind, id, anchors)
      found.sources.add(id)
      for (const key of objects) found.rows.add(key)
      for (const text of texts) found.words.add(text)
      for (const { store, ref } of pointers) {
        if (store !== 'objects') continue
        if (!mayDeleteObject(source, ref)) found.foreign.add(ref)
        else if (!named.get(ref)?.push(...texts)) named.set(ref, [...texts])
      }
      found.count++
      if (found.listed.length < mostListed) found.listed.push({ ...source, texts: [] })
    }
  for (const { project, group, conversations } of await sources.whole(scope, tx, now)) {
    found.anchors.add(project)
    found.projects.add(project)
    if (group !== null) {
      found.whole.push(project)
      addErasedId(found, 'project', project, [project])
    }
    for (const id of conversations) addErasedId(found, 'conversation', id, [project])
  }
  const part = scopePart(scope)
  if (part?.kind === 'conversation' && found.count > 0) addErasedId(found, 'conversation', part.id, [part.project])
  const remaining = await textsNaming(tx, 'objects', [...named.keys()], found.sources, now)
  for (const [key, texts] of named)
    if (!found.rows.has(key)) found.names.set(key, { named: texts, remaining: remaining.get(key) ?? [] })
  return found
}
