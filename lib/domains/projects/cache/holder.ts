import type { Transaction } from '#lib/kernel/context.ts'
import type { DataHolder, Scope, Subject, Verdict } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type CacheStore, ownPrefix } from '#lib/stores/cache/cache.ts'
import { needlesOf } from '#lib/stores/cache/needles.ts'
import { literally } from '#lib/stores/cache/patterns.ts'
import type { WhatIsMissing } from '#lib/stores/known-store.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { partOf, subjectOf, writersOf } from '../held.ts'
import type { Sources } from '../sources.ts'
import { followed, isGenerated, isTelling, itemOf, itemsByKind, mayGo, textsToFind } from './rules.ts'

export interface CacheHolderPorts {
  db: Database
  cache: Pick<CacheStore, 'find' | 'drop' | 'forget' | 'search'>
  sources: Sources
  whatIsMissing: WhatIsMissing
}
/** Of more sources the texts are not looked for: their ids are. */
const mostTexts = 200

interface Gathered {
  /** Of what goes. */
  ids: Set<string>
  /** Of what they lay in, and which stays: conversations and their threads. */
  near: Set<string>
  /** Names that pointers tell. */
  names: Set<string>
  foreign: Set<string>
  texts: string[]
}
const isUnavailable = (error: unknown): boolean => Problem.is(error) && error.code === 'unavailable'
const idsOf = ({ account, agents }: Subject): string[] => [...(account === null ? [] : [account]), ...agents]

