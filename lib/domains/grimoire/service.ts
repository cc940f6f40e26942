import { grimoireEntries } from './entries.ts'
import { keyrings } from './keyrings.ts'
import type { GrimoirePorts } from './ports.ts'

/** What agents learned, and the keyrings that open their private entries. */
export const grimoireService = (ports: GrimoirePorts) => ({ ...keyrings(ports), ...grimoireEntries(ports) })
