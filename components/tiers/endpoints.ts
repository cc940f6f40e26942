import type { Endpoint } from '#lib/client/request.ts'
import type { createInvite, editAgent } from '#lib/domains/agents/contract.ts'
import type { editSettings } from '#lib/domains/settings/contract.ts'
import type {
  findToken,
  listAgents,
  listRevocations,
  readAgentUse,
  revokeByPrefix,
  revokeToken,
} from '#lib/domains/tokens/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const allAgentsAt: Endpoint<typeof listAgents> = { method: 'get', path: '/api/admin/agents' }
export const revocationsAt: Endpoint<typeof listRevocations> = { method: 'get', path: '/api/admin/revocations' }
export const findTokenAt: Endpoint<typeof findToken> = { method: 'get', path: '/api/admin/tokens/match' }
export const inviteAt: Endpoint<typeof createInvite> = { method: 'post', path: '/v1/invites' }
export const editAgentAt: Endpoint<typeof editAgent> = { method: 'patch', path: '/v1/agents/{id}' }
export const editSettingsAt: Endpoint<typeof editSettings> = { method: 'patch', path: '/v1/settings' }
export const revokeAnyTokenAt: Endpoint<typeof revokeToken> = { method: 'delete', path: '/v1/auth/tokens/{id}' }
export const revokePrefixAt: Endpoint<typeof revokeByPrefix> = { method: 'post', path: '/v1/auth/revoke' }

/** Path prefixes of the cached answers that a change of tokens or limits affects. */
export const ofTokens = ['/api/admin/agents', '/api/admin/revocations', '/api/admin/tokens', '/v1/auth/tokens'] as const

export type AllAgentsPage = Output<typeof listAgents>
export type MatchingToken = Output<typeof findToken>['data']
export type RevocationPage = Output<typeof listRevocations>
export type AgentUse = Output<typeof readAgentUse>['data']
