import type { Approvable } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export interface ApprovalDeps {
  db: Database
  /** Seals what a proposal would do. */
  key: () => Uint8Array
  setting: {
    read(on?: Transaction): Promise<boolean>
    store(tx: Transaction, value: boolean, change: { now: Date; by: string }): Promise<void>
  }
  approvables: readonly Approvable[]
  /** Ids of the admins who can sign in and are not about to be erased. */
  activeAdmins(on: Database | Transaction): Promise<readonly string[]>
  /** Names by account id. */
  namesOf(on: Transaction, accountIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  notify: {
    /** Queues an email to an admin who can decide the proposal. */
    proposed(tx: Transaction, accountId: string, at: Date): Promise<void>
    /** Queues an email to the proposer. */
    decided(tx: Transaction, accountId: string, decision: { isApproved: boolean; at: Date }): Promise<void>
  }
}
