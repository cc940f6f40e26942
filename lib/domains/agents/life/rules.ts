/** What its owner makes of an agent. Death is for good. */
export const agentStatuses = ['active', 'paused', 'dead'] as const
export type AgentStatus = (typeof agentStatuses)[number]
export const agentRegions = ['eu'] as const
export type AgentRegion = (typeof agentRegions)[number]

export const documentKinds = ['strategy_thesis', 'playbook'] as const
export type DocumentKind = (typeof documentKinds)[number]
/** Bytes of a document's text in UTF-8. */
export const documentBytes = 256 * 1024
/** Of one agent. */
export const mostDocuments = 1_000
export const mostChainReferences = 1_000

export const heartbeatStates = ['idle', 'working', 'waiting', 'degraded'] as const
export type HeartbeatState = (typeof heartbeatStates)[number]
/** What a heartbeat may count: words of a closed list, so that no free text comes with a number. */
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
/** How far a list of heartbeats counts. */
export const heartbeatsCountedTo = 10_001

const hour = 3_600_000
/** Milliseconds after an agent's death in which its heartbeats can still be read, and after which they go. */
export const heartbeatsAfterDeath = 24 * hour
/** Milliseconds by which an agent's own clock may be ahead of ours, and how late it may report. */
export const clockAhead = 5 * 60_000
export const reportedWithin = 24 * hour

/** Whether the heartbeats of an agent that died then are past reading. */
export const areHeartbeatsOver = (diedAt: Date | null, now: Date): boolean =>
  diedAt !== null && now.getTime() >= diedAt.getTime() + heartbeatsAfterDeath

export type StatusVerdict = 'same' | 'changed' | 'for_good' | 'unconfirmed' | 'owner_alone'
/**
 * What becomes of a wish for another status. Nobody comes back from death; death names the agent once more; and where somebody owns the
 * agent, a token of it does not undo what they paused.
 */
export function judgeStatus(
  from: AgentStatus,
  to: AgentStatus,
  { isConfirmed, isOwned, byItself }: { isConfirmed: boolean; isOwned: boolean; byItself: boolean },
): StatusVerdict {
  if (from === to) return 'same'
  if (from === 'dead') return 'for_good'
  if (to === 'dead') return isConfirmed ? 'changed' : 'unconfirmed'
  return to === 'active' && isOwned && byItself ? 'owner_alone' : 'changed'
}
