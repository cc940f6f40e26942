import { createHash } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'
import {
  type DataSource,
  type Erased,
  type ErasedWords,
  type ErasureOptions,
  type Explained,
  type ItemId,
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
import { isRecordRefusal, storeRefusalOf } from '#lib/kernel/store-refusal.ts'
import { searchStringsOf } from '#lib/stores/cache/search-strings.ts'
import { placeholder } from '#lib/stores/checkpoints/search-strings.ts'
import { inKeyOrder, isAskable, isObjectKey } from '#lib/stores/objects/keys.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'
import { isDistinctiveKey, mergedChosen } from '../cache/rules.ts'
import { machineFiles } from '../documents/repository.ts'
import { isInKeySpace, recordedClaimants } from '../key-space.ts'
import { scopePart, scopeSubject, writersOf } from '../legal-holds.ts'
import { filesNotCompared, maxFile } from '../provenance/file-texts.ts'
import { foreignRefs, othersOf } from '../provenance/pointers.ts'
import { filesWithoutText } from '../provenance/repository.ts'
import { filesOf } from '../repository.ts'
import { changeableRecords } from '../rows/repository.ts'
import { hiddenRecords } from '../values/hidden-records.ts'
import { isNamedByOthers, readable } from '../values/readable.ts'
import { type Naming, orphanedValueDecider, type ValueDecider, valueDeciderIn } from '../values/value-decider.ts'
import { cutFrom } from '../words/derived-text.ts'
import { Fingerprints, mergeSpans } from '../words/fingerprints.ts'
import {
  findObjects,
  gatherObjectTerms,
  keysOfSource,
  keysUnder,
  keysWithRows,
  labelOf,
  listedAtOnce,
  type ObjectMatchReason,
  type ObjectsSourcePorts,
  type ObjectTerms,
  objectKeySpace,
  objectOwnership,
  objectSearchOf,
  searchApplicationKeys,
  termsInItems,
} from './object-search.ts'
import {
  installationKey,
  isCounted,
  isOurObject,
  isReserved,
  isUploadKey,
  isWordsItem,
  keyOf,
  keysAmong,
  notePrefix,
  objectItemOf,
  objectsOfProject,
  soughtItems,
  wordsItemOf,
} from './rules.ts'
import {
  applicationKeys,
  maxOwn,
  maxRead,
  noneUnsearched,
  type ObjectFinding,
  type ObjectSearch,
  objectDecider,
} from './scan.ts'

/** Above this number of keys, the plan does not check whether their objects exist. */
const maxAsked = 500
const asked = 8

/** Whether a key without a version has no object. A server cannot be asked for a key with control characters, but it lists the key. */
const isUnlisted = async (objects: Pick<ObjectStore, 'list'>, key: string): Promise<boolean> =>
  isObjectKey(key) || !(await objects.list(key, '', 1)).includes(key)
const isAbsent = async (objects: Pick<ObjectStore, 'versions' | 'list'>, key: string): Promise<boolean> =>
  (await objects.versions(key)).length === 0 && (await isUnlisted(objects, key))

/** The keys without an object. Empty for more than `maxAsked` keys, because each key needs a request. */
async function absentOf(objects: ObjectsSourcePorts['objects'], keys: readonly string[]): Promise<Set<string>> {
  const absent = new Set<string>()
  if (keys.length > maxAsked) return absent
  try {
    for (let at = 0; at < keys.length; at += asked)
      await Promise.all(
        keys.slice(at, at + asked).map(async (key) => {
          if (await isAbsent(objects, key)) absent.add(key)
        }),
      )
  } catch (error) {
    if (!Problem.is(error, 'unavailable')) throw error
  }
  return absent
}

async function planObjects(
  ports: ObjectsSourcePorts,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<Planned> {
  const { objects, sources } = ports
  if (!scopePart(scope) && !scopeSubject(scope)) return { items: [], held: {} }
  const { keys, names, findings, isUnsearched, ids, chosen, anchors, projects } = await findObjects(
    ports,
    scope,
    tx,
    now,
  )
  const planned = new Map(keys)
  for (const [key, { verdict, found }] of findings) if (verdict !== 'retained') planned.set(key, found)
  const answers = [...names.keys()].filter((key) => !keys.has(key))
  const absent = isUnsearched ? new Set<string>() : new Set(answers.filter((key) => !findings.has(key)))
  for (const key of await absentOf(
    objects,
    [...keys].flatMap(([key, found]) => (found === 'pointer' ? [key] : [])),
  ))
    absent.add(key)
  for (const key of answers) if (!planned.has(key)) planned.set(key, 'pointer')
  for (const [key, { verdict }] of findings) if (verdict === 'retained') absent.add(key)
  const [items, watched]: [string[], string[]] = [[], []]
  const isIdIn = searchStringsOf([...ids]).occursIn
  for (const key of planned.keys()) {
    const isOnlyWords = planned.get(key) === 'text' && !isIdIn(key)
    const item = isOnlyWords ? wordsItemOf(key) : objectItemOf(key, { isThere: !absent.has(key) })
    ;(isCounted(item) ? items : watched).push(item)
  }
  watched.push(
    ...soughtItems('ids', ids),
    ...soughtItems('chosen', chosen.values()),
    ...soughtItems('within', [...recordedClaimants(await objectKeySpace(ports, tx, projects)), ...anchors]),
  )
  return { items: items.sort(), watched: watched.sort(), held: await sources.held(scope, tx, now) }
}

const decisionOf = (
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

/** Whether the key of an object leads to the project: other keys may tell who else said the same. */
function isNamedIn({ names, foreign, ids, anchors, chosen }: ObjectTerms): (key: string) => boolean {
  const known = searchStringsOf([...ids, ...anchors, ...[...chosen.keys()].filter(isDistinctiveKey)])
  return (key) => names.has(key) || foreign.has(key) || known.occursIn(key)
}

/** What an erasure would do to each object. Of objects that do not name the project, only their number. */
async function explainObjects(
  ports: ObjectsSourcePorts,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<Explained> {
  const { objects, whatIsMissing } = ports
  const all = await findObjects(ports, scope, tx, now)
  const { keys, names, foreign, findings, isUnsearched } = all
  const found = new Map<string, PlannedRecord>()
  const isShown = isNamedIn(all)
  const hidden = hiddenRecords('objects', 'object')
  const evidence = async (key: string) => (isUnsearched ? [] : [`versions:${(await objects.versions(key)).length}`])
  for (const [key, by] of keys) found.set(key, decisionOf(key, by, becomes.deleted, await evidence(key)))
  for (const [key, { verdict, found: by, versions }] of findings)
    if (!isShown(key)) hidden.add({ ...becomes[verdict], found: by })
    else {
      const how = versions ? [`versions:${versions.length}`] : await evidence(key)
      found.set(key, decisionOf(key, by, becomes[verdict], how))
    }
  if (isUnsearched)
    for (const key of names.keys()) if (!found.has(key)) found.set(key, decisionOf(key, 'pointer', becomes.deleted))
  for (const key of foreign)
    if (!found.has(key)) found.set(key, decisionOf(key, 'pointer', { verdict: 'untouched', reason: 'foreign' }))
  const verdicts = [...found.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
  return {
    verdicts: [...verdicts, ...hidden.records()],
    isPartial: isUnsearched || (await whatIsMissing(tx)).length > 0,
  }
}

const keysAtOnce = 100

/**
 * The item of an object in the key space of the projects, unless a pointer of another project names it. None for an upload: its row may be
 * stored at any moment, and a sweep deletes what a crash left.
 */
async function itemsOf(
  ports: ObjectsSourcePorts,
  key: string,
  projects: readonly string[],
  tx: Transaction,
): Promise<ItemId[]> {
  // In another project, an assistant may have said the same.
  const [file] = await machineFiles(tx, { keys: [key] })
  if (file) return projects.includes(file.project) ? [wordsItemOf(key)] : []
  if (isUploadKey(key) || (await keysWithRows(tx, [key])).has(key)) return []
  const space = await objectKeySpace(ports, tx, projects)
  if (!isInKeySpace(space, key) && !projects.some((project) => key.includes(project))) return []
  return (await foreignRefs(tx, 'objects', [key], [...projects])).has(key) ? [] : [wordsItemOf(key)]
}

/**
 * Reads all objects in every version, but files of people and snapshots that rows of this installation name, which are deleted with their
 * rows. Files of assistants and tools quote people, so they are read.
 */
const objectReader =
  (ports: ObjectsSourcePorts) =>
  async (after: string | null, visit: (place: ReadPlace) => Promise<void>, until?: string): Promise<ReadPage> => {
    const { db, objects } = ports
    await requireConnectedStores(ports.whatIsMissing)
    const unread: Partial<Record<UnreadReason, number>> = {}
    const add = (reason: UnreadReason) => {
      unread[reason] = (unread[reason] ?? 0) + 1
    }
    const keys = (await objects.list('', after ?? '', keysAtOnce)).filter(
      (key) => until === undefined || inKeyOrder(key, until) <= 0,
    )
    const own = await keysWithRows(db, keys)
    const machines = new Map((await machineFiles(db, { keys: [...own] })).map((one) => [one.key, one]))
    /** The store denies the access to one object, for example because of its encryption, but not to others. */
    const readOne = async (key: string, version: string) => {
      try {
        return await objects.read(key, maxRead, version)
      } catch (error) {
        if (storeRefusalOf(error) !== 'access_denied' || (await objects.read(installationKey, maxRead)) === undefined)
          throw error
        return 'refused'
      }
    }
    for (const key of keys) {
      const file = machines.get(key)
      if (own.has(key) && !file) continue
      const place: ReadPlace = {
        id: `object:${labelOf(key)}`,
        texts: [],
        itemsOf: (projects, tx) => itemsOf(ports, key, projects, tx),
        isOfOthers: async (projects, tx) =>
          file ? !projects.includes(file.project) : isNamedByOthers(key, projects, tx),
      }
      const miss = async (reason: UnreadReason) => {
        add(reason)
        await visit({ ...place, isUnread: true })
      }
      const versions = await objects.versions(key)
      if (versions.length === 0 && !(await isUnlisted(objects, key))) await miss('format')
      for (const { version, at } of versions) {
        if (version.startsWith('upload:')) {
          await miss('format')
          continue
        }
        const one = await readOne(key, version)
        if (one === 'refused') await miss('format')
        if (!one || one === 'refused') continue
        if (!one.bytes) add(one.isArchived || one.isRefused ? 'format' : 'large')
        const value = one.bytes && readable(one.bytes)
        if (value?.form === 'binary') add('binary')
        if (one.hasRefusedTags) add('format')
        await visit({
          ...place,
          texts: [key, one.described.join('\n'), value?.text ?? ''],
          isUnread: !value || value.form === 'binary' || one.hasRefusedTags === true,
          writtenAt: async () => at,
        })
      }
    }
    return { next: keys.length < keysAtOnce ? null : (keys.at(-1) ?? null), unread }
  }

/** Keys that are read concurrently. */
const atOnce = 8

/** Counts objects with erased data, in every version of every planned key, every key of the part and every key of applications. */
async function residueOfObjects(
  ports: ObjectsSourcePorts,
  scope: ErasureScope,
  items: readonly string[],
  now: Date,
  words: ErasedWords = new Fingerprints(),
  further: readonly string[] = [],
): Promise<number> {
  const { db, objects } = ports
  const part = scopePart(scope)
  if (items.length === 0 && !part) return 0
  await requireConnectedStores(ports.whatIsMissing)
  const left = new Set<string>()
  const wanted = termsInItems(items)
  const projects = [...new Set([...wanted.projects, ...(part ? [part.project] : []), ...further])]
  const wordDecider = valueDeciderIn(db, undefined, words, { projects, now })
  const named = await db.transaction((tx) => othersOf(tx, 'objects', keysAmong(items), new Set(), now))
  // Keys found by words are read below.
  const reported = new Set(keysAmong(items.filter((item) => !isWordsItem(item))))
  // The erasure leaves what belongs to other rows, so it is no residue.
  const withRows = await keysWithRows(
    db,
    [...reported].filter((key) => !isOurObject(key)),
  )
  const keys = [...reported].filter((key) => isOurObject(key) || !(isReserved(key) || withRows.has(key))).values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const key of keys) if (!(await isDeleted(objects, key, wordDecider, named.has(key)))) left.add(key)
    }),
  )
  if (part?.kind === 'project')
    for (const key of await objects.list(objectsOfProject(part.id), '', listedAtOnce)) left.add(key)
  if (part?.kind === 'message' || part?.kind === 'document')
    for await (const key of keysOfSource(objects, { project: part.project, kind: part.kind, id: part.id }))
      left.add(key)
  if (wanted.ids.length + wanted.chosen.length + wanted.anchors.length > 0)
    for (const key of await wordsLeft(ports, scope, wanted, projects, { wordDecider, reported })) left.add(key)
  return left.size
}

/** Whether no residue remains of an object that an erasure deleted or cut. */
async function isDeleted(
  objects: ObjectsSourcePorts['objects'],
  key: string,
  wordDecider: ValueDecider,
  isNamed: boolean,
): Promise<boolean> {
  const versions = await objects.versions(key)
  if (versions.length === 0) return isUnlisted(objects, key)
  if (isOurObject(key)) return false
  let isTheirs = false
  for (const { version } of versions) {
    const one = await objects.read(key, maxRead, version)
    if (!one) continue
    if (!one.bytes) return isNamed
    const value = readable(one.bytes)
    if (await wordDecider.hasErasedWords(value)) return false
    isTheirs ||= isNamed || (await wordDecider.hasRemainingText(value))
  }
  return isTheirs
}
/**
 * Keys of applications that contain erased ids, and keys of the project with erased words or ids in any version. A report may name an object
 * that remains with the id of a source.
 */
async function wordsLeft(
  ports: ObjectsSourcePorts,
  scope: ErasureScope,
  { ids, chosen, anchors, recorded }: ReturnType<typeof termsInItems>,
  projects: readonly string[],
  { wordDecider, reported }: { wordDecider: ValueDecider; reported: ReadonlySet<string> },
): Promise<Set<string>> {
  const { db, objects } = ports
  const space = await db.transaction((tx) => objectKeySpace(ports, tx, projects, recorded))
  const ownedBy = objectOwnership((work) => db.transaction(work), scope, { projects, ids })
  const sought = { ids, chosen, anchors, wordDecider, space, names: new Map<string, Naming>(), ownershipOf: ownedBy }
  const { isInside, hasErasedId, mayErase, namesErased, ownershipOf } = objectDecider(objects, sought)
  const left = new Set<string>()
  const named = (keys: readonly string[]) => keysWithRows(db, keys)
  for await (const key of applicationKeys(objects, named, noneUnsearched())) {
    // The erasure counts it as not searched.
    if (!isAskable(key)) continue
    if (await hasErasedId(key)) left.add(key)
    else if (isInside(key)) {
      const ownership = ownershipOf(key)
      const mayEraseHere = mayErase(key)
      for (const { version } of await objects.versions(key)) {
        const one = await objects.read(key, maxRead, version)
        const texts = [key, ...(one?.described ?? [])].map((text) => ({ form: 'text' as const, text }))
        for (const value of [...texts, ...(one?.bytes ? [readable(one.bytes)] : [])])
          if (
            (!reported.has(key) && namesErased(value.text) && (await mayEraseHere())) ||
            (await wordDecider.hasErasedWords(value, ownership))
          )
            left.add(key)
      }
    }
  }
  const foreign = await db.transaction((tx) => foreignRefs(tx, 'objects', [...left], projects))
  return new Set([...left].filter((key) => !foreign.has(key)))
}

const maxTries = 8
/** At most this many objects that cannot be searched are counted. From this number on, the receipt names no count. */
const maxUnsearched = 1_000
const unknown: Naming = { named: [], remaining: [] }

/** The notes of a run; none without a run. */
async function notesOfRun(objects: ObjectsSourcePorts['objects'], run: string): Promise<Set<string>> {
  const notes = new Set<string>()
  const prefix = notePrefix(run)
  if (run !== '') for await (const key of keysUnder(objects, prefix)) notes.add(key.slice(prefix.length))
  return notes
}
async function* nothing(): AsyncGenerator<Uint8Array> {}

/** With a note that has the label of an object as its name: whether the object was cut or deleted by deleting single versions. */
const noteOfVersions = (label: string, became: 'cut' | 'deleted'): string => labelOf(label, Buffer.from(became))
/** Adds the objects of which an earlier attempt deleted versions, and that this one found no more. */
function addNoted(notes: ReadonlySet<string>, { cut, deleted }: { cut: Set<string>; deleted: Set<string> }): void {
  for (const label of notes) {
    if (cut.has(label) || deleted.has(label)) continue
    if (notes.has(noteOfVersions(label, 'deleted'))) deleted.add(label)
    else if (notes.has(noteOfVersions(label, 'cut'))) cut.add(label)
  }
}

/** Erases what is found, and stores notes about changed objects. */
function eraser(objects: ObjectsSourcePorts['objects'], sought: ObjectSearch, run: string, notes: Set<string>) {
  const done = { cut: new Set<string>(), deleted: new Set<string>(), retained: new Set<string>() }
  let refused: unknown
  /** Stores those of these notes that are not stored yet, and returns their keys. */
  async function addNotes(names: readonly string[]): Promise<string[]> {
    const added = run === '' ? [] : names.filter((name) => !notes.has(name))
    for (const name of added) await objects.put(notePrefix(run) + name, nothing(), { mediaType: 'text/plain' })
    for (const name of added) notes.add(name)
    return added
  }
  /** Deletes versions. If the store refuses it, no note says that it happened. */
  async function eraseNoted(key: string, versions: readonly string[], names: readonly string[]): Promise<void> {
    const added = await addNotes(names)
    try {
      await objects.eraseVersions(key, versions)
    } catch (error) {
      for (const name of added) notes.delete(name)
      if (added.length > 0) await objects.erase(added.map((name) => notePrefix(run) + name)).catch(() => {})
      throw error
    }
  }
  async function change(finding: ObjectFinding, tries = 0): Promise<void> {
    const { key, verdict, cut, versions, newest } = finding
    const label = labelOf(key)
    // The object was changed concurrently: read it and decide again.
    const decideAgain = async () => {
      const again = tries < maxTries ? await objectDecider(objects, sought).judged(key) : undefined
      if (again) await change(again, tries + 1)
    }
    if (verdict === 'retained') done.retained.add(label)
    else if (versions) {
      // The id of a version names one content forever. Without versions, the content is compared just before it is deleted.
      if (newest?.version === '' && (await objects.read(key, 0))?.state !== newest.state) return decideAgain()
      await eraseNoted(key, versions, [label, noteOfVersions(label, verdict)])
      // An application may have written a new version meanwhile.
      const isGone = verdict === 'deleted' && (await objects.read(key, 0)) === undefined
      done[isGone ? 'deleted' : 'cut'].add(label)
    } else if (cut) {
      await addNotes([labelOf(key, cut.bytes)])
      if (!(await objects.replace(key, cut, cut.bytes, cut.texts))) return decideAgain()
      await objects.eraseVersions(key, await objectDecider(objects, sought).formerOf(key, cut))
      done.cut.add(label)
    } else if ((await objects.erase([key])) > 0) done.deleted.add(label)
  }
  /** Continues after an object that its store refuses for what it is, or that is locked. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      // A lock or a retention rule concerns one object as well.
      if (!isRecordRefusal(error) && storeRefusalOf(error) !== 'locked') throw error
      refused ??= error
    }
  }
  return {
    done,
    attempt,
    visit: (finding: ObjectFinding): Promise<void> => attempt(() => change(finding)),
    /** Fails if an object stays with erased words. Only a search that is read again afterwards may ignore it. */
    requireChanged(): void {
      if (refused !== undefined) throw refused
    },
  }
}

