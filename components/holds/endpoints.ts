import type { Endpoint } from '#lib/client/request.ts'
import type { createHold, listHolds, releaseHold } from '#lib/domains/holds/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const holdsAt: Endpoint<typeof listHolds> = { method: 'get', path: '/v1/holds' }
export const createHoldAt: Endpoint<typeof createHold> = { method: 'post', path: '/v1/holds' }
export const releaseAt: Endpoint<typeof releaseHold> = { method: 'post', path: '/v1/holds/{id}/release' }
/** Cached answers that a hold changes: requests and erasures that it blocks. */
export const holdPaths = ['/v1/holds', '/api/admin/privacy', '/api/erasures']

export type HoldPage = Output<typeof listHolds>
export type Hold = HoldPage['data'][number]
/** Active holds, or ended ones. */
export const holdViews = ['true', 'false'] as const
export type HoldView = (typeof holdViews)[number]
