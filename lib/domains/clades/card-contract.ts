import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Timestamp } from '#lib/kernel/pages.ts'
import { cladeAgentParams } from './contract.ts'

const when = z.iso.datetime()
const numbers = {
  returns: z.number().min(-1, 'must be at least -1').max(1e6).meta({ description: 'As a fraction: 0.12 is 12 %' }),
  sharpe: z.number().min(-100).max(100),
  drawdown: z.number().min(0).max(1).meta({ description: 'As a fraction' }),
}
const Card = z
  .strictObject({ agent_id: z.string(), from: when, until: when, ...numbers, published_at: when })
  .meta({ id: 'PerformanceCard' })
const card = { resourceType: 'performance_card' }

export const publishCard = operation({
  id: 'publishPerformanceCard',
  method: 'put',
  path: '/v1/agents/{id}/card',
  summary: 'Publish the performance of an agent, the only part of a grimoire that can be public',
  permission: 'clades:write',
  audit: { action: 'update', ...card },
  limit: 'write',
  status: 200,
  params: cladeAgentParams,
  body: z
    .strictObject({ from: Timestamp, until: Timestamp, ...numbers })
    .refine(({ from, until }) => from < until, { path: ['until'], error: 'must be after `from`' }),
  output: z.strictObject({ data: Card }),
  refusals: ['not_found', 'paused', 'dead', 'restricted', 'wrong_state', 'fenced', 'outside_region'],
})

export const readCard = operation({
  id: 'readPerformanceCard',
  method: 'get',
  path: '/v1/agents/{id}/card',
  summary: 'Get the performance card of an agent, if its owner published it',
  permission: 'clades:read',
  audit: { none: 'it is public, and does not identify the reader' },
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
  summary: 'Withdraw an agent’s performance card',
  permission: 'clades:write',
  audit: { action: 'delete', ...card },
  deletes: { counts: 'performanceCardsDeleted' },
  limit: 'write',
  status: 204,
  params: cladeAgentParams,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})
