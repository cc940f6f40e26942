import type { Endpoint } from '#lib/client/request.ts'
import type {
  claimAgent,
  createOwnAgent,
  giveConsent,
  listOwnAgents,
  readOwnAgent,
  setRestriction,
  withdrawConsent,
} from '#lib/domains/agents/contract.ts'
import type { setAgentSettings, setAgentStatus } from '#lib/domains/agents/life/contract.ts'
import type { readCard, withdrawCard } from '#lib/domains/clades/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const ownAgentsAt: Endpoint<typeof listOwnAgents> = { method: 'get', path: '/api/agents' }
export const createAgentAt: Endpoint<typeof createOwnAgent> = { method: 'post', path: '/api/agents' }
export const claimAt: Endpoint<typeof claimAgent> = { method: 'post', path: '/api/agents/claim' }
export const restrictAt: Endpoint<typeof setRestriction> = { method: 'post', path: '/api/privacy/restriction' }
export const giveConsentAt: Endpoint<typeof giveConsent> = { method: 'post', path: '/v1/auth/consent' }
export const withdrawConsentAt: Endpoint<typeof withdrawConsent> = { method: 'delete', path: '/v1/auth/consent' }
export const statusAt: Endpoint<typeof setAgentStatus> = { method: 'put', path: '/v1/agents/{id}/status' }
export const settingsAt: Endpoint<typeof setAgentSettings> = { method: 'patch', path: '/v1/agents/{id}/settings' }
export const withdrawCardAt: Endpoint<typeof withdrawCard> = { method: 'delete', path: '/v1/agents/{id}/card' }

/** Path prefixes of all cached answers about agents. */
export const agentPaths = ['/api/agents', '/v1/agents']

export type OwnAgents = Output<typeof listOwnAgents>
export type OwnAgentRow = OwnAgents['data'][number]
export type OwnAgentWhole = Output<typeof readOwnAgent>['data']
export type PerformanceCard = Output<typeof readCard>['data']

export const agentPage = (id: string): string => `/agents/${encodeURIComponent(id)}`
