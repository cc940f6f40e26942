import { splitWithin } from '#lib/domains/projects/key-space.ts'
import { scopePart, scopeSubject } from '#lib/domains/projects/legal-holds.ts'
import { foreignRefs } from '#lib/domains/projects/provenance/shared-pointers.ts'
import { ownershipReader } from '#lib/domains/projects/values/ownership.ts'
import { lenient, type Naming, valueDeciderIn } from '#lib/domains/projects/values/value-decider.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureOptions } from '#lib/kernel/data-source.ts'
import { type Erased, tallyOf } from '#lib/kernel/erased.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'
import {
  type CacheSourcePorts,
  cacheKeySpace,
  cacheSearchOf,
  idsOfSubject,
  indexedIds,
  namesLabelled,
  projectsAmong,
} from './entry-search.ts'
import { chosenOf, itemsByKind, mergedChosen } from './rules.ts'
import { type CacheTerms, gatherCacheTerms } from './search-terms.ts'
import {
  type CacheChange,
  type CacheFinding,
  type CacheSearch,
  labelOf,
  surveyCache,
  type UnsearchedEntries,
} from './survey.ts'

/** Maximum number of attempts to change an entry that applications write concurrently. Verification finds it afterwards. */
const mostTries = 8
/** Maximum count of values that cannot be searched. */
export const mostBinary = 1_000
const atOnce = 500

type Items = ReturnType<typeof itemsByKind>
/** Notes of a run about what it did, by label, so that a repeated attempt after a crash gives the same result. */
interface RunNotes {
  /** Empty: store no notes. */
  run: string
  notes: Record<string, string>
}

/** Erases the findings that it visits. */
function eraser(cache: CacheSourcePorts['cache'], sought: CacheSearch, { run, notes }: RunNotes) {
  const dropped = new Set<string>()
  const changed = new Set<string>()
  const retained = new Set<string>()
  const note = async (labels: Record<string, string>) => {
    Object.assign(notes, labels)
    if (run !== '') await cache.note(run, labels)
  }
  async function visit(finding: CacheFinding, tries = 0): Promise<void> {
    const { name, verdict, changes } = finding
    if (verdict === 'retained') retained.add(labelOf(name))
    else if (!changes) dropped.add(name)
    else {
      changed.add(name)
      let isDone = true
      const placeOf = ({ part, at }: CacheChange) => `${at ?? ''} ${part.id.toString('latin1')}`
      const distinct = [...new Map(changes.map((one) => [placeOf(one), one])).values()]
      // Removing an item changes the positions after it.
      distinct.sort((one, other) => (other.at ?? -1) - (one.at ?? -1))
      for (const { part, to, at } of distinct) {
        const [value = Buffer.alloc(0)] = part.texts
        await note({
          [to === null ? labelOf(name, part.id, value) : labelOf(name, to)]: to === null ? 'deleted' : 'cut',
        })
        if (!(await cache.change(finding, part, to, at))) isDone = false
      }
      // The entry was changed concurrently: read it and decide again.
      if (!isDone && tries < mostTries) await surveyCache(cache, sought, (again) => visit(again, tries + 1), [name])
    }
  }
  /** Deletes the entries that are erased completely. Returns the number of deleted and changed entries. */
  async function finish(): Promise<number> {
    const names = [...dropped]
    let count = 0
    for (let at = 0; at < names.length; at += atOnce) {
      const some = names.slice(at, at + atOnce)
      await note(Object.fromEntries(some.map((name) => [labelOf(name), 'deleted'])))
      count += await cache.drop(some)
    }
    return count + [...changed].filter((name) => !dropped.has(name)).length
  }
  return { visit, finish, retained }
}

/** The terms of a scope, with the anchors and projects that the items record. */
async function termsWith(
  { sources }: CacheSourcePorts,
  scope: ErasureScope,
  anchors: readonly string[],
  tx: Transaction,
  now: Date,
): Promise<CacheTerms> {
  const terms = await gatherCacheTerms(sources, scope, tx, now)
  const part = scopePart(scope)
  for (const anchor of anchors) terms.anchors.add(anchor)
  for (const project of [...projectsAmong(anchors), ...(part ? [part.project] : [])]) terms.projects.add(project)
  return terms
}