/** Adds the terms that items record to those of the rows, which no longer exist when an erasure is repeated. */
function addTerms(terms: ObjectTerms, recorded: ReturnType<typeof termsInItems>, scope: ErasureScope): void {
  for (const id of recorded.ids) terms.ids.add(id)
  terms.chosen = mergedChosen([...terms.chosen.values(), ...recorded.chosen])
  for (const anchor of recorded.anchors) terms.anchors.add(anchor)
  const part = scopePart(scope)
  for (const project of [...recorded.projects, ...(part ? [part.project] : [])]) terms.projects.add(project)
}

/** Erases keys of this installation's own objects. Their rows name them, so no text has to be read. */
async function eraseOwnObjects(
  { objects }: ObjectsSourcePorts,
  items: readonly string[],
  tallies: NonNullable<Erased['tallies']>,
): Promise<Erased> {
  const rows = await objects.erase(items.map(keyOf))
  const planned = items.filter(isCounted).length
  return { count: rows, results: { objects: planned > 0 ? planned : rows }, tallies, mentions: [] }
}

/** How many of these files have words that were not compared with other data. Notes of the run tell it of files that are deleted already. */
async function comparedOf(
  { objects }: ObjectsSourcePorts,
  keys: readonly string[],
  tx: Transaction,
  { words, run }: { words: ErasedWords; run: string },
): Promise<NonNullable<Erased['tallies']>> {
  const files = keys.length === 0 ? [] : await filesWithoutText(tx, { keys: [...keys] })
  if (files.length === 0) return {}
  const found = await filesNotCompared(
    (key, max) => objects.read(key, max),
    files.map(({ file }) => file),
    words,
  )
  const noteOf = (key: string, found: 'binary' | 'short') => labelOf(labelOf(key), Buffer.from(found))
  if (run !== '')
    for (const what of ['binary', 'short'] as const)
      for (const key of found.settled[what])
        await objects.put(notePrefix(run) + noteOf(key, what), nothing(), { mediaType: 'text/plain' })
  const notes = found.missing.length > 0 ? await notesOfRun(objects, run) : new Set<string>()
  for (const key of found.missing)
    if (notes.has(noteOf(key, 'binary'))) found.noText.push(key)
    else if (!notes.has(noteOf(key, 'short'))) found.unread.push(key)
  const labels = (some: readonly string[]) => tallyOf(some.slice(0, maxUnsearched).map((key) => labelOf(key)))
  return { filesNoText: labels(found.noText), filesUnread: labels(found.unread) }
}

