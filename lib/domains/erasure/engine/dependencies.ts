import type { AuditRecord, Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasedRunMatch, ErasedWords, FoundRuns, Mention } from '#lib/kernel/data-source.ts'
import type { RunChange } from '#lib/kernel/erasure-run.ts'
import type { ErasureScope, ProjectPart, Subject } from '#lib/kernel/erasure-scope.ts'
import type { StoreRefusal } from '#lib/kernel/store-refusal.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Signer } from '../receipts/signing.ts'
import type { Suppressions } from '../suppression/suppressions.ts'

export interface RetentionFacts {
  /** Days that the operator retains backups; undefined when the operator does not state it. */
  backupDays: number | undefined
  /** Years for which closed privacy requests are retained. */
  requestsYears: number
  /** True when no mail server is configured: emails are stored in a folder for a week. */
  emailsInFolder: boolean
}

/** Whether records of the installation name the account as the admin who changed something; false for no account. */
export type HasAdminActs = (accountId: string | null, now: Date) => Promise<boolean>

/** Deleted data that a connected store retains out of reach, with the number of days; null when unknown. */
export interface Residue {
  what: string
  days: number | null
}

/** The current legal holds that concern a subject. */
export interface HoldsInForce {
  /** The id of the hold on the person, which covers all agents of the person. */
  account: string | null
  /** Ids of holds on single agents, by agent id. */
  agents: ReadonlyMap<string, string>
  /** Fingerprint of all current holds of the installation. A different value means that a hold changed. */
  fingerprint: string
}

/** The erased words of each run as keyed fingerprints, until its last verification. */
export interface RunFingerprints {
  /** Adds the fingerprints of all texts of a scope, while they are stored. Idempotent. Returns when the oldest one was written. */
  gather(tx: Transaction, runId: string, scope: ErasureScope, now: Date): Promise<Date | undefined>
  /** Adds texts of the erased subject that a connected store had worded differently. */
  add(tx: Transaction, runId: string, texts: readonly string[]): Promise<void>
  /** Stores the words of an erasure that a restored database lost, as the ledger contains them. */
  restore(
    tx: Transaction,
    runId: string,
    words: { projects: readonly string[]; fingerprints: Uint8Array },
  ): Promise<void>
  /** Undefined when the run erases no texts and no person with a name. */
  of(tx: Transaction, runId: string): Promise<ErasedWords | undefined>
  /** The projects that contained the texts. Afterwards the rows no longer name them. */
  projectsOf(tx: Transaction, runId: string): Promise<string[]>
  /**
   * The fingerprints in the form that the ledger stores; undefined when the run has none. `isChanged`: they
   * changed after they were first stored.
   */
  storedFingerprints(tx: Transaction, runId: string): Promise<{ fingerprints: string; isChanged: boolean } | undefined>
  /** Merges several stored fingerprints. */
  read(stored: readonly string[]): ErasedWords
  /** Messages and documents of other authors that contain sequences of the erased words. They remain. */
  mentions(tx: Transaction, runId: string, now: Date): Promise<Mention[]>
  forget(tx: Transaction, runId: string): Promise<void>
  /** The ids of the runs whose words are stored. */
  runs(tx: Transaction): Promise<string[]>
  /** The stored fingerprints of these runs. */
  stored(tx: Transaction, runs: readonly string[]): Promise<RunFingerprintsRow[]>
  /** The words of several erasures, by the ids of their receipts. */
  together(all: readonly StoredWords[]): WordsOfMany
  /** Of these runs in a text, those that two remaining texts of persons of the projects, one after the other, contain only together. */
  sharedRuns(
    text: string,
    matches: readonly ErasedRunMatch[],
    projects: readonly string[],
    now: Date,
  ): Promise<ReadonlySet<number>>
  /**
   * Passes every text by a person in messages and documents that remain to `visit`: their authors explain the same words elsewhere. Passes
   * the names of all people to `visitName`: what they share with an erased person is not erased. Passes the texts of assistants and tools
   * to `visitOther` with their times and projects: they explain only words that were written later.
   */
  living(
    now: Date,
    visit: (text: string) => void,
    visitName: (name: string) => void,
    visitOther: (text: string, of: { writtenAt: Date; storedAt: Date; project: string }) => void,
  ): Promise<void>
}

