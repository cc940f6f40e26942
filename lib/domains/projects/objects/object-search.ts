import { createHash } from 'node:crypto'
import { z } from 'zod'
import { snapshotObjects } from '#lib/domains/snapshots/queries.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import { addErasedId, type Chosen, isOurKey } from '../cache/rules.ts'
import { keysInUse } from '../documents/repository.ts'
import { type Claimant, type KeySpace, keySpaceOf, splitWithin } from '../key-space.ts'
import { scopePart, scopeSubject, writersOf } from '../legal-holds.ts'
import { foreignRefs, textsNaming } from '../provenance/pointers.ts'
import type { Source, Sources } from '../provenance/sources.ts'
import { ownershipReader } from '../values/readable.ts'
import { type Naming, valueDeciderIn } from '../values/value-decider.ts'
import { Fingerprints } from '../words/fingerprints.ts'
import { addNames, SourceWords } from '../words/run-words.ts'
import { isInSnapshots, mayDeleteObject, mayHaveRow, objectItemsOf, objectsOfProject, soughtAmong } from './rules.ts'
import {
  applicationKeys,
  type ObjectFinding,
  type ObjectSearch,
  objectDecider,
  type UnsearchedObjects,
} from './scan.ts'

export interface ObjectsSourcePorts {
  db: Database
  objects: Pick<ObjectStore, 'erase' | 'list' | 'versions' | 'read' | 'replace' | 'eraseVersions' | 'put'>
  sources: Sources
  whatIsMissing: MissingStoreData
  /** Prefixes of keys of all organizations (KP_POINTER_PREFIXES). */
  pointerPrefixes: readonly string[]
}
/** Above this number of sources, prefixes are not listed: rows and pointers name the keys, and the sweep deletes orphaned objects. */
const maxListed = 50
/** Keys per page of a list. */
export const listedAtOnce = 1000

/** How a key was found. If several apply, the first one. */
export type ObjectMatchReason = 'row' | 'pointer' | 'prefix' | 'text'

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
  maxListed: number,
): Promise<ObjectTerms> {
  const found: ObjectTerms = {
    rows: new Set(),
    names: new Map(),
    foreign: new Set(),
    listed: [],
    count: 0,
    ids: new Set(),
    chosen: new Map(),
    anchors: new Set(),
    projects: new Set(),
    sources: new Set(),
    whole: [],
    words: new Fingerprints(),
  }
  const named = new Map<string, string[]>()
  const words = new SourceWords(found.words)
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
      words.add(source)
      for (const { store, ref } of pointers) {
        if (store !== 'objects') continue
        if (!mayDeleteObject(source, ref)) found.foreign.add(ref)
        else if (!named.get(ref)?.push(...texts)) named.set(ref, [...texts])
      }
      found.count++
      if (found.listed.length < maxListed) found.listed.push({ ...source, texts: [] })
    }
  words.all()
  addNames(found.words, await sources.names(scope, tx, found.projects))
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

interface FoundObjects extends ObjectTerms {
  /** Keys to delete completely, because rows or their prefixes name them. */
  keys: Map<string, ObjectMatchReason>
  findings: Map<string, ObjectFinding>
  /** The store did not answer, so only rows and pointers were read. */
  isUnsearched: boolean
}

/** A hash of a key, or of a key and its content, for counts and notes, because the key may be personal data. */
export const labelOf = (key: string, bytes?: Buffer): string => {
  const hash = createHash('sha256').update(key)
  if (bytes) hash.update('\0').update(bytes)
  return hash.digest('base64url').slice(0, 22)
}

/** Of these keys, those of files of messages and documents, snapshots and uploaded states with a row. */
export async function keysWithRows(db: Queryable, keys: readonly string[]): Promise<Set<string>> {
  const asked = keys.filter(mayHaveRow)
  if (asked.length === 0) return new Set()
  const [snapshots, files] = [asked.filter(isInSnapshots), asked.filter((key) => !isInSnapshots(key))]
  return new Set([
    ...(files.length > 0 ? (await keysInUse(db, { keys: files })).map(({ key }) => key) : []),
    ...(snapshots.length > 0 ? await snapshotObjects(db, snapshots) : []),
  ])
}

/** All keys with a prefix. */
export async function* keysUnder(objects: Pick<ObjectStore, 'list'>, prefix: string): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const page = await objects.list(prefix, after, listedAtOnce)
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < listedAtOnce) return
    after = last
  }
}
/** Keys of a message or document, in every version. */
export async function* keysOfSource(
  objects: Pick<ObjectStore, 'list' | 'versions'>,
  source: Pick<Source, 'project' | 'kind' | 'id'>,
): AsyncGenerator<string> {
  const own = objectItemsOf(source)
  if ((await objects.versions(own)).length > 0) yield own
  yield* keysUnder(objects, `${own}/`)
}

