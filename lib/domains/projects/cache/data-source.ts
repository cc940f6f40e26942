import { memoize } from '#lib/kernel/concurrency.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import {
  type DataSource,
  type Erased,
  type ErasedWords,
  type ErasureOptions,
  type Explained,
  type Planned,
  type PlannedRecord,
  type ReadPage,
  type ReadPlace,
  tallyOf,
  type UnreadReason,
} from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import { type CacheEntry, type CacheStore, type CacheType, ownPrefix } from '#lib/stores/cache/cache.ts'
import { inOrderOfNames } from '#lib/stores/cache/names-in-order.ts'
import { searchStringsOf } from '#lib/stores/cache/search-strings.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'
import { isInKeySpace, type KeySpace, mayEraseById, recordedClaimants, splitWithin } from '../key-space.ts'
import { scopePart, scopeSubject, writersOf } from '../legal-holds.ts'
import { foreignRefs, othersOf } from '../provenance/pointers.ts'
import { hiddenRecords } from '../values/hidden-records.ts'
import {
  aliasOf,
  isNamedByOthers,
  isOfOthers,
  type Ownership,
  ownershipReader,
  type Readable,
  readable,
} from '../values/readable.ts'
import {
  type Naming,
  orphanedValueDecider,
  parsedValue,
  type ValueDecider,
  ValuePart,
  valueDeciderIn,
} from '../values/value-decider.ts'
import { Fingerprints } from '../words/fingerprints.ts'
import {
  type CacheSourcePorts,
  type CacheTerms,
  cacheKeySpace,
  cacheSearchOf,
  findEntries,
  gatherCacheTerms,
  idsOfSubject,
  indexedIds,
  namesInIndex,
  namesLabelled,
  projectsAmong,
} from './entry-search.ts'
import { cacheKeysLabelled, cachePointersOf, externalIdsOf } from './repository.ts'
import {
  type Chosen,
  cacheItemOf,
  chosenItem,
  chosenOf,
  isDistinctiveKey,
  itemsByKind,
  mayBeOurKey,
  mayDeleteKey,
  mergedChosen,
  uniqueInProject,
} from './rules.ts'
import {
  type CacheChange,
  type CacheFinding,
  type CacheSearch,
  labelOf,
  noneUnsearched,
  partsOfStream,
  recordsOfStream,
  scanCache,
  type UnsearchedEntries,
} from './scan.ts'

async function planEntries(ports: CacheSourcePorts, scope: ErasureScope, tx: Transaction, now: Date): Promise<Planned> {
  const { sources } = ports
  const subject = scopeSubject(scope)
  if (!scopePart(scope) && !subject) return { items: [], held: {} }
  const gathered = await gatherCacheTerms(sources, scope, tx, now)
  const who = idsOfSubject(subject)
  const isAnything = gathered.ids.size + gathered.chosen.size > 0
  const watched = [
    ...[...gathered.ids].map((id) => cacheItemOf('about', id)),
    ...[...gathered.chosen.values()].map(chosenItem),
    ...who.map((id) => cacheItemOf('who', id)),
    ...(who.length === 0 ? [] : await externalIdsOf(tx, { ids: who })).map(({ id }) =>
      cacheItemOf('alias', aliasOf(id)),
    ),
    ...[...gathered.anchors, ...recordedClaimants(await cacheKeySpace(ports, tx, gathered.projects))].map((id) =>
      cacheItemOf('within', id),
    ),
    // Carried out during erasure: finds entries written after the plan.
    ...(isAnything ? [cacheItemOf('search')] : []),
    ...[...gathered.names.keys()].map((name) => cacheItemOf('key', labelOf(name))),
  ]
  const items: string[] = []
  try {
    for (const { name, verdict } of await findEntries(ports, scope, gathered, tx, now))
      if (verdict !== 'retained') items.push(cacheItemOf(gathered.names.has(name) ? 'key' : 'found', labelOf(name)))
  } catch (error) {
    // Plan even if the store does not answer: the step waits, then searches when the store answers again.
    if (!Problem.is(error, 'unavailable')) throw error
    items.length = 0
    for (const name of gathered.names.keys()) items.push(cacheItemOf('key', labelOf(name)))
    if (watched.length > 0) items.push(cacheItemOf('search'))
  }
  const planned = new Set(items)
  return {
    items: [...planned].sort(),
    watched: [...new Set(watched)].filter((item) => !planned.has(item)).sort(),
    held: await sources.held(scope, tx, now),
  }
}

