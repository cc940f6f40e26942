import { createHash } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataHolder, Scope, Subject, Verdict } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type CacheStore, ownPrefix } from '#lib/stores/cache/cache.ts'
import { needlesOf } from '#lib/stores/cache/needles.ts'
import { literally } from '#lib/stores/cache/patterns.ts'
import type { WhatIsMissing } from '#lib/stores/known-store.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { partOf, subjectOf, writersOf } from '../held.ts'
import { othersOf } from '../shared-pointers.ts'
import type { Sources } from '../sources.ts'
import {
  type Chosen,
  chosenItem,
  chosenOf,
  followed,
  isOurs,
  isTelling,
  itemOf,
  itemsByKind,
  looksOurs,
  mayGo,
  textsToFind,
} from './rules.ts'

export interface CacheHolderPorts {
  db: Database
  cache: Pick<CacheStore, 'find' | 'names' | 'drop' | 'forget' | 'search'>
  sources: Sources
  whatIsMissing: WhatIsMissing
}
/** Of more sources the texts are not looked for: their ids are. */
const mostTexts = 200

interface Gathered {
  /** Ids of ours, of what goes. */
  ids: Set<string>
  /** Ids of what goes that a client chose. */
  chosen: Map<string, Chosen>
  /** Of what they lay in, and which stays: conversations and their threads, projects. By the index of all, by names of ours alone. */
  near: Set<string>
  /** Ids of ours of the projects and conversations. */
  anchors: Set<string>
  /** Names that pointers tell. */
  names: Set<string>
  foreign: Set<string>
  /** Names that pointers of what stays tell, too. */
  shared: Set<string>
  texts: string[]
}
const idsOf = (subject: Subject): string[] => writersOf(subject).ids
/** Of a name, for the plan: the name may be content. */
const labelOf = (name: string): string => createHash('sha256').update(name).digest('base64url').slice(0, 22)
/** Names that pointers tell, by their labels. */
const refsOf = `SELECT DISTINCT v.ref FROM provenance v WHERE v.store = 'cache' AND (v.ref = ANY($1::text[])
  OR left(translate(encode(sha256(convert_to(v.ref, 'UTF8')), 'base64'), '+/', '-_'), 22) = ANY($1::text[]))`

