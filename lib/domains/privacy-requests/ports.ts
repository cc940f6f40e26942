import type { RequireApproval } from '#lib/kernel/approval.ts'
import type { Context, MutationContext, PipelinePorts, Transaction } from '#lib/kernel/context.ts'
import type { SubjectErasures } from '#lib/kernel/erasure-run.ts'
import type { ProjectPart, Subject } from '#lib/kernel/erasure-scope.ts'
import type { Basis } from '#lib/kernel/exporter.ts'
import type { GuardedContext } from '#lib/kernel/use-case.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { EmailSections } from '#lib/stores/mail/email-content.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'

export type RequestLocale = 'en' | 'zh'
export interface RequestContact {
  email: string
  locale: RequestLocale
  /** The name that a requester entered in the form. */
  requesterName?: string | undefined
}
interface KnownAccount {
  accountId: string
}
export interface Changes {
  name?: string | undefined
  email?: string | undefined
  locale?: RequestLocale | undefined
}
/** What privacy requests need from accounts. */
export interface People {
  contactOf(tx: Transaction, accountId: string): Promise<RequestContact | undefined>
  byId(tx: Transaction, accountId: string): Promise<(KnownAccount & { role: string }) | undefined>
  /** Returns true when an admin closed the account: nobody can sign in to it. */
  isClosed(tx: Transaction, accountId: string): Promise<boolean>
  /** Returns names by account id, without unknown accounts. */
  namesOf(tx: Transaction, accountIds: readonly string[]): Promise<Map<string, string>>
  byEmail(tx: Transaction, email: string): Promise<KnownAccount | undefined>
  /** Returns accounts whose name, address or id contains the text, by name. */
  matching(tx: Transaction, text: string, max: number): Promise<KnownAccount[]>
  /**
   * Concurrent calls are serialized until the end of the transaction, so call it in the transaction that suspends the
   * account.
   */
  isLastAdmin(tx: Transaction, accountId: string): Promise<boolean>
  /**
   * Returns true when the filer manages the member's organization, or owns a project that the member belongs to. Always
   * false for oneself.
   */
  mayFileFor(tx: Transaction, filerId: string, memberId: string): Promise<boolean>
  /** Returns the admins who can sign in. */
  adminContacts(tx: Transaction): Promise<(KnownAccount & RequestContact & { name: string })[]>
  /**
   * Attempts are counted, and a wrong password takes as long as a right one.
   * @throws Problem `rate_limited`
   * @throws Problem `invalid` at `password` for a wrong password
   * @throws Problem `step_up_required` for an account with a second factor that the session has not shown within ten minutes
   */
  requireOwnProof(ctx: MutationContext, accountId: string, password: string): Promise<void>
  /**
   * Returns the names of the changed fields.
   * @throws Problem `conflict` when another account uses the address
   */
  rectify(tx: Transaction, accountId: string, changes: Changes, now: Date): Promise<string[]>
}
/** What privacy requests need from agents. */
export interface Agents {
  /** Null: the agent has no owner; undefined: no such agent exists. */
  ownerOf(tx: Transaction, agentId: string): Promise<string | null | undefined>
  /** Returns names by agent id, without agents that have no name. */
  namesOf(tx: Transaction, agentIds: readonly string[]): Promise<Map<string, string>>
  agentsOfAccount(tx: Transaction, accountId: string): Promise<string[]>
  /** Stops the tokens of the subject's agents until `unsuspend`, as configured. */
  suspend(tx: Transaction, subject: Subject, now: Date): Promise<unknown>
  /** For agents for which another erasure waits, the caller calls `suspend` again. */
  unsuspend(tx: Transaction, subject: Subject, now: Date): Promise<unknown>
  /** GDPR art. 18; after an objection, art. 18(1)(d). */
  restrict(tx: Transaction, subject: Subject, reason: 'request' | 'objection', now: Date): Promise<unknown>
  unrestrict(tx: Transaction, subject: Subject, reason: 'request' | 'objection', now: Date): Promise<unknown>
}
/** A participant of a project, and the role in which the caller acts for it. */
export interface ParticipantContact {
  id: string
  /** The account that claimed the participation, if any. */
  accountId: string | null
  /** The address that an application reported. */
  email: string | null
  /** Whether it is evidence: the copy of a request from the form may go there. */
  emailConfirmed: boolean
  /** application: a token with the scope `privacy`. */
  actsAs: 'owner' | 'manager' | 'admin' | 'application'
}
/** What privacy requests need from projects. */
export interface ParticipantPorts {
  /**
   * @throws Problem `not_found`
   * @throws Problem `forbidden` for callers who must not act for participants of the project
   */
  find(
    ctx: Pick<Context, 'actor'> & { tx?: Transaction },
    which: { projectId: string; participantId: string },
  ): Promise<ParticipantContact>
  /** GDPR art. 18; after an objection, art. 18(1)(d). */
  restrict(
    tx: Transaction,
    participantIds: readonly string[],
    reason: 'request' | 'objection',
    now: Date,
  ): Promise<unknown>
  unrestrict(tx: Transaction, participantIds: readonly string[], reason: 'request' | 'objection'): Promise<unknown>
  /**
   * Whether an account that acted for the participant is known and may no longer: it is closed, or neither owns the project, nor manages its
   * organization, nor is an admin.
   */
  hasLostRight(tx: Transaction, participantId: string, actor: string): Promise<boolean>
  /** Returns the names of the changed fields; empty when the participant is erased or claimed by now. */
  rectify(
    tx: Transaction,
    participantId: string,
    changes: Pick<Changes, 'name' | 'email'>,
    /** Who asks for the changes, as the audit log names actors. */
    by: string,
    now: Date,
  ): Promise<string[]>
  /** @throws Problem `forbidden` if the changes would let the caller, or somebody whom only an owner may choose, claim the participation */
  refuseTakeover(
    ctx: GuardedContext & { tx: Transaction },
    which: { projectId: string; participantId: string },
    changes: Pick<Changes, 'name' | 'email'>,
  ): Promise<void>
  /** Returns unclaimed participants with this email address, the newest first, at most `max`. */
  byEmail(
    tx: Transaction,
    email: string,
    max: number,
  ): Promise<{ projectId: string; projectName: string; participantId: string; name: string | null }[]>
  /** The copy of a participant's data as NDJSON. The caller checks that the reader may have it. */
  copyOf(copy: { participantId: string; projectId: string; scope: Basis; now: Date }): AsyncIterable<string>
  /** Undefined when the participant is erased. */
  projectOf(tx: Transaction, participantId: string): Promise<string | undefined>
}
/** What privacy requests need from the erasure engine. */
export type RequestErasures = Pick<
  SubjectErasures,
  'dryRun' | 'namesAhead' | 'begin' | 'run' | 'byAudit' | 'runs' | 'open' | 'lock' | 'retry'
