import type { Transaction } from '#lib/kernel/context.ts'
import type { Erased } from '#lib/kernel/data-source.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

const tallied = (isGone: string) => `WITH met AS (INSERT INTO erasure_tallies (run_id, holder, name, id)
    SELECT $1, $2, $3, id FROM unnest($4::text[]) AS id ON CONFLICT DO NOTHING RETURNING 1),
  gone AS (DELETE FROM erasure_tallies WHERE run_id = $1 AND holder = $2 AND name = $3 AND ${isGone} RETURNING 1)
  SELECT ((SELECT count(*) FROM met) - (SELECT count(*) FROM gone))::int AS n`

const statements = {
  'erasure-tally': tallied('id = ANY($5::text[])'),
  // See `idOfPart`.
  'erasure-tally-of-parts': tallied(
    `(id = ANY($5::text[]) OR split_part(id, E'\\n', 1) IN (SELECT unnest($5::text[])))`,
  ),
}

/**
 * Returns how much a page changes each tallied count: ids of earlier pages are not counted again, and ids that were
 * deleted since are subtracted.
 */
export async function talliedUp(
  tx: Transaction,
  runId: string,
  holder: string,
  { tallies = {} }: Pick<Erased, 'tallies'>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const [name, { met, gone, isOfParts = false }] of Object.entries(tallies)) {
    const statement = isOfParts ? 'erasure-tally-of-parts' : 'erasure-tally'
    const values = [runId, holder, name, met, gone]
    const [row] = await queryWithin<{ n: number }>(tx, statement, statements[statement], values)
    counts[name] = row?.n ?? 0
  }
  return counts
}