/** The stored fingerprints of a run, and the projects of the erased texts. */
export interface RunFingerprintsRow extends Omit<StoredWords, 'receiptId'> {
  runId: string
}
/** The stored fingerprints of one erasure. */
export interface StoredWords {
  receiptId: string
  projects: readonly string[]
  fingerprints: Uint8Array
}
/** The fingerprints of many erasures. A search costs about as much as one for a single erasure. */
export interface WordsOfMany {
  /** The erasures whose words a text contains, with the fingerprints that were found. */
  foundIn(text: string): ReadonlyMap<string, FoundRuns>
  /** The runs of one erasure in a text, without names. */
  runsOf(receiptId: string, text: string): readonly ErasedRunMatch[]
  /** The fingerprints of runs, names, email addresses and telephone numbers in a text, of any of the erasures. */
  runsIn(text: string): readonly number[]
  /** The fingerprints of runs in a text, without names, email addresses and telephone numbers. */
  wordsIn(text: string): readonly number[]
  /** The fingerprints of names in the name of another person, also uncertain ones. */
  namesIn(name: string): readonly number[]
  /**
   * The words of one erasure without those that living authors explain, and without names. `only`: the fingerprints to which they are
   * limited.
   */
  unexplained(receiptId: string, explained: ReadonlySet<number>, only?: ReadonlySet<number>): ErasedWords
  /** These names of one erasure, without its words. */
  named(receiptId: string, names: ReadonlySet<number>): ErasedWords
}
/** A store that does not answer or rejects requests, with the number of runs that wait for it, and since when. */
export interface WaitingStore {
  store: string
  runs: number
  since: Date
  /** Why the store rejects requests; null when it does not answer. */
  refusal: StoreRefusal | null
}

/** A locked participant. `key` is its value on the suppression list; null when no row is stored. */
export interface FencedParticipant {
  id: string
  key: string | null
}

/** What the erasure engine needs; `openErasures` in `erasure/service.ts` makes it. */
export interface EngineDeps {
  db: Database
  ledger: Ledger
  signer: Signer
  dataSources: readonly DataSource[]
  suppressions: Suppressions
  /** Base URL of the installation, which the receipts name. */
  issuer: string
  /** What receipts state about retention outside the erased data. */
  facts: RetentionFacts
  now(): Date
  holds: {
    inForce(tx: Transaction, subject: Subject, now: Date): Promise<HoldsInForce>
    /**
     * Prevents new holds until the end of the transaction, after waiting for a hold that is being set. The transaction preserves no
     * versions for holds that have ended at `now`.
     */
    lock(tx: Transaction, now: Date): Promise<void>
    /** Hold ids by project id. */
    projects(tx: Transaction, ids: readonly string[], now: Date): Promise<ReadonlyMap<string, string>>
    /** Returns those of the ids that the database knows, including ended holds. */
    known(tx: Transaction, ids: readonly string[]): Promise<string[]>
  }
  subjects: {
    /**
     * Locks the rows of the account and the agents exclusively, waiting for running writes; ends their sessions and
     * tokens. `andOwned` includes the account's current agents and participations.
     * Returns the agents and participants, sorted, and the stored email address.
     */
    raiseFence(
      tx: Transaction,
      subject: Subject,
      how: { andOwned: boolean; now: Date },
    ): Promise<{ agents: string[]; email: string | null; participants: FencedParticipant[] }>
    /** Drops the fence: tokens and sign-in work again. Ended sessions stay ended. */
    release(tx: Transaction, subject: Subject, now: Date): Promise<unknown>
    /** Returns the account's agents and the given ones, sorted. */
    agentsOf(tx: Transaction, subject: Subject): Promise<string[]>
    /** Returns the participations that the account claimed and the given ones, sorted. */
    participantsOf(tx: Transaction, subject: Subject): Promise<string[]>
    /** Returns the suppression list values of participants by id, without participants that are not stored. */
    participantKeys(tx: Transaction, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
    /** Returns when the newest of the account and the agents was created; null if none is stored. */
    newest(tx: Transaction, subject: Subject): Promise<Date | null>
    /** Splits the stored members of the subject: those that existed at that time, and later ones under the same id. */
    stored(tx: Transaction, subject: Subject, at: Date): Promise<{ before: Subject; since: Subject }>
  }
  parts: {
    /** Locks the part exclusively, waiting for running writes, and marks it: it can no longer be read or written. */
    raiseFence(tx: Transaction, part: ProjectPart, now: Date): Promise<void>
    /** Unlocks the part and removes the mark. */
    release(tx: Transaction, part: ProjectPart): Promise<void>
    /** Returns when the newest record of the part was created; null if none is stored. */
    newest(tx: Transaction, part: ProjectPart): Promise<Date | null>
    /** Returns the projects with stored content by the subject, sorted. */
    projectsOf(tx: Transaction, subject: Subject): Promise<string[]>
    /** Returns the parts without a row of their own. */
    missing(tx: Transaction, parts: readonly ProjectPart[]): Promise<readonly ProjectPart[]>
    /**
     * Returns the stored parts that existed at that time. If newer content was added since, returns each message and
     * document separately.
     */
    restored(tx: Transaction, part: ProjectPart, at: Date): Promise<ProjectPart[]>
  }
  words: RunFingerprints
  hasAdminActs: HasAdminActs
  /** Returns the copies of deleted data that the given stores retain. Stores are named as on receipts. */
  residueIn(stores: readonly string[]): Promise<Residue[]>
  onChange(tx: Transaction, change: RunChange): Promise<void>
  /** Notifies the installation's admins when the transaction commits. */
  notifyAdmins(tx: Transaction, waiting: readonly WaitingStore[], now: Date): Promise<void>
  audit(tx: Transaction, ...records: readonly AuditRecord[]): Promise<void>
  /** Tests throw here to simulate a crash; a no-op in production. */
  interrupt(point: string): void
}
