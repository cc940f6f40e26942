import type { Actor } from '#lib/kernel/context.ts'
import { read } from '#lib/kernel/use-case.ts'
import { readDashboard } from './dashboard-contract.ts'
import { personOf } from './person.ts'
import type { ConsolePorts } from './ports.ts'
import { type SetupFacts, setupStatus, trendWeeks } from './rules.ts'

const shownActs = 8

type DashboardPorts = Pick<ConsolePorts, 'accounts' | 'activity' | 'requests' | 'receipts' | 'setup'>

/** The time of the reader's sign-in before the current session. */
async function previousVisit({ accounts }: DashboardPorts, actor: Actor): Promise<Date | undefined> {
  const signIns = await accounts.newestSignIns(personOf(actor), actor.sessionId)
  return signIns.find(({ isCurrent }) => !isCurrent)?.at
}

async function changesSince(ports: DashboardPorts, at: Date) {
  const [requests, receipts] = await Promise.all([ports.requests.changes(at), ports.receipts.signedSince(at)])
  return { at: at.toISOString(), ...requests, receipts }
}

/** Reads what an admin or auditor sees first. */
export const dashboard = (ports: DashboardPorts) =>
  read(readDashboard, async ({ actor, now }) => {
    const seesRequests = actor.can('privacy:admin')
    const visit = seesRequests ? await previousVisit(ports, actor) : undefined
    const facts: SetupFacts = { ...ports.setup.settings, admins: await ports.setup.admins() }
    const [trend, deletions, since, activity] = await Promise.all([
      seesRequests ? ports.requests.trend(now, trendWeeks) : null,
      seesRequests ? ports.receipts.byWeek(now, trendWeeks) : [],
      visit ? changesSince(ports, visit) : null,
      ports.activity.newest(now, shownActs),
    ])
    return {
      resourceId: 'dashboard',
      details: { count: activity.length },
      body: {
        data: {
          as_of: now.toISOString(),
          setup: setupStatus(facts),
          trend:
            trend?.map(({ from, received, closed, answered, onTime, medianDays }, index) => ({
              from: from.toISOString(),
              received,
              closed,
              answered,
              on_time: onTime,
              median_days: medianDays,
              deletions: deletions[index] ?? 0,
            })) ?? null,
          since,
          activity: activity.map((act) => ({
            ...{ id: act.id, at: act.at.toISOString(), action: act.action },
            ...{ actor_id: act.actorId, actor_name: act.actorName },
            ...{ resource_type: act.resourceType, resource_id: act.resourceId, resource_name: act.resourceName },
            act: act.act,
          })),
        },
      },
    }
  })
