import type { TierName } from '#lib/domains/tokens/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { requireRegion } from '#lib/kernel/data-regions.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import type { AgentPorts } from '../ports.ts'
import { fencedAgents } from '../repository.ts'
import { consentRecord, isReserved } from '../rules.ts'
import { sharedAgentStatus } from '../status.ts'

export interface NewAgent {
  agentId: string
  name: string | null
  ownerId: string | null
  organisationId: string
  tier: TierName
  /** Whether consent was sent explicitly rather than implied by registering. */
  isConsentExplicit: boolean
  region?: string | undefined
  selfHosted?: boolean | undefined
  /** Only for an agent that registers itself; see {@link noteRegistration}. */
  network?: Uint8Array<ArrayBuffer>
  sharesWindow?: boolean
  now: Date
}
export type IssuingPorts = Pick<AgentPorts, 'registration' | 'regions' | 'isSuppressed' | 'accounts' | 'graceTokens'>

/**
 * Creates an agent without checking permissions. Of two concurrent requests for one id, one succeeds and the other throws `id_in_use`.
 * Erased ids and ids being erased look like ids in use, so that the response does not reveal an erasure.
 * @throws {Problem} `id_in_use`; `invalid` for a reserved id; `outside_region`
 */
export async function issueAgent(
  ports: IssuingPorts,
  tx: Transaction,
  { agentId, isConsentExplicit, region, selfHosted = false, now, ...fields }: NewAgent,
): Promise<void> {
  const { registration, regions, isSuppressed } = ports
  requireRegion(regions, region, 'outside_region')
  if (isReserved(agentId)) throw invalid(['agent_id'], 'is reserved by the registry')
  const unrestricted = { restrictedAt: null, restrictedFor: [] }
  const status =
    fields.ownerId === null ? unrestricted : await sharedAgentStatus(tx, ports, fields.ownerId, unrestricted, now)
  const isUnavailable =
    (await fencedAgents(tx, { ids: [agentId] })).length > 0 || (await isSuppressed(tx, 'agent', [agentId])).length > 0
  const { count } = isUnavailable
    ? { count: 0 }
    : await tx.agent.createMany({
        data: {
          id: agentId,
          ...fields,
          ...consentRecord(registration.lawfulBasis, registration.notice, isConsentExplicit, now),
          ...status,
          region: region ?? null,
          selfHosted,
          createdAt: now,
        },
        skipDuplicates: true,
      })
  if (count === 0)
    throw new Problem(
      'id_in_use',
      'This agent_id is in use. Choose another id, or send a token of that agent to get another token for it.',
    )
}