/** Answers that were kept for a while: ours, and those that applications keep in the same Redis. Items: see `itemKinds`. */
export function cacheHolder({ db, cache, sources, whatIsMissing }: CacheHolderPorts): DataHolder {
  async function gather(scope: Scope, tx: Transaction, now: Date): Promise<Gathered> {
    const found: Gathered = {
      ...{ ids: new Set(), chosen: new Map(), near: new Set(), anchors: new Set() },
      ...{ names: new Set(), foreign: new Set(), shared: new Set(), texts: [] },
    }
    const gone = new Set<string>()
    const goes = (kind: Parameters<typeof isOurs>[0], id: string, anchors: readonly string[]) => {
      if (isOurs(kind, id)) found.ids.add(id)
      else found.chosen.set(id, { id, anchors })
    }
    for await (const page of sources.of(scope, tx, now))
      for (const { kind, id, project, conversation, threads, texts, pointers } of page) {
        const anchors = [
          project,
          ...(conversation !== null && isOurs('conversation', conversation) ? [conversation] : []),
        ]
        for (const anchor of anchors) found.anchors.add(anchor)
        goes(kind, id, anchors)
        gone.add(id)
        for (const one of [...anchors, ...(conversation === null ? [] : [conversation]), ...threads])
          if (anchors.includes(one) || !looksOurs(one)) found.near.add(one)
        if (found.texts.length <= mostTexts) found.texts.push(...texts)
        for (const { store, ref } of pointers)
          if (store === 'cache') (mayGo(ref, ownPrefix) ? found.names : found.foreign).add(ref)
      }
    for (const { project, group, threads } of await sources.whole(scope, tx, now)) {
      found.anchors.add(project)
      if (group !== null) goes('project', project, [project])
      // A thread is called as its conversation, unless somebody chose otherwise.
      for (const id of [...threads, ...(group === null ? [] : [group])])
        if (id !== project) goes(found.near.has(id) ? 'conversation' : 'project', id, [project])
    }
    const part = partOf(scope)
    if (part?.kind === 'conversation' && gone.size > 0) goes('conversation', part.id, [part.project])
    for (const id of [...found.ids, ...found.chosen.keys()]) found.near.delete(id)
    if (found.texts.length > mostTexts) found.texts = []
    found.shared = await othersOf(tx, 'cache', [...found.names], gone, now)
    for (const name of found.shared) found.names.delete(name)
    return found
  }

  /** Names by their labels. */
  async function called(labels: readonly string[]): Promise<string[]> {
    const wanted = new Set(labels)
    return wanted.size === 0 ? [] : cache.names((name) => wanted.has(labelOf(name)) || wanted.has(name))
  }
  /** By the index, and by names that contain an id of ours; projects by the index alone: too much stands under them that is of others. */
  async function around(near: readonly string[]): Promise<string[]> {
    const telling = near.filter((id) => isOurs('conversation', id))
    const words = needlesOf(telling)
    const byIndex = near.length === 0 ? [] : await cache.find({ patterns: [], about: near })
    const patterns = telling.map((id) => `*${literally(id)}*`)
    const byName = patterns.length === 0 ? [] : await cache.find({ patterns, about: [] })
    return [...new Set([...byIndex, ...byName.filter((name) => words.standIn(name))])].filter((name) =>
      mayGo(name, ownPrefix),
    )
  }
  /**
   * Names whose name or value contains an id of ours; and of those that contain what a client chose (ids, texts), what is ours or has an
   * id of the project or conversation too: whoever writes a word may not have everything erased in which it stands.
   */
  async function containing(
    ids: readonly string[],
    chosen: Iterable<Chosen>,
    texts: readonly string[] = [],
    more: Iterable<string> = [],
  ): Promise<string[]> {
    const sure = ids.length === 0 ? [] : await cache.search(ids)
    const telling = [...chosen].filter(({ id }) => isTelling(id))
    const loose = [...telling.map(({ id }) => id), ...texts]
    if (loose.length === 0) return sure.filter((name) => mayGo(name, ownPrefix))
    const maybe = await cache.search(loose)
    const anchors = [...new Set([...more, ...telling.flatMap((one) => one.anchors)])]
    // One that looks like an id of ours may be another's: then our entries are told apart as everything else is.
    const isPlain = (name: string) => name.startsWith(ownPrefix) && !telling.some(({ id }) => looksOurs(id))
    const isAsked = anchors.length > 0 && !maybe.every(isPlain)
    const anchored = new Set(isAsked ? await cache.search(anchors) : [])
    const tied = maybe.filter((name) => isPlain(name) || anchored.has(name))
    return [...new Set([...sure, ...followed(tied, loose.length, ownPrefix)])].filter((name) => mayGo(name, ownPrefix))
  }
  /** Ids by which the index may be asked: one of a client's choice that looks like ours is another's. */
  const indexedOf = (ids: Iterable<string>, chosen: Iterable<Chosen>): string[] => [
    ...ids,
    ...[...chosen].map(({ id }) => id).filter((id) => !looksOurs(id)),
  ]
  /** Everything that goes with a scope, but what pointers name, by how it was found. */
  async function search(gathered: Gathered, who: readonly string[]): Promise<Map<string, 'index' | 'text' | 'group'>> {
    const { ids, chosen, near, anchors, texts } = gathered
    const found = new Map<string, 'index' | 'text' | 'group'>()
    const add = (how: 'index' | 'text' | 'group', names: readonly string[]) => {
      for (const name of names) if (!found.has(name)) found.set(name, how)
    }
    const indexed = [...indexedOf(ids, chosen.values()), ...who]
    if (indexed.length > 0) add('index', await cache.find({ patterns: [], about: indexed }))
    if (ids.size + chosen.size === 0) return found
    add('text', await containing([...ids], chosen.values(), textsToFind(texts), anchors))
    add('group', await around([...near]))
    return found
  }
  async function checkMissing(tx?: Transaction): Promise<void> {
    const missing = await whatIsMissing(tx)
    if (missing.length > 0)
      throw new Problem(
        'unavailable',
        `${missing.length} caches that kept data are switched off. Connect them again, or state that nothing is there any more.`,
      )
  }

  return {
    name: 'cache.entries',
    store: 'cache',
    isShared: true,
    // Each page looks through all names and values there are.
    pageSize: 5_000,
    stage: 'derived',
    what: 'answers kept for a while that came of messages and documents',
    held: 'answers kept for a while that came of your messages and documents, as far as applications told of them',
    purpose: 'Answering the same question again without asking everything again.',
    kept: 'A day at most for ours; applications set their own times.',
    tables: [],
    async inventory(subject) {
      const { kinds, ids } = writersOf(subject)
      const [row] = await db.query<{ count: number; since: Date | null }>(
        'cache-inventory',
        `WITH writer AS (SELECT * FROM unnest($1::text[], $2::text[]) AS w(kind, id)),
           own AS (
             SELECT m.id FROM messages m WHERE (m.author_kind, m.author_id) IN (SELECT kind, id FROM writer)
             UNION ALL SELECT d.id FROM documents d WHERE (d.author_kind, d.author_id) IN (SELECT kind, id FROM writer))
         SELECT count(*)::int AS count, min(v.at) AS since FROM provenance v JOIN own ON own.id = v.source_id WHERE v.store = 'cache'`,
        [kinds, ids],
      )
      return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
    },
    async plan(scope, tx, now) {
      const subject = subjectOf(scope)
      if (!partOf(scope) && !subject) return { items: [], held: {} }
      const gathered = await gather(scope, tx, now)
      const who = subject ? idsOf(subject) : []
      const watched = [
        ...[...gathered.ids].map((id) => itemOf('about', id)),
        ...[...gathered.chosen.values()].map(chosenItem),
        ...who.map((id) => itemOf('who', id)),
        // Done when it is erased: what came between the plan and that.
        ...(gathered.ids.size + gathered.chosen.size > 0 ? [itemOf('search')] : []),
      ]
      const items: string[] = []
      const names = [...gathered.names]
      try {
        const there = new Set(names.length === 0 ? [] : await cache.find({ patterns: names.map(literally), about: [] }))
        for (const name of names) (there.has(name) ? items : watched).push(itemOf('key', labelOf(name)))
        for (const name of (await search(gathered, who)).keys())
          if (!there.has(name)) items.push(itemOf('found', labelOf(name)))
      } catch (error) {
        // A plan is made while the store is down, too: its step waits, and searches when it is back.
        if (!Problem.is(error, 'unavailable')) throw error
        items.splice(0, items.length, ...names.map((name) => itemOf('key', labelOf(name))))
        if (watched.length > 0) items.push(itemOf('search'))
      }
      const planned = new Set(items)
      return {
        items: [...planned].sort(),
        watched: [...new Set(watched)].filter((item) => !planned.has(item)).sort(),
        held: await sources.held(scope, tx, now),
      }
    },
    async explain(scope, tx, now) {
      const gathered = await gather(scope, tx, now)
      const verdicts = new Map<string, Verdict>()
      const tell = (found: string, id: string, reason = 'source', verdict: Verdict['verdict'] = 'deleted') => {
        const one = { store: 'cache', kind: 'key', id, name: null, verdict, reason, evidence: [], found }
        if (!verdicts.has(id)) verdicts.set(id, one)
      }
      for (const name of gathered.names) tell('pointer', name)
      for (const name of gathered.foreign) tell('pointer', name, 'foreign', 'untouched')
      let isPartial = (await whatIsMissing(tx)).length > 0
      try {
        for (const [name, found] of await search(gathered, []))
          tell(found, name, found === 'group' ? 'around' : 'source')
      } catch (error) {
        if (!Problem.is(error, 'unavailable')) throw error
        isPartial = true
      }
      for (const name of gathered.shared) tell('pointer', name, 'shared', 'kept')
      return { verdicts: [...verdicts.values()].sort((one, other) => (one.id < other.id ? -1 : 1)), isPartial }
    },
    async erase(scope, items, tx, manner) {
      if (items.length === 0) return 0
      await checkMissing(tx)
      const kinds = itemsByKind(items)
      const chosen = kinds.chosen.map(chosenOf)
      const names = new Set(await called(kinds.key))
      const take = (found: Iterable<string>) => {
        for (const name of found) names.add(name)
      }
      const indexed = [...indexedOf(kinds.about, chosen), ...kinds.who]
      if (indexed.length > 0) take(await cache.find({ patterns: [], about: indexed }))
      take(await containing(kinds.about, chosen))
      // Once the rows are gone there is nothing to gather: what lay around them may be there again without them, and is left in peace.
      if (manner && kinds.found.length + kinds.search.length > 0) {
        const subject = subjectOf(scope)
        const gathered = await gather(scope, tx, manner.now)
        take((await search(gathered, subject ? idsOf(subject) : [])).keys())
        indexed.push(...indexedOf(gathered.ids, gathered.chosen.values()))
      }
      const count = await cache.drop([...names])
      await cache.forget(indexed)
      // What was planned was there: after a crash it is counted as it would have been without.
      const planned = kinds.key.length + kinds.found.length
      return { count, results: { keys: planned > 0 ? planned : count }, mentions: [] }
    },
    async late(scope, tx, now) {
      const { ids, chosen, anchors, texts } = await gather(scope, tx, now)
      if (ids.size + chosen.size === 0) return []
      const names = await containing([...ids], chosen.values(), textsToFind(texts), anchors)
      return names.map((name) => itemOf('found', labelOf(name))).sort()
    },
    async reused(items, tx, now) {
      const { key } = itemsByKind(items)
      if (key.length === 0) return []
      const told = await queryWithin<{ ref: string }>(tx, 'cache-refs', refsOf, [key])
      const others = await othersOf(
        tx,
        'cache',
        told.map(({ ref }) => ref),
        new Set(),
        now,
      )
      const theirs = new Set([...others].flatMap((name) => [itemOf('key', labelOf(name)), itemOf('key', name)]))
      return items.filter((item) => theirs.has(item))
    },
    /** By a scan of all names and values; what has an id too short for that, by its index. What is not tied to the project is not ours to judge. */
    async residue(_scope, items) {
      const { about, chosen: told, who, key } = itemsByKind(items)
      const chosen = told.map(chosenOf)
      if (about.length + chosen.length + who.length + key.length === 0) return 0
      await checkMissing()
      const left = new Set(await containing(about, chosen))
      const indexed = [...indexedOf(about, chosen), ...who]
      for (const name of await cache.find({ patterns: [], about: indexed })) left.add(name)
      for (const name of await called(key)) left.add(name)
      return left.size
    },
  }
}
