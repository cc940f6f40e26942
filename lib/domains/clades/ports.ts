import type { Recognise } from '#lib/domains/pii/analyzer.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export interface CladeAgent {
  id: string
  ownerId: string | null
  cladeId: string | null
  sharingSince: Date | null
}
/** An entry of a grimoire that the installation reads. */
export interface OwnEntry {
  kind: string
  content: unknown
  confidence: number | null
  tags: string[]
  provenance: unknown
  parents: string[]
  valid_from: string | null
  valid_until: string | null
}
/** What the domain asks others for; lib/app.ts connects it. */
export interface CladePorts {
  db: Database
  /** Under which shares are sealed at rest. */
  key(): Uint8Array
  agents: {
    /** The actor's own agent, or that of its owner. Throws `not_found`. */
    own(actor: Actor, id: string): Promise<CladeAgent>
    /** The same, held as it is until the transaction ends. */
    locked(tx: Transaction, actor: Actor, id: string): Promise<CladeAgent>
    /** The same, held as it is until the transaction ends, of which something may be deleted now. Throws `held`. */
    erasable(tx: Transaction, actor: Actor, id: string, now: Date): Promise<CladeAgent>
    /** The same, for which something may be written now. */
    writable(tx: Transaction, actor: Actor, id: string): Promise<CladeAgent>
  }
  /** Entries of the agent by their ids, those that ended left out; `private`: one that nobody here reads. */
  entriesOf(
    tx: Pick<Transaction, 'grimoireEntry'>,
    agentId: string,
    ids: readonly string[],
    now: Date,
  ): Promise<ReadonlyMap<string, OwnEntry | 'private'>>
  /** By what the owner is known here: they are taken out wherever they stand. */
  namesOf(tx: Transaction | undefined, ownerId: string): Promise<string[]>
  /** Finds names of other people in texts; undefined where no analyzer is connected. */
  recognise: Recognise | undefined
  /** A compact JWS over the text by the key that signs receipts. */
  sign(tx: Transaction, type: string, text: string): Promise<string>
  issuer: string
}
