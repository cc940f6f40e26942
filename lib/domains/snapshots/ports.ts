import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { ExportPage } from '#lib/kernel/holder.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { SnapshotKeys } from './key-files.ts'

export interface SnapshotAgent {
  id: string
  status: 'active' | 'paused' | 'dead'
  suspendedAt: Date | null
}
/** A part of an agent's state that another domain has: records as JSON, one a line. */
export interface StatePart {
  name: string
  /** Its secrets are sealed already, and nothing is looked for in it. */
  isSealed(record: unknown): boolean
  pages(agentId: string, until: Date): AsyncIterable<ExportPage>
}
/** Who brings records of a part back, as it gave them. */
export interface Restorer {
  part: string
  resourceType: string
  /** Into an agent that is locked and writable. What is there already stays as it is; `ended` is what has no term left. Throws where one of them cannot be stored. */
  restore(
    tx: Transaction,
    goal: { agentId: string; now: Date; named(id: string): string },
    records: readonly unknown[],
  ): Promise<{ stored: string[]; ended: number }>
}
/** What the domain asks others for; lib/app.ts connects it. */
export interface SnapshotPorts {
  db: Database
  objects: Pick<ObjectStore, 'put' | 'get' | 'erase' | 'list' | 'versions'>
  keys: SnapshotKeys
  agents: {
    /** The actor's own agent, or that of its owner. Throws `not_found`. */
    own(actor: Actor, id: string): Promise<SnapshotAgent>
    /** The same, held as it is until the transaction ends. */
    locked(tx: Transaction, actor: Actor, id: string): Promise<SnapshotAgent>
    /** The same, held as it is until the transaction ends, of which something may be deleted now. Throws `held`. */
    erasable(tx: Transaction, actor: Actor, id: string, now: Date): Promise<SnapshotAgent>
    /** The same, for which something may be written now. */
    writable(tx: Transaction, actor: Actor, id: string): Promise<SnapshotAgent>
  }
  parts: readonly StatePart[]
  restorers: readonly Restorer[]
  /** Gives an agent the settings that a snapshot has; false where it keeps its own. */
  restoreSettings(tx: Transaction, agentId: string, settings: unknown): Promise<boolean>
  /** Which of these agents were erased here. */
  erasedOf(ids: readonly string[]): Promise<readonly string[]>
  /** Whether the bucket is this installation's to sweep. */
  areObjectsOurs(): Promise<boolean>
  origin: string
}
