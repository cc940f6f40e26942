import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { enqueue } from '#lib/jobs/queue.ts'
import { comparableAddress, storedForms } from '#lib/kernel/address-forms.ts'
import type { Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { newUuid } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type ChangedResource, guardRequestChange } from '#lib/kernel/use-case.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Agents, People, PrivacyDeps } from './ports.ts'
import { deletePayload, lockRequests } from './repository.ts'
import {
  type Clocks,
  channels,
  graces,
  isClosed,
  mayBecome,
  type Party,
  partStates,
  type RequestEvent,
  type RequestKind,
  type RequestState,
  requestKinds,
  requestSubjects,
  states,
  statusLinkEnd,
} from './rules.ts'

export const withParts = { parts: true } as const
export type RequestRow = Prisma.PrivacyRequestGetPayload<{ include: typeof withParts }>
export type RequestPartRow = RequestRow['parts'][number]

/**
 * The subject's statements and requested changes. This content is stored only in the request's row and deleted when the
 * request is closed.
 */
export const Payload = z.strictObject({
  statements: z.array(z.string()).optional(),
  changes: z
    .strictObject({
      name: z.string().optional(),
      email: z.string().optional(),
      locale: z.enum(['en', 'zh']).optional(),
    })
    .optional(),
})
export type Payload = z.output<typeof Payload>
export const payloadOf = ({ payload }: Pick<RequestRow, 'payload'>): Payload => Payload.parse(payload ?? {})

export const KindName = z.enum(requestKinds)
export const SubjectName = z.enum(requestSubjects)
export const StateName = z.enum(states)
export const ChannelName = z.enum(channels)
export const GraceName = z.enum(graces)
export const PartStateName = z.enum(partStates)

export const kindsOf = (row: Pick<RequestRow, 'kinds'>): RequestKind[] => row.kinds.map((kind) => KindName.parse(kind))
export const clocksOf = (row: RequestRow): Clocks => row
export const requestPartOf = (row: RequestRow, kind: RequestKind): RequestPartRow | undefined =>
  row.parts.find((part) => part.kind === kind)

/** HMAC-SHA256 of the subject, base64url. It remains when the request is pseudonymous. */
export const requestSubjectHash = (
  key: Uint8Array,
  kind: 'account' | 'agent' | 'participant' | 'requester',
  id: string,
): string => createHmac('sha256', key).update(`${kind}:${id}`).digest('base64url')
/** HMAC-SHA256 of an email address, in its comparable form, or of a network of the form; base64url. */
export const formHash = (key: Uint8Array, kind: 'address' | 'network', value: string): string =>
  createHmac('sha256', key)
    .update(`form-${kind}:${kind === 'address' ? comparableAddress(value) : value.trim().toLowerCase()}`)
    .digest('base64url')
/** The hashes under which requests of the address may be stored: earlier versions hashed addresses as they were entered, in lower case. */
export const addressHashes = (key: Uint8Array, address: string): string[] =>
  storedForms(address).map((form) => createHmac('sha256', key).update(`form-address:${form}`).digest('base64url'))

/** Returns the current subject. The agents of a person are fixed only when the fence is raised. */
export async function requestSubjectOf(tx: Transaction, row: RequestRow, agents: Agents): Promise<Subject> {
  if (row.accountId !== null) return { account: row.accountId, agents: await agents.agentsOfAccount(tx, row.accountId) }
  if (row.participantId !== null) return { account: null, agents: [], participants: [row.participantId] }
  return { account: null, agents: row.agentId === null ? [] : [row.agentId] }
}

/** Returns true when the subject is erased: only kinds, states, times and counts remain. */
export const isPseudonymous = ({
  accountId,
  agentId,
  participantId,
  addressKey,
}: Pick<RequestRow, 'accountId' | 'agentId' | 'participantId' | 'addressKey'>): boolean =>
  accountId === null && agentId === null && participantId === null && addressKey === null

/** Returns true for a request from the form that no admin has connected to an account or participant. */
export const isUnconnected = ({ subjectKind }: Pick<RequestRow, 'subjectKind'>): boolean => subjectKind === 'requester'

