import type { Database } from '#lib/stores/postgres/database.ts'
import type { KnowledgeReader } from '../visibility.ts'
import { type Sop, type SopRow, seesFormer, type VersionRow } from './rows.ts'

const columns = 'v.version, v.created_by, v.created_at, v.approved_by, v.approved_at'
/**
 * Versions of SOP $1 that the reader may read; the reader must be able to see the SOP. $2: it is the reader's own, which allows all. Of
 * others' SOPs, only versions that were shared with the reader while current ($4: the SOP belongs to the reader's organisation); of these
 * an admin ($3) reads all, everyone else the current one ($5) and the newest approved one ($6). A version that was private stays private
 * when a later one is shared.
 */
const readable = `v.unit_id = $1 AND ($2::boolean OR (
  v.document->'metadata'->>'visibility' = ANY(CASE WHEN $4::boolean THEN '{network,org}' ELSE '{network}' END::text[])
  AND ($3::boolean OR v.version IN ($5::int, $6::int))))`
const valuesOf = (sop: SopRow, { agents, admin, organisation }: KnowledgeReader): unknown[] => [
  sop.id,
  agents.includes(sop.agent_id),
  admin,
  admin || organisation === sop.organisation_id,
  sop.wording,
  sop.approved_version,
]

/** Totals stop counting here. */
const countedTo = 1_001

/** Lists versions without their text, newest first, and their total. */
export async function versionsOf(
  db: Database,
  sop: SopRow,
  reader: KnowledgeReader,
  { before, limit, offset }: { before: number | undefined; limit: number; offset: number },
): Promise<{ rows: VersionRow[]; total: number }> {
  const values = valuesOf(sop, reader)
  const [rows, [count]] = await Promise.all([
    db.query<VersionRow>(
      'sop-versions',
      `SELECT ${columns} FROM sop_versions v WHERE ${readable} AND ($7::int IS NULL OR v.version < $7) ORDER BY v.version DESC LIMIT $8 OFFSET $9`,
      [...values, before ?? null, limit, offset],
    ),
    db.query<{ n: number }>(
      'sop-versions-count',
      `SELECT count(*)::int AS n FROM (SELECT FROM sop_versions v WHERE ${readable} LIMIT ${countedTo}) AS c`,
      values,
    ),
  ])
  return { rows, total: count?.n ?? 0 }
}

/** Returns one version with its text; undefined if it does not exist or the reader may not see it. */
export async function sopVersionOf(
  db: Database,
  sop: SopRow,
  reader: KnowledgeReader,
  version: number,
): Promise<(VersionRow & { document: Sop }) | undefined> {
  const [row] = await db.query<VersionRow & { document: Sop }>(
    'sop-version',
    `SELECT ${columns}, v.document FROM sop_versions v WHERE ${readable} AND v.version = $7`,
    [...valuesOf(sop, reader), version],
  )
  return row
}

/** Others see when a version was created and approved, but not by whom: accounts are personal data. */
export const versionFacts = (sop: SopRow, reader: KnowledgeReader, row: VersionRow) => {
  const showsWho = seesFormer(reader, sop)
  return {
    version: row.version,
    created_by: showsWho ? row.created_by : null,
    created_at: row.created_at.toISOString(),
    approved_by: showsWho ? row.approved_by : null,
    approved_at: row.approved_at?.toISOString() ?? null,
  }
}
