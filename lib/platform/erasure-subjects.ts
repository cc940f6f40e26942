import { raiseAccountFence } from '#lib/domains/accounts/personal-data.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { agentsSince, newestAgent, raiseAgentFences } from '#lib/domains/agents/personal-data.ts'
import { agentsOfAccount } from '#lib/domains/agents/queries.ts'
import type { agentsService } from '#lib/domains/agents/service.ts'
import type { EngineDeps } from '#lib/domains/erasure/engine/dependencies.ts'
import type { RestrictedSubjects } from '#lib/domains/erasure/ledger/reinstatement.ts'
import { participating } from '#lib/domains/erasure/runs/run-rules.ts'
import {
  newestParticipant,
  participantKeys,
  participantsSince,
  raiseParticipantFences,
} from '#lib/domains/projects/participants/fence.ts'
import { restrictParticipants } from '#lib/domains/projects/participants/restricting.ts'
import { participationsOf } from '#lib/domains/projects/queries.ts'

type Agents = Pick<ReturnType<typeof agentsService>, 'restrict' | 'unsuspend'>

/** The subjects of erasures: accounts with their agents, participants, or agents without an account. */
export const erasureSubjects = ({ restrict, unsuspend }: Agents): EngineDeps['subjects'] & RestrictedSubjects => ({
  // Locks the account first, like a person who claims an agent.
  async raiseFence(tx, subject, how) {
    const email = subject.account === null ? null : await raiseAccountFence(tx, subject.account, how.now)
    const agents = await raiseAgentFences(tx, subject, how)
    return { email, agents, participants: await raiseParticipantFences(tx, subject, how) }
  },
  release: unsuspend,
  async restrict(tx, subject, now) {
    await restrict(tx, subject, 'request', now)
    await restrictParticipants(tx, subject.participants ?? [], 'request', now)
  },
  async newest(tx, { account, agents: named, participants = [] }) {
    const found = account === null ? undefined : await accountDirectory.byId(tx, account)
    const times = [found?.createdAt, await newestAgent(tx, named), await newestParticipant(tx, participants)]
    return times.reduce<Date | null>((newest, at) => (at && (!newest || at > newest) ? at : newest), null)
  },
  async agentsOf(tx, { account, agents: named }) {
    const owned = account === null ? [] : await agentsOfAccount(tx, account)
    return [...new Set([...named, ...owned])].sort()
  },
  participantsOf: async (tx, { account, participants = [] }) => {
    const claimed = account === null ? [] : await participationsOf(tx, account)
    return [...new Set([...participants, ...claimed])].sort()
  },
  participantKeys,
  async stored(tx, { account, agents: named, participants = [] }, at) {
    const { before, since } = await agentsSince(tx, named, at)
    const taking = await participantsSince(tx, participants, at)
    const found = account === null ? undefined : await accountDirectory.byId(tx, account)
    const accountAt = (isSince: boolean) => (found && found.createdAt > at === isSince ? account : null)
    return {
      before: { account: accountAt(false), agents: before, ...participating(taking.before) },
      since: { account: accountAt(true), agents: since, ...participating(taking.since) },
    }
  },
})
