import type { Database } from '#lib/stores/postgres/database.ts'
import { weightedTextsOf } from '../unit-texts.ts'
import { searchVector } from '../vector.ts'
import { gatherLostWords, gatherNewWords, lockUnindexedUnits, setSearchVectors } from './repository.ts'

/** Maximum rows per batch. Each batch is one transaction, which bounds the waiting time of changes and erasures. */
const [mostNews, mostLooked, mostUnindexed] = [20, 500, 100]
/** Milliseconds that one run searches for lost words; the next run continues there. */
const patience = 2_000

/** Adds the words of new and changed rows to the word table. Returns the number of rows; also 0 if others have locked them. */
export async function gatherWords(db: Database): Promise<number> {
  const [gathered] = await gatherNewWords(db, { most: mostNews })
  return gathered?.n ?? 0
}

/**
 * Cycles through all rows, a section per call, and adds words missing from the word table because their former bearer was deleted. Small
 * registries complete in one call. The position is kept in memory: after a restart it begins again.
 */
export function regatherWords(db: Database): () => Promise<void> {
  let after = ''
  return async () => {
    const until = performance.now() + patience
    do {
      const [looked] = await gatherLostWords(db, { after, most: mostLooked })
      after = looked?.last ?? ''
    } while (after !== '' && performance.now() < until)
  }
}

/** Indexes units stored by versions without search. Returns the number of units. */
export const indexUnits = (db: Database): Promise<number> =>
  db.transaction(async (tx) => {
    const units = await lockUnindexedUnits(tx, { limit: mostUnindexed })
    await setSearchVectors(tx, {
      ids: units.map(({ id }) => id),
      vectors: units.map(({ document }) => searchVector(weightedTextsOf(document))),
    })
    return units.length
  })
