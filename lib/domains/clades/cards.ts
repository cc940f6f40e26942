import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { publishCard, readCard, withdrawCard } from './card-contract.ts'
import type { CladePorts } from './ports.ts'
import { publicCard } from './repository.ts'

const noCard = () => new Problem('not_found', 'This agent has no public performance card.')

/** Performance figures of agents that their owners have published. */
export const performanceCards = ({ db, agents }: CladePorts) => ({
  publishCard: mutation(publishCard, async ({ tx, actor, now }, { params: { id: agentId }, body }) => {
    await agents.writable(tx, actor, agentId)
    const { from, until, returns, sharpe, drawdown } = body
    const card = { from, until, returns, sharpe, drawdown, publishedAt: now }
    await tx.performanceCard.upsert({ where: { agentId }, create: { agentId, ...card }, update: card })
    const numbers = { returns, sharpe, drawdown, published_at: now.toISOString() }
    return {
      resourceId: agentId,
      body: { data: { agent_id: agentId, from: from.toISOString(), until: until.toISOString(), ...numbers } },
    }
  }),

  readCard: read(readCard, async (_ctx, { params: { id } }) => {
    const [record] = await publicCard(db, { agent: id })
    if (!record) throw noCard()
    const { from, until, returns, sharpe, drawdown, publishedAt } = record
    const numbers = { returns, sharpe, drawdown, published_at: publishedAt.toISOString() }
    return {
      resourceId: id,
      body: { data: { agent_id: id, from: from.toISOString(), until: until.toISOString(), ...numbers } },
    }
  }),

  withdrawCard: mutation(withdrawCard, async ({ tx, actor, now }, { params: { id: agentId } }) => {
    await agents.erasable(tx, actor, agentId, now)
    const { count } = await tx.performanceCard.deleteMany({ where: { agentId } })
    if (count === 0) throw noCard()
    return { resourceId: agentId, body: undefined }
  }),
})
