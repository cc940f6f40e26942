import type { Database } from '#lib/stores/postgres/database.ts'
import type { KnowledgeReader } from '../visibility.ts'
import { countVersions, readableVersion, type SopRow, type VersionRow, versionsPage } from './repository.ts'
import { seesFormer } from './rows.ts'

const readerOfVersions = (sop: SopRow, { agents, admin, organisation }: KnowledgeReader) => ({
  unit: sop.id,
  isOwn: agents.includes(sop.agent_id),
  admin,
  isOfOrganisation: admin || organisation === sop.organisation_id,
  current: sop.wording,
  approved: sop.approved_version,
})

/** Lists versions without their text, newest first, and their total. The reader must be able to see the SOP. */
export async function versionsOf(
  db: Database,
  sop: SopRow,
  reader: KnowledgeReader,
  { before, limit, offset }: { before: number | undefined; limit: number; offset: number },
): Promise<{ rows: VersionRow[]; total: number }> {
  const rights = readerOfVersions(sop, reader)
  const [rows, [count]] = await Promise.all([
    versionsPage(db, { ...rights, before: before ?? null, limit, offset }),
    countVersions(db, rights),
  ])
  return { rows, total: count?.n ?? 0 }
}

/** Returns one version with its text; undefined if it does not exist or the reader may not see it. */
export async function sopVersionOf(db: Database, sop: SopRow, reader: KnowledgeReader, version: number) {
  const [row] = await readableVersion(db, { ...readerOfVersions(sop, reader), version })
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
