import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { ExportPage } from '#lib/kernel/exporter.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { SnapshotKeys } from './key-files.ts'

export interface SnapshotAgent {
  id: string
  status: 'active' | 'paused' | 'dead'
  suspendedAt: Date | null
  region: string | null
}
export interface SnapshotSettings {
  name: string | null
  region: string | null
  selfHosted: boolean
  grimoireDays: number | null
  createdAt: Date
  suspendedAt: Date | null
}
/** A part of an agent's state from another domain: JSON records, one per line. */
export interface StatePart {
  name: string
  /** Whether the record is already sealed. Sealed records are not scanned for secrets. */
  isSealed(record: unknown): boolean
  pages(agentId: string, until: Date): AsyncIterable<ExportPage>
}
/** Restores the records of a part, in the form in which the part exported them. */
export interface Restorer {
  part: string
  resourceType: string
  /**
   * Restores records into an agent that is locked and writable. Keeps existing records; `ended` counts expired ones.
   * @throws when a record cannot be stored
   */
  restore(
    tx: Transaction,
    goal: { agentId: string; now: Date; named(id: string): string },
    records: readonly unknown[],
  ): Promise<{ stored: string[]; ended: number }>
}
/** Dependencies of the domain; its module makes them. */
export interface SnapshotPorts {
  db: Database
  objects: Pick<ObjectStore, 'put' | 'get' | 'erase' | 'list' | 'versions'>
  keys: SnapshotKeys
  agents: {
    /** The actor itself, or an agent that the actor owns. @throws Problem `not_found` */
    own(actor: Actor, id: string): Promise<SnapshotAgent>
    /** Like `own`, with the agent's row locked until the transaction ends. */
    locked(tx: Transaction, actor: Actor, id: string): Promise<SnapshotAgent>
    /** Like `locked`, for an agent that allows deletion now. @throws Problem `held` under legal hold */
    erasable(tx: Transaction, actor: Actor, id: string, now: Date): Promise<SnapshotAgent>
    /** Like `locked`, for an agent that accepts writes now. */
    writable(tx: Transaction, actor: Actor, id: string): Promise<SnapshotAgent>
  }
  parts: readonly StatePart[]
  restorers: readonly Restorer[]
  /** Restores the settings of an agent. Returns false when the agent keeps its own. */
  restoreSettings(tx: Transaction, agentId: string, settings: unknown): Promise<boolean>
  /** Which of these agents were erased here while they belonged to the actor's organization. */
  erasedAgents(actor: Actor, ids: readonly string[]): Promise<readonly string[]>
  /** Whether another organization has an agent with this id, or had it before its erasure. False for admins. */
  isOfOthers(actor: Actor, id: string): Promise<boolean>
  /** Whether this installation may sweep the bucket. */
  areObjectsOurs(): Promise<boolean>
  origin: string
}
