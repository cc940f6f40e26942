import { z } from 'zod'
import { type OperationShape, operation } from '#lib/kernel/operation.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Metrics } from './metrics.ts'
import { openApi } from './openapi.ts'

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

const StoreState = z.object({ state: z.enum(['ok', 'degraded', 'down']), detail: z.string().optional() })
const checkReadiness = operation({
  id: 'checkReadiness',
  method: 'get',
  path: '/ready',
  summary: 'Whether it can serve, with each store’s state',
  description: '503 when a store without which nothing can be served is down; a degraded one leaves it ready.',
  permission: 'public',
  audit: none,
  limit: 'exempt',
  status: 200,
  output: z.object({ status: z.enum(['ready', 'not_ready']), stores: z.record(z.string(), StoreState) }),
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

export type StoreCheck = () => Promise<z.output<typeof StoreState>>

/** Liveness, readiness, and the description of everything that can be asked. */
export function serviceUseCases(
  metrics: Metrics,
  checks: Record<string, StoreCheck>,
  operations: () => readonly OperationShape[],
  version: string,
) {
  let document: Record<string, unknown> | undefined
  const documented = () => (document ??= openApi(operations(), version))
  return {
    documented,
    health: read(checkHealth, async () => ({ body: { status: 'ok' as const }, resourceId: 'service' })),
    ready: read(checkReadiness, async () => {
      const stores = Object.fromEntries(
        await Promise.all(Object.entries(checks).map(async ([name, check]) => [name, await check()] as const)),
      )
      const isDown = Object.values(stores).some(({ state }) => state === 'down')
      return {
        body: { status: isDown ? ('not_ready' as const) : ('ready' as const), stores },
        resourceId: 'service',
        ...(isDown && { status: 503, headers: { 'Retry-After': '5' } }),
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
