import { erasedSubjectOf } from '#lib/domains/knowledge/erasure/subject.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdingOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/legal-hold-rows.ts'
import { countReputation, eraseLedger, planReputation, reputationHolding, totalPrefix } from './repository.ts'

/** Reputation of agents: ledger rows and totals. */
export const reputationDataSource = (db: Database): DataSource => ({
  name: 'knowledge.reputation',
  store: 'postgresql',
  stage: 'content',
  what: 'reputation: points earned by contributions and votes, and their totals',
  purpose: 'weighting votes by the contributions of their voters',
  kept: 'as long as the agent exists. Points are deleted with the unit or skill that earned them',
  tables: ['reputation', 'reputation_ledger'],
  inventory: async ({ agents }) => holdingOf(await reputationHolding(db, { agents })),
  async plan(scope, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await planReputation(tx, { agents: subject.agents })
    return { items: rows.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    await preferIndexes(tx)
    const entries = await eraseLedger(tx, { items, agents: subject.agents })
    const totals = items.flatMap((item) => (item.startsWith(totalPrefix) ? [item.slice(totalPrefix.length)] : []))
    const erased = totals.filter((id) => subject.agents.includes(id))
    const { count } = await tx.reputation.deleteMany({ where: { agentId: { in: erased } } })
    return entries + count
  },
  /** Searches by agent. */
  async residue(scope) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    return sumRemaining(db, async function* (on) {
      yield countReputation(on, { agents: subject.agents })
    })
  },
})
