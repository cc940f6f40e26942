import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Timestamp } from '#lib/kernel/pages.ts'
import { cladeAgentParams } from './contract.ts'

const when = z.iso.datetime()
const numbers = {
  returns: z.number().min(-1, 'is -1 at least').max(1e6).meta({ description: 'Of one: 0.12 is twelve per cent' }),
  sharpe: z.number().min(-100).max(100),
  drawdown: z.number().min(0).max(1).meta({ description: 'Of one' }),
}
const Card = z
  .strictObject({ agent_id: z.string(), from: when, until: when, ...numbers, published_at: when })
  .meta({ id: 'PerformanceCard' })
const card = { resourceType: 'performance_card' }

export const publishCard = operation({
  id: 'publishPerformanceCard',
  method: 'put',
  path: '/v1/agents/{id}/card',
  summary: 'Publish how an agent performed: the one thing of it that may be public',
  permission: 'clades:write',
  audit: { action: 'update', ...card },
  limit: 'write',
  status: 200,
  params: cladeAgentParams,
  body: z
    .strictObject({ from: Timestamp, until: Timestamp, ...numbers })
    .refine(({ from, until }) => from < until, { path: ['until'], error: 'comes after `from`' }),
  output: z.strictObject({ data: Card }),
  refusals: ['not_found', 'paused', 'dead', 'restricted', 'wrong_state', 'fenced', 'outside_region'],
})

export const readCard = operation({
  id: 'readPerformanceCard',
  method: 'get',
  path: '/v1/agents/{id}/card',
  summary: 'How an agent performed, where its owner made that public to whoever may read here',
  permission: 'clades:read',
  audit: { none: 'it is public, and says nothing of who reads it' },
  limit: 'read',
  status: 200,
  params: cladeAgentParams,
  output: z.strictObject({ data: Card }),
  refusals: ['not_found'],
})

export const withdrawCard = operation({
  id: 'withdrawPerformanceCard',
  method: 'delete',
  path: '/v1/agents/{id}/card',
  summary: 'Take an agent’s performance card back',
  permission: 'clades:write',
  audit: { action: 'delete', ...card },
  deletes: { counts: 'performanceCardsDeleted' },
  limit: 'write',
  status: 204,
  params: cladeAgentParams,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})
