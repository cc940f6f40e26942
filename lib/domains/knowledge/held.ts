import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** Ids that holds in force name, by kind; `now` is a placeholder. */
export const heldIds = (kind: 'unit' | 'skill' | 'agent', now: string): string =>
  `SELECT target_id FROM holds_in_force WHERE kind = '${kind}' AND (expires_at IS NULL OR expires_at > ${now}::timestamptz)`

export interface Holdable {
  kind: 'unit' | 'skill'
  id: string
  /** Whose it is: its author, and whoever it is attributed to. */
  agents: readonly (string | null)[]
}

/**
 * Throws `held`, with the hold's id and not its reason, when a legal hold covers it at that time. A hold that is being set meanwhile
 * is waited for: what is erased after this was not held.
 */
export async function refuseHeld(tx: Transaction, { kind, id, agents }: Holdable, now: Date): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS taken FROM (SELECT pg_advisory_xact_lock_shared(hashtext('legal_holds'))) AS lock`
  const whose = agents.filter((agent) => agent !== null)
  const [hold] = await tx.$queryRaw<{ id: string }[]>`SELECT id FROM holds_in_force
    WHERE ((kind = ${kind} AND target_id = ${id}) OR (kind = 'agent' AND target_id = ANY(${whose}::text[])))
      AND (expires_at IS NULL OR expires_at > ${now}) ORDER BY id LIMIT 1`
  if (hold)
    throw new Problem('held', {
      detail: `A legal hold covers this ${kind}, so nothing was erased. An admin can say more, and release it.`,
      extensions: { hold_id: hold.id },
    })
}

/** The experts whom an SOP's wordings name, former ones included. */
export async function expertsOfWordings(tx: Transaction, unitId: string): Promise<string[]> {
  const rows = await tx.$queryRaw<{ expert: string }[]>`SELECT DISTINCT document->'source'->>'expert_id' AS expert
    FROM sop_versions WHERE unit_id = ${unitId} AND document->'source'->>'expert_id' IS NOT NULL`
  return rows.map(({ expert }) => expert)
}

/** Whether there is such a unit or skill. */
export const isStored = async (tx: Transaction, kind: 'unit' | 'skill', id: string): Promise<boolean> =>
  (kind === 'unit' ? await tx.unit.count({ where: { id } }) : await tx.skill.count({ where: { id } })) > 0
