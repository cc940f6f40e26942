import type { AuditAct } from '#lib/domains/audit/contract.ts'
import type { Actor, Context } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Periods } from '#lib/kernel/expiring.ts'
import type { ErasedKind } from '#lib/kernel/receipt.ts'
import type { SetupFacts } from './rules.ts'

/** A period from now. */
interface Span {
  now: Date
  until: Date
}
interface RunNow {
  id: string
  requestId: string | null
  projectId: string | null
  state: string
  stepsDone: number
  stepsTotal: number
  isStuck: boolean
  createdAt: Date
  /** The total, which can exceed the number of returned items. */
  total: number
}
interface RequestNow {
  id: string
  kinds: readonly string[]
  state: string
  agent_id: string | null
  received_at: string
  waiting_until: string | null
  due_at: string | null
  legal_due_at: string
  due: string
  seconds_left: number | null
  can_cancel: boolean
}
interface ReceiptNow {
  receipt_id: string
  deleted_id: string
  kind: ErasedKind
  deleted_at: string
  signed_at: string | null
}

interface AuditedChange {
  id: string
  at: Date
  action: string
  actorId: string
  actorName: string | null
  resourceType: string
  resourceId: string
  resourceName: string | null
  act: AuditAct
}

/** Short queries of the console to the domains, connected by lib/app.ts. */
export interface ConsolePorts {
  dataSources: readonly DataSource[]
  accounts: {
    newestSignIns(
      accountId: string,
      sessionId: string | undefined,
    ): Promise<{ at: Date; browser: string; isCurrent: boolean }[]>
  }
  agents: { summary(agents: readonly string[]): Promise<{ total: number; restricted: number; suspended: number }> }
  tokens: {
    summary(
      agents: readonly string[],
      span: Span,
    ): Promise<{ active: number; expiring: number; nextExpiry: Date | null; lastUsedAt: Date | null }>
    revokedByLimits(since: Date): Promise<number>
  }
  requests: {
    openOf(actor: Actor, now: Date, most: number): Promise<{ open: number; shown: RequestNow[] }>
    waiting(now: Date): Promise<{ open: number; near: number; week: number; overdue: number }>
    countUnforwarded(now: Date): Promise<number>
    trend(
      now: Date,
      weeks: number,
    ): Promise<
      { from: Date; received: number; closed: number; answered: number; onTime: number; medianDays: number | null }[]
    >
    changes(since: Date): Promise<{ received: number; closed: number }>
    ownRuns(actor: Actor): Promise<{ requestId: string; runId: string }[]>
  }
  erasures: {
    /** All runs, or the given runs and the partial erasures that an actor requested. */
    active(whose?: { runs: readonly string[]; askedBy: string }): Promise<RunNow[]>
    open(): Promise<{ planning: number; erasing: number; verifying: number; failed: number; stuck: number }>
  }
  receipts: {
    newest(actor: Actor, most: number): Promise<ReceiptNow[]>
    signedSince(since: Date): Promise<number>
    /** The number of deletions in each of the last weeks, oldest first. */
    byWeek(now: Date, weeks: number): Promise<number[]>
  }
  /** Recent changes by people, from the audit log. */
  activity: { newest(now: Date, most: number): Promise<AuditedChange[]> }
  setup: { settings: Omit<SetupFacts, 'admins'>; admins(): Promise<number> }
  exports: {
    active(
      accountId: string,
      now: Date,
    ): Promise<
      {
        id: string
        requestId: string | null
        state: 'queued' | 'running'
        partsDone: number
        partsTotal: number
        createdAt: Date
      }[]
    >
    toFetch(
      accountId: string,
      now: Date,
    ): Promise<{ id: string; expiresAt: Date; records: number; isDownloaded: boolean }[]>
  }
  knowledge: {
    /** According to the current retention periods. */
    expiringSoon(
      owner: Pick<Actor, 'agents' | 'organisationId'>,
      span: Span,
    ): Promise<{ visibility: keyof Periods; count: number; firstAt: Date }[]>
    quarantined(): Promise<number>
  }
  /** Projects of the reader, the next to close first. */
  projects: {
    /** The participations that the account claimed. */
    participationsOf(accountId: string): Promise<string[]>
    closingSoon(
      owner: Pick<Actor, 'accountId' | 'agents' | 'organisationId'>,
      most: number,
    ): Promise<{ id: string; name: string; closesAt: Date }[]>
  }
  /** The number of proposals that an admin can decide. */
  approvals: { waitingFor(accountId: string, now: Date): Promise<number> }
  holds: { ending(span: Span): Promise<number> }
  retention: { active(now: Date): Promise<{ id: string; startedAt: Date; deleted: number } | undefined> }
  mail: {
    /** Emails that failed at least once and wait, or were given up. */
    undelivered(): Promise<number>
    /** Emails in the folder. Null when a mail server delivers them. */
    files(): Promise<number | null>
  }
  /** Each search returns only what the reader may open. */
  search: {
    people(actor: Actor, q: string, most: number): Promise<{ id: string; name: string; email: string }[]>
    agents(
      actor: Actor,
      q: string,
      most: number,
    ): Promise<{ id: string; name: string | null; ownerId: string | null }[]>
    /** By id, or by the people concerned. */
    requests(
      actor: Actor,
      by: { q: string; accounts: readonly string[] },
      most: number,
    ): Promise<{ id: string; kinds: readonly string[]; person: string | null }[]>
    receipts(actor: Actor, id: string): Promise<{ id: string; deletedId: string }[]>
    erasure(actor: Actor, id: string): Promise<string | undefined>
    records(
      ctx: Context,
      q: string,
      most: number,
    ): Promise<{ kind: 'unit' | 'skill'; id: string; title: string; isOwn: boolean }[]>
    projects(ctx: Context, q: string, most: number): Promise<{ id: string; name: string }[]>
  }
}