/** The keys that the organizations of the projects may claim. */
export const objectKeySpace = (
  { pointerPrefixes }: ObjectsSourcePorts,
  tx: Transaction,
  projects: Iterable<string>,
  recorded: readonly Claimant[] = [],
): Promise<KeySpace> => keySpaceOf(tx, pointerPrefixes, { projects, recorded })

/** Reads whose objects are, by their keys. `erased`: ids of erased sources. */
export function objectOwnership(
  within: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>,
  scope: ErasureScope,
  terms: { projects: Iterable<string>; ids: Iterable<string>; erased?: Iterable<string> },
): ObjectSearch['ownershipOf'] {
  const subject = scopeSubject(scope)
  const people = subject ? writersOf(subject).ids : []
  return ownershipReader({
    within,
    projects: new Set(terms.projects),
    erased: new Set([...terms.ids, ...(terms.erased ?? []), ...people]),
    isPerson: people.length > 0,
  })
}

export const objectSearchOf = (
  { ids, chosen, anchors, names }: ObjectTerms,
  by: Pick<ObjectSearch, 'wordDecider' | 'ownershipOf' | 'space'>,
): ObjectSearch => ({ ids, chosen: [...chosen.values()], anchors, names, ...by })

/** Decides about all keys of applications and passes each finding to `visit`. Pointers of other projects protect their objects. */
export async function searchApplicationKeys(
  { objects }: ObjectsSourcePorts,
  tx: Transaction,
  sought: ObjectSearch,
  projects: Iterable<string>,
  visit: (finding: ObjectFinding) => Promise<void>,
): Promise<UnsearchedObjects> {
  const work = objectDecider(objects, sought)
  const named = (keys: readonly string[]) => keysWithRows(tx, keys)
  for await (const key of applicationKeys(objects, named, work.unsearched)) {
    const finding = await work.judged(key)
    if (!finding) continue
    const isForeign = finding.found === 'text' && (await foreignRefs(tx, 'objects', [key], [...projects])).has(key)
    if (!isForeign) await visit(finding)
  }
  return work.unsearched
}

/** Returns what an erasure would do to every object. Read-only. */
export async function findObjects(
  ports: ObjectsSourcePorts,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<FoundObjects> {
  const { db, objects, sources } = ports
  const gathered = await gatherObjectTerms(sources, scope, tx, now, maxListed + 1)
  const keys = new Map<string, ObjectMatchReason>([...gathered.rows].map((key) => [key, 'row']))
  const findings = new Map<string, ObjectFinding>()
  const add = (key: string, found: ObjectMatchReason) => {
    if (!keys.has(key)) keys.set(key, found)
  }
  let isUnsearched = false
  try {
    for (const project of gathered.whole)
      for await (const key of keysUnder(objects, objectsOfProject(project))) add(key, 'prefix')
    if (gathered.whole.length === 0 && scopePart(scope) && gathered.listed.length <= maxListed)
      for (const source of gathered.listed) for await (const key of keysOfSource(objects, source)) add(key, 'prefix')
    if (gathered.ids.size + gathered.chosen.size > 0) {
      const { projects, words } = gathered
      const wordDecider = valueDeciderIn(db, tx, words, { projects, now, erasedIds: gathered.sources })
      const space = await objectKeySpace(ports, tx, projects)
      const ownershipOf = objectOwnership((work) => work(tx), scope, { ...gathered, erased: gathered.sources })
      const sought = objectSearchOf(gathered, { wordDecider, space, ownershipOf })
      await searchApplicationKeys(ports, tx, sought, projects, async (finding) => {
        if (!keys.has(finding.key)) findings.set(finding.key, finding)
      })
    }
  } catch (error) {
    // Plan even if the store does not answer: the step waits, and verification finds the rest.
    if (!Problem.is(error, 'unavailable')) throw error
    isUnsearched = true
  }
  return { ...gathered, keys, findings, isUnsearched }
}

const ids = z.array(z.string())
const chosenIds = z.array(z.strictObject({ id: z.string(), anchors: z.array(z.string()) }))

/** The search terms that items record. */
export function termsInItems(items: readonly string[]): {
  ids: string[]
  chosen: Chosen[]
  anchors: string[]
  projects: string[]
  recorded: Claimant[]
} {
  const { anchors, recorded } = splitWithin(ids.parse(soughtAmong(items, 'within')))
  return {
    ids: ids.parse(soughtAmong(items, 'ids')),
    chosen: chosenIds.parse(soughtAmong(items, 'chosen')),
    anchors,
    projects: anchors.filter((id) => id.startsWith('prj_')),
    recorded,
  }
}
