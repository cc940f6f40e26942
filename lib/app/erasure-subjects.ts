import { seizeAccount } from '#lib/domains/accounts/seizing.ts'
import type { accountsService } from '#lib/domains/accounts/service.ts'
import { agentsSince, newestAgent, seizeAgents } from '#lib/domains/agents/seizing.ts'
import type { agentsService } from '#lib/domains/agents/service.ts'
import type { SubjectErasurePorts } from '#lib/domains/erasure/subject-erasures.ts'

interface Known {
  accounts: Pick<ReturnType<typeof accountsService>, 'byId'>
  agents: Pick<ReturnType<typeof agentsService>, 'agentsOfAccount' | 'unsuspend'>
}
/** Whom an erasure is about: an account with its agents, or agents alone. */
export const erasureSubjects = ({ accounts, agents }: Known): SubjectErasurePorts['subjects'] => ({
  // The account first, as whoever claims an agent does.
  async seize(tx, subject, how) {
    const email = subject.account === null ? null : await seizeAccount(tx, subject.account, how.now)
    return { email, agents: await seizeAgents(tx, subject, how) }
  },
  release: agents.unsuspend,
  async newest(tx, { account, agents: named }) {
    const found = account === null ? undefined : await accounts.byId(tx, account)
    const agent = await newestAgent(tx, named)
    return found && (!agent || found.createdAt > agent) ? found.createdAt : agent
  },
  async agentsOf(tx, { account, agents: named }) {
    const owned = account === null ? [] : await agents.agentsOfAccount(tx, account)
    return [...new Set([...named, ...owned])].sort()
  },
  async stored(tx, { account, agents: named }, at) {
    const { before, since } = await agentsSince(tx, named, at)
    const found = account === null ? undefined : await accounts.byId(tx, account)
    const accountAt = (isSince: boolean) => (found && found.createdAt > at === isSince ? account : null)
    return {
      before: { account: accountAt(false), agents: before },
      since: { account: accountAt(true), agents: since },
    }
  },
})
