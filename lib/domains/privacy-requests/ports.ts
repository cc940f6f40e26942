import type { Context, GatePorts, Transaction } from '#lib/kernel/context.ts'
import type { SubjectErasures } from '#lib/kernel/erasure-run.ts'
import type { Basis, Part, Subject } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export type Locale = 'en' | 'zh'
export interface Contact {
  email: string
  locale: Locale
}
interface KnownAccount {
  accountId: string
}
export interface Changes {
  name?: string | undefined
  email?: string | undefined
  locale?: Locale | undefined
}
/** What is asked of whoever keeps accounts. */
export interface People {
  contactOf(tx: Transaction, accountId: string): Promise<Contact | undefined>
  byId(tx: Transaction, accountId: string): Promise<(KnownAccount & { role: string }) | undefined>
  /** An admin closed it: nobody signs in to it. */
  isClosed(tx: Transaction, accountId: string): Promise<boolean>
  /** Of those of the accounts that there are. */
  namesOf(tx: Transaction, accountIds: readonly string[]): Promise<Map<string, string>>
  byEmail(tx: Transaction, email: string): Promise<KnownAccount | undefined>
  /** Two that ask at once wait for each other: ask in the transaction that then suspends the account. */
  isLastAdmin(tx: Transaction, accountId: string): Promise<boolean>
  /** Whether the first manages the organization of the second, or owns a project in which the second is a member. Nobody acts for themselves. */
  mayFileFor(tx: Transaction, filerId: string, memberId: string): Promise<boolean>
  /** Those who may sign in. */
  adminContacts(tx: Transaction): Promise<(KnownAccount & Contact & { name: string })[]>
  /** Counted, and as slow for a wrong one. Throws `rate_limited`, and `invalid` with the path `password`. */
  checkPassword(tx: Transaction, accountId: string, password: string, now: Date): Promise<void>
  /** Gives the names of what changed. Throws `conflict` where the address is another account's. */
  rectify(tx: Transaction, accountId: string, changes: Changes, now: Date): Promise<string[]>
}
/** What is asked of whoever keeps agents: of one, and of a subject with its agents. */
export interface Agents {
  /** Null: nobody owns it; undefined: there is none. */
  ownerOf(tx: Transaction, agentId: string): Promise<string | null | undefined>
  /** Of those of the agents that have one. */
  namesOf(tx: Transaction, agentIds: readonly string[]): Promise<Map<string, string>>
  agentsOfAccount(tx: Transaction, accountId: string): Promise<string[]>
  /** From now on no token of the subject's agents works, as the installation has it; until `unsuspend`. */
  suspend(tx: Transaction, subject: Subject, now: Date): Promise<unknown>
  /** Of agents for which another erasure waits, `suspend` is asked again. */
  unsuspend(tx: Transaction, subject: Subject, now: Date): Promise<unknown>
  /** GDPR art. 18; by an objection, 18(1)(d). */
  restrict(tx: Transaction, subject: Subject, reason: 'request' | 'objection', now: Date): Promise<unknown>
  unrestrict(tx: Transaction, subject: Subject, reason: 'request' | 'objection', now: Date): Promise<unknown>
}
/** A participant of a project, and as what the caller acts for it. */
export interface KnownParticipant {
  id: string
  /** The account that claimed the participation. */
  accountId: string | null
  actsAs: 'owner' | 'manager' | 'admin'
}
/** What is asked of the projects. */
export interface Participants {
  /** Throws `not_found`; `forbidden` for those who do not act for the participants of the project. */
  find(
    ctx: Pick<Context, 'actor'> & { tx?: Transaction },
    which: { projectId: string; participantId: string },
  ): Promise<KnownParticipant>
  /** GDPR art. 18; by an objection, 18(1)(d). */
  restrict(
    tx: Transaction,
    participantIds: readonly string[],
    reason: 'request' | 'objection',
    now: Date,
  ): Promise<unknown>
  unrestrict(tx: Transaction, participantIds: readonly string[], reason: 'request' | 'objection'): Promise<unknown>
  /** Gives the names of what changed; none where the participant is erased or claimed by now. */
  rectify(
    tx: Transaction,
    participantId: string,
    changes: Pick<Changes, 'name' | 'email'>,
    now: Date,
  ): Promise<string[]>
  /** Undefined once the participant is erased. */
  projectOf(tx: Transaction, participantId: string): Promise<string | undefined>
}
/** What is asked of the engine. */
export type Erasures = Pick<
  SubjectErasures,
  'dryRun' | 'begin' | 'run' | 'byAudit' | 'runs' | 'open' | 'lock' | 'retry'
>
/** What is asked of whoever prepares copies. */
export interface Copies {
  /** Gives the id of the prepared export. */
  prepare(tx: Transaction, copy: { accountId: string; requestId: string; basis: Basis; now: Date }): Promise<string>
}
/** What became of a copy, told in the transaction in which it becomes that. */
export interface CopyChange {
  exportId: string
  requestId: string
  basis: Basis
  /** fetched: its owner has it whole. gone: expired, deleted, or something in it was erased. */
  state: 'ready' | 'fetched' | 'gone' | 'failed'
  records: number
  now: Date
}

export interface PrivacyParts {
  db: Database
  gate: Pick<GatePorts, 'clock' | 'transaction' | 'auditWithin'>
  people: People
  agents: Agents
  participants: Participants
  erasures: Erasures
  /** Whether they own its project, manage the organisation, or wrote it. */
  answersForPart(ctx: Context, part: Part): Promise<boolean>
  copies: Copies
  /** Ids of the legal holds in force on a subject. */
  holdsOn(tx: Transaction, subject: Subject, now: Date): Promise<string[]>
  /** Counts tries from a network (throws `rate_limited`). */
  countTry(network: string, now: Date): Promise<void>
  /** Keys the hash of a subject, by which duplicates are found. */
  subjectKey: () => Uint8Array
  /** Seals addresses. */
  contactKey: () => Uint8Array
  /** What an erasure leaves, on which ground and how long; as receipts name it. */
  retained(now: Date): { what: string; ground: string; until: string | null }[]
  /** Where this installation is reached. */
  origin: string
  /** Of the subject's plain words; throws `content_rejected`, `invalid`. */
  strict: boolean
  /** What stops during a grace. */
  graceTokens: 'stop' | 'keep'
  graceSignIn: 'stop' | 'keep'
  /** Where questions about privacy go, as letters name it. */
  privacyEmail: string | null
  /** For how many years closed requests are kept. */
  requestsYears: number
}
