import { isInKeySpace, type KeySpace, splitWithin } from '#lib/domains/projects/key-space.ts'
import { scopePart, scopeSubject } from '#lib/domains/projects/legal-holds.ts'
import { foreignRefs, othersOf } from '#lib/domains/projects/provenance/shared-pointers.ts'
import { type Ownership, ownershipReader } from '#lib/domains/projects/values/ownership.ts'
import { type Readable, readable } from '#lib/domains/projects/values/readable.ts'
import { parsedValue, ValuePart } from '#lib/domains/projects/values/together.ts'
import { type ValueDecider, valueDeciderIn } from '#lib/domains/projects/values/value-decider.ts'
import { Fingerprints } from '#lib/domains/projects/words/fingerprints.ts'
import type { ErasedWords } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { memoize } from '#lib/kernel/memoize.ts'
import { ownPrefix } from '#lib/stores/cache/cache.ts'
import { needlesOf } from '#lib/stores/cache/needles.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'
import {
  type CacheSourcePorts,
  cacheKeySpace,
  idsOfSubject,
  indexedIds,
  namesInIndex,
  namesLabelled,
  projectsAmong,
} from './entry-search.ts'
import {
  type Chosen,
  chosenOf,
  isDistinctiveKey,
  itemsByKind,
  mayBeOurKey,
  mayDeleteKey,
  uniqueInProject,
} from './rules.ts'
import type { CacheSearch } from './survey.ts'

/** Counts entries with erased data. Reads every text of every entry by other commands than erasing, and searches for ids and words. */
export async function residueOfEntries(
  ports: CacheSourcePorts,
  scope: ErasureScope,
  items: readonly string[],
  now: Date,
  words: ErasedWords | undefined,
): Promise<number> {
  const { about, chosen: chosenItems, who, key, within } = itemsByKind(items)
  const chosen = chosenItems.map(chosenOf)
  if (about.length + chosen.length + who.length + key.length + within.length === 0) return 0
  const { db } = ports
  await requireConnectedStores(ports.whatIsMissing)
  const part = scopePart(scope)
  const { anchors, recorded } = splitWithin(within)
  const projects = [...projectsAmong(anchors), ...(part ? [part.project] : [])]
  const space = await db.transaction((tx) => cacheKeySpace(ports, tx, projects, recorded))
  const judge = words && !words.isEmpty ? valueDeciderIn(db, undefined, words, { projects, now }) : undefined
  const left = await namesInIndex(ports, [...indexedIds(about, chosen), ...who])
  for (const name of await stillNamed(ports, key, projects, now, judge)) left.add(name)
  const people = [...who, ...idsOfSubject(scopeSubject(scope))]
  const ownershipOf = ownershipReader({
    within: (work) => db.transaction(work),
    projects: new Set(projects),
    erased: new Set([...about, ...people]),
    isPerson: people.length > 0,
  })
  const sought = { about, chosen, anchors, space, ownershipOf }
  for (const name of await textsLeft(ports, sought, projects, judge)) left.add(name)
  return left.size
}

/** Of the keys that provenance named, those that exist and contain erased words or no words of a remaining author. */
async function stillNamed(
  ports: CacheSourcePorts,
  labels: readonly string[],
  projects: readonly string[],
  now: Date,
  judge: ValueDecider | undefined,
): Promise<string[]> {
  const { db, cache } = ports
  const names = await namesLabelled(ports, labels)
  if (names.length === 0) return []
  const others = await db.transaction((tx) => othersOf(tx, 'cache', names, new Set(), now))
  const decider = judge ?? valueDeciderIn(db, undefined, new Fingerprints(), { projects, now })
  const theirs = new Set<string>()
  const erased = new Set<string>()
  await cache.read(async ({ name, parts }) => {
    for (const { texts } of parts)
      for (const text of texts) {
        const value = readable(text)
        if (await decider.hasErasedWords(value)) erased.add(name)
        else if (others.has(name) || (await decider.hasRemainingText(value))) theirs.add(name)
      }
  }, names)
  return names.filter((name) => erased.has(name) || !theirs.has(name))
}

/**
 * The ways to read the values of an entry together: all of them, every second one (values after names of fields), and those that are
 * neither names of fields nor ids of a stream.
 */
function readings(values: readonly Readable[]): ValuePart[][] {
  const texts = values.map(({ form, text }) => (form === 'binary' ? '' : text))
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  const isLabel = (text: string) => /^\d+-\d+$/.test(text) || (counts.get(text) ?? 0) > texts.length / 8
  return [texts, texts.filter((_, at) => at % 2 === 1), texts.filter((text) => !isLabel(text))].map((some) =>
    some.map((text, n) => new ValuePart(n, parsedValue(text))),
  )
}

interface ResidueSearch {
  about: readonly string[]
  chosen: readonly Chosen[]
  anchors: readonly string[]
  space: KeySpace
  ownershipOf: CacheSearch['ownershipOf']
}
/** Names of entries that contain an erased id, or that belong to the project and contain erased words. */
async function textsLeft(
  { db, cache }: CacheSourcePorts,
  { about, chosen, anchors: within, space, ownershipOf }: ResidueSearch,
  projects: readonly string[],
  judge: ValueDecider | undefined,
): Promise<Set<string>> {
  const ids = needlesOf(about)
  const telling = chosen.filter(({ id }) => isDistinctiveKey(id))
  const loose = needlesOf(telling.map(({ id }) => id))
  const anchors = needlesOf([...within, ...telling.flatMap((one) => one.anchors)])
  const inProject = uniqueInProject(about)
  const isPlain = (name: string) =>
    name.startsWith(ownPrefix) && !telling.some(({ id }) => mayBeOurKey(id) || inProject.has(id))
  const left = new Set<string>()
  const byWords = new Set<string>()
  await cache.texts(async (name, texts) => {
    if (!mayDeleteKey(name, ownPrefix) || left.has(name)) return
    const values = texts.map((text) => readable(text))
    const all = [name, ...values.map(({ text }) => text)]
    const isInside = all.some(anchors.standIn)
    if (all.some(ids.standIn) || ((isInside || isPlain(name)) && all.some(loose.standIn))) left.add(name)
    else if (judge && (isInside || name.startsWith(ownPrefix) || isInKeySpace(space, name))) {
      const ownership = memoize(async (): Promise<Ownership> => {
        const found = name.startsWith(ownPrefix) ? 'own' : await ownershipOf(name)
        return found === 'nobody' && isInside ? 'own' : found
      })
      for (const value of [{ form: 'text' as const, text: name }, ...values])
        if (await judge.hasErasedWords(value, ownership)) byWords.add(name)
      for (const parts of readings(values))
        if (!byWords.has(name) && (await judge.acrossParts(parts, ownership)).size > 0) byWords.add(name)
    }
  })
  const foreign = await db.transaction((tx) => foreignRefs(tx, 'cache', [...byWords], projects))
  for (const name of byWords) if (!foreign.has(name)) left.add(name)
  return left
}
