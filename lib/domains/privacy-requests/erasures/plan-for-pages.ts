import { countRemainingProjects, countUnclaimedParticipations } from '#lib/domains/projects/queries.ts'
import type { Context } from '#lib/kernel/context.ts'
import type { PlannedHolding } from '#lib/kernel/erasure-run.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import { planErasure, planForParticipant } from '../contract.ts'
import type { PrivacyDeps } from '../ports.ts'
import { sum } from '../rules.ts'
import { heldCountView } from '../views.ts'

function subjectFor({ actor }: Context, agentId: string | undefined): Subject {
  if (agentId !== undefined && !actor.agents.includes(agentId))
    throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
  if (agentId !== undefined) return { account: null, agents: [agentId] }
  return { account: actor.accountId ?? null, agents: actor.agents }
}

type Plan = (subject: Subject, now: Date) => Promise<Output<typeof planErasure>['data']>

/** Returns the function that plans an erasure without beginning it. */
function createPlan({ erasures, expectedRetention }: Pick<PrivacyDeps, 'erasures' | 'expectedRetention'>): Plan {
  /** Running searches by subject. A search queries every data source, so concurrent calls for one subject share it. */
  const searching = new Map<string, Promise<PlannedHolding[]>>()
  function search(subject: Subject, now: Date): Promise<PlannedHolding[]> {
    const { account, agents, participants = [] } = subject
    const key = JSON.stringify([account, agents.toSorted(), participants])
    const running = searching.get(key) ?? erasures.dryRun(subject, now).finally(() => searching.delete(key))
    searching.set(key, running)
    return running
  }
  return async (subject, now) => {
    const planned = await search(subject, now)
    const holdings = planned.map(({ items, held, results: _, ...holding }) => ({
      ...holding,
      count: items,
      held: heldCountView(held),
    }))
    const counts = new Map(planned.map(({ holder, items }) => [holder, items]))
    const results = new Map(planned.map((one) => [one.holder, one.results]))
    const byHold = Map.groupBy(
      planned.flatMap((one) => one.held),
      ({ hold }) => hold,
    )
    const held = [...byHold].map(([hold, counts]) => ({ hold, count: sum(counts.map(({ count }) => count)) }))
    const retained = await expectedRetention({ subject, counts, results, held }, now)
    return { holdings, total: sum(planned.map(({ items }) => items)), retained }
  }
}

const planOwn = ({ db, erasures }: Pick<PrivacyDeps, 'db' | 'erasures'>, plan: Plan) =>
  read(planErasure, async (ctx, { query: { agent_id, redact } }) => {
    const subject = subjectFor(ctx, agent_id)
    const data = await plan(subject, ctx.now)
    const names =
      redact === undefined
        ? undefined
        : await erasures.namesAhead(subject, { redacts: redact === 'true' && agent_id === undefined, now: ctx.now })
    const [remaining, unclaimed] = [
      await countRemainingProjects(db, subject),
      subject.account === null ? undefined : await countUnclaimedParticipations(db, subject.account),
    ]
    return {
      body: {
        data: {
          ...data,
          ...(names && { names }),
          remaining_projects: remaining,
          ...(unclaimed && unclaimed.confirmed > 0 && { unclaimed_participations: unclaimed.confirmed }),
          ...(unclaimed && unclaimed.others > 0 && { unconfirmed_participations: unclaimed.others }),
        },
      },
      resourceId: subject.account ?? subject.agents[0] ?? 'nobody',
      resourceType: subject.account === null ? 'agent' : 'account',
      details: { holders: data.holdings.length },
    }
  })

const planOfParticipant = ({ participants }: Pick<PrivacyDeps, 'participants'>, plan: Plan) =>
  read(planForParticipant, async (ctx, { params }) => {
    const { id, accountId } = await participants.find(ctx, params)
    if (accountId !== null)
      throw new Problem(
        'conflict',
        'A person claimed this participation. Only they can plan the erasure, which covers their account.',
      )
    const data = await plan({ account: null, agents: [], participants: [id] }, ctx.now)
    return { body: { data }, resourceId: id, resourceType: 'participant', details: { holders: data.holdings.length } }
  })

/** The plans that the pages for deleting data show: what an erasure would delete and retain if it began now. */
export function erasurePlans(deps: PrivacyDeps) {
  const plan = createPlan(deps)
  return { plan: planOwn(deps, plan), planForParticipant: planOfParticipant(deps, plan) }
}
