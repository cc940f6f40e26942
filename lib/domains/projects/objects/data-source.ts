import { recordedClaimants } from '#lib/domains/projects/key-space.ts'
import { scopePart, scopeSubject, writersOf } from '#lib/domains/projects/legal-holds.ts'
import { othersOf } from '#lib/domains/projects/provenance/shared-pointers.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, Explained, Planned, PlannedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import { needlesOf } from '#lib/stores/cache/needles.ts'
import { eraseObjects, mostUnsearched, notePrefix } from './erasing.ts'
import {
  findObjects,
  keysUnder,
  type ObjectMatchReason,
  type ObjectsSourcePorts,
  objectKeySpace,
} from './object-search.ts'
import { objectReader } from './reading.ts'
import { filesOf } from './repository.ts'
import { residueOfObjects } from './residue.ts'
import { isCounted, keyOf, keysAmong, objectItemOf, soughtItems, wordsItemOf } from './rules.ts'
import { mostRead, type ObjectFinding } from './survey.ts'

/** Above this number of keys, the plan does not check whether their objects exist. */
const mostAsked = 500
const asked = 8

/** The keys without an object. Empty for more than `mostAsked` keys, because each key needs a request. */
async function absentOf(objects: ObjectsSourcePorts['objects'], keys: readonly string[]): Promise<Set<string>> {
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
  const told = [...names.keys()].filter((key) => !keys.has(key))
  const absent = isUnsearched ? new Set<string>() : new Set(told.filter((key) => !findings.has(key)))
  for (const key of await absentOf(
    objects,
    [...keys].flatMap(([key, found]) => (found === 'pointer' ? [key] : [])),
  ))
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
    ...soughtItems('within', [...recordedClaimants(await objectKeySpace(ports, tx, projects)), ...anchors]),
  )
  return { items: items.sort(), watched: watched.sort(), held: await sources.held(scope, tx, now) }
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

/** What an erasure would do to each object. */
async function explainObjects(
  ports: ObjectsSourcePorts,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<Explained> {
  const { objects, whatIsMissing } = ports
  const { keys, names, foreign, findings, isUnsearched } = await findObjects(ports, scope, tx, now)
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
      const others = await othersOf(tx, 'objects', keysAmong(items), new Set(), now)
      return items.filter((item) => others.has(keyOf(item)))
    },
    residue: (scope, items, now, words) => residueOfObjects(ports, scope, items, now, words),
    read: objectReader(ports),
    notSearched({ objectsBinary = 0, objectsLarge = 0, objectsOutside = 0, objectsBeyond = 0 }) {
      const exact = (count: number) => (count < mostUnsearched ? count : null)
      const records: { what: string; count: number | null }[] = []
      if (objectsBinary > 0)
        records.push({
          what: receiptText('notSearched', 'binaryObjects'),
          count: exact(objectsBinary),
        })
      if (objectsLarge > 0)
        records.push({
          what: receiptText('notSearched', 'largeObjects', { count: mostRead / 1024 / 1024 }),
          count: exact(objectsLarge),
        })
      if (objectsOutside > 0)
        records.push({
          what: receiptText('notSearched', 'objectsOutside'),
          count: null,
        })
      if (objectsBeyond > 0) records.push({ what: receiptText('notSearched', 'objectsBeyond'), count: null })
      return records
    },
    async forget(runId) {
      const notes = await Array.fromAsync(keysUnder(objects, notePrefix(runId)))
      if (notes.length > 0) await objects.erase(notes)
    },
  }
}
