/** Status of an agent, set by its owner. `dead` is final. */
export const agentStatuses = ['active', 'paused', 'dead'] as const
export type AgentStatus = (typeof agentStatuses)[number]

export const agentDocumentKinds = ['strategy_thesis', 'playbook'] as const
export type AgentDocumentKind = (typeof agentDocumentKinds)[number]
/** Maximum size of a document's text, in bytes of UTF-8. */
export const documentBytes = 256 * 1024
/** Limits per agent. */
export const maxDocuments = 1_000
export const maxChainReferences = 1_000

export const heartbeatStates = ['idle', 'working', 'waiting', 'degraded'] as const
export type HeartbeatState = (typeof heartbeatStates)[number]
/** Names of the counters that a heartbeat may report. The list is closed, so that heartbeats contain no free text. */
export const heartbeatCounts = [
  'steps',
  'actions',
  'errors',
  'retries',
  'latency_ms',
  'queue_length',
  'memory_mb',
  'cpu_percent',
  'uptime_s',
] as const
/** Heartbeat lists stop counting here. */
export const heartbeatsCountedTo = 10_001

const hour = 3_600_000
/** Milliseconds after retirement during which an agent's heartbeats can be read; then they are deleted. */
export const heartbeatsAfterRetirement = 24 * hour
/** Milliseconds by which a heartbeat's time may be ahead of our clock, or late. */
export const clockTolerance = 5 * 60_000
export const reportedWithin = 24 * hour

/** Whether the heartbeats of an agent that was retired at `diedAt` can no longer be read. */
export const areHeartbeatsOver = (diedAt: Date | null, now: Date): boolean =>
  diedAt !== null && now.getTime() >= diedAt.getTime() + heartbeatsAfterRetirement

export type StatusDecision = 'same' | 'changed' | 'for_good' | 'unconfirmed' | 'owner_alone'
/**
 * Judges a requested status change. `dead` is final and must be confirmed with the agent's id. If the agent has an owner, its own token
 * cannot resume it after a pause.
 */
export function decideStatus(
  from: AgentStatus,
  to: AgentStatus,
  { isConfirmed, isOwned, byItself }: { isConfirmed: boolean; isOwned: boolean; byItself: boolean },
): StatusDecision {
  if (from === to) return 'same'
  if (from === 'dead') return 'for_good'
  if (to === 'dead') return isConfirmed ? 'changed' : 'unconfirmed'
  return to === 'active' && isOwned && byItself ? 'owner_alone' : 'changed'
}
