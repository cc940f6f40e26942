import type { Transaction } from './context.ts'

/** What an erasure, export or inventory is about. A domain answers for the scopes that it knows and holds nothing of the others. */
export type Scope = { unit: string } | { agent: string }

/** One item that erase will touch; `id` is all that the ledger and the job queue ever see of it. */
export type ItemId = string

/**
 * The piece of one domain that answers for its personal data. Erasure, export and inventory know holders alone, never domains.
 * Residue is the proof, the count is a courtesy.
 */
export interface DataHolder {
  /** `<domain>.<what>` */
  name: string
  /** The store that holds it, as the receipt names it. */
  store: 'postgresql'
  /** In words, for the receipt. */
  what: string
  /** The tables it answers for; a test finds a table that nobody answers for. */
  tables: readonly string[]
  /** What erase will touch, by id; sorted. */
  plan(scope: Scope, tx: Transaction): Promise<ItemId[]>
  /** Erases what the plan names; safe to repeat. Returns how many rows went. */
  erase(scope: Scope, plan: readonly ItemId[], tx: Transaction): Promise<number>
  /** What is left of the scope or the plan, found by other queries than erase's; 0 when it is gone. */
  residue(scope: Scope, plan: readonly ItemId[]): Promise<number>
}
