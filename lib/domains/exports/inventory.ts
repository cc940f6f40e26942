import { Readable } from 'node:stream'
import { lawfulBases, selfHostedAmong } from '#lib/domains/agents/queries.ts'
import { participationsOf } from '#lib/domains/projects/queries.ts'
import type { Context } from '#lib/kernel/context.ts'
import type { Holding } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { readInventory } from './contract.ts'
import type { ExportsDeps } from './prepared.ts'

const bases: Record<string, string> = {
  consent: 'consent (GDPR art. 6(1)(a))',
  contract: 'contract (GDPR art. 6(1)(b))',
  legitimate_interest: 'legitimate interest (GDPR art. 6(1)(f))',
}
const contract = 'contract (GDPR art. 6(1)(b)): the account that you have here'

async function subjectOf(db: Database, { actor }: Context, agentId: string | undefined): Promise<Subject> {
  if (agentId === undefined) {
    const { accountId, agents } = actor
    if (accountId === undefined) return { account: null, agents }
    return { account: accountId, agents, participants: await participationsOf(db.prisma, accountId) }
  }
  if (!actor.agents.includes(agentId))
    throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
  return { account: null, agents: [agentId] }
}
const times = ({ since, until }: Holding) => ({
  since: since?.toISOString() ?? null,
  until: until?.toISOString() ?? null,
})

/** Concurrent queries of one inventory: few, so that it does not use all database connections. */
const atOnce = 4
/** The results of the queries, in the order of the items. */
const inOrder = <T, R>(items: readonly T[], query: (item: T) => Promise<R>): Promise<R[]> =>
  Readable.from(items).map(query, { concurrency: atOnce }).toArray()

/** Lists what is stored about a subject. Queries every personal data source, so everything that can be erased is listed. */
export const inventory = ({ db, dataSources, retainedRecords, placeOf }: ExportsDeps) =>
  read(readInventory, async (ctx, { query: { agent_id: agentId } }) => {
    const subject = await subjectOf(db, ctx, agentId)
    const registered = (await lawfulBases(db, subject.agents)).map((name) => bases[name] ?? name).sort()
    const ofContent = registered.length > 0 ? registered.join(', ') : contract
    const data = await inOrder(dataSources, async (dataSource) => {
      const { name, store, stage, held: what = dataSource.what, purpose, kept: term, basis } = dataSource
      const holding = await dataSource.inventory(subject, ctx.now)
      return {
        holder: name,
        store,
        what,
        count: holding.count,
        ...times(holding),
        purpose,
        basis: basis ?? (stage === 'account' ? contract : ofContent),
        kept: term,
        where: placeOf(store),
      }
    })
    const beside = await inOrder(retainedRecords, async (one) => {
      const { name, store, what, purpose, basis, kept: term } = one
      const holding = await one.inventory(subject, ctx.now)
      return {
        name,
        store,
        what,
        count: holding?.count ?? null,
        ...times(holding ?? { count: 0, since: null, until: null }),
        purpose,
        basis,
        kept: term,
        where: placeOf(store),
      }
    })
    return {
      resourceId: agentId ?? ctx.actor.accountId ?? ctx.actor.id,
      details: { holders: data.length },
      body: {
        data,
        kept_beside: beside,
        total: data.reduce((sum, { count }) => sum + count, 0),
        subject: {
          account_id: subject.account,
          agents: [...subject.agents],
          self_hosted: await selfHostedAmong(db, subject.agents),
        },
        as_of: ctx.now.toISOString(),
      },
    }
  })
