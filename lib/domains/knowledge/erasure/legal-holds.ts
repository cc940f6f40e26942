import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { expertsOfVersions, holdOfRecord, lockHoldsShared } from './legal-holds/repository.ts'

const inForce = (now: string): string => `(expires_at IS NULL OR expires_at > ${now}::timestamptz)`

/**
 * SQL for ids under active legal holds, by kind. For agents: held agents, agents of held accounts, and the ids of those accounts. `now` is
 * a placeholder.
 */
export const idsUnderLegalHold = (kind: 'unit' | 'skill' | 'agent', now: string): string =>
  kind === 'agent'
    ? agentsUnderLegalHold(now)
    : `SELECT target_id FROM holds_in_force WHERE kind = '${kind}' AND ${inForce(now)}`

/**
 * CTEs that start from the holds, because few records are held. `held_agents (agent, hold)`; `held_records (id, hold)`: records of this
 * kind that are held directly or came from a held agent, including former versions. `now` is a placeholder.
 */
export const knowledgeHoldsSql = (kind: 'unit' | 'skill', now: string): string => `in_force AS MATERIALIZED (
    SELECT id, kind, target_id FROM holds_in_force WHERE ${inForce(now)}),
  held_agents AS MATERIALIZED (
    SELECT agent, min(hold) AS hold FROM (
      SELECT target_id AS agent, id AS hold FROM in_force WHERE kind IN ('agent', 'account')
      UNION ALL SELECT a.id, h.id FROM in_force h JOIN agent_owners a ON a.owner_id = h.target_id WHERE h.kind = 'account') AS g GROUP BY agent),
  held_records AS MATERIALIZED (
    SELECT id, min(hold) AS hold FROM (
      SELECT target_id AS id, id AS hold FROM in_force WHERE kind = '${kind}'${kind === 'unit' ? fromHeld : ''}) AS g GROUP BY id)`
const fromHeld = `
      UNION ALL SELECT u.id, a.hold FROM held_agents a JOIN units u ON u.attributed_to = a.agent
      UNION ALL SELECT u.id, a.hold FROM held_agents a JOIN units u ON u.original_author = a.agent
      UNION ALL SELECT v.unit_id, a.hold FROM held_agents a JOIN sop_versions v ON v.document->'source'->>'expert_id' = a.agent`
/** The hold on record `alias`, as a column and the joins it needs; uses the CTEs of {@link knowledgeHoldsSql}. */
export const knowledgeHoldSql = 'coalesce(r.hold, h.hold)'
export const joinKnowledgeHolds = (alias: string): string =>
  `LEFT JOIN held_records r ON r.id = ${alias}.id LEFT JOIN held_agents h ON h.agent = ${alias}.agent_id`

export interface Holdable {
  kind: 'unit' | 'skill'
  id: string
  /** Its author and the agents it is attributed to. */
  agents: readonly (string | null)[]
}

/**
 * Rejects the operation if a legal hold covers the record at that time. Waits for a hold that is being placed, so that nothing is erased
 * after a hold covers it.
 * @throws {Problem} `held`, with the hold's id but not its reason
 */
export async function rejectUnderLegalHold(tx: Transaction, { kind, id, agents }: Holdable, now: Date): Promise<void> {
  await lockHoldsShared(tx, {})
  const [hold] = await holdOfRecord(tx, { kind, id, agents: agents.filter((agent) => agent !== null), now })
  if (hold)
    throw new Problem('held', {
      detail: `A legal hold covers this ${kind}, so nothing was erased. Ask an admin, who can release the hold.`,
      extensions: { hold_id: hold.id },
    })
}

/** Experts named in any version of an SOP. */
export async function expertsOfWordings(tx: Transaction, unitId: string): Promise<string[]> {
  const rows = await expertsOfVersions(tx, { unit: unitId })
  return rows.map(({ expert }) => expert)
}

/** Whether such a unit or skill exists. */
export const isStored = async (tx: Transaction, kind: 'unit' | 'skill', id: string): Promise<boolean> =>
  (kind === 'unit' ? await tx.unit.count({ where: { id } }) : await tx.skill.count({ where: { id } })) > 0
