import { mergedChosen } from '#lib/domains/projects/cache/rules.ts'
import { scopePart } from '#lib/domains/projects/legal-holds.ts'
import { lenient, type Naming, valueDeciderIn } from '#lib/domains/projects/values/value-decider.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureOptions } from '#lib/kernel/data-source.ts'
import { type Erased, tallyOf } from '#lib/kernel/erased.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'
import {
  keysUnder,
  labelOf,
  type ObjectsSourcePorts,
  objectKeySpace,
  objectOwnership,
  objectSearchOf,
  searchApplicationKeys,
  termsInItems,
} from './object-search.ts'
import { isCounted, isOurObject, keyOf, keysAmong } from './rules.ts'
import { gatherObjectTerms, type ObjectTerms } from './search-terms.ts'
import { noneUnsearched, type ObjectFinding, type ObjectSearch, objectDecider } from './survey.ts'

const mostTries = 8
/** At most this many objects that cannot be searched are counted. From this number on, the receipt names no count. */
export const mostUnsearched = 1_000
const unknown: Naming = { named: [], remaining: [] }

/** Key prefix for notes of a run about the objects it changed. A repeated attempt after a crash then gives the same result. */
export const notePrefix = (run: string): string => `knowledgepulse-erasing/${run}/`
/** The notes of a run; none without a run. */
async function notesOfRun(objects: ObjectsSourcePorts['objects'], run: string): Promise<Set<string>> {
  const notes = new Set<string>()
  const prefix = notePrefix(run)
  if (run !== '') for await (const key of keysUnder(objects, prefix)) notes.add(key.slice(prefix.length))
  return notes
}
async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Erases what is found, and stores notes about changed objects. */
function eraser(objects: ObjectsSourcePorts['objects'], sought: ObjectSearch, run: string, notes: Set<string>) {
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
        await objects.put(notePrefix(run) + note, nothing(), { mediaType: 'text/plain' })
        notes.add(note)
      }
      if (await objects.replace(key, cut, cut.bytes)) done.cut.add(label)
      else if (tries < mostTries) {
        // The object was changed concurrently: read it and decide again.
        const again = await objectDecider(objects, sought).judged(key)
        if (again) await visit(again, tries + 1)
      }
    } else if ((await objects.erase([key])) > 0) done.deleted.add(label)
  }
  return { visit, done }
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
async function eraseOwnObjects({ objects }: ObjectsSourcePorts, items: readonly string[]): Promise<Erased> {
  const rows = await objects.erase(items.map(keyOf))
  const planned = items.filter(isCounted).length
  return { count: rows, results: { objects: planned > 0 ? planned : rows }, mentions: [] }
}

/** Erases the keys of a page, and every other object that its search terms find. */
export async function eraseObjects(
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
  if (keys.length === items.length && keys.every(isOurObject)) return eraseOwnObjects(ports, items)
  const own = keys.filter(isOurObject)
  const gathered = await gatherObjectTerms(sources, scope, tx, now, 0)
  const others = keys.filter((key) => !isOurObject(key))
  const isThere = gathered.sources.size > 0
  const wanted = termsInItems(items)
  const isWide = wanted.ids.length + wanted.chosen.length + wanted.anchors.length > 0
  addTerms(gathered, wanted, scope)
  for (const project of options?.projects ?? []) gathered.projects.add(project)
  const words = options?.words && !options.words.isEmpty ? options.words : gathered.words
  const judge = valueDeciderIn(db, tx, words, { projects: gathered.projects, now, going: gathered.sources })
  const run = options && !options.key.includes(':late:') ? (options.key.split(':')[0] ?? '') : ''
  const notes = others.length > 0 || isWide ? await notesOfRun(objects, run) : new Set<string>()
  const keptBefore = new Set<string>()
  const space = await objectKeySpace(ports, tx, gathered.projects, wanted.recorded)
  const ownershipOf = objectOwnership((work) => work(tx), scope, { ...gathered, erased: gathered.sources })
  const sought: ObjectSearch = {
    ...objectSearchOf(gathered, { judge: isThere ? judge : lenient(judge), space, ownershipOf }),
    isNoted(key, bytes) {
      const isCut = notes.has(labelOf(key, bytes))
      if (isCut) keptBefore.add(key)
      return isCut
    },
    // Without rows, the texts of these objects are unknown. An object that contains words of another author now belongs to that author.
    ...(!isThere && { names: new Map(others.map((key) => [key, unknown])) }),
  }
  const work = eraser(objects, sought, run, notes)
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
  const { cut, deleted, retained } = work.done
  const planned = own.filter((key) => counted.has(key)).length + others.filter((key) => counted.has(key)).length
  const late = [...cut, ...deleted].filter((label) => !others.some((key) => counted.has(key) && labelOf(key) === label))
  const lateRows = own.some((key) => counted.has(key)) ? 0 : rows
  const count = rows + cut.size + deleted.size
  // A planned object that does not exist was deleted, now or before a crash.
  for (const key of others) {
    const label = labelOf(key)
    if (keptBefore.has(key)) cut.add(label)
    else if (counted.has(key) && !cut.has(label) && (await objects.versions(key)).length === 0) deleted.add(label)
  }
  return {
    count,
    // Planned objects existed: those erased before a crash are counted with their page.
    results: { objects: planned + lateRows + late.length },
    tallies: {
      derivedCut: tallyOf(cut),
      derivedDeleted: tallyOf(deleted),
      derivedRetained: tallyOf(retained),
      objectsBinary: tallyOf([...unsearched.binary].slice(0, mostUnsearched).map((key) => labelOf(key))),
      objectsLarge: tallyOf([...unsearched.large].slice(0, mostUnsearched).map((key) => labelOf(key))),
      objectsOutside: tallyOf(unsearched.isOutside ? ['outside'] : []),
      objectsBeyond: tallyOf(unsearched.isBeyond ? ['beyond'] : []),
    },
    mentions: [],
  }
}
