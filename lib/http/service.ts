import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { memoize } from '#lib/kernel/concurrency.ts'
import { type OperationShape, operation } from '#lib/kernel/operation.ts'
import { fixed, read } from '#lib/kernel/use-case.ts'
import { fixedContent } from './api-request.ts'
import type { Metrics } from './metrics.ts'
import { openApi } from './openapi/document.ts'

const none = { none: 'about the service itself, not about anybody' }

export const checkHealth = operation({
  id: 'checkHealth',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/health',
  summary: 'Check that the process is alive',
  permission: 'public',
  audit: none,
  limit: 'exempt',
  output: z.object({ status: z.literal('ok') }),
})

const StoreState = z.object({
  state: z.enum(['ok', 'degraded', 'down']),
  latency_ms: z.number().optional().meta({ description: 'Of one round trip' }),
  detail: z.string().optional(),
  region: z.string().nullable().meta({ description: 'From `KP_REGIONS` or the store’s address; null if not stated' }),
  address: z.string().nullable().optional().meta({ description: 'Without credentials. Only for admins and auditors' }),
})
const checkReadiness = operation({
  id: 'checkReadiness',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/ready',
  summary: 'Check that this installation can serve requests, with the state of each store',
  description: [
    'Returns 503 if an essential store is down. Returns 200 with `degraded` if another store is down: work that needs it waits, and other requests are served.',
    'A store with the state `degraded` has a fallback, so the status remains `ready`. Only admins and auditors see addresses.',
  ].join(' '),
  permission: 'public',
  audit: none,
  limit: 'exempt',
  perAddress: 300,
  status: 200,
  output: z.object({
    status: z.enum(['ready', 'degraded', 'not_ready']),
    attention: z.array(z.string()).optional().meta({
      description:
        'Problems for an operator. `llm_log`: logged exchanges with models are older than a day. `erasures_not_replayed`: the database was restored and erasures must be replayed; until then nothing else is served. `requests_lost`: open privacy requests were lost in a restore, see `kp doctor`. `erasures_unfinished`: a replay began erasures that wait for a store. `ledger_altered`: rows of the erasure ledger were added, changed or removed by somebody else; they are not acted on. `stopping`: this process ends soon',
    }),
    stores: z.record(z.string(), StoreState),
  }),
})

export const readOpenApi = operation({
  id: 'readOpenApi',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/openapi.json',
  summary: 'Get this API as an OpenAPI 3.1 document',
  permission: 'public',
  audit: none,
  limit: 'exempt',
  perAddress: 'page',
  output: z.record(z.string(), z.unknown()),
})

const readMetrics = operation({
  id: 'readMetrics',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/metrics',
  summary: 'Get metrics for Prometheus',
  description:
    'For the current process: responses by operation and status, rejections by code. For the installation: privacy requests by state and due time, erasures, retention sweeps and limits. Contains no ids and no addresses. For admins, auditors, tokens with the scope admin, and the token in KP_METRICS_TOKEN. The listener of KP_METRICS_LISTEN requires no token.',
  permission: 'service:audit',
  isOpenToMonitoring: true,
  audit: { none: 'counts of the service, not about anybody' },
  limit: 'read',
  status: 200,
  output: z.string(),
  produces: ['text/plain'],
})

export interface StoreCheck {
  /** Whether the installation can serve nothing without this store. */
  isNeeded?: boolean
  /** Null: not stated. */
  region: string | null
  /** The address of the store without credentials; null if the store has no address. */
  address: string | null
  /** `latency` in milliseconds. */
  ask(): Promise<{ state: 'ok' | 'degraded' | 'down'; latency: number; detail?: string } | undefined>
}
/** What the comparison of the database with the ledger shows; undefined if the database does not answer. */
async function comparisonOf(restored: ServiceDeps['restored']): Promise<LedgerState | undefined> {
  // A database that is down has its own state.
  return Promise.race([restored().catch(() => undefined), delay(3_000, undefined, { ref: false })])
}
/** The ledger's state if it is worse than that of its folder. */
function ledgerState({ detail, alterations }: LedgerState) {
  if (detail !== undefined) return { state: 'down' as const, detail }
  if (alterations === 0) return undefined
  return { state: 'degraded' as const, detail: `${alterations} rows were not written by this installation` }
}

const tenths = (milliseconds: number) => Math.round(milliseconds * 10) / 10

export interface LedgerState {
  /** Why nothing is served: the database lacks erasures of the ledger. */
  detail?: string
  /** Rows of the ledger that were added, changed or removed by somebody else. */
  alterations: number
  /** Erasures that a replay began and could not finish. */
  unfinished: number
}

export interface ServiceDeps {
  metrics: Metrics
  checks: Record<string, StoreCheck>
  /** All operations except those of this file. */
  operations: readonly OperationShape[]
  version: string
  restored(): Promise<LedgerState>
  /** For each scheduled activity, whether it is late. */
  lateness?: Record<string, () => Promise<boolean>>
}

/** Liveness, readiness, metrics and the API description. */
export function serviceUseCases({ metrics, checks, operations, version, restored, lateness = {} }: ServiceDeps) {
  const all = [...operations, checkHealth, checkReadiness, readMetrics, readOpenApi]
  const documented = memoize(() => openApi(all, version))
  let isStopping = false
  const content = memoize(() => fixedContent('application/json', JSON.stringify(documented())))
  return {
    documented,
    /** From now on, readiness says that this process stops, so that a load balancer sends its requests elsewhere. */
    announceStop: () => {
      isStopping = true
    },
    health: read(checkHealth, async () => ({ body: { status: 'ok' as const }, resourceId: 'service' })),
    ready: read(checkReadiness, async ({ actor }) => {
      const asked = await Promise.all(
        Object.entries(checks).map(async ([name, check]) => ({ name, check, answer: await check.ask() })),
      )
      const compared = await comparisonOf(restored)
      const behind = compared?.detail !== undefined
      const isDown = (needed: boolean) =>
        asked.some(({ check, answer }) => answer?.state === 'down' && (check.isNeeded ?? false) === needed)
      const isImpaired = asked.some(({ check, answer }) => check.isNeeded && answer?.state === 'degraded')
      const isLess = isDown(false) || isImpaired
      const status =
        isDown(true) || behind || isStopping
          ? ('not_ready' as const)
          : isLess
            ? ('degraded' as const)
            : ('ready' as const)
      // If the database is down, its own state reports that, and lateness cannot be determined.
      const late =
        status === 'not_ready'
          ? []
          : await Promise.all(
              Object.entries(lateness).map(async ([name, isLate]) =>
                // A failed check also needs attention, but does not affect readiness.
                (await isLate().catch(() => true)) ? [name] : [],
              ),
            )
      const attention = [
        ...(isStopping ? ['stopping'] : []),
        ...(behind ? ['erasures_not_replayed'] : []),
        ...((compared?.unfinished ?? 0) > 0 ? ['erasures_unfinished'] : []),
        ...((compared?.alterations ?? 0) > 0 ? ['ledger_altered'] : []),
        ...late.flat(),
      ]
      const stores = Object.fromEntries(
        asked.flatMap(({ name, check, answer }) => {
          if (!answer) return []
          const { latency, ...own } = answer
          const rest = (name === 'ledger' && own.state !== 'down' && compared && ledgerState(compared)) || own
          const { region, address } = check
          const reported = { ...rest, latency_ms: tenths(latency), region }
          return [[name, actor.can('service:audit') ? { ...reported, address } : reported]]
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
    openapi: fixed(readOpenApi, content, { 'Cache-Control': 'public, max-age=300' }),
  }
}
