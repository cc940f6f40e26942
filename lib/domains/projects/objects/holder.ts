import type { Transaction } from '#lib/kernel/context.ts'
import type { DataHolder, Scope, Verdict } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { WhatIsMissing } from '#lib/stores/known-store.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { partOf, subjectOf, writersOf } from '../held.ts'
import { othersOf } from '../shared-pointers.ts'
import type { Source, Sources } from '../sources.ts'
import { isCounted, itemOf, keyOf, mayGo, objectsOf, objectsOfProject } from './rules.ts'

export interface ObjectsHolderPorts {
  db: Database
  objects: Pick<ObjectStore, 'erase' | 'list' | 'versions'>
  sources: Sources
  whatIsMissing: WhatIsMissing
}
/** Of more sources their prefixes are not listed one by one: rows and pointers name what they have, and the sweep takes what no row names. */
const mostListed = 50
const mostAsked = 500
const listed = 1000
const asked = 8

/** How a key was found; the first of these that it was. */
type Found = 'row' | 'pointer' | 'prefix'
interface Gathered {
  keys: Map<string, Found>
  /** Named by pointers, and not its source's to erase. */
  foreign: Set<string>
  /** Named by pointers of what stays, too. */
  shared: Set<string>
  /** The store did not answer, so that what no row or pointer names was not looked for. */
  isUnsearched: boolean
}

/**
 * The bytes of attachments and documents, and what applications put into the same bucket and said so: every version of them. An item is a
 * key, or one to look for where nothing is yet. Read from rows, from pointers, and from the store by where the keys of a part begin, which finds what a crash left without a row.
 */
