import type { OwnAgent } from '#lib/domains/agents/contract.ts'
import { heartbeatsAfterRetirement } from '#lib/domains/agents/life/rules.ts'

export const agentStatuses = ['active', 'paused', 'restricted', 'suspended', 'erasing', 'dead'] as const
type AgentStatusTag = (typeof agentStatuses)[number]
type Hindrance = Exclude<AgentStatusTag, 'active'> | 'selfHosted'
type AgentStatusFields = Pick<OwnAgent, 'status' | 'state' | 'restricted_at'>

/** The status that the owner set and the legal state, in this order; `active` if neither is special. */
export function agentStatusTags({ status, state }: AgentStatusFields): AgentStatusTag[] {
  const own: AgentStatusTag[] = status === 'active' ? [] : [status]
  const lawful: AgentStatusTag[] = state === 'active' ? [] : [state === 'paused' ? 'restricted' : state]
  const all = [...own, ...lawful]
  return all.length === 0 ? ['active'] : all
}

/** Why the API would refuse to write for the agent; undefined if writing is allowed. */
export function agentHindranceOf({
  status,
  state,
  restricted_at,
  self_hosted,
}: AgentStatusFields & Pick<OwnAgent, 'self_hosted'>): Hindrance | undefined {
  if (status !== 'active') return status
  if (state === 'erasing') return 'erasing'
  if (restricted_at !== null) return 'restricted'
  if (state === 'suspended') return 'suspended'
  return self_hosted ? 'selfHosted' : undefined
}

/** Until when the heartbeats of an agent retired at that time can be exported. */
export const heartbeatsUntil = (diedAt: string): Date => new Date(Date.parse(diedAt) + heartbeatsAfterRetirement)

/** Whether the text is the id or the name of the agent. */
export function namesAgent(typed: string, { agent_id, name }: Pick<OwnAgent, 'agent_id' | 'name'>): boolean {
  const text = typed.trim()
  return text !== '' && (text === agent_id || text === name)
}