/** Whether the name of an entry leads to the project: other names may tell who else said the same. */
function isNamedIn({ names, foreign, ids, anchors, near, groups, chosen }: CacheTerms): (name: string) => boolean {
  const known = searchStringsOf(
    [...ids, ...anchors, ...near, ...groups, ...chosen.keys()].filter((id) => mayBeOurKey(id) || isDistinctiveKey(id)),
  )
  return (name) => names.has(name) || foreign.has(name) || name.startsWith(ownPrefix) || known.occursIn(name)
}

/** What an erasure would do to each entry. Of entries that do not name the project, only their number. */
async function explainEntries(
  ports: CacheSourcePorts,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<Explained> {
  const { sources, whatIsMissing } = ports
  const gathered = await gatherCacheTerms(sources, scope, tx, now)
  const decisions = new Map<string, PlannedRecord>()
  const isShown = isNamedIn(gathered)
  const hidden = hiddenRecords('cache', 'key')
  const add = (id: string, more: Pick<PlannedRecord, 'verdict' | 'reason' | 'found'>, evidence: string[] = []) => {
    if (!isShown(id)) hidden.add(more)
    else if (!decisions.has(id)) decisions.set(id, { store: 'cache', kind: 'key', id, name: null, evidence, ...more })
  }
  for (const name of gathered.foreign) add(name, { verdict: 'untouched', reason: 'foreign', found: 'pointer' })
  let isPartial = (await whatIsMissing(tx)).length > 0
  try {
    for (const { name, found, verdict, type, changes = [] } of await findEntries(ports, scope, gathered, tx, now)) {
      if (verdict === 'retained') add(name, { verdict: 'kept', reason: 'other_author', found })
      else if (verdict === 'cut')
        add(name, { verdict: 'changed', reason: 'cut', found }, type === 'string' ? [] : [`items:${changes.length}`])
      else add(name, { verdict: 'deleted', reason: found === 'group' ? 'around' : 'source', found })
    }
  } catch (error) {
    if (!Problem.is(error, 'unavailable')) throw error
    isPartial = true
    for (const name of gathered.names.keys()) add(name, { verdict: 'deleted', reason: 'source', found: 'pointer' })
  }
  const shown = [...decisions.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
  return { verdicts: [...shown, ...hidden.records()], isPartial }
}

/** The fields of a stream's entry as lines of JSON. Their values remain strings: a nested value may be too deep to be written again. */
const linesOfStream = (texts: readonly Buffer[]): string =>
  recordsOfStream(texts)
    .map((fields) => JSON.stringify(fields))
    .join('\n')
/**
 * The name and all values of a portion of an entry. The values are lines of one text, because words may continue in the next value, also in
 * the order of the names of fields. The entries of a stream are lines of JSON, so that each field is read across the entries.
 */
function textsOf({ name, type, parts }: CacheEntry, carried: number): { texts: string[]; binary: number } {
  const fields = type === 'hash' ? parts.map(({ id }) => id.toString()) : []
  const values = parts.flatMap(({ texts }) => texts.map((text) => readable(text)))
  const byName =
    type === 'hash' && values.length === fields.length
      ? inOrderOfNames(
          values.map(({ text }, n) => ({ text, field: fields[n] ?? '' })),
          ({ field }) => field,
        )
      : undefined
  return {
    texts: [
      name,
      fields.join('\n'),
      values.map(({ text }) => text).join('\n'),
      ...(byName ? [byName.map(({ text }) => text).join('\n')] : []),
      ...(type === 'stream' ? [parts.map(({ texts }) => linesOfStream(texts)).join('\n')] : []),
    ],
    binary: values.slice(parts.slice(0, carried).flatMap(({ texts }) => texts).length).filter(isBinary).length,
  }
}
const isBinary = ({ form }: Readable): boolean => form === 'binary'

/** The end of a portion that the next one begins with: as many parts as erasing reads together, and bytes. */
const mostCarried = 100
const carriedBytes = 256 * 1024
/**
 * Begins each portion of an entry with the end of the portion before: words may continue from the last items of a list, a stream or a hash to
 * the next ones. Pieces of a long string overlap already.
 */
function withEnds(
  visit: (entry: CacheEntry, carried: number) => void | Promise<void>,
): (entry: CacheEntry) => Promise<void> {
  let last: CacheEntry | undefined
  return async (entry) => {
    const isNext = last?.isWhole && entry.isWhole && last.name === entry.name && last.type === entry.type
    const before = isNext && last ? last.parts : []
    const joined = { ...entry, parts: [...before, ...entry.parts] }
    const end: CacheEntry['parts'][number][] = []
    let bytes = 0
    for (const part of joined.parts.toReversed()) {
      bytes += part.texts.reduce((sum, text) => sum + text.length, 0)
      if (end.length === mostCarried || (end.length > 0 && bytes > carriedBytes)) break
      end.unshift(part)
    }
    last = { ...entry, parts: end }
    await visit(joined, before.length)
  }
}

/** Reads all entries, of whichever application. The engine erases only from entries that the organizations of the projects may claim. */
const cacheReader =
  ({ cache, whatIsMissing }: CacheSourcePorts) =>
  async (after: string | null, visit: (place: ReadPlace) => Promise<void>): Promise<ReadPage> => {
    await requireConnectedStores(whatIsMissing)
    const unread: Partial<Record<UnreadReason, number>> = {}
    const next = await cache.page(
      after,
      withEnds(async (entry, carried) => {
        const place = placeOf(cache, entry, carried)
        if (place.binary > 0) unread.binary = (unread.binary ?? 0) + place.binary
        await visit(place)
      }),
    )
    return { next, unread }
  }

function placeOf(cache: Pick<CacheStore, 'read'>, entry: CacheEntry, carried: number): ReadPlace & { binary: number } {
  const { texts, binary } = textsOf(entry, carried)
  const { name } = entry
  return {
    id: `key:${labelOf(name)}`,
    texts,
    binary,
    isUnread: binary > 0,
    itemsOf: async () => [cacheItemOf('found', labelOf(name))],
    isOfOthers: (projects, tx) => isNamedByOthers(name, projects, tx),
    async again() {
      const now = { texts: [] as string[], isUnread: false }
      await cache.read(
        withEnds((one, before) => {
          const { texts, binary } = textsOf(one, before)
          now.texts.push(...texts)
          now.isUnread ||= binary > 0
        }),
        [name],
      )
      return now
    },
  }
}

/** Reads the entries of these places. The cursors of another server process have no meaning. */
const readPlacesOf =
  (ports: CacheSourcePorts) =>
  async (ids: readonly string[], visit: (place: ReadPlace) => Promise<void>): Promise<void> => {
    const { cache, whatIsMissing } = ports
    await requireConnectedStores(whatIsMissing)
    const names = await namesLabelled(
      ports,
      ids.map((id) => id.slice('key:'.length)),
    )
    await cache.read(
      withEnds((entry, carried) => visit(placeOf(cache, entry, carried))),
      names,
    )
  }

/** Counts entries with erased data. Reads every text of every entry by other commands than erasing, and searches for ids and words. */
async function residueOfEntries(
  ports: CacheSourcePorts,
  scope: ErasureScope,
  items: readonly string[],
  now: Date,
  words: ErasedWords | undefined,
  further: readonly string[] = [],
): Promise<number> {
  const { about, chosen: chosenItems, who, alias, key, within } = itemsByKind(items)
  const chosen = chosenItems.map(chosenOf)
  if (about.length + chosen.length + who.length + key.length + within.length === 0) return 0
  const { db } = ports
  await requireConnectedStores(ports.whatIsMissing)
  const part = scopePart(scope)
  const { anchors, recorded } = splitWithin(within)
  const projects = [...new Set([...projectsAmong(anchors), ...(part ? [part.project] : []), ...further])]
  const space = await db.transaction((tx) => cacheKeySpace(ports, tx, projects, recorded))
  const wordDecider = words && !words.isEmpty ? valueDeciderIn(db, undefined, words, { projects, now }) : undefined
  const left = await namesInIndex(ports, [...indexedIds(about, chosen), ...who])
  for (const name of await stillNamed(ports, key, projects, now, wordDecider)) left.add(name)
  const reported = new Set(key)
  const people = [...who, ...idsOfSubject(scopeSubject(scope))]
  const ownershipOf = ownershipReader({
    within: (work) => db.transaction(work),
    projects: new Set(projects),
    erased: new Set([...about, ...people]),
    isPerson: people.length > 0,
    aliases: new Set(alias),
  })
  const sought = { about, chosen, anchors, space, ownershipOf, reported }
  for (const name of await textsLeft(ports, sought, projects, wordDecider)) left.add(name)
  await ports.cache.confirm()
  return left.size
}

/** Of the keys that provenance named, those that exist and contain erased words or no words of a remaining author. */
async function stillNamed(
  ports: CacheSourcePorts,
  labels: readonly string[],
  projects: readonly string[],
  now: Date,
  wordDecider: ValueDecider | undefined,
): Promise<string[]> {
  const { db, cache } = ports
  const names = await namesLabelled(ports, labels)
  if (names.length === 0) return []
  const others = await db.transaction((tx) => othersOf(tx, 'cache', names, new Set(), now))
  const decider = wordDecider ?? valueDeciderIn(db, undefined, new Fingerprints(), { projects, now })
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

const idOfStream = /^\d+-\d+$/
/** The entries of a stream, as a list of their ids, fields and values. */
function entriesOfStream(texts: readonly string[]): ValuePart[] {
  const entries: Buffer[][] = []
  for (let at = 0; at < texts.length; at += 2) {
    const [name = '', value = ''] = texts.slice(at, at + 2)
    if (idOfStream.test(name)) {
      entries.push([])
      at--
    } else entries.at(-1)?.push(Buffer.from(name), Buffer.from(value))
  }
  return entries.flatMap((fields, n) => partsOfStream(fields, n))
}
/**
 * The ways to read the values of an entry together: all of them, every second one (values after names of fields), those that are neither
 * names of fields nor ids of a stream, the values of a hash in the order of the names of its fields, and the fields of a stream.
 */
function readings(values: readonly Readable[], type: CacheType): ValuePart[][] {
  const texts = values.map(({ form, text }) => (form === 'binary' ? '' : text))
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  const isLabel = (text: string) => idOfStream.test(text) || (counts.get(text) ?? 0) > texts.length / 8
  const found = [texts, texts.filter((_, at) => at % 2 === 1), texts.filter((text) => !isLabel(text))]
  if (type === 'hash') {
    const fields = texts.flatMap((text, at) => (at % 2 === 1 ? [{ name: values[at - 1]?.text ?? '', text }] : []))
    const byName = inOrderOfNames(fields, ({ name }) => name)
    if (byName) found.push(byName.map(({ text }) => text))
  }
  const parts = found.map((some) => some.map((text, n) => new ValuePart(n, parsedValue(text))))
  return type === 'stream' ? [...parts, entriesOfStream(texts)] : parts
}
/**
 * Texts at the end of a piece of a collection that are read again with the next piece: fewer than erasing reads, so that it erases what is found
 * here. And collections that are read at once.
 */
const maxBefore = 50
const maxOpen = 64

interface ResidueSearch {
  about: readonly string[]
  chosen: readonly Chosen[]
  anchors: readonly string[]
  space: KeySpace
  ownershipOf: CacheSearch['ownershipOf']
  /** Labels of the keys that provenance named. */
  reported: ReadonlySet<string>
}
/** Names of entries that contain an erased id, or that belong to the project and contain erased words. Both by the rules of the erasure. */
async function textsLeft(
  { db, cache }: CacheSourcePorts,
  { about, chosen, anchors: within, space, ownershipOf, reported }: ResidueSearch,
  projects: readonly string[],
  wordDecider: ValueDecider | undefined,
): Promise<Set<string>> {
  const ids = searchStringsOf(about)
  const distinctiveIds = chosen.filter(({ id }) => isDistinctiveKey(id))
  const clientChosenIds = searchStringsOf(distinctiveIds.map(({ id }) => id))
  const anchors = searchStringsOf([...within, ...distinctiveIds.flatMap((one) => one.anchors)])
  const inProject = uniqueInProject(about)
  const isPlain = (name: string) =>
    name.startsWith(ownPrefix) && !distinctiveIds.some(({ id }) => mayBeOurKey(id) || inProject.has(id))
  const isReported = (name: string) => reported.has(labelOf(name)) || reported.has(name)
  const rules = { space, isNamed: (name: string) => ids.occursIn(name) || anchors.occursIn(name), ownershipOf }
  const left = new Set<string>()
  /** Of these, a pointer of another project protects an entry. */
  const unnamed = new Set<string>()
  /** The end of the last piece of each entry that is being read: words may continue in the next piece. */
  const ends = new Map<string, readonly Readable[]>()
  await cache.texts(async (name, texts, { type, isFirst }) => {
    if (!mayDeleteKey(name, ownPrefix) || left.has(name)) return
    const isOwn = name.startsWith(ownPrefix)
    const mayErase = memoize(async () => isOwn || isReported(name) || mayEraseById(rules, name))
    const values = texts.map((text) => readable(text))
    // An entry may be read twice.
    const before = isFirst ? [] : (ends.get(name) ?? [])
    ends.delete(name)
    if (texts.length > 1) ends.set(name, values.slice(-maxBefore))
    for (const [oldest] of ends) if (ends.size > maxOpen) ends.delete(oldest)
    const all = [name, ...values.map(({ text }) => text)]
    // An id in a value proves nothing about an entry that nobody owns and the organization may not claim.
    const isAnchored =
      anchors.occursIn(name) ||
      (all.some(anchors.occursIn) && ((await mayErase()) || isOfOthers(await ownershipOf(name))))
    const isById = all.some(ids.occursIn) || ((isAnchored || isPlain(name)) && all.some(clientChosenIds.occursIn))
    if (isById && (await mayErase())) {
      const isNamed = isOwn || isReported(name) || rules.isNamed(name)
      ;(isNamed ? left : unnamed).add(name)
    } else if (wordDecider && !unnamed.has(name) && (isAnchored || isOwn || isInKeySpace(space, name))) {
      const ownership = memoize(async (): Promise<Ownership> => {
        const found = isOwn ? 'own' : await ownershipOf(name)
        return found === 'nobody' && isAnchored ? 'own' : found
      })
      for (const value of [{ form: 'text' as const, text: name }, ...values])
        if (await wordDecider.hasErasedWords(value, ownership)) unnamed.add(name)
      for (const parts of readings([...before, ...values], type))
        if (!unnamed.has(name) && (await wordDecider.acrossParts(parts, ownership)).size > 0) unnamed.add(name)
    }
  })
  const foreign = await db.transaction((tx) => foreignRefs(tx, 'cache', [...unnamed], projects))
  for (const name of unnamed) if (!foreign.has(name)) left.add(name)
  return left
}

/** Maximum number of attempts to change an entry that applications write concurrently. Verification finds it afterwards. */
const maxTries = 8
/** Maximum count of values that cannot be searched. */
const maxBinary = 1_000
const atOnce = 500

type Items = ReturnType<typeof itemsByKind>
/** Notes of a run about what it did, by label, so that a repeated attempt after a crash gives the same result. */
interface RunNotes {
  /** Empty: store no notes. */
  run: string
  notes: Record<string, string>
}

/** Erases the findings that it visits. */
function eraser(cache: CacheSourcePorts['cache'], { run, notes }: RunNotes) {
  /** Entries to delete. Those that were found by their content, with the search that found them. */
  const dropped = new Map<string, CacheSearch | undefined>()
  const changed = new Set<string>()
  const retained = new Set<string>()
  const note = async (labels: Record<string, string>) => {
    Object.assign(notes, labels)
    if (run !== '') await cache.note(run, labels)
  }
  async function visit(finding: CacheFinding, sought: CacheSearch, tries = 0): Promise<void> {
    const { name, verdict, changes, isByContent } = finding
    if (verdict === 'retained') retained.add(labelOf(name))
    else if (!changes) {
      const isByName = !isByContent || (dropped.has(name) && dropped.get(name) === undefined)
      dropped.set(name, isByName ? undefined : sought)
    } else {
      changed.add(name)
      let isDone = true
      const placeOf = ({ part, at }: CacheChange) => `${at ?? ''} ${part.id.toString('latin1')}`
      const distinct = [...new Map(changes.map((one) => [placeOf(one), one])).values()]
      // Removing an item changes the positions after it.
      distinct.sort((one, other) => (other.at ?? -1) - (one.at ?? -1))
      for (const { part, to, at, field } of distinct) {
        const [value = Buffer.alloc(0)] = part.texts
        const label = to === null ? labelOf(name, part.id, value) : labelOf(name, to)
        const before = notes[label]
        await note({ [label]: to === null ? 'deleted' : 'cut' })
        if (await cache.change(finding, part, to, { at, field })) continue
        isDone = false
        await note({ [label]: before ?? 'unchanged' })
      }
      // The entry was changed concurrently: read it and decide again.
      if (!isDone && tries < maxTries)
        await scanCache(cache, sought, (again) => visit(again, sought, tries + 1), [name])
    }
  }
  /** Deletes an entry if it still contains what decided about it. An application may have written a value of somebody else meanwhile. */
  async function dropAsFound(name: string, sought: CacheSearch): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries++) {
      const hash = await cache.contentHash(name)
      const findings: CacheFinding[] = []
      await scanCache(cache, sought, async (finding) => void findings.push(finding), [name])
      if (!findings.some(({ verdict, changes }) => verdict !== 'retained' && !changes)) {
        dropped.delete(name)
        for (const finding of findings) await visit(finding, sought)
        return false
      }
      if (hash === undefined) continue
      const before = notes[labelOf(name)]
      await note({ [labelOf(name)]: 'deleted' })
      if (await cache.dropUnchanged(name, hash)) return true
      await note({ [labelOf(name)]: before ?? 'unchanged' })
    }
    return false
  }
  /** Deletes the entries that are erased completely. Returns the number of deleted and changed entries. */
  async function finish(): Promise<number> {
    const tried = new Map<string, number>()
    let count = 0
    // The iteration includes entries that are added meanwhile, because a concurrent change left only their deletion.
    for (const [name, sought] of dropped) {
      const tries = tried.get(name) ?? 0
      if (!sought || tries >= maxTries) continue
      tried.set(name, tries + 1)
      if (await dropAsFound(name, sought)) count++
    }
    const names = [...dropped].flatMap(([name, sought]) => (sought === undefined ? [name] : []))
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
  visit: (finding: CacheFinding, sought: CacheSearch) => Promise<void>,
): Promise<UnsearchedEntries> {
  const all = noneUnsearched()
  const scan = async (search: CacheSearch, names?: readonly string[]) => {
    if (names?.length === 0) return
    const erase = async (finding: CacheFinding) => {
      const { name, isUnnamed = false } = finding
      const isForeign = isUnnamed && (await foreignRefs(tx, 'cache', [name], [...projects])).size > 0
      if (isForeign) all.owned.add(labelOf(name))
      else await visit(finding, search)
    }
    const { binary, isOutside, lasting, owned } = await scanCache(ports.cache, search, erase, names)
    for (const label of binary) all.binary.add(label)
    for (const label of lasting) all.lasting.add(label)
    for (const label of owned) all.owned.add(label)
    all.isOutside ||= isOutside
  }
  const named = await namesLabelled(ports, [...items.key, ...items.found])
  const reported = new Set(await namesLabelled(ports, items.key))
  const unknown = named.filter((name) => !sought.names.has(name))
  // Without rows, the texts of these entries are unknown. An entry that contains words of another author now belongs to that author.
  const naming: Naming = { named: [], remaining: [] }
  const again = new Map(unknown.filter((name) => reported.has(name)).map((name) => [name, naming]))
  const { wordDecider } = sought
  await scan(
    sought,
    named.filter((name) => sought.names.has(name)),
  )
  await scan(
    sought,
    unknown.filter((name) => !again.has(name)),
  )
  await scan(
    { ...sought, names: again, ...(!isThere && wordDecider && { wordDecider: orphanedValueDecider(wordDecider) }) },
    [...again.keys()],
  )
  const hasTerms = items.about.length + items.chosen.length + items.search.length + items.within.length > 0
  await scan(sought, hasTerms ? undefined : [...sought.indexed])
  return all
}

/** Erases the items of a page, and every other entry that their search terms find. */
async function eraseEntries(
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
  const all = itemsByKind((await options?.all?.()) ?? [])
  const { anchors, recorded } = splitWithin([...kinds.within, ...all.within])
  const terms = await termsWith(ports, scope, [...anchors, ...(options?.projects ?? [])], tx, now)
  const { projects, sources } = terms
  const isThere = sources.size > 0
  // A repeated search after the run stores no notes.
  const run = options && !options.key.includes(':late:') ? (options.key.split(':')[0] ?? '') : ''
  const notes = run === '' ? {} : await cache.notes(run)
  const words = options?.words && !options.words.isEmpty ? options.words : terms.words
  let isUncompared = false
  const onUncompared = () => {
    isUncompared = true
  }
  const wordDecider = valueDeciderIn(db, tx, words, { projects, now, erasedIds: sources, onUncompared })
  const space = await cacheKeySpace(ports, tx, projects, recorded)
  const ids = new Set([...kinds.about, ...terms.ids])
  const chosen = mergedChosen([...kinds.chosen.map(chosenOf), ...terms.chosen.values()])
  const who = [...kinds.who, ...idsOfSubject(scopeSubject(scope))]
  const ownershipOf = ownershipReader({
    within: (work) => work(tx),
    projects,
    erased: new Set([...ids, ...sources, ...who]),
    isPerson: who.length > 0,
    aliases: new Set([...kinds.alias, ...all.alias]),
  })
  const sought: CacheSearch = {
    ...(await cacheSearchOf(ports, { ...terms, ids, chosen }, kinds.who, { wordDecider, space, ownershipOf })),
    isOwnResult: (name, value) => notes[labelOf(name, value)] === 'cut',
  }
  const work = eraser(cache, { run, notes })
  const { binary, isOutside, lasting, owned } = await visitEntries(
    ports,
    kinds,
    sought,
    { isThere, projects, tx },
    work.visit,
  )
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
      cacheBinary: tallyOf([...binary].slice(0, maxBinary)),
      cacheOutside: tallyOf(isOutside ? ['outside'] : []),
      cacheLasting: tallyOf([...lasting].slice(0, maxBinary)),
      cacheOwned: tallyOf([...owned].slice(0, maxBinary)),
      wordsUncompared: tallyOf(isUncompared ? ['words'] : []),
    },
    mentions: [],
  }
}

