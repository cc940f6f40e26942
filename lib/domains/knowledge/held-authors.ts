import type { Transaction } from '#lib/kernel/context.ts'
import { holdMembers } from './held.ts'

const question = (kind: 'unit' | 'skill'): string => `WITH ${holdMembers(kind, '$2')}
  SELECT s.agent_id AS agent, min(r.hold) AS hold FROM held_records r JOIN ${kind}s s ON s.id = r.id
  WHERE s.agent_id = ANY($1::text[]) GROUP BY s.agent_id`

/** Those of the agents that wrote a unit or skill which a hold in force covers, with one such hold: without its author no record stays. */
export async function heldAuthors(tx: Transaction, agents: readonly string[], now: Date): Promise<Map<string, string>> {
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
