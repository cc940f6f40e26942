import type { Endpoint } from '#lib/client/request.ts'
import type {
  listQuarantine,
  reviewQuarantined,
  summariseRejections,
} from '#lib/domains/knowledge/moderation/contract.ts'
import type { scanText } from '#lib/domains/pii/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const quarantineAt: Endpoint<typeof listQuarantine> = { method: 'get', path: '/v1/quarantine' }
export const reviewAt: Endpoint<typeof reviewQuarantined> = { method: 'post', path: '/v1/quarantine/{id}/review' }
export const scanAt: Endpoint<typeof scanText> = { method: 'post', path: '/v1/pii/scan' }

export type QuarantinePage = Output<typeof listQuarantine>
export type QuarantinedItem = QuarantinePage['data'][number]
export type RejectionSummary = Output<typeof summariseRejections>['data']
export type ScanResult = Output<typeof scanText>['data']
