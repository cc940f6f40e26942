import type { z } from 'zod'
import type { ErasureDetail, RunDetail } from '#lib/domains/privacy-requests/erasures/contract.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { deletedFrom, isErased } from '#lib/kernel/deleted-from.ts'
import type { RunView } from '#lib/kernel/erasure-run.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { Prisma, PrivacyRequestEvent } from '../../../generated/prisma/client.ts'
import { EventFacts, type EventView, type RequestView } from './contract.ts'
import { openContact } from './filing/links.ts'
import type { PrivacyDeps, RequestContact } from './ports.ts'
import {
  ChannelName,
  clocksOf,
  GraceName,
  KindName,
  kindsOf,
  PartStateName,
  payloadOf,
  type RequestRow,
  StateName,
  SubjectName,
} from './requests.ts'
import { deadlineStatus, dueNow, isCancellable, parties, requestKinds } from './rules.ts'

const text = (at: Date | null): string | null => at?.toISOString() ?? null
const factsOf = (json: Prisma.JsonValue) => EventFacts.parse(json ?? {})

/** Returns the start of the current pause and its reason from the timeline. */
const pausedFor = (row: RequestRow, reasons: ReadonlyMap<string, string>) =>
  row.pausedAt ? { since: row.pausedAt.toISOString(), reason: reasons.get(row.id) ?? '' } : null

export function requestView(row: RequestRow, now: Date, reasons: ReadonlyMap<string, string>): RequestView {
  const state = StateName.parse(row.state)
  const clocks = deadlineStatus(clocksOf(row), now)
  const { tag, secondsLeft } = dueNow(clocksOf(row), now)
  return {
    id: row.id,
    kinds: kindsOf(row),
    parts: row.parts
      .map((part) => ({
        kind: KindName.parse(part.kind),
        state: PartStateName.parse(part.state),
        started_at: text(part.startedAt),
        finished_at: text(part.finishedAt),
        outcome: factsOf(part.outcome),
      }))
      .sort((one, other) => requestKinds.indexOf(one.kind) - requestKinds.indexOf(other.kind)),
    channel: ChannelName.parse(row.channel),
    state,
    subject: SubjectName.parse(row.subjectKind),
    agent_id: row.agentId,
    participant_id: row.participantId,
    grace: row.grace === null ? null : GraceName.parse(row.grace),
    redact: row.redacts,
    received_at: row.receivedAt.toISOString(),
    verified_by: row.verifiedBy,
    verified_at: text(row.verifiedAt),
    waiting_until: text(row.waitingUntil),
    started_at: text(row.startedAt),
    due_at: text(clocks.dueAt),
    legal_due_at: clocks.legalDueAt.toISOString(),
    due: tag,
    seconds_left: secondsLeft,
    extended: row.extendedAt !== null,
    paused: pausedFor(row, reasons),
    closed_at: text(row.closedAt),
    // The id is reserved when an erasure is requested; a cancelled or rejected request gets no receipt.
    receipt_id: state === 'cancelled' || state === 'rejected' ? null : row.receiptId,
    can_cancel: isCancellable(state),
    for_member: false,
  }
}

/**
 * The view for a manager who filed the request for somebody else: only its state. A receipt's id grants read access, so
 * it is omitted.
 */
export const filerView = (view: RequestView): RequestView => ({
  ...view,
  parts: view.parts.map((part) => ({ ...part, outcome: {} })),
  receipt_id: null,
  can_cancel: false,
  for_member: true,
})

/** Additional data that admins see: pause reasons, and the names of the subject and the assigned admin. */
interface Beside {
  reasons: ReadonlyMap<string, string>
  people: ReadonlyMap<string, string>
  agents: ReadonlyMap<string, string>
  /** Names or addresses of requesters without an account, by request id. */
  requesters: ReadonlyMap<string, string>
}
export const adminView = (row: RequestRow, now: Date, { reasons, people, agents, requesters }: Beside) => ({
  ...requestView(row, now, reasons),
  account_id: row.accountId,
  filed_by: row.filedBy,
  assigned_to: row.assignedTo,
  subject_name: people.get(row.accountId ?? '') ?? agents.get(row.agentId ?? '') ?? requesters.get(row.id) ?? null,
  assigned_name: people.get(row.assignedTo ?? '') ?? null,
})

export const eventView = (row: PrivacyRequestEvent): z.input<typeof EventView> => ({
  at: row.at.toISOString(),
  by: parties.find((party) => party === row.by) ?? 'system',
  event: row.event,
  from: row.from,
  to: row.to,
  details: factsOf(row.details),
  note: row.note,
})

