import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export interface GrimoireAgent {
  id: string
  grimoireDays: number | null
}
/** What the domain asks others for; lib/app.ts connects it. */
export interface GrimoirePorts {
  db: Database
  /** Under which entries for the clade are sealed at rest. */
  key(): Uint8Array
  agents: {
    /** The actor's own agent, or that of its owner. Throws `not_found`. */
    own(actor: Actor, id: string): Promise<GrimoireAgent>
    /** The same, held as it is until the transaction ends, of which something may be deleted now. Throws `held`. */
    erasable(tx: Transaction, actor: Actor, id: string, now: Date): Promise<GrimoireAgent>
    /** The same, for which something may be written now. */
    writable(tx: Transaction, actor: Actor, id: string): Promise<GrimoireAgent>
  }
  /** Whether something outside the grimoire, a snapshot say, is sealed to the agent's keyring. */
  isSealedTo(tx: Transaction, agentId: string, keyId: string): Promise<boolean>
}
