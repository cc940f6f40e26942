import type { Transaction } from '#lib/kernel/context.ts'

/**
 * An agent was claimed, and so moved into its owner's organisation: projects in which nobody but it takes part move with it. Others stay
 * where they are, and it takes part in them no more.
 */
export const followAgent = (tx: Transaction, agentId: string): Promise<number> => tx.$executeRaw`
  UPDATE projects p SET organisation_id = n.organisation_id FROM agent_names n
  WHERE n.id = ${agentId} AND p.organisation_id <> n.organisation_id
    AND p.id IN (SELECT project_id FROM project_members WHERE kind = 'agent' AND member_id = ${agentId})
    AND NOT EXISTS (SELECT FROM project_members m WHERE m.project_id = p.id AND NOT (m.kind = 'agent' AND m.member_id = ${agentId}))`
