import type { Transaction } from '#lib/kernel/context.ts'

/**
 * Moves the projects of a claimed agent to its owner's organization if the agent is their only member. The agent loses access to its other
 * projects, which stay in their organization.
 */
export const followAgent = (tx: Transaction, agentId: string): Promise<number> => tx.$executeRaw`
  UPDATE projects p SET organisation_id = n.organisation_id FROM agent_names n
  WHERE n.id = ${agentId} AND p.organisation_id <> n.organisation_id
    AND p.id IN (SELECT project_id FROM project_members WHERE kind = 'agent' AND member_id = ${agentId})
    AND NOT EXISTS (SELECT FROM project_members m WHERE m.project_id = p.id AND NOT (m.kind = 'agent' AND m.member_id = ${agentId}))`