export const statementOf = (row: RequestRow): string | null => payloadOf(row).statements?.join('\n\n') ?? null

export const heldCountView = (held: readonly { hold: string; count: number }[]) =>
  held.map(({ hold, count }) => ({ hold_id: hold, count }))

/** A held run without a fence erased nothing, so it has no receipt. */
export const signedReceipt = ({ state, fencedAt, receiptId }: RunView): string | null =>
  state === 'done' || (state === 'held' && fencedAt !== null) ? receiptId : null

export const runView = (run: RunView): z.input<typeof RunDetail> => ({
  run_id: run.id,
  request_id: run.requestId,
  state: run.state,
  created_at: run.createdAt,
  fenced_at: run.fencedAt,
  finished_at: run.finishedAt,
  receipt_id: signedReceipt(run),
  waits_for: run.waits.map(({ store, since }) => ({ store, since })),
  steps: run.steps.map((step) => ({
    holder: step.holder,
    store: step.store,
    state: step.state,
    planned: step.planned,
    erased: step.erased,
    held: heldCountView(step.held),
    residue: step.residue,
    results: step.results,
    attempts: step.attempts,
    fault: step.fault,
    waiting_since:
      step.fault === 'unavailable' && step.state !== 'stuck'
        ? (run.waits.find(({ store }) => store === step.store)?.since ?? null)
        : null,
    started_at: step.startedAt,
    finished_at: step.finishedAt,
    verified_at: step.verifiedAt,
  })),
})

export const erasureView = (run: RunView): z.input<typeof ErasureDetail> => ({
  ...runView(run),
  audit_id: run.auditId,
  success: isErased(run),
  part: run.part && {
    kind: run.part.kind,
    id: shownId(run.part.id),
    project_id: run.part.project,
    conversation_id: run.part.conversation === null ? null : shownId(run.part.conversation),
  },
  deleted_from: deletedFrom(run),
  remaining_mentions: run.mentions.map(({ isRedacted, ...place }) => ({ ...place, is_redacted: isRedacted })),
  recheck_at: run.recheckAt,
  rechecked_at: run.recheckedAt,
  late_found: run.lateFound,
  fault: run.fault,
})

/** Lists count up to this number. */
export const requestsCountedTo = 1_001

/** Returns the reasons of paused requests by request id. */
export async function pauseReasons(tx: Transaction, rows: readonly RequestRow[]): Promise<Map<string, string>> {
  const paused = rows.filter(({ pausedAt }) => pausedAt !== null).map(({ id }) => id)
  if (paused.length === 0) return new Map()
  const events = await tx.privacyRequestEvent.findMany({
    where: { requestId: { in: paused }, event: 'paused' },
    orderBy: [{ at: 'asc' }, { id: 'asc' }],
  })
  return new Map(events.map(({ requestId, note }) => [requestId, note ?? '']))
}

/** Returns what a requester without an account entered in the form, while the address is stored. */
export const requesterOf = (key: Uint8Array, row: RequestRow): RequestContact | undefined =>
  row.channel === 'form' && row.accountId === null && row.contact !== null
    ? openContact(key, row.id, row.contact)
    : undefined

/** Loads the data that admins see with the rows: pause reasons and names. */
export async function besideOf(
  { people, agents, contactKey }: Pick<PrivacyDeps, 'people' | 'agents' | 'contactKey'>,
  tx: Transaction,
  rows: readonly RequestRow[],
): Promise<Beside> {
  const named = (ids: (string | null)[]) => [...new Set(ids.filter((id) => id !== null))]
  return {
    reasons: await pauseReasons(tx, rows),
    people: await people.namesOf(tx, named(rows.flatMap(({ accountId, assignedTo }) => [accountId, assignedTo]))),
    agents: await agents.namesOf(tx, named(rows.map(({ agentId }) => agentId))),
    requesters: new Map(
      rows.flatMap((row) => {
        const contact = requesterOf(contactKey(), row)
        return contact ? [[row.id, contact.requesterName ?? contact.email] as const] : []
      }),
    ),
  }
}

export interface Story {
  events: PrivacyRequestEvent[]
  run: RunView | undefined
}
/** Returns the timeline, oldest first, and the current state of the erasure. */
export async function storyOf({ db, erasures }: Pick<PrivacyDeps, 'db' | 'erasures'>, row: RequestRow): Promise<Story> {
  const [events, run] = await Promise.all([
    db.prisma.privacyRequestEvent.findMany({ where: { requestId: row.id }, orderBy: [{ at: 'asc' }, { id: 'asc' }] }),
    row.runId === null ? undefined : erasures.run(row.runId),
  ])
  return { events, run }
}
