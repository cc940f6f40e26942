import { recordedClaimants } from '#lib/domains/projects/key-space.ts'
import { scopePart, scopeSubject, writersOf } from '#lib/domains/projects/legal-holds.ts'
import { othersOf } from '#lib/domains/projects/provenance/shared-pointers.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, Explained, Planned, PlannedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import { type CacheSourcePorts, cacheKeySpace, findEntries, idsOfSubject } from './entry-search.ts'
import { eraseEntries, mostBinary } from './erasing.ts'
import { cacheReader } from './reading.ts'
import { cacheKeysLabelled, cachePointersOf } from './repository.ts'
import { residueOfEntries } from './residue.ts'
import { cacheItemOf, chosenItem, itemsByKind } from './rules.ts'
import { gatherCacheTerms } from './search-terms.ts'
import { labelOf } from './survey.ts'

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
    items.splice(0, items.length, ...[...gathered.names.keys()].map((name) => cacheItemOf('key', labelOf(name))))
    if (watched.length > 0) items.push(cacheItemOf('search'))
  }
  const planned = new Set(items)
  return {
    items: [...planned].sort(),
    watched: [...new Set(watched)].filter((item) => !planned.has(item)).sort(),
    held: await sources.held(scope, tx, now),
  }
}

/** What an erasure would do to each entry. */
async function explainEntries(
  ports: CacheSourcePorts,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<Explained> {
  const { sources, whatIsMissing } = ports
  const gathered = await gatherCacheTerms(sources, scope, tx, now)
  const verdicts = new Map<string, PlannedRecord>()
  const add = (id: string, more: Pick<PlannedRecord, 'verdict' | 'reason' | 'found'>, evidence: string[] = []) => {
    if (!verdicts.has(id)) verdicts.set(id, { store: 'cache', kind: 'key', id, name: null, evidence, ...more })
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
  return { verdicts: [...verdicts.values()].sort((one, other) => (one.id < other.id ? -1 : 1)), isPartial }
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
    residue: (scope, items, now, words) => residueOfEntries(ports, scope, items, now, words),
    read: cacheReader(ports),
    notSearched(results) {
      const { cacheBinary = 0, cacheOutside = 0, cacheLasting = 0 } = results
      return [
        ...(cacheBinary > 0
          ? [
              {
                what: receiptText('notSearched', 'cacheValues'),
                count: cacheBinary < mostBinary ? cacheBinary : null,
              },
            ]
          : []),
        ...(cacheLasting > 0
          ? [
              {
                what: receiptText('notSearched', 'cacheLasting'),
                count: cacheLasting < mostBinary ? cacheLasting : null,
              },
            ]
          : []),
        ...(cacheOutside > 0
          ? [
              {
                what: receiptText('notSearched', 'cacheOutside'),
                count: null,
              },
            ]
          : []),
      ]
    },
    forget: (runId) => cache.forgetNotes(runId),
  }
}
