import { scopePart } from '#lib/domains/projects/legal-holds.ts'
import { foreignRefs, othersOf } from '#lib/domains/projects/provenance/shared-pointers.ts'
import { readable } from '#lib/domains/projects/values/readable.ts'
import { type Naming, type ValueDecider, valueDeciderIn } from '#lib/domains/projects/values/value-decider.ts'
import { Fingerprints } from '#lib/domains/projects/words/fingerprints.ts'
import type { ErasedWords } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'
import {
  keysOfSource,
  listedAtOnce,
  type ObjectsSourcePorts,
  objectKeySpace,
  objectOwnership,
  termsInItems,
} from './object-search.ts'
import { isOurObject, isWordsItem, keysAmong, objectsOfProject } from './rules.ts'
import { applicationKeys, mostRead, noneUnsearched, objectDecider } from './survey.ts'

/** Keys that are read concurrently. */
const atOnce = 8

/** Counts objects with erased data, in every version of every planned key, every key of the part and every key of applications. */
export async function residueOfObjects(
  ports: ObjectsSourcePorts,
  scope: ErasureScope,
  items: readonly string[],
  now: Date,
  words: ErasedWords = new Fingerprints(),
): Promise<number> {
  const { db, objects } = ports
  const part = scopePart(scope)
  if (items.length === 0 && !part) return 0
  await requireConnectedStores(ports.whatIsMissing)
  const left = new Set<string>()
  const wanted = termsInItems(items)
  const projects = [...wanted.projects, ...(part ? [part.project] : [])]
  const judge = valueDeciderIn(db, undefined, words, { projects, now })
  const named = await db.transaction((tx) => othersOf(tx, 'objects', keysAmong(items), new Set(), now))
  // Keys found by words are read below.
  const keys = keysAmong(items.filter((item) => !isWordsItem(item))).values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const key of keys) if (!(await isGone(objects, key, judge, named.has(key)))) left.add(key)
    }),
  )
  if (part?.kind === 'project')
    for (const key of await objects.list(objectsOfProject(part.id), '', listedAtOnce)) left.add(key)
  if (part?.kind === 'message' || part?.kind === 'document')
    for await (const key of keysOfSource(objects, { project: part.project, kind: part.kind, id: part.id }))
      left.add(key)
  if (wanted.ids.length + wanted.chosen.length + wanted.anchors.length > 0)
    for (const key of await wordsLeft(ports, scope, wanted, projects, judge)) left.add(key)
  return left.size
}

/** Whether no residue remains of an object that an erasure deleted or cut. */
async function isGone(
  objects: ObjectsSourcePorts['objects'],
  key: string,
  judge: ValueDecider,
  isNamed: boolean,
): Promise<boolean> {
  const versions = await objects.versions(key)
  if (versions.length === 0) return true
  if (isOurObject(key)) return false
  let isTheirs = false
  for (const { version } of versions) {
    const one = await objects.read(key, mostRead, version)
    if (!one) continue
    if (!one.bytes) return isNamed
    const value = readable(one.bytes)
    if (await judge.hasErasedWords(value)) return false
    isTheirs ||= isNamed || (await judge.hasRemainingText(value))
  }
  return isTheirs
}
/** Keys of applications that contain erased ids, and keys of the project with erased words in any version. */
async function wordsLeft(
  ports: ObjectsSourcePorts,
  scope: ErasureScope,
  { ids, chosen, anchors, recorded }: ReturnType<typeof termsInItems>,
  projects: readonly string[],
  judge: ValueDecider,
): Promise<Set<string>> {
  const { db, objects } = ports
  const space = await db.transaction((tx) => objectKeySpace(ports, tx, projects, recorded))
  const ownedBy = objectOwnership((work) => db.transaction(work), scope, { projects, ids })
  const sought = { ids, chosen, anchors, judge, space, names: new Map<string, Naming>(), ownershipOf: ownedBy }
  const { isInside, hasErasedId, ownershipOf } = objectDecider(objects, sought)
  const left = new Set<string>()
  for await (const key of applicationKeys(objects, noneUnsearched())) {
    if (hasErasedId(key)) left.add(key)
    else if (isInside(key)) {
      const ownership = ownershipOf(key)
      for (const { version } of await objects.versions(key)) {
        const one = await objects.read(key, mostRead, version)
        const texts = [key, ...(one?.described ?? [])].map((text) => ({ form: 'text' as const, text }))
        for (const value of [...texts, ...(one?.bytes ? [readable(one.bytes)] : [])])
          if (await judge.hasErasedWords(value, ownership)) left.add(key)
      }
    }
  }
  const foreign = await db.transaction((tx) => foreignRefs(tx, 'objects', [...left], projects))
  return new Set([...left].filter((key) => !foreign.has(key)))
}
