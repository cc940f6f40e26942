import type { Database } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import { qualityOf, scoreOf } from '../../rules.ts'
import { plannedSettings } from '../repository.ts'
import { lockVotesOfVersion, olderSimilarUnits, setNovelty, unitsWithoutNovelty, wordsByRarity } from './repository.ts'

/** Maximum units per batch. */
const mostUnits = 50
/** Maximum number of a unit's rarest shared words used to find similar units, and of units compared. */
const [mostTelling, mostCompared] = [16, 30]
/** Maximum rows that a word may match to be used for the search. */
const mostFound = 3_000

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
export async function judgeNovelty(db: Database): Promise<number> {
  const units = await unitsWithoutNovelty(db, { limit: mostUnits })
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
    const telling: string[] = []
    let found = 0
    for (const { word, units } of words) {
      if (units < 2) continue
      found += units
      if (telling.length >= mostTelling || (telling.length > 0 && found > mostFound)) break
      telling.push(`'${word}'`)
    }
    if (telling.length === 0) return 0
    const others = await olderSimilarUnits(on, {
      ...{ id, scopes, domain, at: created_at, query: telling.join(' | ') },
      ...{ mostFound, limit: mostCompared },
    })
    const own = new Set(words.map(({ word }) => word))
    return Math.max(0, ...others.map((other) => similarity(own, other.words)))
  })
