import type { Database } from '#lib/stores/postgres/database.ts'
import type { Reader } from '../visibility.ts'
import { type Sop, type SopRow, seesFormer, type VersionRow } from './rows.ts'

const columns = 'v.version, v.created_by, v.created_at, v.approved_by, v.approved_at'
/**
 * What may be read of the SOP $1, which the reader sees: its own ($2) all of it; of another's, wordings that were shared with the reader
 * when they were the present one ($4: it is of the organisation), and of these an admin ($3) all, everybody else the present one $5 and the
 * newest approved one $6. A wording that was private stays so when a later one is shared.
 */
const readable = `v.unit_id = $1 AND ($2::boolean OR (
  v.document->'metadata'->>'visibility' = ANY(CASE WHEN $4::boolean THEN '{network,org}' ELSE '{network}' END::text[])
  AND ($3::boolean OR v.version IN ($5::int, $6::int))))`
const valuesOf = (sop: SopRow, { agents, admin, organisation }: Reader): unknown[] => [
  sop.id,
  agents.includes(sop.agent_id),
  admin,
  admin || organisation === sop.organisation_id,
  sop.wording,
  sop.approved_version,
]

/** How far a total is counted. */
const countedTo = 1_001

/** Wordings without their text, newest first, and how many there are. */
export async function versionsOf(
  db: Database,
  sop: SopRow,
  reader: Reader,
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

/** One wording with its text; undefined where there is none, or none that the reader sees. */
export async function versionOf(
  db: Database,
  sop: SopRow,
  reader: Reader,
  version: number,
): Promise<(VersionRow & { document: Sop }) | undefined> {
  const [row] = await db.query<VersionRow & { document: Sop }>(
    'sop-version',
    `SELECT ${columns}, v.document FROM sop_versions v WHERE ${readable} AND v.version = $7`,
    [...valuesOf(sop, reader), version],
  )
  return row
}

/** Others learn when a wording was written and approved, and not by whom: an account is not theirs to know. */
export const versionFacts = (sop: SopRow, reader: Reader, row: VersionRow) => {
  const showsWho = seesFormer(reader, sop)
  return {
    version: row.version,
    created_by: showsWho ? row.created_by : null,
    created_at: row.created_at.toISOString(),
    approved_by: showsWho ? row.approved_by : null,
    approved_at: row.approved_at?.toISOString() ?? null,
  }
}
