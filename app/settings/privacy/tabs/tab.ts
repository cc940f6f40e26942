import type { OwnAgentOption } from '#app/settings/privacy/own-agents.ts'
import type { AccountView } from '#lib/domains/accounts/contract.ts'

/** What every tab of the privacy page shows data about: the person, or one of their agents. */
export interface PrivacyTabProps {
  agent: OwnAgentOption | undefined
  person: AccountView
  /** The person's agents; at most the newest 100. */
  agents: readonly OwnAgentOption[]
}
/** The query of an API operation about the agent, if there is one. */
export const agentQuery = (agentId: string | undefined) => (agentId === undefined ? {} : { agent_id: agentId })
