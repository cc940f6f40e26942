import { skillEtag, wholeSkillOf } from '#lib/domains/knowledge/skills/storage.ts'
import { goneOrNotFound, type KnowledgeDeps, shown } from '#lib/domains/knowledge/units/stored-unit.ts'
import { etagOf, knowledgeReaderOf } from '#lib/domains/knowledge/visibility.ts'
import type { Periods } from '#lib/kernel/expiring.ts'
import { read } from '#lib/kernel/use-case.ts'
import { inspectSkill, inspectUnit } from './inspection-contract.ts'
import { inspectedSkill, inspectedUnit, type StatusRow } from './repository.ts'

export interface InspectionDeps extends Pick<KnowledgeDeps, 'db' | 'erasures'> {
  /** Retention in days by visibility; null means unlimited. */
  periods(): Promise<Periods>
}

const dayMs = 86_400_000
/** When retention deletes a record under the current periods; null means never. */
export function expiryOf(row: { visibility: keyof Periods; created_at: Date }, periods: Periods): string | null {
  const days = periods[row.visibility]
  return days === null ? null : new Date(row.created_at.getTime() + days * dayMs).toISOString()
}

function statusOf(row: StatusRow, periods: Periods) {
  return {
    is_own: row.is_own,
    was_public: row.was_public,
    quarantined_at: row.quarantined_at?.toISOString() ?? null,
    is_paused: row.is_paused,
    expires_at: expiryOf(row, periods),
  }
}

/** A person's view of a unit or skill: its content and how it is processed. */
export const inspection = ({ db, erasures, periods }: InspectionDeps) => ({
  inspectUnit: read(inspectUnit, async (ctx, { params: { id } }) => {
    const [[row], inForce] = await Promise.all([inspectedUnit(db, { id, ...knowledgeReaderOf(ctx) }), periods()])
    if (!row) throw await goneOrNotFound(erasures, ctx, id)
    return {
      body: {
        data: {
          ...shown(row),
          agent_id: row.agent_id,
          ...statusOf(row, inForce),
          etag: etagOf({ version: row.version, quality: row.quality_score }),
          attributed_to: [...new Set(row.attributed_to)],
          votes: { for: row.votes_for, against: row.votes_against, waiting: row.votes_waiting },
          wordings: row.wordings,
        },
      },
      resourceId: id,
    }
  }),

  inspectSkill: read(inspectSkill, async (ctx, { params: { id } }) => {
    const [[row], inForce] = await Promise.all([inspectedSkill(db, { id, ...knowledgeReaderOf(ctx) }), periods()])
    if (!row) throw await goneOrNotFound(erasures, ctx, id)
    return {
      body: { data: { ...wholeSkillOf(row), ...statusOf(row, inForce), etag: skillEtag(row.version) } },
      resourceId: id,
    }
  }),
})
