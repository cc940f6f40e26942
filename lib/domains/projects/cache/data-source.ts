import {
  type Claimant,
  isInKeySpace,
  type KeySpace,
  keySpaceOf,
  recordedClaimants,
  splitWithin,
} from '#lib/domains/projects/key-space.ts'
import { scopePart, scopeSubject, writersOf } from '#lib/domains/projects/legal-holds.ts'
import { foreignRefs, othersOf } from '#lib/domains/projects/provenance/shared-pointers.ts'
import type { Sources } from '#lib/domains/projects/provenance/sources.ts'
import { readable } from '#lib/domains/projects/values/readable.ts'
import { lenient, type Naming, type ValueDecider, valueDecider } from '#lib/domains/projects/values/value-decider.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasedWords, ErasureScope, PlannedRecord, Subject } from '#lib/kernel/data-source.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type CacheStore, ownPrefix } from '#lib/stores/cache/cache.ts'
import { needlesOf } from '#lib/stores/cache/needles.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import { cacheKeysLabelled, cachePointersOf } from './repository.ts'
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
import { type CacheTerms, gatherCacheTerms } from './search-terms.ts'
import {
  type CacheChange,
  type CacheFinding,
  type CacheSearch,
  labelOf,
  surveyCache,
  type UnsearchedEntries,
} from './survey.ts'

export interface CacheSourcePorts {
  db: Database
  cache: Pick<
    CacheStore,
    'find' | 'names' | 'drop' | 'forget' | 'read' | 'texts' | 'change' | 'note' | 'notes' | 'forgetNotes'
  >
  sources: Sources
  whatIsMissing: MissingStoreData
  /** Prefixes of keys of all organizations (KP_POINTER_PREFIXES). */
  pointerPrefixes: readonly string[]
}

const idsOf = (subject: Subject): string[] => writersOf(subject).ids
/** Maximum number of attempts to change an entry that applications write concurrently. Verification finds it afterwards. */
const mostTries = 8
/** Maximum count of values that cannot be searched. */
const mostBinary = 1_000
const atOnce = 500
const projectsAmong = (anchors: Iterable<string>): string[] => [...anchors].filter((id) => id.startsWith('prj_'))

