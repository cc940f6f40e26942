import { createHmac } from 'node:crypto'
import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Agents, People } from './ports.ts'
import { type Clocks, channels, graces, type Kind, kinds, partStates, requestSubjects, states } from './rules.ts'

export const withParts = { parts: true } as const
export type RequestRow = Prisma.PrivacyRequestGetPayload<{ include: typeof withParts }>
export type PartRow = RequestRow['parts'][number]

/** What the subject wrote and what is to be corrected: content, kept in the row alone and gone on closing. */
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

export const KindName = z.enum(kinds)
export const SubjectName = z.enum(requestSubjects)
export const StateName = z.enum(states)
export const ChannelName = z.enum(channels)
export const GraceName = z.enum(graces)
export const PartStateName = z.enum(partStates)

export const kindsOf = (row: Pick<RequestRow, 'kinds'>): Kind[] => row.kinds.map((kind) => KindName.parse(kind))
export const clocksOf = (row: RequestRow): Clocks => row
export const partOf = (row: RequestRow, kind: Kind): PartRow | undefined => row.parts.find((part) => part.kind === kind)

/** Who a request is about, by the keyed hash that stays when the request is pseudonymous. */
export const subjectHash = (key: Uint8Array, kind: 'account' | 'agent' | 'participant', id: string): string =>
  createHmac('sha256', key).update(`${kind}:${id}`).digest('base64url')

/** The subject as it is now: which agents go with a person is settled when the fence is raised. */
export async function subjectOf(tx: Transaction, row: RequestRow, agents: Agents): Promise<Subject> {
  if (row.accountId !== null) return { account: row.accountId, agents: await agents.agentsOfAccount(tx, row.accountId) }
  if (row.participantId !== null) return { account: null, agents: [], participants: [row.participantId] }
  return { account: null, agents: row.agentId === null ? [] : [row.agentId] }
}

/** Whom it was about is erased: kinds, states, times and counts are left of it. */
export const isPseudonymous = ({
  accountId,
  agentId,
  participantId,
}: Pick<RequestRow, 'accountId' | 'agentId' | 'participantId'>): boolean =>
  accountId === null && agentId === null && participantId === null

/** A rectification waits until its new address is confirmed. */
export const waitsForAddress = (row: RequestRow): boolean => {
  const part = partOf(row, 'rectification')
  return part?.state === 'running' && (part.outcome as Prisma.JsonObject).waits_for === 'address'
}

/** Its erasure waits for the end of holds that keep everything: nothing was erased, and nobody is kept out. */
export const isKeptWhole = (row: RequestRow): boolean =>
  row.state === 'partly_completed' &&
  (partOf(row, 'erasure')?.outcome as Prisma.JsonObject | undefined)?.nothing_erased === true

/** Another's request looks like none. */
export const noRequest = () => new Problem('not_found', 'There is no such request, or it is not yours.')

/** Whether it is about the actor, or one of their agents. */
export const isOwnOf = ({ actor }: Pick<Context, 'actor'>, row: RequestRow): boolean =>
  row.accountId !== null
    ? row.accountId === actor.accountId
    : row.agentId !== null && actor.agents.includes(row.agentId)

/** Those about the actor and their agents; and those that they filed as a manager for these members ({@link filedFor}). */
export function ownedBy(
  { actor }: Pick<Context, 'actor'>,
  members: readonly string[] = [],
): Prisma.PrivacyRequestWhereInput {
  return {
    OR: [
      ...(actor.accountId === undefined ? [] : [{ accountId: actor.accountId }]),
      // A token answers for what its agent asked, and not for what its owner did, or somebody for them.
      { agentId: { in: [...actor.agents] }, ...(actor.kind === 'agent' && { channel: 'api', filedBy: actor.id }) },
      ...(members.length > 0 ? [{ filedBy: actor.id, channel: 'manager', accountId: { in: [...members] } }] : []),
    ],
  }
}

/**
 * The members for whom the actor filed requests, or the one that it names, and whom they manage still: who manages nobody any more, or
 * not this member, has no more to do with it.
 */
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
 * The request, its row locked until the transaction ends: every change of its state goes through here, so that of two at once exactly
 * one finds it as it was. Undefined when there is none, or `where` leaves it out.
 */
export async function lockedRequest(
  tx: Transaction,
  id: string,
  where: Prisma.PrivacyRequestWhereInput = {},
): Promise<RequestRow | undefined> {
  await tx.$queryRaw`SELECT 1 FROM privacy_requests WHERE id = ${id} FOR NO KEY UPDATE`
  return (await tx.privacyRequest.findFirst({ where: { AND: [{ id }, where] }, include: withParts })) ?? undefined
}
