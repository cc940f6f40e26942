import type { Endpoint } from '#lib/client/request.ts'
import type {
  confirmRequestForm,
  downloadFormCopy,
  readFormStatus,
  sendRequestForm,
  sendStatusLinks,
  withdrawFormRequest,
} from '#lib/domains/privacy-requests/form/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const at = '/api/privacy/form'
export const sendFormAt: Endpoint<typeof sendRequestForm> = { method: 'post', path: at }
export const confirmFormAt: Endpoint<typeof confirmRequestForm> = { method: 'post', path: `${at}/confirm` }
export const formStatusAt: Endpoint<typeof readFormStatus> = { method: 'post', path: `${at}/status` }
export const formCopyAt: Endpoint<typeof downloadFormCopy> = {
  method: 'post',
  path: `${at}/copy`,
  produces: ['application/x-ndjson'],
}
export const withdrawFormAt: Endpoint<typeof withdrawFormRequest> = { method: 'post', path: `${at}/withdraw` }
export const sendStatusLinksAt: Endpoint<typeof sendStatusLinks> = { method: 'post', path: `${at}/links` }

export type FormStatus = Output<typeof readFormStatus>['data']
