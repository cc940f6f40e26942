'use client'

import { useApiMutation } from '#components/frame/api-query.ts'
import type { Endpoint } from '#lib/client/request.ts'
import type {
  cancelRequest,
  expediteRequest,
  listRequests,
  readRequest,
  retryOwnRequest,
  sendRequestLink,
  verifyRequest,
} from '#lib/domains/privacy-requests/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const listOwnRequestsAt: Endpoint<typeof listRequests> = { method: 'get', path: '/api/privacy/requests' }
export const readOwnRequestAt: Endpoint<typeof readRequest> = { method: 'get', path: '/api/privacy/requests/{id}' }
const cancelAt: Endpoint<typeof cancelRequest> = { method: 'post', path: '/api/privacy/requests/{id}/cancel' }
const expediteAt: Endpoint<typeof expediteRequest> = { method: 'post', path: '/api/privacy/requests/{id}/expedite' }
const verifyAt: Endpoint<typeof verifyRequest> = { method: 'post', path: '/api/privacy/requests/{id}/verify' }
const retryAt: Endpoint<typeof retryOwnRequest> = { method: 'post', path: '/api/privacy/requests/{id}/retry' }
const linkAt: Endpoint<typeof sendRequestLink> = { method: 'post', path: '/api/privacy/requests/{id}/link' }

export type Requests = Output<typeof listRequests>
export type OwnRequestDetail = Output<typeof readRequest>['data']

/** Cached answers that depend on the state of requests. */
const touches = ['/api/privacy/requests', '/api/overview', '/api/work']
export const useCancelling = () => useApiMutation(cancelAt, { touches })
export const useExpediting = () => useApiMutation(expediteAt, { touches })
export const useVerifying = () => useApiMutation(verifyAt, { touches })
export const useRetrying = () => useApiMutation(retryAt, { touches })
export const useSendingLink = () => useApiMutation(linkAt, { touches })
