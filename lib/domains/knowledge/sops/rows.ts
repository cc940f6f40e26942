import type { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { ExpertSOP } from '../unit.ts'
import { etagOf, type KnowledgeReader, visibleTo } from '../visibility.ts'
import type { StoredSop } from './contract.ts'

export type Sop = z.output<typeof ExpertSOP>

export interface SopRow {
  id: string
  agent_id: string
  organisation_id: string
  document: Sop
  visibility: 'private' | 'org' | 'network'
  quality_score: number
  /** Row version, incremented by every change. */
  version: number
  created_at: Date
  updated_at: Date
  /** Number of the current SOP version. */
  wording: number
  /** Number of the newest approved SOP version. */
  approved_version: number | null
  approved_at: Date | null
}

const newestApproved = (column: string): string =>
  `(SELECT v.${column} FROM sop_versions v WHERE v.unit_id = u.id AND v.approved_at IS NOT NULL ORDER BY v.version DESC LIMIT 1)`
/** Whether any version of the unit `u` was approved. */
export const isApproved = 'EXISTS (SELECT FROM sop_versions v WHERE v.unit_id = u.id AND v.approved_at IS NOT NULL)'
/** Columns of {@link SopRow} for the unit `u`. */
export const sopColumns = `u.id, u.agent_id, u.organisation_id, u.document, u.visibility::text AS visibility, u.quality_score, u.version, u.created_at, u.updated_at,
  (SELECT max(v.version) FROM sop_versions v WHERE v.unit_id = u.id) AS wording,
  ${newestApproved('version')} AS approved_version, ${newestApproved('approved_at')} AS approved_at`

const selectVisible = `SELECT ${sopColumns} FROM units u
  WHERE u.id = $1 AND u.type = 'ExpertSOP' AND ${visibleTo('$2::text[]', '$3', '$4::boolean')}`
const rightsOf = ({ agents, organisation, admin }: KnowledgeReader) => [agents, organisation ?? null, admin] as const

/** Returns the SOP if the reader may see it. */
export async function visibleSop(db: Database, id: string, reader: KnowledgeReader): Promise<SopRow | undefined> {
  const [row] = await db.query<SopRow>('read-sop', selectVisible, [id, ...rightsOf(reader)])
  return row
}

/** Like {@link visibleSop}, within a transaction. */
export async function visibleSopWithin(
  tx: Transaction,
  id: string,
  reader: KnowledgeReader,
): Promise<SopRow | undefined> {
  const { agents, organisation, admin } = reader
  const [row] = await tx.$queryRawUnsafe<SopRow[]>(selectVisible, id, [...agents], organisation ?? null, admin)
  return row
}

/** Like {@link visibleSopWithin}, after locking the row against other changes. */
export async function lockedVisibleSop(
  tx: Transaction,
  id: string,
  reader: KnowledgeReader,
): Promise<SopRow | undefined> {
  await tx.$queryRaw`SELECT FROM units WHERE id = ${id} AND type = 'ExpertSOP' FOR UPDATE`
  return visibleSopWithin(tx, id, reader)
}

/** Returns the SOP without checking access; callers have checked it before. */
export async function storedSop(tx: Transaction, id: string): Promise<SopRow> {
  const [row] = await tx.$queryRawUnsafe<SopRow[]>(`SELECT ${sopColumns} FROM units u WHERE u.id = $1`, id)
  if (!row) throw new Error('an SOP vanished while it was locked')
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
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  version: row.wording,
  approved_version: row.approved_version,
  approved_at: row.approved_at?.toISOString() ?? null,
})
export const etagOfSop = (row: Pick<SopRow, 'version' | 'quality_score'>): string =>
  etagOf({ version: row.version, quality: row.quality_score })

export interface VersionRow {
  version: number
  created_by: string
  created_at: Date
  approved_by: string | null
  approved_at: Date | null
}
