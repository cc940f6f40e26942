import type { Endpoint } from '#lib/client/request.ts'
import type { createToken, listTokens, revokeToken, rotateToken } from '#lib/domains/tokens/contract.ts'
import { isValidState } from '#lib/domains/tokens/rules.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const tokensAt: Endpoint<typeof listTokens> = { method: 'get', path: '/v1/auth/tokens' }
export const createTokenAt: Endpoint<typeof createToken> = { method: 'post', path: '/v1/auth/tokens' }
export const rotateAt: Endpoint<typeof rotateToken> = { method: 'post', path: '/v1/auth/tokens/{id}/rotate' }
export const revokeOwnTokenAt: Endpoint<typeof revokeToken> = { method: 'delete', path: '/v1/auth/tokens/{id}' }
/** Path prefixes of the cached answers that a token change affects. */
export const tokenPaths = ['/v1/auth/tokens', '/api/agents']

export type TokenPage = Output<typeof listTokens>
export type ListedTokenRow = TokenPage['data'][number]

/** The state that people see. While the deletion of its agent is pending, a token that is still valid does not work. */
export const shownTokenState = (
  state: ListedTokenRow['state'],
  isSuspended: boolean,
): ListedTokenRow['state'] | 'suspended' => (isSuspended && isValidState(state) ? 'suspended' : state)

/** The data of an agent that the token pages need. */
export interface TokenAgent {
  id: string
  name: string | null
  used: number
  most: number
}

/** The remaining share of a token's life; undefined if it never expires or has expired. */
export function lifeLeft({ created_at, expires_at }: Pick<ListedTokenRow, 'created_at' | 'expires_at'>, now: Date) {
  if (expires_at === null) return undefined
  const [from, until] = [Date.parse(created_at), Date.parse(expires_at)]
  const left = until - now.getTime()
  return left <= 0 || until <= from ? undefined : left / (until - from)
}
/** Below this share the expiry is highlighted. */
export const isNearlyOver = (share: number | undefined): boolean => share !== undefined && share < 0.25
