import type { Endpoint } from '#lib/client/request.ts'
import type {
  addPasskey,
  addTotp,
  confirmTotp,
  listFactors,
  removeFactor,
  renewRecoveryCodes,
  startPasskey,
  startPasskeySignIn,
} from '#lib/domains/accounts/second-factors/contract.ts'
import type { removeUserFactors } from '#lib/domains/accounts/users-contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const factorsAt: Endpoint<typeof listFactors> = { method: 'get', path: '/api/account/factors' }
export const addTotpAt: Endpoint<typeof addTotp> = { method: 'post', path: '/api/account/factors/totp' }
export const confirmTotpAt: Endpoint<typeof confirmTotp> = { method: 'post', path: '/api/account/factors/{id}/confirm' }
export const removeFactorAt: Endpoint<typeof removeFactor> = { method: 'delete', path: '/api/account/factors/{id}' }
export const startPasskeyAt: Endpoint<typeof startPasskey> = { method: 'post', path: '/api/account/passkeys/options' }
export const addPasskeyAt: Endpoint<typeof addPasskey> = { method: 'post', path: '/api/account/passkeys' }
export const renewCodesAt: Endpoint<typeof renewRecoveryCodes> = { method: 'post', path: '/api/account/recovery-codes' }
export const startPasskeySignInAt: Endpoint<typeof startPasskeySignIn> = {
  method: 'post',
  path: '/api/account/passkeys/sign-in',
}
export const removeUserFactorsAt: Endpoint<typeof removeUserFactors> = {
  method: 'delete',
  path: '/api/admin/users/{id}/factors',
}

export type Factors = Output<typeof listFactors>['data']
export type Factor = Factors['factors'][number]
/** Queries under this path change with each change of the factors. */
export const touchedByFactors = [factorsAt.path]
