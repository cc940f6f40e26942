import type { Transaction } from './context.ts'
import type { ErasurePhase, Mention, PlannedRecord } from './data-source.ts'
import type { ProjectPart, Subject } from './erasure-scope.ts'

/**
 * planning → erasing → verifying → done | held | failed. A held run returns to planning when a hold ends. An erasing or verifying run
 * returns to planning when it must plan again.
 */
export type RunState = 'planning' | 'erasing' | 'verifying' | 'held' | 'done' | 'failed'
export type StepState = 'waiting' | 'running' | 'done' | 'stuck'

/**
 * Runs that need somebody's attention, beside failed ones. stuck: with a stuck step, or could not be planned or verified. waiting: for a
 * store, so long that admins are notified. residue: data was found again after the run was done. unsearched: its second search is overdue.
 */
export const runTroubles = ['stuck', 'waiting', 'residue', 'unsearched'] as const
export type RunTrouble = (typeof runTroubles)[number]
/** Milliseconds after which a second search is overdue. It is retried every hour. */
export const unsearchedAfter = 6 * 3_600_000

/** How many items a legal hold retains. */
export interface LegalHoldCount {
  hold: string
  count: number
}
/** The records of a subject that one personal data source would erase. */
export interface PlannedHolding {
  holder: string
  store: string
  what: string
  items: number
  held: LegalHoldCount[]
  /** Further counts of the items by name. */
  results: Readonly<Record<string, number>>
}
export interface StepView {
  holder: string
  store: string
  stage: ErasurePhase
  state: StepState
  planned: number
  erased: number
  held: LegalHoldCount[]
  residue: number | null
  /** Further counts by name. */
  results: Record<string, number>
  attempts: number
  fault: string | null
  startedAt: Date | null
  finishedAt: Date | null
  verifiedAt: Date | null
}
export interface RunView {
  id: string
  requestId: string | null
  receiptId: string
  state: RunState
  /** Null when the subject is only an agent, and after everything of the account is erased. */
  accountId: string | null
  /** Empty after everything of the agents is erased. */
  agents: string[]
  /** Empty after everything of the participants is erased. */
  participants: string[]
  /** Set instead of a subject: a part of a project. */
  part: ProjectPart | null
  /** The id of the run's entry in the deletion log. */
  auditId: string | null
  requestedBy: string
  reason: string
  /** The code of the last error that stopped planning or verification. */
  fault: string | null
  rounds: number
  createdAt: Date
  fencedAt: Date | null
  plannedAt: Date | null
  erasedAt: Date | null
  finishedAt: Date | null
  /** When shared stores are, or were, searched again, and how much the search found (`lateFound`). */
  recheckAt: Date | null
  recheckedAt: Date | null
  lateFound: number
  /** Where names of the erased person occur in other authors' texts. */
  mentions: Mention[]
  /** Stores that do not respond, and since when the run has been waiting for them. */
  waits: { store: string; since: Date }[]
  /** Stores that reject requests, while that stops planning or verification. */
  refusedBy: string[]
  /** In the order in which they run. */
  steps: StepView[]
}
export interface BeginRun {
  /** Null when an operator requested the erasure. */
  requestId: string | null
  /** Empty when `part` is set. */
  subject: Subject
  part?: ProjectPart
  /** Names of the erased person are also removed from other authors' texts. */
  redacts?: boolean
  /** The id of the requester in the audit log. */
  requestedBy: string
  /** `user_request`, `gdpr_erasure`, …. With `replay`, the subject is taken as given: agents that the account owns now are not added. */
  reason: string
  /**
   * Reserved when the erasure was requested. If another erasure already uses it, for example after a restored backup, the run gets a new
   * one.
   */
  receiptId?: string
  now: Date
}
/** Passed to the requester of a run when its state changes, in the same transaction. */
export interface RunChange {
  runId: string
  requestId: string | null
  /** Set instead of a subject: a part of a project. */
  part: ProjectPart | null
  state: Exclude<RunState, 'planning'>
  receiptId: string
  /** Counts by data source; only sources that had something to erase. */
  erased: Record<string, number>
  held: LegalHoldCount[]
  /** Set with the state `held`: holds cover the whole subject. Nothing was erased, no fence was raised, and no receipt is signed. */
  isRetainedWhole: boolean
  now: Date
}

export interface ExplainedPart {
  planned: PlannedHolding[]
  verdicts: PlannedRecord[]
  /** Stores that could not be searched, or only in part: there may be more than is listed. */
  unanswered: string[]
}

export interface ErasureRunFilter {
  state?: RunState | RunTrouble | undefined
  now: Date
  /** The beginning of an id of the run, its receipt, its request, its log entry or its part; or one of these requests. */
  search?: { text: string; requests: readonly string[] } | undefined
  /** Starts after this run. */
  after?: { at: Date; id: string } | undefined
}

/** What the erasure domain provides to privacy requests and to the operator. */
export interface SubjectErasures {
  /** What an erasure would delete now. It raises no fence and writes nothing. */
  dryRun(subject: Subject, now: Date): Promise<PlannedHolding[]>
  /**
   * Returns in how many places of texts of others an erasure of the subject would remove or leave a name. Writes nothing. Undefined if a
   * name is too new for a preview, or if the places cannot be read soon.
   */
  namesAhead(
    subject: Subject,
    options: { redacts: boolean; now: Date },
  ): Promise<{ removed: number; kept: number } | undefined>
  /**
   * Reserves run and receipt and enqueues the start; everything commits with the caller's transaction. Repeating a request returns the
   * same run. For a part, the same run is returned until it is done.
   */
  begin(tx: Transaction, run: BeginRun): Promise<{ runId: string; receiptId: string; auditId: string }>
  run(runId: string, tx?: Transaction): Promise<RunView | undefined>
  /** What an erasure of a part would do to every single record now. It raises no fence and writes nothing. */
  explain(part: ProjectPart, now: Date): Promise<ExplainedPart>
  /** The run whose entry in the deletion log has this id. */
  byAudit(auditId: string, tx?: Transaction): Promise<RunView | undefined>
  /** Newest first. */
  runs(which: ErasureRunFilter & { limit: number }): Promise<RunView[]>
  /** The number of runs in each state except done. `stuck`: those with a stuck step, and those that could not be planned. */
  open(): Promise<Record<Exclude<RunState, 'done'> | 'stuck', number>>
  /** Locks the run until the transaction ends. For callers that then lock rows which a run locks after its own row. */
  lock(tx: Transaction, runId: string): Promise<unknown>
  /** Restarts stuck steps (all, or those of the named data source) and a failed run. Returns false when there is nothing to retry. */
  retry(tx: Transaction, runId: string, dataSource: string | undefined, now: Date): Promise<boolean>
  /** Like {@link retry} for everything that is stuck, in a separate transaction. */
  resume(runId: string): Promise<boolean>
  /**
   * Deletes the run of a part before anything is erased, so that the part can be read and written again. Returns false if a step may
   * have begun, if a project is being closed, and for subjects. Locks the run before anything else in the transaction.
   */
  cancel(tx: Transaction, runId: string): Promise<boolean>
  /** Makes runs that legal holds keep open plan again, after a hold was released. */
  resumeHeld(tx: Transaction): Promise<void>
}
