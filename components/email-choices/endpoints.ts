import type { Endpoint } from '#lib/client/request.ts'
import type {
  chooseEmail,
  listEmailChoices,
  readUnsubscription,
  unsubscribe,
} from '#lib/domains/accounts/email-choices/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const emailChoicesAt: Endpoint<typeof listEmailChoices> = { method: 'get', path: '/api/account/emails' }
export const chooseEmailAt: Endpoint<typeof chooseEmail> = { method: 'put', path: '/api/account/emails/{kind}' }
export const unsubscriptionAt: Endpoint<typeof readUnsubscription> = { method: 'get', path: '/api/emails/unsubscribe' }
export const unsubscribeAt: Endpoint<typeof unsubscribe> = { method: 'post', path: '/api/emails/unsubscribe' }
export type EmailChoices = Output<typeof listEmailChoices>
