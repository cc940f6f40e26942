import { agentChainReferences } from './chain-references.ts'
import { agentDocuments } from './documents.ts'
import { agentHeartbeats } from './heartbeats.ts'
import { agentStatus, type LifePorts } from './status.ts'

/** An agent's life: its status and settings, what it wrote for itself, that it lived, and what stands on chains about it. */
export const agentLife = (ports: LifePorts) => ({
  ...agentStatus(ports),
  ...agentDocuments(ports),
  ...agentHeartbeats(ports),
  ...agentChainReferences(ports),
})
