import type { Transaction } from '#lib/kernel/context.ts'
import { knowledgeHoldsSql } from './legal-holds.ts'

const question = (kind: 'unit' | 'skill'): string => `WITH ${knowledgeHoldsSql(kind, '$2')}
  SELECT s.agent_id AS agent, min(r.hold) AS hold FROM held_records r JOIN ${kind}s s ON s.id = r.id
  WHERE s.agent_id = ANY($1::text[]) GROUP BY s.agent_id`

/**
 * Maps those of the agents that authored a unit or skill under an active legal hold to one such hold. Records cannot exist without their
 * author's row.
 */
export async function authorsUnderLegalHold(
  tx: Transaction,
  agents: readonly string[],
  now: Date,
): Promise<Map<string, string>> {
  const holds = new Map<string, string>()
  for (const kind of ['unit', 'skill'] as const)
    for (const { agent, hold } of await tx.$queryRawUnsafe<{ agent: string; hold: string }[]>(
      question(kind),
      agents,
      now,
    ))
      holds.set(agent, hold)
  return holds
}