/**
 * Cuts the erased words from text files of assistants and tools in the projects, except those under legal hold. Their rows get the new size and
 * hash. Other files stay, also those that the store does not change: a complete reading counts them as left, or as not read. Returns the keys of
 * changed files.
 */
async function cutMachineFiles(
  { objects }: ObjectsSourcePorts,
  keys: readonly string[],
  { projects, words, now }: { projects: ReadonlySet<string>; words: ErasedWords; now: Date },
  tx: Transaction,
  attempt: (work: () => Promise<void>) => Promise<void>,
): Promise<string[]> {
  const changed: string[] = []
  if (keys.length === 0 || words.isEmpty) return changed
  for (const { key, kind, id, project } of await machineFiles(tx, { keys: [...keys] })) {
    if (!projects.has(project) || (await changeableRecords(tx, { ids: [id], now }, kind)).length === 0) continue
    await attempt(async () => {
      const one = await objects.read(key, maxRead)
      if (!one?.bytes) return
      const { form, text } = readable(one.bytes)
      const runs = words.runsIn(text)
      const found = [...runs, ...words.namesIn(text)]
      const rest =
        form === 'text' && found.length > 0
          ? Buffer.from(cutFrom(text, mergeSpans(found), runs) ?? placeholder)
          : one.bytes
      if (rest !== one.bytes && !(await objects.replace(key, one, rest))) return
      // Also if an attempt stopped after it stored the content, and before the former versions: they may be locked.
      const data = { bytes: rest.length, sha256: new Uint8Array(createHash('sha256').update(rest).digest()) }
      await (kind === 'messages'
        ? tx.attachment.updateMany({ where: { objectKey: key }, data })
        : tx.document.updateMany({ where: { objectKey: key }, data }))
      const newest = await objects.read(key, 0)
      const former = (await objects.versions(key)).map(({ version }) => version)
      await objects.eraseVersions(
        key,
        former.filter((version) => version !== newest?.version && !version.startsWith('upload:')),
      )
      if (rest !== one.bytes) changed.push(key)
    })
  }
  return changed
}

