'use client'

import { useChange } from '#components/frame/asking.ts'
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

export const listAt: Endpoint<typeof listRequests> = { method: 'get', path: '/api/privacy/requests' }
export const readAt: Endpoint<typeof readRequest> = { method: 'get', path: '/api/privacy/requests/{id}' }
const cancelAt: Endpoint<typeof cancelRequest> = { method: 'post', path: '/api/privacy/requests/{id}/cancel' }
const expediteAt: Endpoint<typeof expediteRequest> = { method: 'post', path: '/api/privacy/requests/{id}/expedite' }
const verifyAt: Endpoint<typeof verifyRequest> = { method: 'post', path: '/api/privacy/requests/{id}/verify' }
const retryAt: Endpoint<typeof retryOwnRequest> = { method: 'post', path: '/api/privacy/requests/{id}/retry' }
const linkAt: Endpoint<typeof sendRequestLink> = { method: 'post', path: '/api/privacy/requests/{id}/link' }

export type Requests = Output<typeof listRequests>
export type RequestDetail = Output<typeof readRequest>['data']

/** Cached answers that depend on the state of requests. */
const touches = ['/api/privacy/requests', '/api/overview', '/api/work']
export const useCancelling = () => useChange(cancelAt, { touches })
export const useExpediting = () => useChange(expediteAt, { touches })
export const useVerifying = () => useChange(verifyAt, { touches })
export const useRetrying = () => useChange(retryAt, { touches })
export const useSendingLink = () => useChange(linkAt, { touches })
