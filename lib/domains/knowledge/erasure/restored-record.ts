import type { Transaction } from '#lib/kernel/context.ts'
import { lockRestoredRecord } from './repository.ts'

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
      ? await lockRestoredRecord(tx, { id: scope.unit, at }, 'unit')
      : await lockRestoredRecord(tx, { id: scope.skill, at }, 'skill')
  return row
}