/** Erases the keys of a page, and every other object that its search terms find. */
async function eraseObjects(
  ports: ObjectsSourcePorts,
  scope: ErasureScope,
  items: readonly string[],
  tx: Transaction,
  options: ErasureOptions | undefined,
): Promise<number | Erased> {
  if (items.length === 0) return 0
  const { db, objects, sources } = ports
  await requireConnectedStores(ports.whatIsMissing, tx)
  const now = options?.now ?? new Date()
  const keys = keysAmong(items)
  // Rows, their prefixes or their own reports name these keys. What words found is read again.
  const own = keysAmong(items.filter((item) => !isWordsItem(item))).filter(isOurObject)
  const run = options && !options.key.includes(':late:') ? (options.key.split(':')[0] ?? '') : ''
  const compared = await comparedOf(ports, own, tx, { words: options?.words ?? new Fingerprints(), run })
  if (own.length === items.length) return eraseOwnObjects(ports, items, compared)
  const gathered = await gatherObjectTerms(sources, scope, tx, now, 0)
  const isOwn = new Set(own)
  const further = keys.filter((key) => !isOwn.has(key))
  const withRows = await keysWithRows(tx, further)
  const others = further.filter((key) => !withRows.has(key) || gathered.rows.has(key))
  const reported = keysAmong(items.filter((item) => !isWordsItem(item))).filter((key) => !isOwn.has(key))
  const isThere = gathered.sources.size > 0
  const wanted = termsInItems(items)
  const isWide = wanted.ids.length + wanted.chosen.length + wanted.anchors.length > 0
  addTerms(gathered, wanted, scope)
  const { anchors, recorded, projects } = termsInItems((await options?.all?.()) ?? [])
  for (const project of [...(options?.projects ?? []), ...projects]) gathered.projects.add(project)
  for (const anchor of [...(options?.projects ?? []), ...anchors]) gathered.anchors.add(anchor)
  const words = options?.words && !options.words.isEmpty ? options.words : gathered.words
  let isUncompared = false
  const wordDecider = valueDeciderIn(db, tx, words, {
    projects: gathered.projects,
    now,
    erasedIds: gathered.sources,
    onUncompared: () => {
      isUncompared = true
    },
  })
  const notes = others.length > 0 || isWide ? await notesOfRun(objects, run) : new Set<string>()
  const retainedBefore = new Set<string>()
  const space = await objectKeySpace(ports, tx, gathered.projects, [...wanted.recorded, ...recorded])
  const ownershipOf = objectOwnership((work) => work(tx), scope, { ...gathered, erased: gathered.sources })
  const sought: ObjectSearch = {
    ...objectSearchOf(gathered, {
      wordDecider: isThere ? wordDecider : orphanedValueDecider(wordDecider),
      space,
      ownershipOf,
    }),
    isOwnResult(key, bytes) {
      const isCut = notes.has(labelOf(key, bytes))
      if (isCut) retainedBefore.add(key)
      return isCut
    },
    // Without rows, the texts of reported objects are unknown. One that contains words of another author now belongs to that author. In
    // objects that only words identified, nothing but these words was the erased person's.
    ...(!isThere && { names: new Map(reported.map((key) => [key, unknown])) }),
  }
  const work = eraser(objects, sought, run, notes)
  const quoting = further.filter((key) => withRows.has(key) && !gathered.rows.has(key))
  const ofProjects = { projects: gathered.projects, words, now }
  for (const key of await cutMachineFiles(ports, quoting, ofProjects, tx, work.attempt)) work.done.cut.add(labelOf(key))
  const rows = own.length === 0 ? 0 : await objects.erase(own)
  const counted = new Set(items.filter(isCounted).map(keyOf))
  const one = objectDecider(objects, sought)
  for (const key of others) {
    const finding = await one.judged(key)
    if (finding) await work.visit(finding)
  }
  const unsearched = isWide
    ? await searchApplicationKeys(ports, tx, sought, gathered.projects, work.visit)
    : noneUnsearched()
  // A later search counts what it finds afterwards.
  if (run !== '') work.requireChanged()
  const { cut, deleted, retained } = work.done
  const planned = own.filter((key) => counted.has(key)).length + others.filter((key) => counted.has(key)).length
  const late = [...cut, ...deleted].filter((label) => !others.some((key) => counted.has(key) && labelOf(key) === label))
  const lateRows = own.some((key) => counted.has(key)) ? 0 : rows
  const count = rows + cut.size + deleted.size
  // A planned object that does not exist was deleted, now or before a crash.
  for (const key of others) {
    const label = labelOf(key)
    if (retainedBefore.has(key)) cut.add(label)
    else if (counted.has(key) && !cut.has(label) && (await isAbsent(objects, key))) deleted.add(label)
  }
  addNoted(notes, { cut, deleted })
  return {
    count,
    // Planned objects existed: those erased before a crash are counted with their page.
    results: { objects: planned + lateRows + late.length },
    tallies: {
      ...compared,
      derivedCut: tallyOf(cut),
      derivedDeleted: tallyOf(deleted),
      derivedRetained: tallyOf(retained),
      objectsBinary: tallyOf([...unsearched.binary].slice(0, maxUnsearched).map((key) => labelOf(key))),
      objectsLarge: tallyOf([...unsearched.large].slice(0, maxUnsearched).map((key) => labelOf(key))),
      objectsArchived: tallyOf([...unsearched.archived].slice(0, maxUnsearched).map((key) => labelOf(key))),
      objectsRefused: tallyOf([...unsearched.refused].slice(0, maxUnsearched).map((key) => labelOf(key))),
      objectsOddKeys: tallyOf([...unsearched.oddKeys].slice(0, maxUnsearched).map((key) => labelOf(key))),
      objectsOwned: tallyOf([...unsearched.owned].slice(0, maxUnsearched).map((key) => labelOf(key))),
      objectsOutside: tallyOf(unsearched.isOutside ? ['outside'] : []),
      objectsAmongOwn: tallyOf(unsearched.isAmongOwn ? ['own'] : []),
      objectsBeyond: tallyOf(unsearched.isBeyond ? ['beyond'] : []),
      wordsUncompared: tallyOf(isUncompared ? ['words'] : []),
    },
    mentions: [],
  }
}

