import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { agentInventory, countRemainingAgents, deleteAgents, lockAgentsExclusively } from './repository.ts'

export interface AgentSourcePorts {
  /** Maps those agents that authored records under an active legal hold to the hold. Records cannot exist without their author's row. */
  authorsUnderLegalHold(tx: Transaction, agents: readonly string[], now: Date): Promise<ReadonlyMap<string, string>>
  dropOrganisationIfEmpty(tx: Transaction, id: string): Promise<unknown>
  /** Number of organizations with one of these names that have neither people nor agents. */
  countEmptyOrganisations(tx: Transaction, names: readonly string[]): Promise<number>
}

/** Rows of the agents themselves: name, consent, tier and limits. */
export const agentDataSource = (
  db: Database,
  { authorsUnderLegalHold, dropOrganisationIfEmpty, countEmptyOrganisations }: AgentSourcePorts,
): DataSource => ({
  name: 'agents',
  store: 'postgresql',
  stage: 'agent',
  what: 'agents: name, consent, tier and limits; also the organization if the agent is its only member',
  purpose: 'to know who contributes, on which legal ground, and with which permissions',
  kept: 'until the agent is erased, or for 24 hours if its token is never used',
  tables: ['agents'],
  async inventory({ agents }) {
    const [row] = await agentInventory(db, { ids: agents })
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx, now) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const { agents } = scope.subject
    const holdOf = await authorsUnderLegalHold(tx, agents, now)
    const records = await tx.agent.findMany({ where: { id: { in: [...agents] } }, select: { id: true } })
    const kept: Record<string, number> = {}
    for (const { id } of records) {
      const hold = holdOf.get(id)
      if (hold !== undefined) kept[hold] = (kept[hold] ?? 0) + 1
    }
    return { items: records.flatMap(({ id }) => (holdOf.has(id) ? [] : [id])).sort(), held: kept }
  },
  async erase(_scope, items, tx) {
    await lockAgentsExclusively(tx, { ids: items })
    const deleted = await deleteAgents(tx, { ids: items })
    for (const id of [...new Set(deleted.map(({ organisation_id }) => organisation_id))].sort())
      await dropOrganisationIfEmpty(tx, id)
    return deleted.length
  },
  /** Counts remaining agents, and empty organizations that were created for one agent. */
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const ids = [...new Set([...items, ...scope.subject.agents])]
    const [row] = await countRemainingAgents(db, { ids })
    return (row?.n ?? 0) + (await countEmptyOrganisations(db.prisma, ids))
  },
})
