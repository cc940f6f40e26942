import { createInvite, setRestriction } from '#lib/domains/agents/contract.ts'
import { exportAudit, queryAudit } from '#lib/domains/audit/contract.ts'
import { readReceipt } from '#lib/domains/erasure/contract.ts'
import { createHold, releaseHold } from '#lib/domains/holds/contract.ts'
import { listAllRequests } from '#lib/domains/privacy-requests/queue/contract.ts'
import { dryRunRetention, editRetention, sweepRetention } from '#lib/domains/retention/contract.ts'
import type { Stock } from './knowledge.ts'
import type { Happening, World } from './world.ts'

const ada = 'ada@example.org'
const otto = 'otto@example.org'
const iris = 'iris@example.org'
/** Retention of private units in days. Short, so that sweeps delete some within the story. */
const privateDays = 45

/** Work of admins and auditors: retention periods, legal holds, audit log. */
export function administration(stock: Stock): Happening[] {
  const holds = new Map<string, string>()
  const hold = (
    daysAgo: number,
    name: string,
    target: (world: World) => { kind: 'unit' | 'agent' | 'account'; target_id: string },
    reason: string,
    days?: number,
  ): Happening => ({
    daysAgo,
    async run(world) {
      const ends =
        days === undefined ? {} : { expires_at: new Date(world.now().getTime() + days * 86_400_000).toISOString() }
      const made = await world.ask(await world.as(ada), createHold, { body: { ...target(world), reason, ...ends } })
      holds.set(name, made.data.id)
    },
  })
  const release = (daysAgo: number, name: string): Happening => ({
    daysAgo,
    async run(world) {
      const id = holds.get(name)
      if (id !== undefined) await world.ask(await world.confirmed(ada), releaseHold, { params: { id } })
    },
  })
  const unitOf = (agent: string) => {
    const unit = stock.shared.find((one) => one.agent === agent)
    if (!unit) throw new Error(`${agent} has shared nothing yet`)
    return { kind: 'unit' as const, target_id: unit.id }
  }
  const looksAtLog = (daysAgo: number): Happening => ({
    daysAgo,
    async run(world) {
      const who = await world.as(iris)
      await world.ask(who, queryAudit, { query: { action: 'delete', limit: '50' } })
      await world.ask(who, queryAudit, { query: { resource_type: 'token', limit: '50' } })
    },
  })

  return [
    {
      daysAgo: 52,
      async run(world) {
        const who = await world.confirmed(ada)
        await world.ask(who, dryRunRetention, { body: { private_days: privateDays, org_days: 365 } })
        await world.ask(who, editRetention, { body: { private_days: privateDays, org_days: 365 } })
      },
    },
    {
      daysAgo: 8.3,
      run: async (world) => world.ask(await world.confirmed(otto), sweepRetention),
    },
    hold(
      49,
      'juno',
      (world) => ({ kind: 'account', target_id: world.person('juno@example.org').accountId }),
      'Claim 14 of an example insurer: everything is kept until it is settled.',
    ),
    hold(
      44,
      'workshop',
      () => ({ kind: 'agent', target_id: 'schedule-planner' }),
      'The works council asked for the plans of the spring.',
      20,
    ),
    hold(
      15,
      'sol',
      () => unitOf('discharge-letters'),
      'Named in a complaint to the example authority; kept until it has decided.',
    ),
    hold(7, 'stock', () => unitOf('warehouse-scout'), 'Evidence of the stocktaking in dispute.', 120),
    release(31, 'juno'),
    {
      daysAgo: 43,
      run: async (world) =>
        world.ask(await world.as(ada), createInvite, {
          body: { scopes: ['read', 'write'], tier: 'pro', expires_in_days: 14 },
        }),
    },
    {
      // Restricted for a week by its owner, and again since yesterday.
      daysAgo: 22,
      run: async (world) =>
        world.ask(await world.as('hana@example.org'), setRestriction, {
          body: { restricted: true, agent_id: 'schedule-planner' },
        }),
    },
    {
      daysAgo: 15.2,
      run: async (world) =>
        world.ask(await world.as('hana@example.org'), setRestriction, {
          body: { restricted: false, agent_id: 'schedule-planner' },
        }),
    },
    {
      daysAgo: 1.2,
      run: async (world) =>
        world.ask(await world.as('hana@example.org'), setRestriction, {
          body: { restricted: true, agent_id: 'schedule-planner' },
        }),
    },
    {
      daysAgo: 10.1,
      run: async (world) =>
        world.ask(await world.as('emil@example.org'), setRestriction, { body: { restricted: false } }),
    },
    ...[55, 48, 41, 34, 27, 20, 13, 6].map((daysAgo) => looksAtLog(daysAgo + 0.3)),
    {
      daysAgo: 10.4,
      run: async (world) =>
        world.ask(await world.as(iris), exportAudit, { query: { format: 'csv', action: 'delete' } }),
    },
    {
      daysAgo: 4.6,
      async run(world) {
        const who = await world.as(ada)
        const { data } = await world.ask(who, listAllRequests, {
          query: { state: 'completed', kind: 'erasure', sort: 'received' },
        })
        const receipt = data.find(({ receipt_id }) => receipt_id !== null)?.receipt_id
        if (receipt) await world.ask(who, readReceipt, { params: { id: receipt } })
      },
    },
  ]
}