/** Personal data source for cached answers: our own and those that applications store in the same Redis. For items, see `itemKinds`. */
export function cacheDataSource({ db, cache, sources, whatIsMissing, pointerPrefixes }: CacheSourcePorts): DataSource {
  const judgeWithin = (
    tx: Transaction | undefined,
    words: ErasedWords,
    { projects, now, going }: { projects: Iterable<string>; now: Date; going?: ReadonlySet<string> },
  ): ValueDecider | undefined =>
    valueDecider(words, {
      within: (work) => (tx ? work(tx) : db.transaction(work)),
      projects: [...new Set(projects)],
      now,
      ...(going && { going }),
    })

  /** Names of entries, by their labels. */
  async function called(labels: readonly string[]): Promise<string[]> {
    const wanted = new Set(labels)
    return wanted.size === 0 ? [] : cache.names((name) => wanted.has(labelOf(name)) || wanted.has(name))
  }
  /** Ids to look up in the index. A client's id that looks generated, or that is unique only in its project, may belong to others. */
  const indexedOf = (ids: Iterable<string>, chosen: Iterable<Chosen>): string[] => {
    const all = [...ids]
    const inProject = uniqueInProject(all)
    return [...all, ...[...chosen].map(({ id }) => id).filter((id) => !mayBeOurKey(id) && !inProject.has(id))]
  }
  const byIndex = async (ids: readonly string[]): Promise<Set<string>> =>
    new Set(ids.length === 0 ? [] : await cache.find({ patterns: [], about: ids }))

  const spaceOf = (
    tx: Transaction,
    projects: Iterable<string>,
    recorded: readonly Claimant[] = [],
  ): Promise<KeySpace> => keySpaceOf(tx, pointerPrefixes, { projects, recorded })

  async function soughtOf(
    gathered: CacheTerms,
    who: readonly string[],
    { judge, space }: Pick<CacheSearch, 'judge' | 'space'>,
  ): Promise<CacheSearch> {
    const { ids, chosen, near, anchors, names } = gathered
    return {
      ...{ ids, chosen: chosen.values(), near, anchors, names, judge, space },
      indexed: await byIndex([...indexedOf(ids, chosen.values()), ...who]),
      around: await byIndex([...near]),
    }
  }
  /** Returns what an erasure would do to every entry. Read-only. */
  async function surveyed(
    scope: ErasureScope,
    gathered: CacheTerms,
    tx: Transaction,
    now: Date,
  ): Promise<CacheFinding[]> {
    const subject = scopeSubject(scope)
    const judge = judgeWithin(tx, gathered.words, { projects: gathered.projects, now, going: gathered.sources })
    const space = await spaceOf(tx, gathered.projects)
    const sought = await soughtOf(gathered, subject ? idsOf(subject) : [], { judge, space })
    const found = new Map<string, CacheFinding>()
    const add = async (finding: CacheFinding) => {
      const known = found.get(finding.name)
      if (known) known.changes = [...(known.changes ?? []), ...(finding.changes ?? [])]
      else found.set(finding.name, finding)
    }
    const isEmpty = gathered.ids.size + gathered.chosen.size === 0
    if (!isEmpty) await surveyCache(cache, sought, add)
    else if (sought.indexed.size > 0) await surveyCache(cache, sought, add, [...sought.indexed])
    const prefixed = [...found.values()].flatMap(({ name, isPrefixed }) => (isPrefixed ? [name] : []))
    const foreign = await foreignRefs(tx, 'cache', prefixed, [...gathered.projects])
    return [...found.values()].filter(({ name }) => !foreign.has(name))
  }

  /** Makes the changes. A change returns false if the entry was changed concurrently. */
  const apply = (
    finding: CacheFinding,
    changes: readonly CacheChange[],
    note: (label: string, what: string) => Promise<void>,
  ) =>
    Array.fromAsync(changes, async ({ part, to }) => {
      const [value = Buffer.alloc(0)] = part.texts
      await note(
        to === null ? labelOf(finding.name, part.id, value) : labelOf(finding.name, to),
        to === null ? 'deleted' : 'cut',
      )
      return cache.change(finding, part, to)
    })

  async function checkMissing(tx?: Transaction): Promise<void> {
    const missing = await whatIsMissing(tx)
    if (missing.length > 0)
      throw new Problem(
        'unavailable',
        `${missing.length} caches that kept data are switched off. Connect them again, or state that nothing is there any more.`,
      )
  }

  /** Erases what a survey finds, and stores notes so that a repeated attempt after a crash gives the same result. */
  function eraser(sought: CacheSearch, { run, notes }: { run: string; notes: Record<string, string> }) {
    const dropped = new Set<string>()
    const changed = new Set<string>()
    const retained = new Set<string>()
    const note = async (label: string, what: string) => {
      notes[label] = what
      if (run !== '') await cache.note(run, { [label]: what })
    }
    async function visit(finding: CacheFinding, tries = 0): Promise<void> {
      const { name, verdict, changes } = finding
      if (verdict === 'retained') retained.add(labelOf(name))
      else if (!changes) dropped.add(name)
      else {
        changed.add(name)
        const once = [...new Map(changes.map((one) => [one.part.id.toString('latin1'), one])).values()]
        const done = await apply(finding, once, note)
        // The entry was changed concurrently: read it and decide again.
        if (done.includes(false) && tries < mostTries)
          await surveyCache(cache, sought, (again) => visit(again, tries + 1), [name])
      }
    }
    async function finish(): Promise<number> {
      const names = [...dropped]
      let count = 0
      for (let at = 0; at < names.length; at += atOnce) {
        const some = names.slice(at, at + atOnce)
        const labels = Object.fromEntries(some.map((name) => [labelOf(name), 'deleted']))
        Object.assign(notes, labels)
        if (run !== '') await cache.note(run, labels)
        count += await cache.drop(some)
      }
      return count + [...changed].filter((name) => !dropped.has(name)).length
    }
    return { visit, finish, retained }
  }

  return {
    name: 'cache.entries',
    store: 'cache',
    isShared: true,
    // Each page reads all names and values, so pages are large.
    pageSize: 5_000,
    stage: 'derived',
    what: 'answers kept for a while that came of messages and documents',
    held: 'answers kept for a while that came of your messages and documents, as far as applications told of them',
    purpose: 'Answering the same question again without asking everything again.',
    kept: 'A day at most for ours; applications set their own times.',
    tables: [],
    async inventory(subject) {
      const [row] = await cachePointersOf(db, writersOf(subject))
      return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
    },
    async plan(scope, tx, now) {
      const subject = scopeSubject(scope)
      if (!scopePart(scope) && !subject) return { items: [], held: {} }
      const gathered = await gatherCacheTerms(sources, scope, tx, now)
      const who = subject ? idsOf(subject) : []
      const isAnything = gathered.ids.size + gathered.chosen.size > 0
      const watched = [
        ...[...gathered.ids].map((id) => cacheItemOf('about', id)),
        ...[...gathered.chosen.values()].map(chosenItem),
        ...who.map((id) => cacheItemOf('who', id)),
        ...[...gathered.anchors, ...recordedClaimants(await spaceOf(tx, gathered.projects))].map((id) =>
          cacheItemOf('within', id),
        ),
        // Carried out during erasure: finds entries written after the plan.
        ...(isAnything ? [cacheItemOf('search')] : []),
        ...[...gathered.names.keys()].map((name) => cacheItemOf('key', labelOf(name))),
      ]
      const items: string[] = []
      try {
        for (const { name, verdict } of await surveyed(scope, gathered, tx, now))
          if (verdict !== 'retained') items.push(cacheItemOf(gathered.names.has(name) ? 'key' : 'found', labelOf(name)))
      } catch (error) {
        // Plan even if the store does not answer: the step waits, then searches when the store answers again.
        if (!Problem.is(error, 'unavailable')) throw error
        items.splice(0, items.length, ...[...gathered.names.keys()].map((name) => cacheItemOf('key', labelOf(name))))
        if (watched.length > 0) items.push(cacheItemOf('search'))
      }
      const planned = new Set(items)
      return {
        items: [...planned].sort(),
        watched: [...new Set(watched)].filter((item) => !planned.has(item)).sort(),
        held: await sources.held(scope, tx, now),
      }
    },
    async explain(scope, tx, now) {
      const gathered = await gatherCacheTerms(sources, scope, tx, now)
      const verdicts = new Map<string, PlannedRecord>()
      const add = (id: string, more: Pick<PlannedRecord, 'verdict' | 'reason' | 'found'>, evidence: string[] = []) => {
        if (!verdicts.has(id)) verdicts.set(id, { store: 'cache', kind: 'key', id, name: null, evidence, ...more })
      }
      for (const name of gathered.foreign) add(name, { verdict: 'untouched', reason: 'foreign', found: 'pointer' })
      let isPartial = (await whatIsMissing(tx)).length > 0
      try {
        for (const { name, found, verdict, type, changes = [] } of await surveyed(scope, gathered, tx, now)) {
          if (verdict === 'retained') add(name, { verdict: 'kept', reason: 'other_author', found })
          else if (verdict === 'cut')
            add(
              name,
              { verdict: 'changed', reason: 'cut', found },
              type === 'string' ? [] : [`items:${changes.length}`],
            )
          else add(name, { verdict: 'deleted', reason: found === 'group' ? 'around' : 'source', found })
        }
      } catch (error) {
        if (!Problem.is(error, 'unavailable')) throw error
        isPartial = true
        for (const name of gathered.names.keys()) add(name, { verdict: 'deleted', reason: 'source', found: 'pointer' })
      }
      return { verdicts: [...verdicts.values()].sort((one, other) => (one.id < other.id ? -1 : 1)), isPartial }
    },
    async erase(scope, items, tx, options) {
      if (items.length === 0) return 0
      await checkMissing(tx)
      const kinds = itemsByKind(items)
      const now = options?.now ?? new Date()
      const gathered = await gatherCacheTerms(sources, scope, tx, now)
      const chosen = [...kinds.chosen.map(chosenOf), ...gathered.chosen.values()]
      const ids = new Set([...kinds.about, ...gathered.ids])
      const { anchors, recorded } = splitWithin(kinds.within)
      for (const anchor of anchors) gathered.anchors.add(anchor)
      for (const project of projectsAmong(anchors)) gathered.projects.add(project)
      const part = scopePart(scope)
      if (part) gathered.projects.add(part.project)
      const words = options?.words && !options.words.isEmpty ? options.words : gathered.words
      const judge = judgeWithin(tx, words, { projects: gathered.projects, now, going: gathered.sources })
      // A repeated search after the run stores no notes.
      const run = options && !options.key.includes(':late:') ? (options.key.split(':')[0] ?? '') : ''
      const notes = run === '' ? {} : await cache.notes(run)
      const subject = scopeSubject(scope)
      const sought: CacheSearch = {
        ...(await soughtOf({ ...gathered, ids, chosen: mergedChosen(chosen) }, kinds.who, {
          ...{ judge, space: await spaceOf(tx, gathered.projects, recorded) },
        })),
        isNoted: (name, value) => notes[labelOf(name, value)] === 'cut',
      }
      const work = eraser(sought, { run, notes })
      const named = await called([...kinds.key, ...kinds.found])
      const told = new Set(await called(kinds.key))
      const [known, unknown] = [
        named.filter((name) => sought.names.has(name)),
        named.filter((name) => !sought.names.has(name)),
      ]
      // Without rows, the texts of these entries are unknown. An entry that contains words of another author now belongs to that author.
      const naming: Naming = { named: [], remaining: [] }
      const again = new Map(unknown.filter((name) => told.has(name)).map((name) => [name, naming]))
      const isThere = gathered.sources.size > 0
      const binary = new Set<string>()
      let isOutside = false
      const survey = async (over: CacheSearch, names?: readonly string[]) => {
        const found: UnsearchedEntries = await surveyCache(
          cache,
          over,
          async (finding) => {
            const { name, isPrefixed = false } = finding
            const isForeign = isPrefixed && (await foreignRefs(tx, 'cache', [name], [...gathered.projects])).size > 0
            if (!isForeign) await work.visit(finding)
          },
          names,
        )
        for (const label of found.binary) binary.add(label)
        isOutside ||= found.isOutside
      }
      if (known.length > 0) await survey(sought, known)
      const others = unknown.filter((name) => !again.has(name))
      if (others.length > 0) await survey(sought, others)
      if (again.size > 0)
        await survey({ ...sought, names: again, ...(!isThere && judge && { judge: lenient(judge) }) }, [
          ...again.keys(),
        ])
      const isWide = kinds.about.length + chosen.length + kinds.search.length + kinds.within.length > 0
      const isFull = kinds.about.length + kinds.chosen.length + kinds.search.length + kinds.within.length > 0
      if (isWide && isFull) await survey(sought)
      else if (sought.indexed.size > 0) await survey(sought, [...sought.indexed])
      const count = await work.finish()
      await cache.forget([
        ...indexedOf(kinds.about, kinds.chosen.map(chosenOf)),
        ...kinds.who,
        ...(isThere ? indexedOf(gathered.ids, gathered.chosen.values()) : []),
        ...(subject && isThere ? idsOf(subject) : []),
      ])
      // Planned entries existed: after a crash they are counted as they would have been without it.
      const planned = kinds.key.length + kinds.found.length
      const labels = (what: string) => Object.entries(notes).flatMap(([label, one]) => (one === what ? [label] : []))
      const tally = (met: Iterable<string>) => ({ met: [...met], gone: [] })
      return {
        count,
        results: { keys: options?.isWatched || planned === 0 ? count : planned },
        tallies: {
          derivedCut: tally(labels('cut')),
          derivedDeleted: tally(labels('deleted')),
          derivedRetained: tally(work.retained),
          cacheBinary: tally([...binary].slice(0, mostBinary)),
          cacheOutside: tally(isOutside ? ['outside'] : []),
        },
        mentions: [],
      }
    },
    async late(scope, tx, now) {
      const gathered = await gatherCacheTerms(sources, scope, tx, now)
      if (gathered.ids.size + gathered.chosen.size === 0) return []
      const found = await surveyed(scope, gathered, tx, now)
      return found
        .filter(({ verdict, found: by }) => verdict !== 'retained' && by === 'text')
        .map(({ name }) => cacheItemOf('found', labelOf(name)))
        .sort()
    },
    async reused(items, tx, now) {
      const { key } = itemsByKind(items)
      if (key.length === 0) return []
      const told = await cacheKeysLabelled(tx, { labels: key })
      const others = await othersOf(
        tx,
        'cache',
        told.map(({ ref }) => ref),
        new Set(),
        now,
      )
      const theirs = new Set(
        [...others].flatMap((name) => [cacheItemOf('key', labelOf(name)), cacheItemOf('key', name)]),
      )
      return items.filter((item) => theirs.has(item))
    },
    /** Reads every text of every entry with other commands than the erasure, and searches for ids and words. */
    async residue(scope, items, now, words) {
      const { about, chosen: told, who, key, within } = itemsByKind(items)
      const chosen = told.map(chosenOf)
      if (about.length + chosen.length + who.length + key.length + within.length === 0) return 0
      await checkMissing()
      const left = await byIndex([...indexedOf(about, chosen), ...who])
      const part = scopePart(scope)
      const { anchors, recorded } = splitWithin(within)
      const projects = [...projectsAmong(anchors), ...(part ? [part.project] : [])]
      const space = await db.transaction((tx) => spaceOf(tx, projects, recorded))
      const judge = words && !words.isEmpty ? judgeWithin(undefined, words, { projects, now }) : undefined
      for (const name of await stillNamed(key, projects, now, judge)) left.add(name)
      for (const name of await textsLeft({ about, chosen, anchors, space }, projects, judge)) left.add(name)
      return left.size
    },
    notSearched(results) {
      const { cacheBinary = 0, cacheOutside = 0 } = results
      return [
        ...(cacheBinary > 0
          ? [
              {
                what: 'values of the cache that are encrypted, encoded, binary or compressed in a format other than gzip, deflate and zstd',
                count: cacheBinary < mostBinary ? cacheBinary : null,
              },
            ]
          : []),
        ...(cacheOutside > 0
          ? [
              {
                what: 'cache entries without an id of the project or conversation, and outside what its organisation may claim under KP_POINTER_PREFIXES: searched for ids only',
                count: null,
              },
            ]
          : []),
      ]
    },
    forget: (runId) => cache.forgetNotes(runId),
  }

  /** Of the keys that provenance named, those that exist and contain erased words or no words of a remaining author. */
  async function stillNamed(
    labels: readonly string[],
    projects: readonly string[],
    now: Date,
    judge: ValueDecider | undefined,
  ): Promise<string[]> {
    const names = await called(labels)
    if (names.length === 0) return []
    const others = await db.transaction((tx) => othersOf(tx, 'cache', names, new Set(), now))
    const plain = judgeOrNone(judge, projects, now)
    const theirs = new Set<string>()
    const erased = new Set<string>()
    await cache.read(async ({ name, parts }) => {
      for (const { texts } of parts)
        for (const text of texts) {
          const value = readable(text)
          if (await plain.hasErasedWords(value)) erased.add(name)
          else if (others.has(name) || (await plain.hasRemainingText(value))) theirs.add(name)
        }
    }, names)
    return names.filter((name) => erased.has(name) || !theirs.has(name))
  }
  function judgeOrNone(judge: ValueDecider | undefined, projects: readonly string[], now: Date): ValueDecider {
    const none: ErasedWords = { isEmpty: true, runsIn: () => [], namesIn: () => [] }
    return judge ?? valueDecider(none, { within: (work) => db.transaction(work), projects, now })
  }

  /** Names of entries that contain an erased id, or that belong to the project and contain erased words. */
  async function textsLeft(
    {
      about,
      chosen,
      anchors: within,
      space,
    }: { about: readonly string[]; chosen: readonly Chosen[]; anchors: readonly string[]; space: KeySpace },
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
      else if (judge && (isInside || name.startsWith(ownPrefix) || isInKeySpace(space, name)))
        for (const value of [{ form: 'text' as const, text: name }, ...values])
          if (await judge.hasErasedWords(value)) byWords.add(name)
    })
    const foreign = await db.transaction((tx) => foreignRefs(tx, 'cache', [...byWords], projects))
    for (const name of byWords) if (!foreign.has(name)) left.add(name)
    return left
  }
}
