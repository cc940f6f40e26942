import type { Transaction } from './context.ts'

/** What an erasure, export or inventory is about. A domain answers for the scopes that it knows and holds nothing of the others. */
export type Scope = { unit: string } | { skill: string } | { agent: string }

/** provided: what the subject provided (portability, GDPR art. 20); all: derived data too (access, art. 15). */
export type Basis = 'provided' | 'all'

/** What exports some of what is held on an agent, streamed, oldest first; a part of the document has one name. */
export interface Exporter {
  /** Its part of the document: `knowledge_units`, `skills`, `votes`, … */
  part: string
  /** The bases on which it is given out. */
  bases: readonly Basis[]
  export(agentId: string, reader: ExportReader): AsyncIterable<Record<string, unknown>>
}
/** Who reads an export: the subject itself or its owner; an admin, who answers a request, also finds what is attributed to it elsewhere. */
export interface ExportReader {
  basis: Basis
  organisationId: string | undefined
  isAdmin: boolean
}

/** How much of what a domain holds is kept how long, in days from when it was stored; null: for ever. */
export interface Periods {
  network: number | null
  org: number | null
  private: number | null
}
/** What retention removes by the clock. Works in batches, each a transaction of its own with its audit and deletion rows. */
export interface Expiring {
  /** `knowledge.units`, … */
  name: string
  /** How many by visibility expired at that time, those that a hold covers left out. */
  due(periods: Periods, now: Date): Promise<Counts>
  /** Removes some of them; zeros when none is left. */
  expire(periods: Periods, now: Date, sweep: { id: string; requestedBy: string }): Promise<Counts>
}
export interface Counts {
  network: number
  org: number
  private: number
  /** Left because a legal hold covers them. */
  held: number
}

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
