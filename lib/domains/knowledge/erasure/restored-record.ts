import type { Transaction } from '#lib/kernel/context.ts'

export interface Restored {
  formerOwner: string
  wasPublic: boolean
}

/** A unit or skill that a restored backup brought back, locked. Undefined unless it is stored and already existed at that time. */
export async function restoredRecord(
  tx: Transaction,
  scope: { unit: string } | { skill: string },
  at: Date,
): Promise<Restored | undefined> {
  const [row] =
    'unit' in scope
      ? await tx.$queryRaw<Restored[]>`
          SELECT agent_id AS "formerOwner", was_public OR visibility = 'network' AS "wasPublic"
          FROM units WHERE id = ${scope.unit} AND created_at <= ${at} FOR UPDATE`
      : await tx.$queryRaw<Restored[]>`
          SELECT agent_id AS "formerOwner", was_public OR visibility = 'network' AS "wasPublic"
          FROM skills WHERE id = ${scope.skill} AND created_at <= ${at} FOR UPDATE`
  return row
}
