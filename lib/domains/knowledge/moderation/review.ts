import { award } from '#lib/domains/knowledge/reputation/award.ts'
import type { Unit } from '#lib/domains/knowledge/unit.ts'
import type { KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { listQuarantine, reviewQuarantined } from './contract.ts'

/** Totals stop counting at this number. */
const mostCounted = 1_001
const mostReports = 20

const selectHeld = `WITH held AS (
    (SELECT id, 'unit' AS kind, agent_id, visibility, quarantined_at FROM units
      WHERE quarantined_at IS NOT NULL AND ($1::timestamptz IS NULL OR (quarantined_at, id) > ($1, $2)) ORDER BY quarantined_at, id LIMIT $3)
    UNION ALL
    (SELECT id, 'skill', agent_id, visibility, quarantined_at FROM skills
      WHERE quarantined_at IS NOT NULL AND ($1::timestamptz IS NULL OR (quarantined_at, id) > ($1, $2)) ORDER BY quarantined_at, id LIMIT $3)
    ORDER BY quarantined_at, id LIMIT $3)
  SELECT h.*, u.document AS unit, s.document AS skill_md, coalesce((
      SELECT json_agg(json_build_object('reason', r.reason, 'reported_at', r.at) ORDER BY r.at, r.owner_key)
      FROM (SELECT * FROM unit_reports WHERE unit_id = h.id AND settled_at IS NULL ORDER BY at, owner_key LIMIT ${mostReports}) AS r), '[]') AS reports,
    (SELECT count(*)::int FROM unit_reports WHERE unit_id = h.id AND settled_at IS NOT NULL) AS settled_reports
  FROM held h LEFT JOIN units u ON u.id = h.id AND u.visibility <> 'private'
    LEFT JOIN skills s ON s.id = h.id AND s.visibility <> 'private'
  ORDER BY h.quarantined_at, h.id`
const countHeld = `SELECT count(*)::int AS n FROM (
  (SELECT FROM units WHERE quarantined_at IS NOT NULL LIMIT ${mostCounted}) UNION ALL
  (SELECT FROM skills WHERE quarantined_at IS NOT NULL LIMIT ${mostCounted})) AS held`

interface HeldRow {
  id: string
  kind: 'unit' | 'skill'
  agent_id: string
  visibility: 'private' | 'org' | 'network'
  quarantined_at: Date
  unit: Unit | null
  skill_md: string | null
  reports: { reason: string; reported_at: string }[]
  settled_reports: number
}

interface Reviewed {
  agent_id: string
  type: string
  imported: boolean
  held: boolean
}

/** Quarantined records, and the admin's decisions about them. */
export const review = ({ db }: Pick<KnowledgeDeps, 'db'>) => ({
  list: read(listQuarantine, async (_ctx, { query: { cursor, limit } }) => {
    const after = parseCursor(cursor)
    const [records, [count]] = await Promise.all([
      db.query<HeldRow>('quarantine-page', selectHeld, [after?.at ?? null, after?.id ?? null, limit + 1]),
      db.query<{ n: number }>('quarantine-count', countHeld),
    ])
    const { shown, page } = pageOf(records, limit, Math.min(count?.n ?? 0, mostCounted), ({ quarantined_at, id }) => ({
      at: quarantined_at,
      id,
    }))
    return {
      body: {
        data: shown.map(({ quarantined_at, reports, ...row }) => ({
          ...row,
          quarantined_at: quarantined_at.toISOString(),
          reports: reports.map(({ reason, reported_at }) => ({
            reason,
            reported_at: new Date(reported_at).toISOString(),
          })),
        })),
        ...page,
      },
      resourceId: 'list',
      details: { count: shown.length },
    }
  }),

  decide: mutation(reviewQuarantined, async ({ tx, now }, { params: { id }, body: { decision } }) => {
    const isSkill = id.startsWith('kp:skill:')
    const [row] = isSkill
      ? await tx.$queryRaw<Reviewed[]>`
          SELECT agent_id, 'skill' AS type, false AS imported, quarantined_at IS NOT NULL AS held FROM skills WHERE id = ${id} FOR NO KEY UPDATE`
      : await tx.$queryRaw<Reviewed[]>`
          SELECT agent_id, type::text, original_author IS NOT NULL AS imported, quarantined_at IS NOT NULL AS held FROM units WHERE id = ${id} FOR NO KEY UPDATE`
    if (!row) throw new Problem('not_found', 'There is no such unit or skill.')
    if (!row.held) throw new Problem('conflict', 'It is not held for review; nothing was changed.')
    const settled = isSkill
      ? 0
      : await tx.$executeRaw`UPDATE unit_reports SET settled_at = ${now} WHERE unit_id = ${id} AND settled_at IS NULL`
    const isReleased = decision === 'release'
    if (isReleased) {
      if (isSkill) await tx.$executeRaw`UPDATE skills SET quarantined_at = NULL WHERE id = ${id}`
      else await tx.$executeRaw`UPDATE units SET quarantined_at = NULL WHERE id = ${id}`
      // Records quarantined from the start earn reputation only now. Others keep their one ledger row, and imported records earn none.
      if (!row.imported)
        await award(tx, row.agent_id, isSkill ? 'skill' : row.type === 'ExpertSOP' ? 'sop' : 'unit', [id], now)
    }
    return {
      body: { data: { id, decision, quarantined: !isReleased } },
      resourceId: id,
      resourceType: isSkill ? 'skill' : 'knowledge',
      details: { decision, reports: settled },
    }
  }),
})
