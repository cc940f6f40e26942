import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { agentParams } from './contract.ts'
import { heartbeatCounts, heartbeatStates, heartbeatsCountedTo } from './rules.ts'

const when = z.iso.datetime()
const heartbeat = { resourceType: 'heartbeat' } as const
const number = z.number().min(0, 'takes 0 at least').max(1e15, 'takes 1e15 at most')
const Counts = z
  .strictObject(
    Object.fromEntries(heartbeatCounts.map((name) => [name, number.optional()])) as Record<
      (typeof heartbeatCounts)[number],
      z.ZodOptional<typeof number>
    >,
  )
  .meta({ description: 'Numbers by these words; a heartbeat takes no free text' })

const Heartbeat = z
  .strictObject({ at: when, state: z.enum(heartbeatStates), counts: z.record(z.string(), z.number()) })
  .meta({ id: 'Heartbeat' })

export const beatHeart = operation({
  id: 'addHeartbeat',
  alsoStatus: [200],
  method: 'post',
  path: '/v1/agents/{id}/heartbeats',
  summary: 'Report that an agent lives, and how it is',
  description:
    'One a second is kept; another of the same second is answered and not kept. `at` is the agent’s own clock, now unless told: five minutes ahead of ours at most, and 24 hours late. Kept for the agent’s life and 24 hours.',
  permission: 'agents:write',
  stores: 'bytes',
  audit: {
    none: 'a heartbeat is a log by itself: a time, a word and numbers; an entry for each would say the same twice',
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
  summary: 'Heartbeats of an agent, newest first',
  description: `Counting stops at ${heartbeatsCountedTo.toLocaleString('en')}.`,
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
  summary: 'All heartbeats of an agent as JSON Lines, oldest first',
  description:
    'The one thing that a dead agent’s token still does, for 24 hours after its death. Then the heartbeats are gone: 410 `expired`.',
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