/** Personal data source for cached answers: our own and those that applications store in the same Redis. For items, see `itemKinds`. */
export function cacheDataSource(ports: CacheSourcePorts): DataSource {
  const { db, cache, sources } = ports
  return {
    name: 'cache.entries',
    store: 'cache',
    isShared: true,
    // Each page reads all names and values, so pages are large.
    pageSize: 5_000,
    stage: 'derived',
    what: 'cached answers derived from messages and documents',
    held: 'cached answers derived from your messages and documents, if applications reported them',
    purpose: 'answering a repeated question without repeating the work',
    kept: 'our entries for at most one day; applications set the period of their own entries',
    tables: [],
    async inventory(subject) {
      const [row] = await cachePointersOf(db, writersOf(subject))
      return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
    },
    plan: (scope, tx, now) => planEntries(ports, scope, tx, now),
    explain: (scope, tx, now) => explainEntries(ports, scope, tx, now),
    erase: (scope, items, tx, options) => eraseEntries(ports, scope, items, tx, options),
    async late(scope, tx, now) {
      const gathered = await gatherCacheTerms(sources, scope, tx, now)
      if (gathered.ids.size + gathered.chosen.size === 0) return []
      const found = await findEntries(ports, scope, gathered, tx, now)
      return found
        .filter(({ verdict, found: by }) => verdict !== 'retained' && by === 'text')
        .map(({ name }) => cacheItemOf('found', labelOf(name)))
        .sort()
    },
    async reused(items, tx, now) {
      const { key } = itemsByKind(items)
      if (key.length === 0) return []
      const reported = await cacheKeysLabelled(tx, { labels: key })
      const others = await othersOf(
        tx,
        'cache',
        reported.map(({ ref }) => ref),
        new Set(),
        now,
      )
      const theirs = new Set(
        [...others].flatMap((name) => [cacheItemOf('key', labelOf(name)), cacheItemOf('key', name)]),
      )
      return items.filter((item) => theirs.has(item))
    },
    residue: (scope, items, now, words, projects) => residueOfEntries(ports, scope, items, now, words, projects),
    projectsIn: (items) => projectsAmong(itemsByKind(items).within),
    read: cacheReader(ports),
    readPlaces: readPlacesOf(ports),
    notSearched({ cacheBinary = 0, cacheOutside = 0, cacheLasting = 0, cacheOwned = 0, wordsUncompared = 0 }) {
      const counted = (code: 'cacheValues' | 'cacheLasting' | 'idsOfOthers', count: number) =>
        count > 0 ? [{ what: receiptText('notSearched', code), count: count < maxBinary ? count : null }] : []
      return [
        ...counted('cacheValues', cacheBinary),
        ...counted('cacheLasting', cacheLasting),
        ...counted('idsOfOthers', cacheOwned),
        ...(cacheOutside > 0 ? [{ what: receiptText('notSearched', 'cacheOutside'), count: null }] : []),
        ...(wordsUncompared > 0 ? [{ what: receiptText('notSearched', 'wordsUncompared'), count: null }] : []),
      ]
    },
    forget: (runId) => cache.forgetNotes(runId),
  }
}