/** Visits the planned entries, then all entries if the items contain search terms. */
async function visitEntries(
  ports: CacheSourcePorts,
  items: Items,
  sought: CacheSearch,
  { isThere, projects, tx }: { isThere: boolean; projects: ReadonlySet<string>; tx: Transaction },
  visit: (finding: CacheFinding) => Promise<void>,
): Promise<UnsearchedEntries> {
  const all: UnsearchedEntries = { binary: new Set(), isOutside: false, lasting: new Set() }
  const survey = async (search: CacheSearch, names?: readonly string[]) => {
    if (names?.length === 0) return
    const erase = async (finding: CacheFinding) => {
      const { name, isPrefixed = false } = finding
      const isForeign = isPrefixed && (await foreignRefs(tx, 'cache', [name], [...projects])).size > 0
      if (!isForeign) await visit(finding)
    }
    const { binary, isOutside, lasting } = await surveyCache(ports.cache, search, erase, names)
    for (const label of binary) all.binary.add(label)
    for (const label of lasting) all.lasting.add(label)
    all.isOutside ||= isOutside
  }
  const named = await namesLabelled(ports, [...items.key, ...items.found])
  const reported = new Set(await namesLabelled(ports, items.key))
  const unknown = named.filter((name) => !sought.names.has(name))
  // Without rows, the texts of these entries are unknown. An entry that contains words of another author now belongs to that author.
  const naming: Naming = { named: [], remaining: [] }
  const again = new Map(unknown.filter((name) => reported.has(name)).map((name) => [name, naming]))
  const { judge } = sought
  await survey(
    sought,
    named.filter((name) => sought.names.has(name)),
  )
  await survey(
    sought,
    unknown.filter((name) => !again.has(name)),
  )
  await survey({ ...sought, names: again, ...(!isThere && judge && { judge: lenient(judge) }) }, [...again.keys()])
  const hasTerms = items.about.length + items.chosen.length + items.search.length + items.within.length > 0
  await survey(sought, hasTerms ? undefined : [...sought.indexed])
  return all
}

/** Erases the items of a page, and every other entry that their search terms find. */
export async function eraseEntries(
  ports: CacheSourcePorts,
  scope: ErasureScope,
  items: readonly string[],
  tx: Transaction,
  options: ErasureOptions | undefined,
): Promise<number | Erased> {
  if (items.length === 0) return 0
  const { db, cache } = ports
  await requireConnectedStores(ports.whatIsMissing, tx)
  const kinds = itemsByKind(items)
  const now = options?.now ?? new Date()
  const { anchors, recorded } = splitWithin(kinds.within)
  const terms = await termsWith(ports, scope, [...anchors, ...(options?.projects ?? [])], tx, now)
  const { projects, sources } = terms
  const isThere = sources.size > 0
  // A repeated search after the run stores no notes.
  const run = options && !options.key.includes(':late:') ? (options.key.split(':')[0] ?? '') : ''
  const notes = run === '' ? {} : await cache.notes(run)
  const words = options?.words && !options.words.isEmpty ? options.words : terms.words
  const judge = valueDeciderIn(db, tx, words, { projects, now, going: sources })
  const space = await cacheKeySpace(ports, tx, projects, recorded)
  const ids = new Set([...kinds.about, ...terms.ids])
  const chosen = mergedChosen([...kinds.chosen.map(chosenOf), ...terms.chosen.values()])
  const who = [...kinds.who, ...idsOfSubject(scopeSubject(scope))]
  const ownershipOf = ownershipReader({
    within: (work) => work(tx),
    projects,
    erased: new Set([...ids, ...sources, ...who]),
    isPerson: who.length > 0,
  })
  const sought: CacheSearch = {
    ...(await cacheSearchOf(ports, { ...terms, ids, chosen }, kinds.who, { judge, space, ownershipOf })),
    isNoted: (name, value) => notes[labelOf(name, value)] === 'cut',
  }
  const work = eraser(cache, sought, { run, notes })
  const { binary, isOutside, lasting } = await visitEntries(ports, kinds, sought, { isThere, projects, tx }, work.visit)
  const count = await work.finish()
  await cache.forget([
    ...indexedIds(kinds.about, kinds.chosen.map(chosenOf)),
    ...kinds.who,
    ...(isThere ? [...indexedIds(terms.ids, terms.chosen.values()), ...idsOfSubject(scopeSubject(scope))] : []),
  ])
  // Planned entries existed: after a crash they are counted as they would have been without it.
  const planned = kinds.key.length + kinds.found.length
  const labels = (what: string) => Object.entries(notes).flatMap(([label, one]) => (one === what ? [label] : []))
  return {
    count,
    results: { keys: options?.isWatched || planned === 0 ? count : planned },
    tallies: {
      derivedCut: tallyOf(labels('cut')),
      derivedDeleted: tallyOf(labels('deleted')),
      derivedRetained: tallyOf(work.retained),
      cacheBinary: tallyOf([...binary].slice(0, mostBinary)),
      cacheOutside: tallyOf(isOutside ? ['outside'] : []),
      cacheLasting: tallyOf([...lasting].slice(0, mostBinary)),
    },
    mentions: [],
  }
}
