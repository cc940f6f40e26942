import type { Recognise } from '#lib/domains/pii/analyzer.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export interface CladeAgent {
  id: string
  ownerId: string | null
  cladeId: string | null
  sharingSince: Date | null
}
/** A grimoire entry that the installation can read. */
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
/** Dependencies of the domain; its module makes them. */
export interface CladePorts {
  db: Database
  /** The key that seals shares at rest. */
  key(): Uint8Array
  agents: {
    /** The actor itself, or an agent that the actor owns. @throws Problem `not_found` */
    own(actor: Actor, id: string): Promise<CladeAgent>
    /** Like `own`, with the agent's row locked until the transaction ends. */
    locked(tx: Transaction, actor: Actor, id: string): Promise<CladeAgent>
    /** Like `locked`, for an agent that allows deletion now. @throws Problem `held` under legal hold */
    erasable(tx: Transaction, actor: Actor, id: string, now: Date): Promise<CladeAgent>
    /** Like `locked`, for an agent that accepts writes now. */
    writable(tx: Transaction, actor: Actor, id: string): Promise<CladeAgent>
  }
  /** Unexpired entries of the agent by id. `private`: the installation cannot read the entry. */
  entriesOf(
    tx: Transaction,
    agentId: string,
    ids: readonly string[],
    now: Date,
  ): Promise<ReadonlyMap<string, OwnEntry | 'private'>>
  /** Names by which the installation knows the owner. They are removed wherever they occur. */
  namesOf(tx: Transaction | undefined, ownerId: string): Promise<string[]>
  /** Finds names of other people in texts. Undefined when no analyzer is connected. */
  recognise: Recognise | undefined
  /** A compact JWS over the text, signed with the receipt key. */
  sign(tx: Transaction, type: string, text: string): Promise<string>
  issuer: string
}
