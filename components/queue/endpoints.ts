import type { Endpoint } from '#lib/client/request.ts'
import type {
  answerRequest,
  connectRequest,
  disconnectRequest,
  listSuggestions,
} from '#lib/domains/privacy-requests/form/contract.ts'
import type {
  assignRequest,
  bulkRequests,
  commentRequest,
  completePart,
  expediteByAdmin,
  extendRequest,
  fileForSubject,
  listAllRequests,
  listMinders,
  pauseRequest,
  readAnyRequest,
  refuseRequest,
  resumeRequest,
  retryRequest,
  verifyByAdmin,
} from '#lib/domains/privacy-requests/queue/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const at = '/api/admin/privacy/requests'
/** Path prefixes of all cached answers about requests. */
export const requestPaths = ['/api/admin/privacy', '/api/erasures', '/api/privacy']

export const listAllRequestsAt: Endpoint<typeof listAllRequests> = { method: 'get', path: at }
export const readAnyRequestAt: Endpoint<typeof readAnyRequest> = { method: 'get', path: `${at}/{id}` }
export const fileForSubjectAt: Endpoint<typeof fileForSubject> = { method: 'post', path: at }
export const bulkAt: Endpoint<typeof bulkRequests> = { method: 'post', path: '/api/admin/privacy/bulk' }
export const assignAt: Endpoint<typeof assignRequest> = { method: 'post', path: `${at}/{id}/assign` }
export const verifyAt: Endpoint<typeof verifyByAdmin> = { method: 'post', path: `${at}/{id}/verify` }
export const refuseAt: Endpoint<typeof refuseRequest> = { method: 'post', path: `${at}/{id}/refuse` }
export const extendAt: Endpoint<typeof extendRequest> = { method: 'post', path: `${at}/{id}/extend` }
export const pauseAt: Endpoint<typeof pauseRequest> = { method: 'post', path: `${at}/{id}/pause` }
export const resumeAt: Endpoint<typeof resumeRequest> = { method: 'post', path: `${at}/{id}/resume` }
export const expediteAt: Endpoint<typeof expediteByAdmin> = { method: 'post', path: `${at}/{id}/expedite` }
export const retryAt: Endpoint<typeof retryRequest> = { method: 'post', path: `${at}/{id}/retry` }
export const completeAt: Endpoint<typeof completePart> = { method: 'post', path: `${at}/{id}/complete` }
export const commentAt: Endpoint<typeof commentRequest> = { method: 'post', path: `${at}/{id}/comment` }
export const answerAt: Endpoint<typeof answerRequest> = { method: 'post', path: `${at}/{id}/answer` }
export const connectAt: Endpoint<typeof connectRequest> = { method: 'post', path: `${at}/{id}/connect` }
export const disconnectAt: Endpoint<typeof disconnectRequest> = { method: 'post', path: `${at}/{id}/disconnect` }
export const suggestionsAt: Endpoint<typeof listSuggestions> = { method: 'get', path: `${at}/{id}/suggestions` }

export type RequestPage = Output<typeof listAllRequests>
export type ListedRequest = RequestPage['data'][number]
export type AdminRequest = Omit<ListedRequest, 'causes'>
export type AdminRequestDetail = Output<typeof readAnyRequest>['data']
export type AdminTimelineEvent = AdminRequestDetail['timeline'][number]
export type Minder = Output<typeof listMinders>['data'][number]
export type BulkOutcome = Output<typeof bulkRequests>['data'][number]
