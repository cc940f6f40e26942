import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { agentParams } from './contract.ts'
import { heartbeatCounts, heartbeatStates, heartbeatsCountedTo } from './rules.ts'

const when = z.iso.datetime()
const heartbeat = { resourceType: 'heartbeat' } as const
const number = z.number().min(0, 'must be at least 0').max(1e15, 'must be at most 1e15')
const Counts = z
  .strictObject(
    Object.fromEntries(heartbeatCounts.map((name) => [name, number.optional()])) as Record<
      (typeof heartbeatCounts)[number],
      z.ZodOptional<typeof number>
    >,
  )
  .meta({ description: 'Numbers under these names. A heartbeat contains no free text' })

const Heartbeat = z
  .strictObject({ at: when, state: z.enum(heartbeatStates), counts: z.record(z.string(), z.number()) })
  .meta({ id: 'Heartbeat' })

export const beatHeart = operation({
  id: 'addHeartbeat',
  alsoStatus: [200],
  method: 'post',
  path: '/v1/agents/{id}/heartbeats',
  summary: 'Report a heartbeat of an agent, with its state',
  description:
    'At most one heartbeat per second is stored; further ones are accepted but not stored. `at` is the agent’s own clock, by default the current time. It may be at most five minutes ahead of ours or 24 hours late. Stored until 24 hours after the agent is retired.',
  permission: 'agents:write',
  stores: 'bytes',
  audit: {
    none: 'a heartbeat is itself a log record: a time, a state and numbers. An audit entry for each would repeat it',
  },
  limit: 'write',
  status: 201,
  params: agentParams,
  body: z.strictObject({ at: Timestamp.optional(), state: z.enum(heartbeatStates), counts: Counts.prefault({}) }),
  output: z.strictObject({ data: z.strictObject({ at: when, is_kept: z.boolean() }) }),
  refusals: ['not_found', 'paused', 'dead', 'restricted', 'wrong_state', 'conflict', 'fenced'],
})

const between = {
  from: Timestamp.optional().meta({ description: 'Inclusive' }),
  to: Timestamp.optional().meta({ description: 'Inclusive' }),
}

export const listHeartbeats = operation({
  id: 'listHeartbeats',
  method: 'get',
  path: '/v1/agents/{id}/heartbeats',
  summary: 'List the heartbeats of an agent, newest first',
  description: `\`total\` stops counting at ${heartbeatsCountedTo.toLocaleString('en')}.`,
  permission: 'agents:read',
  audit: { action: 'read', ...heartbeat },
  limit: 'read',
  status: 200,
  params: agentParams,
  query: z.strictObject({ ...between, cursor: Cursor.optional(), limit: PageLimit }),
  output: page(Heartbeat),
  refusals: ['not_found'],
})

export const exportHeartbeats = operation({
  id: 'exportHeartbeats',
  method: 'get',
  path: '/v1/agents/{id}/heartbeats/export',
  summary: 'Export all heartbeats of an agent as JSON Lines, oldest first',
  description:
    'The only operation that a retired agent’s token can still use, for 24 hours after retirement. After that the heartbeats are deleted: 410 `expired`.',
  permission: 'agents:read',
  isOpenToDead: true,
  audit: { action: 'export', ...heartbeat },
  limit: 'read',
  status: 200,
  params: agentParams,
  output: z.string(),
  produces: ['application/jsonl'],
  refusals: ['not_found', 'expired'],
})
