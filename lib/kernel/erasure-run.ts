import type { Transaction } from './context.ts'
import type { Mention, Part, Stage, Subject, Verdict } from './holder.ts'

/** planning → erasing → verifying → done | held | failed; held → planning when a hold ended; erasing, verifying → planning when it must plan again. */
export type RunState = 'planning' | 'erasing' | 'verifying' | 'held' | 'done' | 'failed'
export type StepState = 'waiting' | 'running' | 'done' | 'stuck'

/** How many items a legal hold keeps. */
export interface HeldCount {
  hold: string
  count: number
}
/** What one holder would erase of a subject. */
export interface PlannedHolding {
  holder: string
  store: string
  what: string
  items: number
  held: HeldCount[]
}
export interface StepView {
  holder: string
  store: string
  stage: Stage
  state: StepState
  planned: number
  erased: number
  held: HeldCount[]
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
  /** Null where the subject is an agent alone, and once everything of it is erased. */
  accountId: string | null
  /** Empty once everything of them is erased. */
  agents: string[]
  /** Empty once everything of them is erased. */
  participants: string[]
  /** In place of a subject: a part of a project. */
  part: Part | null
  /** Of its entry in the deletion log. */
  auditId: string | null
  requestedBy: string
  reason: string
  /** The code of what kept it from being planned or verified up to now. */
  fault: string | null
  rounds: number
  createdAt: Date
  fencedAt: Date | null
  plannedAt: Date | null
  erasedAt: Date | null
  finishedAt: Date | null
  /** When stores that others write to are, or were, searched once more, and how much was found there. */
  recheckAt: Date | null
  recheckedAt: Date | null
  lateFound: number
  /** Where names of whom it erased stand in what others wrote. */
  mentions: Mention[]
  /** Stores that do not answer, and since when it waits for them. */
  waits: { store: string; since: Date }[]
  /** In the order in which their turns come. */
  steps: StepView[]
}
export interface BeginRun {
  /** Null where an operator asked. */
  requestId: string | null
  /** Nobody where it is about a part. */
  subject: Subject
  part?: Part
  /** Names of whom it erases are taken out of what others wrote, too. */
  redacts?: boolean
  /** As the audit log names them. */
  requestedBy: string
  /** `user_request`, `gdpr_erasure`, …; `replay` takes the subject as it is given, and no agents that its account has since. */
  reason: string
  /** Reserved when it was asked for. Where another erasure has it already, as after a restored backup, the run gets one of its own. */
  receiptId?: string
  now: Date
}
/** What a run tells whoever asked for it, in the transaction in which it changes. */
export interface RunChange {
  runId: string
  requestId: string | null
  /** In place of a subject: a part of a project. */
  part: Part | null
  state: Exclude<RunState, 'planning'>
  receiptId: string
  /** By holder; of holders that had something to erase. */
  erased: Record<string, number>
  held: HeldCount[]
  /** With `held`: holds keep the subject whole. Nothing was erased, nobody is fenced, and no receipt is signed. */
  isKeptWhole: boolean
  now: Date
}

export interface ExplainedPart {
  planned: PlannedHolding[]
  verdicts: Verdict[]
  /** Stores that could not be looked through, or not whole: there may be more than is told. */
  unanswered: string[]
}

/** What erasure offers to privacy requests and to the operator. */
export interface SubjectErasures {
  /** What an erasure would do now. Nothing is fenced, nothing written. */
  dryRun(subject: Subject, now: Date): Promise<PlannedHolding[]>
  /** Reserves run and receipt and enqueues the start; all of it commits with the caller. The same request gets the same run, and so does a part until that is done. */
  begin(tx: Transaction, run: BeginRun): Promise<{ runId: string; receiptId: string; auditId: string }>
  run(runId: string, tx?: Transaction): Promise<RunView | undefined>
  /** What an erasure of a part would do now to every single thing. Nothing is fenced, nothing written. */
  explain(part: Part, now: Date): Promise<ExplainedPart>
  /** The run whose entry in the deletion log has this id. */
  byAudit(auditId: string, tx?: Transaction): Promise<RunView | undefined>
  /** Newest first, after the cursor's place. */
  runs(which: {
    state?: RunState | undefined
    after?: { at: Date; id: string } | undefined
    limit: number
  }): Promise<RunView[]>
  /** How many are in each state but done; `stuck`: of them, those with a step that stands still, and those that could not be planned. */
  open(): Promise<Record<Exclude<RunState, 'done'> | 'stuck', number>>
  /** The run stays as it is until the transaction ends: for who then locks what a run locks after itself. */
  lock(tx: Transaction, runId: string): Promise<unknown>
  /** Stuck steps, or the named one, and a failed run are on again; false when there is nothing to retry. */
  retry(tx: Transaction, runId: string, holder: string | undefined, now: Date): Promise<boolean>
  /** As {@link retry}, of all that stands still, in a transaction of its own. */
  resume(runId: string): Promise<boolean>
  /**
   * Deletes the run of a part of which nothing is erased yet: it is read and written again. False where a step may have begun, of the closing of
   * a project, and of subjects. Locks the run, before anything else in the transaction.
   */
  cancel(tx: Transaction, runId: string): Promise<boolean>
  /** After a hold was released: runs that holds keep open look again. */
  resumeHeld(tx: Transaction): Promise<void>
}