/** Returns true while a rectification waits until its new address is confirmed. */
export const waitsForAddress = (row: RequestRow): boolean => {
  const part = requestPartOf(row, 'rectification')
  return part?.state === 'running' && (part.outcome as Prisma.JsonObject).waits_for === 'address'
}

/** Returns true when the erasure waits because holds cover everything: nothing was erased, and sign-in and tokens work. */
export const wasFullyRetained = (row: RequestRow): boolean =>
  row.state === 'partly_completed' &&
  (requestPartOf(row, 'erasure')?.outcome as Prisma.JsonObject | undefined)?.nothing_erased === true

/** The error for an unknown request and for a request of somebody else. */
export const noRequest = () => new Problem('not_found', 'There is no such request, or it is not yours.')

/** Returns true when the request is about the actor or one of their agents. */
export const isOwnOf = ({ actor }: Pick<Context, 'actor'>, row: RequestRow): boolean =>
  row.accountId !== null
    ? row.accountId === actor.accountId
    : row.agentId !== null && actor.agents.includes(row.agentId)

/**
 * Filter: requests about the actor and their agents, and those that they filed as a manager for these members ({@link
 * filedFor}).
 */
export function ownedBy(
  { actor }: Pick<Context, 'actor'>,
  members: readonly string[] = [],
): Prisma.PrivacyRequestWhereInput {
  return {
    OR: [
      ...(actor.accountId === undefined ? [] : [{ accountId: actor.accountId }]),
      // A token accesses only the requests that its agent filed, not those of its owner or of somebody else.
      { agentId: { in: [...actor.agents] }, ...(actor.kind === 'agent' && { channel: 'api', filedBy: actor.id }) },
      ...(members.length > 0 ? [{ filedBy: actor.id, channel: 'manager', accountId: { in: [...members] } }] : []),
    ],
  }
}

/** Returns the members for whom the actor filed requests, or a request with this id, and whom the actor still manages. */
export async function filedFor(
  people: Pick<People, 'mayFileFor'>,
  tx: Transaction,
  { actor }: Pick<Context, 'actor'>,
  id?: string,
): Promise<string[]> {
  const { accountId: managerId } = actor
  if (managerId === undefined) return []
  const filed = await tx.privacyRequest.findMany({
    where: { filedBy: actor.id, channel: 'manager', accountId: { not: null }, ...(id !== undefined && { id }) },
    distinct: ['accountId'],
    select: { accountId: true },
  })
  const members: string[] = []
  for (const { accountId } of filed)
    if (accountId !== null && (await people.mayFileFor(tx, managerId, accountId))) members.push(accountId)
  return members
}

/**
 * Loads a request and locks its row until the transaction ends. Every change of its state locks it here, so that
 * concurrent changes are serialized. Undefined when the request is unknown or does not match `where`.
 */
export async function lockedRequest(
  tx: Transaction,
  id: string,
  where: Prisma.PrivacyRequestWhereInput = {},
): Promise<RequestRow | undefined> {
  await lockRequests(tx, { ids: [id] })
  return (await tx.privacyRequest.findFirst({ where: { AND: [{ id }, where] }, include: withParts })) ?? undefined
}

export const notifyJob = 'privacy.notify'
/** Sends the email to the new address of a rectification. */
export const addressJob = 'privacy.confirm-address'
/** Sends an admin the number of requests. */
export const notifyAdminJob = 'privacy.tell-admin'
/** Enqueues an email to every admin with the number of requests; one waiting job for an admin is enough. */
export async function notifyAdmins({ people }: Pick<PrivacyDeps, 'people'>, tx: Transaction): Promise<void> {
  for (const { accountId } of await people.adminContacts(tx))
    await enqueue(tx, notifyAdminJob, { accountId }, { key: `${notifyAdminJob}:${accountId}`, maxAttempts: 12 })
}

/** The changes to requests in one transaction. Timeline, audit log and emails are written together with them or not at all. */
export interface RequestWork {
  tx: Transaction
  now: Date
  by: Party
  /** The acting party as named in the audit log. */
  actorId: string
  /** The audit entries, which the pipeline writes. */
  entries: ChangedResource[]
  /** Ids of the timeline entries to email to the subject, by request id. */
  eventsToEmail: Map<string, string[]>
}
/**
 * Every change of a request by a caller begins here.
 * @throws Problem `forbidden` for a token that acts as an admin: a person decides about requests of others
 */
