import type { AuditRecord, Transaction } from '#lib/kernel/context.ts'
import type { RunChange } from '#lib/kernel/erasure-run.ts'
import type { ErasedWords, Mention, Part, Scope, Subject } from '#lib/kernel/holder.ts'
import type { StoreRefusal } from '#lib/kernel/store-refusal.ts'
import type { Lingering } from './rules.ts'

/** The legal holds in force that matter to a subject. */
export interface HoldsInForce {
  /** The hold on the person; it covers every agent of theirs. */
  account: string | null
  /** Agents that are held themselves, by agent. */
  agents: ReadonlyMap<string, string>
  /** Of all holds in force, whomever they cover: another one means that something changed. */
  fingerprint: string
}

/** The words of each run, as keyed fingerprints, until its last verification. */
export interface RunWords {
  /** Adds the fingerprints of all texts of a scope, while they are stored. Repeating it changes nothing. */
  gather(tx: Transaction, runId: string, scope: Scope, now: Date): Promise<void>
  /** Adds texts of the erased that a connected store worded differently. */
  add(tx: Transaction, runId: string, texts: readonly string[]): Promise<void>
  /** Undefined where the run erases no texts. */
  of(tx: Transaction, runId: string): Promise<ErasedWords | undefined>
  /** The fingerprints as they are noted in the ledger; undefined where the run erases no texts. `isChanged`: more than once. */
  noted(tx: Transaction, runId: string): Promise<{ fingerprints: string; isChanged: boolean } | undefined>
  /** The words of several noted fingerprints. */
  read(noted: readonly string[]): ErasedWords
  /** Messages and documents of other authors that contain runs of the erased words. They remain. */
  mentions(tx: Transaction, runId: string, now: Date): Promise<Mention[]>
  forget(tx: Transaction, runId: string): Promise<void>
}

/** A store that does not answer, how many erasures wait for it, and since when. */
export interface WaitingStore {
  store: string
  runs: number
  since: Date
  /** Why it refuses, where it answers. */
  refusal: StoreRefusal | null
}

/** A locked participant; `key` is the value that is suppressed, null where no row is stored. */
export interface SeizedParticipant {
  id: string
  key: string | null
}

/** The erasure of subjects asks others; lib/services.ts connects it. */
export interface SubjectErasurePorts {
  holds: {
    inForce(tx: Transaction, subject: Subject, now: Date): Promise<HoldsInForce>
    /** From here to the transaction's end no hold is set; one that is being set is waited for. */
    lock(tx: Transaction): Promise<void>
    /** The holds on projects, by project. */
    projects(tx: Transaction, ids: readonly string[], now: Date): Promise<ReadonlyMap<string, string>>
    /** Those of the ids that the database knows, ended ones included. */
    known(tx: Transaction, ids: readonly string[]): Promise<string[]>
  }
  subjects: {
    /**
     * Locks the rows of the account and the agents against everybody, so that whoever is writing for them is waited for; ends their
     * sessions and tokens. With `andOwned` the account's agents and participations of this moment come with it. Returns the agents and the
     * participants, sorted, and the address on file.
     */
    seize(
      tx: Transaction,
      subject: Subject,
      how: { andOwned: boolean; now: Date },
    ): Promise<{ agents: string[]; email: string | null; participants: SeizedParticipant[] }>
    /** The opposite, of sessions alone: tokens and signing in work again. */
    release(tx: Transaction, subject: Subject, now: Date): Promise<unknown>
    /** The account's agents and those given, sorted. */
    agentsOf(tx: Transaction, subject: Subject): Promise<string[]>
    /** The participations that the account claimed and those given, sorted. */
    participantsOf(tx: Transaction, subject: Subject): Promise<string[]>
    /** By what participants are suppressed, by id; those that are not stored are missing. */
    participantKeys(tx: Transaction, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
    /** When the newest of the account and the agents came; null where none is stored. */
    newest(tx: Transaction, subject: Subject): Promise<Date | null>
    /** What of the subject is stored: what was there at that time, and what took its name since. */
    stored(tx: Transaction, subject: Subject, at: Date): Promise<{ before: Subject; since: Subject }>
  }
  parts: {
    /** Locks the part against everybody, so that whoever is writing into it is waited for, and marks it: nobody reads it or writes into it any more. */
    seize(tx: Transaction, part: Part, now: Date): Promise<void>
    /** The opposite. */
    release(tx: Transaction, part: Part): Promise<void>
    /** When the newest of it came; null where nothing of it is stored. */
    newest(tx: Transaction, part: Part): Promise<Date | null>
    /** The projects in which the subject wrote something that is stored, in their order. */
    projectsOf(tx: Transaction, subject: Subject): Promise<string[]>
    /** Those of the parts whose own row does not exist. */
    missing(tx: Transaction, parts: readonly Part[]): Promise<readonly Part[]>
    /** What of it is stored that was there at that time. Where something came since, each message and document by itself. */
    restored(tx: Transaction, part: Part, at: Date): Promise<Part[]>
  }
  words: RunWords
  /** What these stores, by their names on receipts, keep of what was deleted in them. */
  lingering(stores: readonly string[]): Promise<Lingering[]>
  onChange(tx: Transaction, change: RunChange): Promise<void>
  /** Notifies the installation's admins; with the transaction, or not at all. */
  notifyAdmins(tx: Transaction, waiting: readonly WaitingStore[], now: Date): Promise<void>
  audit(tx: Transaction, ...records: readonly AuditRecord[]): Promise<void>
  /** A test throws here what a crash would be; nothing in production. */
  interrupt(point: string): void
}
