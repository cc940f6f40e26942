import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Chosen, mergedChosen } from '#lib/domains/projects/cache/rules.ts'
import {
  type Claimant,
  type KeySpace,
  keySpaceOf,
  recordedClaimants,
  splitWithin,
} from '#lib/domains/projects/key-space.ts'
import { scopePart, scopeSubject, writersOf } from '#lib/domains/projects/legal-holds.ts'
import { foreignRefs, othersOf } from '#lib/domains/projects/provenance/shared-pointers.ts'
import type { Source, Sources } from '#lib/domains/projects/provenance/sources.ts'
import { readable } from '#lib/domains/projects/values/readable.ts'
import { lenient, type Naming, type ValueDecider, valueDecider } from '#lib/domains/projects/values/value-decider.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasedWords, ErasureScope, PlannedRecord } from '#lib/kernel/data-source.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { needlesOf } from '#lib/stores/cache/needles.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import { filesOf } from './repository.ts'
import {
  isCounted,
  isOurObject,
  isWordsItem,
  keyOf,
  keysAmong,
  objectItemOf,
  objectItemsOf,
  objectsOfProject,
  soughtAmong,
  soughtItems,
  wordsItemOf,
} from './rules.ts'
import { gatherObjectTerms, type ObjectTerms } from './search-terms.ts'
import {
  applicationKeys,
  mostRead,
  noneUnsearched,
  type ObjectFinding,
  type ObjectSearch,
  objectDecider,
  type UnsearchedObjects,
} from './survey.ts'

export interface ObjectsSourcePorts {
  db: Database
  objects: Pick<ObjectStore, 'erase' | 'list' | 'versions' | 'read' | 'replace' | 'eraseVersions' | 'put'>
  sources: Sources
  whatIsMissing: MissingStoreData
  /** Prefixes of keys of all organizations (KP_POINTER_PREFIXES). */
  pointerPrefixes: readonly string[]
}
/** Above this number of sources, prefixes are not listed: rows and pointers name the keys, and the sweep deletes orphaned objects. */
const mostListed = 50
const mostAsked = 500
const listed = 1000
const asked = 8
const mostTries = 8
/** Maximum count of objects that cannot be searched. */
const mostUnsearched = 1_000

/** How a key was found. If several apply, the first one. */
type ObjectMatchReason = 'row' | 'pointer' | 'prefix' | 'text'
interface Surveyed extends ObjectTerms {
  /** Keys to delete completely, because rows or their prefixes name them. */
  keys: Map<string, ObjectMatchReason>
  findings: Map<string, ObjectFinding>
  /** The store did not answer, so only rows and pointers were read. */
  isUnsearched: boolean
}
const ids = z.array(z.string())
const chosenIds = z.array(z.strictObject({ id: z.string(), anchors: z.array(z.string()) }))
const labelOf = (key: string, bytes?: Buffer): string => {
  const hash = createHash('sha256').update(key)
  if (bytes) hash.update('\0').update(bytes)
  return hash.digest('base64url').slice(0, 22)
}
/** Key prefix for notes of a run about the objects it changed. A repeated attempt after a crash then gives the same result. */
const notesOf = (run: string): string => `knowledgepulse-erasing/${run}/`
async function* nothing(): AsyncGenerator<Uint8Array> {}

/**
 * Personal data source for files: attachments, documents, and objects that applications store in the same bucket, in every version. An item
 * is a key, or a search term for late writes. Keys come from rows, from pointers, from the key prefixes of a part, and from a list of all
 * keys of applications.
 */
