import { agentChainReferences } from './chain-references.ts'
import { agentDocuments } from './documents.ts'
import { agentHeartbeats } from './heartbeats.ts'
import { agentStatus, type LifePorts } from './status.ts'

/** An agent's life: status, settings, documents, heartbeats and blockchain references. */
export const agentLife = (ports: LifePorts) => ({
  ...agentStatus(ports),
  ...agentDocuments(ports),
  ...agentHeartbeats(ports),
  ...agentChainReferences(ports),
})