/** Answers that were kept for a while: ours, and those that applications keep in the same Redis. Items: see {@link itemOf}. */
export function cacheHolder({ db, cache, sources, whatIsMissing }: CacheHolderPorts): DataHolder {
  async function gather(scope: Scope, tx: Transaction, now: Date): Promise<Gathered> {
    const found: Gathered = { ids: new Set(), near: new Set(), names: new Set(), foreign: new Set(), texts: [] }
    for await (const page of sources.of(scope, tx, now))
      for (const { id, project, conversation, threads, texts, pointers } of page) {
        found.ids.add(id)
        for (const one of [project, ...(conversation === null ? [] : [conversation]), ...threads]) found.near.add(one)
        if (found.texts.length <= mostTexts) found.texts.push(...texts)
        for (const { store, ref } of pointers)
          if (store === 'cache') (mayGo(ref, ownPrefix) ? found.names : found.foreign).add(ref)
      }
    for (const { project, group, threads } of await sources.whole(scope, tx, now))
      for (const id of [...threads, ...(group === null ? [] : [project, group])]) found.ids.add(id)
    const part = partOf(scope)
    if (part?.kind === 'conversation' && found.ids.size > 0) found.ids.add(part.id)
    for (const id of found.ids) found.near.delete(id)
    if (found.texts.length > mostTexts) found.texts = []
    return found
  }

  /**
   * Whether the rows are there still: then one scan looks for everything of the scope. Where they are gone, each page looks for its own ids,
   * and what lay around them is left in peace.
   */
  async function stand(scope: Scope, tx: Transaction, now: Date): Promise<boolean> {
    for await (const page of sources.of(scope, tx, now)) if (page.length > 0) return true
    return (await sources.whole(scope, tx, now)).length > 0
  }
  /** By the index, and by names that contain the id as a word. Projects by the index alone: too much stands under them that is of others. */
  async function around(near: readonly string[]): Promise<string[]> {
    const telling = near.filter((id) => isTelling(id) && !id.startsWith('prj_'))
    const words = needlesOf(telling)
    const byIndex = near.length === 0 ? [] : await cache.find({ patterns: [], about: near })
    const patterns = telling.map((id) => `*${literally(id)}*`)
    const byName = patterns.length === 0 ? [] : await cache.find({ patterns, about: [] })
    const chosen = telling.filter((id) => !isGenerated(id))
    const named = byName.filter((name) => words.standIn(name) && mayGo(name, ownPrefix))
    return [...new Set([...byIndex, ...(chosen.length === 0 ? named : followed(named, telling, ownPrefix))])]
  }
  /** Names, values and indexes that contain one of them. */
  async function containing(ids: readonly string[], texts: readonly string[] = []): Promise<string[]> {
    const chosen = ids.filter((id) => isTelling(id) && !isGenerated(id))
    const sure = [...ids.filter(isGenerated), ...texts]
    const bySure = sure.length === 0 ? [] : await cache.search(sure)
    const byChosen = chosen.length === 0 ? [] : followed(await cache.search(chosen), chosen, ownPrefix)
    return [...new Set([...bySure, ...byChosen])]
  }
  async function checkMissing(tx?: Transaction): Promise<void> {
    const missing = await whatIsMissing(tx)
    if (missing.length > 0)
      throw new Problem(
        'unavailable',
        `${missing.length} caches that kept data are switched off. Connect them again, or state that nothing is there any more.`,
      )
  }
  /** Of the subject's own ids those that anything is kept about; all of them where the cache cannot say. */
  async function keptAbout(subject: Subject | undefined): Promise<string[]> {
    if (!subject) return []
    try {
      const found: string[] = []
      for (const id of idsOf(subject)) if ((await cache.find({ patterns: [], about: [id] })).length > 0) found.push(id)
      return found
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return idsOf(subject)
    }
  }

  return {
    name: 'cache.entries',
    store: 'cache',
    isShared: true,
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
      if (!partOf(scope) && !subjectOf(scope)) return { items: [], held: {} }
      const { ids, near, names } = await gather(scope, tx, now)
      const own = await keptAbout(subjectOf(scope))
      const items = [
        ...[...ids].map((id) => itemOf('about', id)),
        ...own.map((id) => itemOf('who', id)),
        ...[...near].map((id) => itemOf('near', id)),
        ...[...names].map((name) => itemOf('key', name)),
        ...(ids.size > 0 ? [itemOf('search')] : []),
      ]
      return { items: [...new Set(items)].sort(), held: await sources.held(scope, tx, now) }
    },
    async explain(scope, tx, now) {
      const { ids, near, names, foreign, texts } = await gather(scope, tx, now)
      const verdicts = new Map<string, Verdict>()
      const tell = (found: string, id: string, reason = 'source', verdict: Verdict['verdict'] = 'deleted') => {
        const one = { store: 'cache', kind: 'key', id, name: null, verdict, reason, evidence: [], found }
        if (!verdicts.has(id)) verdicts.set(id, one)
      }
      for (const name of names) tell('pointer', name)
      for (const name of foreign) tell('pointer', name, 'foreign', 'untouched')
      try {
        if (ids.size > 0) {
          for (const name of await cache.find({ patterns: [], about: [...ids] })) tell('index', name)
          for (const name of await containing([...ids], textsToFind(texts))) tell('text', name)
          for (const name of await around([...near])) tell('group', name, 'shared')
        }
      } catch (error) {
        if (!isUnavailable(error)) throw error
      }
      return [...verdicts.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
    },
    async erase(scope, items, tx, manner) {
      if (items.length === 0) return 0
      await checkMissing(tx)
      const { about, who, key, near, search } = itemsByKind(items)
      const names = new Set(key)
      const take = (found: readonly string[]) => {
        for (const name of found) names.add(name)
      }
      const indexed = [...about, ...who]
      if (indexed.length > 0) take(await cache.find({ patterns: [], about: indexed }))
      if (!manner || !(await stand(scope, tx, manner.now))) take(await containing(about))
      else {
        take(await around(near))
        if (search.length > 0) {
          const { ids, texts } = await gather(scope, tx, manner.now)
          take(await containing([...ids], textsToFind(texts)))
        }
      }
      const count = await cache.drop([...names])
      await cache.forget(indexed)
      return { count, results: { keys: Math.max(count, key.length) }, mentions: [] }
    },
    /** By a scan of all names, values and indexes; what has an id too short for that, by its index. */
    async residue(_scope, items) {
      const { about, who, key } = itemsByKind(items)
      if (about.length + who.length + key.length === 0) return 0
      await checkMissing()
      const left = new Set(await containing(about))
      for (const name of await cache.find({ patterns: key.map(literally), about: [...about, ...who] })) left.add(name)
      return left.size
    },
  }
}