export function objectsDataSource({
  db,
  objects,
  sources,
  whatIsMissing,
  pointerPrefixes,
}: ObjectsSourcePorts): DataSource {
  async function* under(prefix: string): AsyncGenerator<string> {
    for (let after = ''; ; ) {
      const page = await objects.list(prefix, after, listed)
      yield* page
      const last = page.at(-1)
      if (last === undefined || page.length < listed) return
      after = last
    }
  }
  /** Keys of a message or document, in every version. */
  async function* keysOf(source: Pick<Source, 'project' | 'kind' | 'id'>): AsyncGenerator<string> {
    const own = objectItemsOf(source)
    if ((await objects.versions(own)).length > 0) yield own
    yield* under(`${own}/`)
  }
  const judgeWithin = (
    tx: Transaction | undefined,
    words: ErasedWords,
    { projects, now, going }: { projects: Iterable<string>; now: Date; going?: ReadonlySet<string> },
  ): ValueDecider =>
    valueDecider(words, {
      within: (work) => (tx ? work(tx) : db.transaction(work)),
      projects: [...new Set(projects)],
      now,
      ...(going && { going }),
    })
  const spaceOf = (
    tx: Transaction,
    projects: Iterable<string>,
    recorded: readonly Claimant[] = [],
  ): Promise<KeySpace> => keySpaceOf(tx, pointerPrefixes, { projects, recorded })
  const soughtOf = (
    { ids, chosen, anchors, names }: ObjectTerms,
    by: Pick<ObjectSearch, 'judge' | 'space'>,
  ): ObjectSearch => ({
    ids,
    chosen: chosen.values(),
    anchors,
    names,
    ...by,
  })

  /** Decides about all keys of applications and passes each finding to `visit`. Pointers of other projects protect their objects. */
  async function searchAll(
    tx: Transaction,
    sought: ObjectSearch,
    projects: Iterable<string>,
    visit: (finding: ObjectFinding) => Promise<void>,
  ): Promise<UnsearchedObjects> {
    const work = objectDecider(objects, sought)
    for await (const key of applicationKeys(objects, work.unsearched)) {
      const finding = await work.judged(key)
      if (!finding) continue
      const isForeign = finding.found === 'text' && (await foreignRefs(tx, 'objects', [key], [...projects])).has(key)
      if (!isForeign) await visit(finding)
    }
    return work.unsearched
  }

  /** Returns what an erasure would do to every object. Read-only. */
  async function surveyed(scope: ErasureScope, tx: Transaction, now: Date): Promise<Surveyed> {
    const gathered = await gatherObjectTerms(sources, scope, tx, now, mostListed + 1)
    const keys = new Map<string, ObjectMatchReason>([...gathered.rows].map((key) => [key, 'row']))
    const findings = new Map<string, ObjectFinding>()
    const add = (key: string, found: ObjectMatchReason) => {
      if (!keys.has(key)) keys.set(key, found)
    }
    let isUnsearched = false
    try {
      for (const project of gathered.whole) for await (const key of under(objectsOfProject(project))) add(key, 'prefix')
      if (gathered.whole.length === 0 && scopePart(scope) && gathered.listed.length <= mostListed)
        for (const source of gathered.listed) for await (const key of keysOf(source)) add(key, 'prefix')
      if (gathered.ids.size + gathered.chosen.size > 0) {
        const judge = judgeWithin(tx, gathered.words, { projects: gathered.projects, now, going: gathered.sources })
        const space = await spaceOf(tx, gathered.projects)
        await searchAll(tx, soughtOf(gathered, { judge, space }), gathered.projects, async (finding) => {
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

  /** The keys without an object. Empty for more than `mostAsked` keys, because each key needs a request. */
  async function absentOf(keys: readonly string[]): Promise<Set<string>> {
    const absent = new Set<string>()
    if (keys.length > mostAsked) return absent
    try {
      for (let at = 0; at < keys.length; at += asked)
        await Promise.all(
          keys.slice(at, at + asked).map(async (key) => {
            if ((await objects.versions(key)).length === 0) absent.add(key)
          }),
        )
    } catch (error) {
      if (!Problem.is(error, 'unavailable')) throw error
    }
    return absent
  }

  /** @throws {Problem} `unavailable` while a store with stored data is switched off */
  async function checkMissing(tx?: Transaction): Promise<void> {
    const missing = await whatIsMissing(tx)
    if (missing.length > 0)
      throw new Problem(
        'unavailable',
        `${missing.length} object stores that kept data are switched off. Connect them again, or state that nothing is there any more.`,
      )
  }

  const verdictOf = (
    key: string,
    found: ObjectMatchReason,
    { verdict, reason }: Pick<PlannedRecord, 'verdict' | 'reason'>,
    evidence: string[] = [],
  ): PlannedRecord => ({ store: 'objects', kind: 'object', id: key, name: null, verdict, reason, evidence, found })
  const becomes: Record<ObjectFinding['verdict'], Pick<PlannedRecord, 'verdict' | 'reason'>> = {
    deleted: { verdict: 'deleted', reason: 'source' },
    cut: { verdict: 'changed', reason: 'cut' },
    retained: { verdict: 'kept', reason: 'other_author' },
  }

  /** Erases what is found, and stores notes about changed objects. */
  function eraser(judge: () => ReturnType<typeof objectDecider>, run: string, notes: Set<string>) {
    const done = { cut: new Set<string>(), deleted: new Set<string>(), retained: new Set<string>() }
    async function visit(finding: ObjectFinding, tries = 0): Promise<void> {
      const { key, verdict, cut, former } = finding
      const label = labelOf(key)
      if (verdict === 'retained') done.retained.add(label)
      else if (former) {
        await objects.eraseVersions(key, former)
        done.cut.add(label)
      } else if (cut) {
        const note = labelOf(key, cut.bytes)
        if (run !== '' && !notes.has(note)) {
          await objects.put(notesOf(run) + note, nothing(), { mediaType: 'text/plain' })
          notes.add(note)
        }
        if (await objects.replace(key, cut, cut.bytes)) done.cut.add(label)
        else if (tries < mostTries) {
          // The object was changed concurrently: read it and decide again.
          const again = await judge().judged(key)
          if (again) await visit(again, tries + 1)
        }
      } else if ((await objects.erase([key])) > 0) done.deleted.add(label)
    }
    return { visit, done }
  }

  return {
    name: 'objects.bytes',
    store: 'objects',
    isShared: true,
    stage: 'derived',
    pageSize: 50,
    what: 'files of messages and documents, in every version',
    held: 'files of your messages, and documents',
    purpose: 'Keeping the attachments and documents of a project for its members.',
    kept: 'As long as the message or document.',
    tables: [],
    async inventory(subject) {
      const [row] = await filesOf(db, writersOf(subject))
      return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
    },
    async plan(scope, tx, now) {
      if (!scopePart(scope) && !scopeSubject(scope)) return { items: [], held: {} }
      const { keys, names, findings, isUnsearched, ids, chosen, anchors, projects } = await surveyed(scope, tx, now)
      const planned = new Map(keys)
      for (const [key, { verdict, found }] of findings) if (verdict !== 'retained') planned.set(key, found)
      const told = [...names.keys()].filter((key) => !keys.has(key))
      const absent = isUnsearched ? new Set<string>() : new Set(told.filter((key) => !findings.has(key)))
      for (const key of await absentOf([...keys].flatMap(([key, found]) => (found === 'pointer' ? [key] : []))))
        absent.add(key)
      for (const key of told) if (!planned.has(key)) planned.set(key, 'pointer')
      for (const [key, { verdict }] of findings) if (verdict === 'retained') absent.add(key)
      const [items, watched]: [string[], string[]] = [[], []]
      const isIdIn = needlesOf([...ids]).standIn
      for (const key of planned.keys()) {
        const isOnlyWords = planned.get(key) === 'text' && !isIdIn(key)
        const item = isOnlyWords ? wordsItemOf(key) : objectItemOf(key, { isThere: !absent.has(key) })
        ;(isCounted(item) ? items : watched).push(item)
      }
      watched.push(
        ...soughtItems('ids', ids),
        ...soughtItems('chosen', chosen.values()),
        ...soughtItems('within', [...recordedClaimants(await spaceOf(tx, projects)), ...anchors]),
      )
      return { items: items.sort(), watched: watched.sort(), held: await sources.held(scope, tx, now) }
    },
    async explain(scope, tx, now) {
      const { keys, names, foreign, findings, isUnsearched } = await surveyed(scope, tx, now)
      const found = new Map<string, PlannedRecord>()
      const evidence = async (key: string) => (isUnsearched ? [] : [`versions:${(await objects.versions(key)).length}`])
      for (const [key, by] of keys) found.set(key, verdictOf(key, by, becomes.deleted, await evidence(key)))
      for (const [key, { verdict, found: by }] of findings)
        found.set(key, verdictOf(key, by, becomes[verdict], await evidence(key)))
      if (isUnsearched)
        for (const key of names.keys()) if (!found.has(key)) found.set(key, verdictOf(key, 'pointer', becomes.deleted))
      for (const key of foreign)
        if (!found.has(key)) found.set(key, verdictOf(key, 'pointer', { verdict: 'untouched', reason: 'foreign' }))
      const verdicts = [...found.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
      return { verdicts, isPartial: isUnsearched || (await whatIsMissing(tx)).length > 0 }
    },
    async erase(scope, items, tx, options) {
      if (items.length === 0) return 0
      await checkMissing(tx)
      const now = options?.now ?? new Date()
      const keys = keysAmong(items)
      const own = keys.filter(isOurObject)
      const gathered = await gatherObjectTerms(sources, scope, tx, now, 0)
      const others = keys.filter((key) => !isOurObject(key))
      const isThere = gathered.sources.size > 0
      const wanted = soughtIn(items)
      const isWide = wanted.ids.length + wanted.chosen.length + wanted.anchors.length > 0
      for (const id of wanted.ids) gathered.ids.add(id)
      gathered.chosen = mergedChosen([...gathered.chosen.values(), ...wanted.chosen])
      for (const anchor of wanted.anchors) gathered.anchors.add(anchor)
      for (const project of wanted.projects) gathered.projects.add(project)
      const part = scopePart(scope)
      if (part) gathered.projects.add(part.project)
      const words = options?.words && !options.words.isEmpty ? options.words : gathered.words
      const judge = judgeWithin(tx, words, { projects: gathered.projects, now, going: gathered.sources })
      const run = options && !options.key.includes(':late:') ? (options.key.split(':')[0] ?? '') : ''
      const notes = new Set<string>()
      if (run !== '' && others.length + (isWide ? 1 : 0) > 0)
        for await (const key of under(notesOf(run))) notes.add(key.slice(notesOf(run).length))
      const keptBefore = new Set<string>()
      const space = await spaceOf(tx, gathered.projects, wanted.recorded)
      const sought: ObjectSearch = {
        ...soughtOf(gathered, { judge: isThere ? judge : lenient(judge), space }),
        isNoted(key, bytes) {
          const isCut = notes.has(labelOf(key, bytes))
          if (isCut) keptBefore.add(key)
          return isCut
        },
        // Without rows, the texts of these objects are unknown. An object that contains words of another author now belongs to that author.
        ...(!isThere && { names: new Map(others.map((key) => [key, unknown])) }),
      }
      const work = eraser(() => objectDecider(objects, sought), run, notes)
      const rows = own.length === 0 ? 0 : await objects.erase(own)
      const counted = new Set(items.filter(isCounted).map(keyOf))
      const one = objectDecider(objects, sought)
      for (const key of others) {
        const finding = await one.judged(key)
        if (finding) await work.visit(finding)
      }
      const unsearched = isWide ? await searchAll(tx, sought, gathered.projects, work.visit) : noneUnsearched()
      const { cut, deleted, retained } = work.done
      const planned = own.filter((key) => counted.has(key)).length + others.filter((key) => counted.has(key)).length
      const late = [...cut, ...deleted].filter(
        (label) => !others.some((key) => counted.has(key) && labelOf(key) === label),
      )
      const lateRows = own.some((key) => counted.has(key)) ? 0 : rows
      const count = rows + cut.size + deleted.size
      // A planned object that does not exist was deleted, now or before a crash.
      for (const key of others) {
        const label = labelOf(key)
        if (keptBefore.has(key)) cut.add(label)
        else if (counted.has(key) && !cut.has(label) && (await objects.versions(key)).length === 0) deleted.add(label)
      }
      const tally = (met: Iterable<string>) => ({ met: [...met], gone: [] })
      return {
        count,
        // Planned objects existed: those erased before a crash are counted with their page.
        results: { objects: planned + lateRows + late.length },
        tallies: {
          derivedCut: tally(cut),
          derivedDeleted: tally(deleted),
          derivedRetained: tally(retained),
          objectsBinary: tally([...unsearched.binary].slice(0, mostUnsearched).map((key) => labelOf(key))),
          objectsLarge: tally([...unsearched.large].slice(0, mostUnsearched).map((key) => labelOf(key))),
          objectsOutside: tally(unsearched.isOutside ? ['outside'] : []),
          objectsBeyond: tally(unsearched.isBeyond ? ['beyond'] : []),
        },
        mentions: [],
      }
    },
    async reused(items, tx, now) {
      const others = await othersOf(tx, 'objects', keysAmong(items), new Set(), now)
      return items.filter((item) => others.has(keyOf(item)))
    },
    /** Reads every version of every planned key, of all keys with a prefix of the part, and of all keys of applications. */
    async residue(scope, items, now, words) {
      const part = scopePart(scope)
      if (items.length === 0 && !part) return 0
      await checkMissing()
      const left = new Set<string>()
      const wanted = soughtIn(items)
      const projects = [...wanted.projects, ...(part ? [part.project] : [])]
      const judge = judgeWithin(undefined, words ?? noWords, { projects, now })
      const named = await db.transaction((tx) => othersOf(tx, 'objects', keysAmong(items), new Set(), now))
      // Keys found by words are read below.
      const keys = keysAmong(items.filter((item) => !isWordsItem(item))).values()
      await Promise.all(
        Array.from({ length: asked }, async () => {
          for (const key of keys) if (!(await isGone(key, judge, named.has(key)))) left.add(key)
        }),
      )
      if (part?.kind === 'project')
        for (const key of await objects.list(objectsOfProject(part.id), '', listed)) left.add(key)
      if (part?.kind === 'message' || part?.kind === 'document')
        for await (const key of keysOf({ project: part.project, kind: part.kind, id: part.id })) left.add(key)
      if (wanted.ids.length + wanted.chosen.length + wanted.anchors.length > 0)
        for (const key of await wordsLeft(wanted, projects, judge)) left.add(key)
      return left.size
    },
    notSearched({ objectsBinary = 0, objectsLarge = 0, objectsOutside = 0, objectsBeyond = 0 }) {
      const exact = (count: number) => (count < mostUnsearched ? count : null)
      const records: { what: string; count: number | null }[] = []
      if (objectsBinary > 0)
        records.push({
          what: 'binary, encrypted or encoded objects (images, PDF files, archives)',
          count: exact(objectsBinary),
        })
      if (objectsLarge > 0)
        records.push({ what: `objects of more than ${mostRead / 1024 / 1024} MiB`, count: exact(objectsLarge) })
      if (objectsOutside > 0)
        records.push({
          what: 'objects whose keys have no id of the project or conversation, outside what its organisation may claim under KP_POINTER_PREFIXES: only their keys are searched',
          count: null,
        })
      if (objectsBeyond > 0)
        records.push({ what: 'objects beyond the first million keys of the object store', count: null })
      return records
    },
    async forget(runId) {
      const notes = await Array.fromAsync(under(notesOf(runId)))
      if (notes.length > 0) await objects.erase(notes)
    },
  }

  /** Whether no residue remains of an object that an erasure deleted or cut. */
  async function isGone(key: string, judge: ValueDecider, isNamed: boolean): Promise<boolean> {
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
    { ids, chosen, anchors, recorded }: ReturnType<typeof soughtIn>,
    projects: readonly string[],
    judge: ValueDecider,
  ): Promise<Set<string>> {
    const space = await db.transaction((tx) => spaceOf(tx, projects, recorded))
    const sought = { ...{ ids, chosen, anchors, judge, space }, names: new Map<string, Naming>() }
    const { isInside, hasErasedId } = objectDecider(objects, sought)
    const left = new Set<string>()
    for await (const key of applicationKeys(objects, noneUnsearched())) {
      if (hasErasedId(key)) left.add(key)
      else if (isInside(key))
        for (const { version } of await objects.versions(key)) {
          const one = await objects.read(key, mostRead, version)
          const texts = [key, ...(one?.described ?? [])].map((text) => ({ form: 'text' as const, text }))
          for (const value of [...texts, ...(one?.bytes ? [readable(one.bytes)] : [])])
            if (await judge.hasErasedWords(value)) left.add(key)
        }
    }
    const foreign = await db.transaction((tx) => foreignRefs(tx, 'objects', [...left], projects))
    return new Set([...left].filter((key) => !foreign.has(key)))
  }
}

const noWords: ErasedWords = { isEmpty: true, runsIn: () => [], namesIn: () => [] }
const unknown: Naming = { named: [], remaining: [] }

function soughtIn(items: readonly string[]): {
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
