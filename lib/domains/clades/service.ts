import { performanceCards } from './cards.ts'
import { cladeDeltas } from './deltas.ts'
import type { CladePorts } from './ports.ts'
import { cladeShares } from './shares.ts'
import { cladeSharing } from './sharing.ts'

/** Siblings of one ancestor: sharing stripped entries, recalling them, and the public performance card. */
export const cladesService = (ports: CladePorts) => ({
  ...cladeSharing(ports),
  ...cladeShares(ports),
  ...cladeDeltas(ports),
  ...performanceCards(ports),
})