>
/** What privacy requests need from exports. */
export interface ExportCopies {
  /** Returns the id of the prepared export. */
  prepare(tx: Transaction, copy: { accountId: string; requestId: string; basis: Basis; now: Date }): Promise<string>
}
/** A change of a copy's state, reported in the transaction that changes it. */
export interface CopyChange {
  exportId: string
  requestId: string
  basis: Basis
  /** fetched: the owner downloaded it completely. gone: it expired, was deleted, or contained data that was erased. */
  state: 'ready' | 'fetched' | 'gone' | 'failed'
  records: number
  /** With `failed`: the code of the last error. */
  fault: string | null
  now: Date
}

export interface PrivacyDeps {
  ledger: Pick<Ledger, 'append'>
  /** With two-person approval, an erasure whose subject an admin identifies needs a second admin. */
  requireApproval: RequireApproval
  /** Sends an admin an email about requests, unless they get such emails only daily or never. */
  sendToAdmin(accountId: string, write: (locale: RequestLocale) => EmailSections[number]): Promise<void>
  db: Database
  pipeline: Pick<PipelinePorts, 'clock' | 'transaction' | 'auditWithin'>
  people: People
  agents: Agents
  participants: ParticipantPorts
  erasures: RequestErasures
  /** Returns true when the caller owns the part's project, manages the organization, or wrote the part. */
  answersForPart(ctx: Context, part: ProjectPart): Promise<boolean>
  copies: ExportCopies
  /** Ids of the current legal holds on a subject. */
  holdsOn(tx: Transaction, subject: Subject, now: Date): Promise<string[]>
  /**
   * Counts attempts by network address.
   * @throws Problem `rate_limited`
   */
  countTry(network: string): Promise<void>
  /** Returns who caused the events of a request, as named in the audit log, while the log retains their entries. */
  actorsOf(on: Queryable, requestId: string, now: Date): Promise<{ at: Date; event: string; actor: string }[]>
  /** The public request form. */
  form: {
    isOn(tx: Transaction): Promise<boolean>
    /** Without a mail server, admins forward the links that confirm addresses. */
    isForwardedByHand: boolean
    /** Key that seals unconfirmed requests. */
    key(): Uint8Array
    /**
     * Counts attempts by network address.
     * @throws Problem `rate_limited`
     */
    countTry(address: string): Promise<void>
  }
  /** Key for the hash of a subject, by which its requests are found. */
  subjectKey: () => Uint8Array
  /** Key that seals addresses. */
  contactKey: () => Uint8Array
  /** What an erasure will retain, with ground and end, in the words of its receipt. */
  expectedRetention(
    erasure: {
      subject: Pick<Subject, 'account' | 'participants'>
      counts: ReadonlyMap<string, number>
      results?: ReadonlyMap<string, Readonly<Record<string, number>>>
      held: readonly { hold: string; count: number }[]
    },
    now: Date,
  ): Promise<{ what: string; ground: string; until: string | null }[]>
  /** Base URL of this installation. */
  origin: string
  /** Whether texts of subjects are checked strictly; violations throw `content_rejected` or `invalid`. */
  strict: boolean
  /** Whether tokens and sign-in stop during a grace period. */
  graceTokens: 'stop' | 'keep'
  graceSignIn: 'stop' | 'keep'
  /** Contact address for privacy questions in emails. */
  privacyEmail: string | null
  /** Years for which closed requests are retained. */
  requestsYears: number
}
