import {
  skillEtag,
  type WholeSkillRow,
  wholeSkillColumns,
  wholeSkillOf,
} from '#lib/domains/knowledge/skills/storage.ts'
import {
  goneOrNotFound,
  type KnowledgeDeps,
  shown,
  type UnitRow,
  unitColumns,
} from '#lib/domains/knowledge/units/stored-unit.ts'
import { etagOf, knowledgeReaderOf, visibleTo } from '#lib/domains/knowledge/visibility.ts'
import type { Periods } from '#lib/kernel/data-source.ts'
import { read } from '#lib/kernel/use-case.ts'
import { inspectSkill, inspectUnit } from './inspection-contract.ts'

export interface InspectionDeps extends Pick<KnowledgeDeps, 'db' | 'erasures'> {
  /** Retention in days by visibility; null means unlimited. */
  periods(): Promise<Periods>
}

interface StandingRow {
  agent_id: string
  is_own: boolean
  is_paused: boolean
  was_public: boolean
  quarantined_at: Date | null
  created_at: Date
  visibility: keyof Periods
}
interface InspectedUnit extends UnitRow, StandingRow {
  attributed_to: string[]
  votes_for: number
  votes_against: number
  votes_waiting: number
  wordings: number
}
type InspectedSkill = WholeSkillRow & StandingRow

const standingColumns = `u.agent_id, u.agent_id = ANY($2::text[]) AS is_own, u.was_public, u.quarantined_at,
  EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id) AS is_paused`
const visible = visibleTo('$2::text[]', '$3', '$4::boolean')
const counted = (condition: string) =>
  `(SELECT count(*)::int FROM unit_votes v WHERE v.unit_id = u.id AND ${condition})`
const selectUnit = `SELECT ${unitColumns}, ${standingColumns},
    array_remove(ARRAY[nullif(u.attributed_to, u.agent_id), nullif(u.original_author, u.agent_id)], NULL) AS attributed_to,
    ${counted('v.weight > 0 AND v.valid')} AS votes_for, ${counted('v.weight > 0 AND NOT v.valid')} AS votes_against,
    ${counted('v.weight = 0')} AS votes_waiting,
    greatest(1, (SELECT count(*)::int FROM sop_versions s WHERE s.unit_id = u.id)) AS wordings
  FROM units u WHERE u.id = $1 AND ${visible}`
const selectSkill = `SELECT ${wholeSkillColumns}, ${standingColumns} FROM skills u WHERE u.id = $1 AND ${visible}`

const dayMs = 86_400_000
/** When retention deletes a record under the current periods; null means never. */
export function expiryOf(row: { visibility: keyof Periods; created_at: Date }, periods: Periods): string | null {
  const days = periods[row.visibility]
  return days === null ? null : new Date(row.created_at.getTime() + days * dayMs).toISOString()
}

function statusOf(row: StandingRow, periods: Periods) {
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
    const { agents, organisation, admin } = knowledgeReaderOf(ctx)
    const [[row], inForce] = await Promise.all([
      db.query<InspectedUnit>('inspect-unit', selectUnit, [id, agents, organisation, admin]),
      periods(),
    ])
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
    const { agents, organisation, admin } = knowledgeReaderOf(ctx)
    const [[row], inForce] = await Promise.all([
      db.query<InspectedSkill>('inspect-skill', selectSkill, [id, agents, organisation, admin]),
      periods(),
    ])
    if (!row) throw await goneOrNotFound(erasures, ctx, id)
    return {
      body: { data: { ...wholeSkillOf(row), ...statusOf(row, inForce), etag: skillEtag(row.version) } },
      resourceId: id,
    }
  }),
})
