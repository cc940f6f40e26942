import { z } from 'zod'
import { type OperationShape, operation } from '#lib/kernel/operation.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Metrics } from './metrics.ts'
import { openApi } from './openapi/document.ts'

const none = { none: 'about the service itself, not about anybody' }

export const checkHealth = operation({
  id: 'checkHealth',
  method: 'get',
  path: '/health',
  summary: 'Whether the process is alive',
  permission: 'public',
  audit: none,
  limit: 'exempt',
  status: 200,
  output: z.object({ status: z.literal('ok') }),
})

const StoreState = z.object({
  state: z.enum(['ok', 'degraded', 'down']),
  latency_ms: z.number().optional().meta({ description: 'Of one round trip' }),
  detail: z.string().optional(),
  region: z
    .string()
    .nullable()
    .meta({ description: 'As `KP_REGIONS` states it, or its address proves; null: nobody says' }),
  address: z.string().nullable().optional().meta({ description: 'Without credentials. For admins and auditors' }),
})
const checkReadiness = operation({
  id: 'checkReadiness',
  method: 'get',
  path: '/ready',
  summary: 'Whether it can serve, with each store’s state',
  description: [
    '503 when a store without which nothing can be served is down. `degraded`, with 200, when another is: what concerns it waits, and the rest is served.',
    'A degraded store, whose work is done in another way, leaves it ready. Addresses are told to admins and auditors alone.',
  ].join(' '),
  permission: 'public',
  audit: none,
  limit: 'exempt',
  status: 200,
  output: z.object({
    status: z.enum(['ready', 'degraded', 'not_ready']),
    attention: z.array(z.string()).optional().meta({
      description: 'What works and is late all the same: `llm_log`, where what a day is the most for stood longer',
    }),
    stores: z.record(z.string(), StoreState),
  }),
})

export const readOpenApi = operation({
  id: 'readOpenApi',
  method: 'get',
  path: '/openapi.json',
  summary: 'This API as an OpenAPI 3.1 document',
  permission: 'public',
  audit: none,
  limit: 'exempt',
  status: 200,
  output: z.record(z.string(), z.unknown()),
})

const readMetrics = operation({
  id: 'readMetrics',
  method: 'get',
  path: '/metrics',
  summary: 'Counts for Prometheus',
  description:
    'Of the process that answers: answers by operation and status, refusals by code. Of the installation: privacy requests by state and due time, erasures, retention sweeps, limits. No ids, no addresses. For a token with the scope admin; from the machine itself, past no proxy, without one.',
  permission: 'service:audit',
  isOpenToLocal: true,
  audit: { none: 'counts of the service, not about anybody' },
  limit: 'read',
  status: 200,
  output: z.string(),
  produces: ['text/plain'],
})

export interface StoreCheck {
  /** Nothing can be served without it. */
  isNeeded?: boolean
  /** Null: nobody says. */
  region: string | null
  /** Without credentials; null where there is none. */
  address: string | null
  /** `latency` in milliseconds. */
  ask(): Promise<{ state: 'ok' | 'degraded' | 'down'; latency: number; detail?: string } | undefined>
}
const tenths = (milliseconds: number) => Math.round(milliseconds * 10) / 10

/** Liveness, readiness, and the description of everything that can be asked. */
export function serviceUseCases(
  metrics: Metrics,
  checks: Record<string, StoreCheck>,
  operations: () => readonly OperationShape[],
  version: string,
  /** Of what can be late, whether it is. */
  lateness: Record<string, () => Promise<boolean>> = {},
) {
  let document: Record<string, unknown> | undefined
  const documented = () => (document ??= openApi(operations(), version))
  return {
    documented,
    health: read(checkHealth, async () => ({ body: { status: 'ok' as const }, resourceId: 'service' })),
    ready: read(checkReadiness, async ({ actor }) => {
      const asked = await Promise.all(
        Object.entries(checks).map(async ([name, check]) => ({ name, check, answer: await check.ask() })),
      )
      const isDown = (needed: boolean) =>
        asked.some(({ check, answer }) => answer?.state === 'down' && (check.isNeeded ?? false) === needed)
      const status = isDown(true) ? ('not_ready' as const) : isDown(false) ? ('degraded' as const) : ('ready' as const)
      // A database that is down is said by its own state, and has nothing to tell of what is late.
      const late =
        status === 'not_ready'
          ? []
          : await Promise.all(
              Object.entries(lateness).map(async ([name, isLate]) =>
                // What cannot be asked wants looking at, too; readiness itself does not hang on it.
                (await isLate().catch(() => true)) ? [name] : [],
              ),
            )
      const attention = late.flat()
      const stores = Object.fromEntries(
        asked.flatMap(({ name, check, answer }) => {
          if (!answer) return []
          const { latency, ...rest } = answer
          const { region, address } = check
          const told = { ...rest, latency_ms: tenths(latency), region }
          return [[name, actor.can('service:audit') ? { ...told, address } : told]]
        }),
      )
      return {
        body: { status, ...(attention.length > 0 && { attention }), stores },
        resourceId: 'service',
        ...(status === 'not_ready' && { status: 503, headers: { 'Retry-After': '5' } }),
      }
    }),
    metrics: read(readMetrics, async ({ now }) => ({
      body: await metrics.text(now),
      resourceId: 'service',
      headers: { 'Content-Type': metrics.contentType },
    })),
    openapi: read(readOpenApi, async () => ({
      body: documented(),
      resourceId: 'service',
      headers: { 'Cache-Control': 'public, max-age=300' },
    })),
  }
}