/**
 * Personal data source for files: attachments, documents, and objects that applications store in the same bucket, in every version. An item
 * is a key, or a search term for late writes. Keys come from rows, from pointers, from the key prefixes of a part, and from a list of all
 * keys of applications.
 */
export function objectsDataSource(ports: ObjectsSourcePorts): DataSource {
  const { db, objects } = ports
  return {
    name: 'objects.bytes',
    store: 'objects',
    isShared: true,
    stage: 'derived',
    pageSize: 100,
    what: 'files of messages and documents, in every version',
    held: 'files of your messages, and documents',
    purpose: 'storing the attachments and documents of a project for its members',
    kept: 'as long as the message or document',
    tables: [],
    async inventory(subject) {
      const [row] = await filesOf(db, writersOf(subject))
      return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
    },
    plan: (scope, tx, now) => planObjects(ports, scope, tx, now),
    explain: (scope, tx, now) => explainObjects(ports, scope, tx, now),
    erase: (scope, items, tx, options) => eraseObjects(ports, scope, items, tx, options),
    async reused(items, tx, now) {
      // The row of an assistant's file names it too. It remains, without the erased words.
      const files = await machineFiles(tx, { keys: items.filter(isWordsItem).map(keyOf) })
      const others = await othersOf(tx, 'objects', keysAmong(items), new Set(files.map(({ id }) => id)), now)
      return items.filter((item) => others.has(keyOf(item)))
    },
    residue: (scope, items, now, words, projects) => residueOfObjects(ports, scope, items, now, words, projects),
    projectsIn: (items) => termsInItems(items).projects,
    read: objectReader(ports),
    notSearched({
      objectsBinary = 0,
      objectsLarge = 0,
      objectsArchived = 0,
      objectsRefused = 0,
      wordsUncompared = 0,
      objectsOddKeys = 0,
      objectsOwned = 0,
      objectsOutside = 0,
      objectsAmongOwn = 0,
      objectsBeyond = 0,
      filesNoText = 0,
      filesUnread = 0,
    }) {
      const exact = (count: number) => (count < maxUnsearched ? count : null)
      const records: { what: string; count: number | null }[] = []
      if (objectsBinary > 0)
        records.push({
          what: receiptText('notSearched', 'binaryObjects'),
          count: exact(objectsBinary),
        })
      if (objectsLarge > 0)
        records.push({
          what: receiptText('notSearched', 'largeObjects', { count: maxRead / 1024 / 1024 }),
          count: exact(objectsLarge),
        })
      if (objectsArchived > 0)
        records.push({ what: receiptText('notSearched', 'objectsArchived'), count: exact(objectsArchived) })
      if (objectsRefused > 0)
        records.push({ what: receiptText('notSearched', 'objectsRefused'), count: exact(objectsRefused) })
      if (objectsOddKeys > 0)
        records.push({ what: receiptText('notSearched', 'objectsOddKeys'), count: exact(objectsOddKeys) })
      if (objectsOwned > 0)
        records.push({ what: receiptText('notSearched', 'idsOfOthers'), count: exact(objectsOwned) })
      if (objectsOutside > 0)
        records.push({
          what: receiptText('notSearched', 'objectsOutside'),
          count: null,
        })
      if (objectsAmongOwn > 0)
        records.push({ what: receiptText('notSearched', 'objectsAmongOwn', { count: maxOwn }), count: null })
      if (wordsUncompared > 0) records.push({ what: receiptText('notSearched', 'wordsUncompared'), count: null })
      if (objectsBeyond > 0) records.push({ what: receiptText('notSearched', 'objectsBeyond'), count: null })
      if (filesNoText > 0) records.push({ what: receiptText('notSearched', 'filesNoText'), count: exact(filesNoText) })
      if (filesUnread > 0)
        records.push({
          what: receiptText('notSearched', 'filesUnread', { count: maxFile / 1024 / 1024 }),
          count: exact(filesUnread),
        })
      return records
    },
    async forget(runId) {
      const notes = await Array.fromAsync(keysUnder(objects, notePrefix(runId)))
      if (notes.length > 0) await objects.erase(notes)
    },
  }
}
