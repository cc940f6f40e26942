import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import { qualityOf, scoreOf } from '../rules.ts'
import {
  gatherLostWords,
  gatherNewWords,
  lockUnindexedUnits,
  lockVotesOfVersion,
  olderSimilarUnits,
  plannedSettings,
  recountScopes,
  setNovelty,
  setSearchVectors,
  unitsWithoutNovelty,
  wordsByRarity,
} from './repository.ts'
import { searchVector, weightedTextsOf } from './words.ts'

/** Milliseconds after which one run ends. */
const patience = 40_000

/** Repeats the work until none remains or the time is over. */
async function exhaust(work: () => Promise<number>): Promise<void> {
  const until = performance.now() + patience
  while (performance.now() < until && (await work()) > 0);
}

const payload = z.unknown()
const cron = '* * * * *'

/** Maximum rows per batch. Each batch is one transaction, which bounds the waiting time of changes and erasures. */
const [maxNews, maxLooked, maxUnindexed] = [20, 500, 100]
/** Milliseconds that one run searches for lost words; the next run continues there. */
const gatheringPatience = 2_000

/** Adds the words of new and changed rows to the word table. Returns the number of rows; also 0 if others have locked them. */
export async function gatherWords(db: Database): Promise<number> {
  const [gathered] = await gatherNewWords(db, { max: maxNews })
  return gathered?.n ?? 0
}

/**
 * Cycles through all rows, a section per call, and adds words missing from the word table because their former bearer was deleted. Small
 * registries complete in one call. The position is kept in memory: after a restart it begins again.
 */
export function regatherWords(db: Database): () => Promise<void> {
  let after = ''
  return async () => {
    const until = performance.now() + gatheringPatience
    do {
      const [looked] = await gatherLostWords(db, { after, max: maxLooked })
      after = looked?.last ?? ''
    } while (after !== '' && performance.now() < until)
  }
}

/** Indexes units stored by versions without search. Returns the number of units. */
const indexUnits = (db: Database): Promise<number> =>
  db.transaction(async (tx) => {
    const units = await lockUnindexedUnits(tx, { limit: maxUnindexed })
    await setSearchVectors(tx, {
      ids: units.map(({ id }) => id),
      vectors: units.map(({ document }) => searchVector(weightedTextsOf(document))),
    })
    return units.length
  })

/** Maximum units per batch. */
const maxUnits = 50
/** Maximum number of a unit's rarest shared words used to find similar units, and of units compared. */
const [maxDistinctive, maxCompared] = [16, 30]
/** Maximum rows that a word may match to be used for the search. */
const maxFound = 3_000

type UnjudgedUnit = Awaited<ReturnType<typeof unitsWithoutNovelty>>[number]

/** Jaccard similarity of two sets of words, 0–1. */
function similarity(one: ReadonlySet<string>, other: readonly string[]): number {
  let shared = 0
  for (const word of other) if (one.has(word)) shared++
  const together = one.size + other.length - shared
  return together === 0 ? 0 : shared / together
}

/**
 * Computes the novelty of new units: 1 − the highest similarity to older units of the domain. Only compares with the unit's own scope and
 * the network, and not with quarantined units, so that no score reveals a unit that its reader may not see. Returns the number of units.
 */
async function decideNovelty(db: Database): Promise<number> {
  const units = await unitsWithoutNovelty(db, { limit: maxUnits })
  for (const unit of units) {
    const novelty = Math.round((1 - (await nearest(db, unit))) * 10_000) / 10_000
    await store(db, unit, novelty)
  }
  return units.length
}

/**
 * Stores the result only for the version it was computed for: a text changed meanwhile is compared again. Includes votes cast meanwhile.
 */
async function store(db: Database, { id, document, version }: UnjudgedUnit, novelty: number): Promise<void> {
  await db.transaction(async (tx) => {
    const [votes] = await lockVotesOfVersion(tx, { id, version })
    if (votes) await setNovelty(tx, { id, novelty, quality: scoreOf(qualityOf(document, novelty), votes) })
  })
}

const nearest = (db: Database, { id, domain, scope, created_at }: UnjudgedUnit): Promise<number> =>
  snapshot(db, plannedSettings, async (on) => {
    const scopes = [...new Set([scope, 'network'])]
    const words = await wordsByRarity(on, { id, scopes })
    const distinctive: string[] = []
    let found = 0
    for (const { word, units } of words) {
      if (units < 2) continue
      found += units
      if (distinctive.length >= maxDistinctive || (distinctive.length > 0 && found > maxFound)) break
      distinctive.push(`'${word}'`)
    }
    if (distinctive.length === 0) return 0
    const others = await olderSimilarUnits(on, {
      id,
      scopes,
      domain,
      at: created_at,
      query: distinctive.join(' | '),
      maxFound,
      limit: maxCompared,
    })
    const own = new Set(words.map(({ word }) => word))
    return Math.max(0, ...others.map((other) => similarity(own, other.words)))
  })

export const searchJobs = (db: Database, findAgain = regatherWords(db)) => [
  job({ name: 'knowledge.index-words', payload, cron, run: () => exhaust(() => indexUnits(db)) }),
  job({
    name: 'knowledge.gather-words',
    payload,
    cron,
    async run({ now }) {
      await exhaust(() => gatherWords(db))
      await findAgain()
      if (now.getUTCMinutes() === 0) await recountScopes(db, {})
    },
  }),
  job({
    name: 'knowledge.novelty',
    payload,
    cron,
    async run() {
      // Novelty depends on the word table, so update that first.
      await exhaust(() => gatherWords(db))
      await exhaust(() => decideNovelty(db))
    },
  }),
]