export function workOf(ctx: Pick<MutationContext, 'tx' | 'now' | 'actor' | 'consulted'>, by: Party): RequestWork {
  guardRequestChange(ctx, by === 'admin')
  return { tx: ctx.tx, now: ctx.now, by, actorId: ctx.actor.id, entries: [], eventsToEmail: new Map() }
}
export const systemWork = (tx: Transaction, now: Date, job: string): RequestWork => ({
  tx,
  now,
  by: 'system',
  actorId: `system:${job}`,
  entries: [],
  eventsToEmail: new Map(),
})

export interface RequestChange {
  event: RequestEvent
  to?: RequestState
  /** Further changes of the request's row. */
  data?: Prisma.PrivacyRequestUpdateInput
  /** Ids, codes, counts and times. */
  details?: Record<string, string | number | boolean | null>
  /** Text that the subject can read, or only admins if `isInternal`. */
  note?: string
  isInternal?: boolean
  /** Sends no email about this change. */
  isSilent?: boolean
  by?: Party
}

/**
 * Changes a locked request: its row, a timeline entry, an audit entry, and an email after the transaction.
 * @throws Problem `wrong_state` for a transition that the table does not allow
 */
export async function change(work: RequestWork, row: RequestRow, made: RequestChange): Promise<RequestRow> {
  const { tx, now } = work
  const from = StateName.parse(row.state)
  if (made.to !== undefined && !mayBecome(from, made.to, made.by ?? work.by))
    throw new Problem('wrong_state', `The request is ${from.replace('_', ' ')}. Nothing was changed.`)
  const closes = made.to !== undefined && isClosed(made.to)
  if (closes) {
    await tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose: { not: 'status' } } })
    await tx.privacyLink.updateMany({ where: { requestId: row.id }, data: { expiresAt: statusLinkEnd(now) } })
    await deletePayload(tx, { id: row.id })
  }
  const next = await tx.privacyRequest.update({
    where: { id: row.id },
    data: {
      ...made.data,
      ...(made.to !== undefined && { state: made.to }),
      ...(closes && { closedAt: now, pausedAt: null }),
      version: { increment: 1 },
    },
    include: withParts,
  })
  await note(work, next, made, from)
  return next
}

/** Adds a timeline entry and an audit entry, for changes outside the request's row. */
export async function note(
  work: RequestWork,
  row: RequestRow,
  made: RequestChange,
  from?: RequestState,
): Promise<void> {
  const { tx, now } = work
  const id = newUuid()
  await tx.privacyRequestEvent.create({
    data: {
      id,
      requestId: row.id,
      at: now,
      by: made.by ?? work.by,
      event: made.event,
      from: made.to === undefined ? null : (from ?? null),
      to: made.to ?? null,
      details: made.details ?? {},
      note: made.note ?? null,
      isInternal: made.isInternal ?? false,
    },
  })
  work.entries.push({
    resourceId: row.id,
    ...(made.event === 'received' && { action: 'create' as const }),
    details: { event: made.event, ...(made.to !== undefined && { from: from ?? null, to: made.to }), ...made.details },
  })
  if (!made.isInternal && !made.isSilent)
    work.eventsToEmail.set(row.id, [...(work.eventsToEmail.get(row.id) ?? []), id])
}

/** Enqueues the emails of this work: one per request, about all its events. */
export async function notifyParties(work: RequestWork): Promise<void> {
  for (const [requestId, events] of work.eventsToEmail)
    await enqueue(work.tx, notifyJob, { requestId, events: events.join(',') }, { maxAttempts: 25 })
  work.eventsToEmail.clear()
}

/** Writes emails and audit entries for a job or for another domain's transaction. For use cases, the pipeline does this. */
export async function settle(deps: Pick<PrivacyDeps, 'pipeline'>, work: RequestWork, ip = ''): Promise<void> {
  await notifyParties(work)
  await deps.pipeline.auditWithin(
    work.tx,
    ...work.entries.map((entry) => ({
      action: 'update' as const,
      resourceType: 'request',
      actorId: work.actorId,
      at: work.now,
      ip,
      ...entry,
      details: entry.details ?? {},
    })),
  )
  work.entries.length = 0
}
