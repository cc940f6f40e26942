import type { z } from 'zod'
import { listedInstructions } from '#lib/domains/sanitizer/contract.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { etagOf, type KnowledgeReader } from '../visibility.ts'
import type { StoredSop } from './contract.ts'
import { lockSop, type SopRow, sopById, visibleSopWithin } from './repository.ts'

/** Locks the SOP against other changes and returns it if the reader may see it. */
export async function lockedVisibleSop(
  tx: Transaction,
  id: string,
  reader: KnowledgeReader,
): Promise<SopRow | undefined> {
  await lockSop(tx, { id })
  const [row] = await visibleSopWithin(tx, { id, ...reader })
  return row
}

/** Returns a locked SOP without checking access; callers have checked it before. */
export async function storedSop(tx: Transaction, id: string): Promise<SopRow> {
  const [row] = await sopById(tx, { id })
  if (!row) throw new Error('A locked SOP does not exist.')
  return row
}

/** Whether the reader sees former versions, and their authors and approvers: the author, its owner and admins do. */
export const seesFormer = (reader: KnowledgeReader, row: Pick<SopRow, 'agent_id'>): boolean =>
  reader.admin || reader.agents.includes(row.agent_id)

export const sopView = (row: SopRow): z.input<typeof StoredSop> => ({
  id: row.id,
  unit: { ...row.document, id: row.id },
  visibility: row.visibility,
  quality_score: row.quality_score,
  ...listedInstructions(row.instructions),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  version: row.wording,
  approved_version: row.approved_version,
  approved_at: row.approved_at?.toISOString() ?? null,
})
export const etagOfSop = (row: Pick<SopRow, 'version' | 'quality_score'>): string =>
  etagOf({ version: row.version, quality: row.quality_score })