export function objectsHolder({ db, objects, sources, whatIsMissing }: ObjectsHolderPorts): DataHolder {
  async function* under(prefix: string): AsyncGenerator<string> {
    for (let after = ''; ; ) {
      const page = await objects.list(prefix, after, listed)
      yield* page
      const last = page.at(-1)
      if (last === undefined || page.length < listed) return
      after = last
    }
  }
  /** Of a message or document, in every version. */
  async function* keysOf(source: Pick<Source, 'project' | 'kind' | 'id'>): AsyncGenerator<string> {
    const own = objectsOf(source)
    if ((await objects.versions(own)).length > 0) yield own
    yield* under(`${own}/`)
  }

  async function gather(scope: Scope, tx: Transaction, now: Date): Promise<Gathered> {
    const keys = new Map<string, Found>()
    const foreign = new Set<string>()
    const own: Source[] = []
    const gone = new Set<string>()
    const add = (key: string, found: Found) => {
      if (!keys.has(key)) keys.set(key, found)
    }
    for await (const page of sources.of(scope, tx, now))
      for (const source of page) {
        gone.add(source.id)
        for (const key of source.objects) add(key, 'row')
        for (const { store, ref } of source.pointers) {
          if (store !== 'objects') continue
          if (mayGo(source, ref)) add(ref, 'pointer')
          else foreign.add(ref)
        }
        if (own.length <= mostListed) own.push({ ...source, texts: [] })
      }
    const told = [...keys].flatMap(([key, found]) => (found === 'pointer' ? [key] : []))
    const shared = await othersOf(tx, 'objects', told, gone, now)
    for (const key of shared) keys.delete(key)
    const whole = (await sources.whole(scope, tx, now)).filter(({ group }) => group !== null)
    let isUnsearched = false
    try {
      for (const { project } of whole) for await (const key of under(objectsOfProject(project))) add(key, 'prefix')
      if (whole.length === 0 && partOf(scope) && own.length <= mostListed)
        for (const source of own) for await (const key of keysOf(source)) add(key, 'prefix')
    } catch (error) {
      // A plan is made while the store is down, too: its step waits, and the search for what is left finds the rest.
      if (!Problem.is(error, 'unavailable')) throw error
      isUnsearched = true
    }
    return { keys, foreign, shared, isUnsearched }
  }

  /** Those of the keys under which there is nothing; of very many none is asked. */
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

  /** One that kept data and is not connected may still have them. */
  async function checkMissing(tx?: Transaction): Promise<void> {
    const missing = await whatIsMissing(tx)
    if (missing.length > 0)
      throw new Problem(
        'unavailable',
        `${missing.length} object stores that kept data are switched off. Connect them again, or state that nothing is there any more.`,
      )
  }

  async function verdictOf(key: string, found: Found, isAsked: boolean): Promise<Verdict> {
    const evidence = isAsked ? [`versions:${(await objects.versions(key)).length}`] : []
    return {
      store: 'objects',
      kind: 'object',
      id: key,
      name: null,
      verdict: 'deleted',
      reason: 'source',
      evidence,
      found,
    }
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
      const { kinds, ids } = writersOf(subject)
      const [row] = await db.query<{ count: number; since: Date | null }>(
        'objects-inventory',
        `WITH writer AS (SELECT * FROM unnest($1::text[], $2::text[]) AS w(kind, id)),
           own AS (
             SELECT a.created_at FROM messages m JOIN attachments a ON a.message_id = m.id
               WHERE (m.author_kind, m.author_id) IN (SELECT kind, id FROM writer)
             UNION ALL SELECT d.created_at FROM documents d WHERE (d.author_kind, d.author_id) IN (SELECT kind, id FROM writer))
         SELECT count(*)::int AS count, min(created_at) AS since FROM own`,
        [kinds, ids],
      )
      return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
    },
    async plan(scope, tx, now) {
      if (!partOf(scope) && !subjectOf(scope)) return { items: [], held: {} }
      const { keys } = await gather(scope, tx, now)
      const told = [...keys].flatMap(([key, found]) => (found === 'pointer' ? [key] : []))
      const absent = await absentOf(told)
      const [items, watched]: [string[], string[]] = [[], []]
      for (const key of keys.keys()) {
        const item = itemOf(key, { isThere: !absent.has(key) })
        ;(isCounted(item) ? items : watched).push(item)
      }
      return { items: items.sort(), watched: watched.sort(), held: await sources.held(scope, tx, now) }
    },
    async explain(scope, tx, now) {
      const { keys, foreign, shared, isUnsearched } = await gather(scope, tx, now)
      const verdicts: Verdict[] = []
      const left = [...keys].sort(([one], [other]) => (one < other ? -1 : 1))
      for (let at = 0; at < left.length; at += asked)
        verdicts.push(
          ...(await Promise.all(
            left.slice(at, at + asked).map(([key, found]) => verdictOf(key, found, !isUnsearched)),
          )),
        )
      const stays = { store: 'objects', kind: 'object', name: null, evidence: [], found: 'pointer' }
      for (const id of [...shared].sort()) verdicts.push({ ...stays, id, verdict: 'kept', reason: 'shared' })
      for (const id of [...foreign].sort()) verdicts.push({ ...stays, id, verdict: 'untouched', reason: 'foreign' })
      return { verdicts, isPartial: isUnsearched || (await whatIsMissing(tx)).length > 0 }
    },
    async erase(_scope, items, tx) {
      if (items.length === 0) return 0
      await checkMissing(tx)
      const [planned, late] = [items.filter(isCounted), items.filter((item) => !isCounted(item)).map(keyOf)]
      const found = late.length === 0 ? 0 : await objects.erase(late)
      const count = found + (planned.length === 0 ? 0 : await objects.erase(planned))
      // What was planned was there: whatever a crash had erased before it was counted is counted with its page.
      return { count, results: { objects: planned.length + found }, mentions: [] }
    },
    async reused(items, tx, now) {
      const others = await othersOf(tx, 'objects', items.map(keyOf), new Set(), now)
      return items.filter((item) => others.has(keyOf(item)))
    },
    /** By listing the versions of every key, and whatever begins as the keys of the part do. */
    async residue(scope, items) {
      const part = partOf(scope)
      if (items.length === 0 && !part) return 0
      await checkMissing()
      const left = new Set<string>()
      const keys = items.map(keyOf).values()
      await Promise.all(
        Array.from({ length: asked }, async () => {
          for (const key of keys) if ((await objects.versions(key)).length > 0) left.add(key)
        }),
      )
      if (part?.kind === 'project')
        for (const key of await objects.list(objectsOfProject(part.id), '', listed)) left.add(key)
      if (part?.kind === 'message' || part?.kind === 'document')
        for await (const key of keysOf({ project: part.project, kind: part.kind, id: part.id })) left.add(key)
      return left.size
    },
  }
}
