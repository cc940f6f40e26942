import type { Endpoint } from '#lib/client/request.ts'
import type {
  dryRunRetention,
  editRetention,
  listSweeps,
  readSweep,
  resetRetention,
  sweepRetention,
} from '#lib/domains/retention/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const dryRunAt: Endpoint<typeof dryRunRetention> = { method: 'post', path: '/v1/retention/dry-run' }
export const editRetentionAt: Endpoint<typeof editRetention> = { method: 'patch', path: '/v1/retention' }
export const resetAt: Endpoint<typeof resetRetention> = { method: 'delete', path: '/v1/retention' }
export const sweepAt: Endpoint<typeof sweepRetention> = { method: 'post', path: '/v1/retention/sweep' }
export const sweepsAt: Endpoint<typeof listSweeps> = { method: 'get', path: '/v1/retention/sweeps' }
export const readSweepAt: Endpoint<typeof readSweep> = { method: 'get', path: '/v1/retention/sweeps/{id}' }

export type DryRun = Output<typeof dryRunRetention>['data']
export type SweepPage = Output<typeof listSweeps>
export type ListedSweep = SweepPage['data'][number]
