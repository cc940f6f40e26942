import { performanceCards } from './cards.ts'
import { cladeDeltas } from './deltas.ts'
import type { CladePorts } from './ports.ts'
import { cladeShares } from './shares.ts'
import { cladeSharing } from './sharing.ts'

/** Siblings of one ancestor: what they share, stripped, and how it is taken back; and the one thing about an agent that may be public. */
export const cladesService = (ports: CladePorts) => ({
  ...cladeSharing(ports),
  ...cladeShares(ports),
  ...cladeDeltas(ports),
  ...performanceCards(ports),
})
