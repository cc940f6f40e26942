import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export interface GrimoireAgent {
  id: string
  grimoireDays: number | null
}
export interface StoredEntryPorts {
  /** The key that seals entries with the scope `clade` at rest. */
  key(): Uint8Array
  /** How many days after creation the agent's entries expire; null: never. */
  grimoireDaysOf(tx: Transaction, agentId: string): Promise<number | null>
}
/** Dependencies of the domain, connected by lib/app.ts. */
export interface GrimoirePorts {
  db: Database
  /** The key that seals entries with the scope `clade` at rest. */
  key(): Uint8Array
  agents: {
    /** The actor itself, or an agent that the actor owns. @throws Problem `not_found` */
    own(actor: Actor, id: string): Promise<GrimoireAgent>
    /** Locks the agent until the transaction ends, for a deletion. @throws Problem `held` under legal hold */
    erasable(tx: Transaction, actor: Actor, id: string, now: Date): Promise<GrimoireAgent>
    /** Locks the agent until the transaction ends, for a write. */
    writable(tx: Transaction, actor: Actor, id: string): Promise<GrimoireAgent>
  }
  /** Whether something outside the grimoire, such as a snapshot, is sealed to the agent's keyring. */
  isSealedTo(tx: Transaction, agentId: string, keyId: string): Promise<boolean>
}
