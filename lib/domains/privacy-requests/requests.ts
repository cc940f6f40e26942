import { createHmac } from 'node:crypto'
import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Agents } from './ports.ts'
import { type Clocks, channels, graces, type Kind, kinds, partStates, states } from './rules.ts'

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
export const StateName = z.enum(states)
export const ChannelName = z.enum(channels)
export const GraceName = z.enum(graces)
export const PartStateName = z.enum(partStates)

export const kindsOf = (row: Pick<RequestRow, 'kinds'>): Kind[] => row.kinds.map((kind) => KindName.parse(kind))
export const clocksOf = (row: RequestRow): Clocks => row
export const partOf = (row: RequestRow, kind: Kind): PartRow | undefined => row.parts.find((part) => part.kind === kind)

/** Who a request is about, by the keyed hash that stays when the request is pseudonymous. */
export const subjectHash = (key: Uint8Array, kind: 'account' | 'agent', id: string): string =>
  createHmac('sha256', key).update(`${kind}:${id}`).digest('base64url')

/** The subject as it is now: which agents go with a person is settled when the fence is raised. */
export async function subjectOf(tx: Transaction, row: RequestRow, agents: Agents): Promise<Subject> {
  if (row.accountId !== null) return { account: row.accountId, agents: await agents.agentsOfAccount(tx, row.accountId) }
  return { account: null, agents: row.agentId === null ? [] : [row.agentId] }
}

/** A rectification waits until its new address is confirmed. */
export const waitsForAddress = (row: RequestRow): boolean => {
  const part = partOf(row, 'rectification')
  return part?.state === 'running' && (part.outcome as Prisma.JsonObject).waits_for === 'address'
}

/** Another's request looks like none. */
export const noRequest = () => new Problem('not_found', 'There is no such request, or it is not yours.')

/** Whether it is about the actor, or one of their agents. */
export const isOwnOf = ({ actor }: Pick<Context, 'actor'>, row: RequestRow): boolean =>
  row.accountId !== null
    ? row.accountId === actor.accountId
    : row.agentId !== null && actor.agents.includes(row.agentId)

/** Those about the actor and their agents; with `filed`, those that they filed as a manager too. */
export function ownedBy({ actor }: Pick<Context, 'actor'>, { filed = false } = {}): Prisma.PrivacyRequestWhereInput {
  return {
    OR: [
      ...(actor.accountId === undefined ? [] : [{ accountId: actor.accountId }]),
      // A token answers for its agent, and not for what the agent's owner asked.
      { agentId: { in: [...actor.agents] }, ...(actor.kind === 'agent' && { channel: { not: 'console' } }) },
      ...(filed ? [{ filedBy: actor.id, channel: 'manager' }] : []),
    ],
  }
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
