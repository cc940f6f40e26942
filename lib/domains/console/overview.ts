import type { Actor } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { read } from '#lib/kernel/use-case.ts'
import { readOverview } from './contract.ts'
import { personOf } from './person.ts'
import type { ConsolePorts } from './ports.ts'
import { daysAfter, expiringWithin } from './rules.ts'

const iso = (at: Date | null): string | null => at?.toISOString() ?? null
const shownRequests = 5
const shownReceipts = 5
const shownProjects = 5

type OverviewPorts = Pick<
  ConsolePorts,
  'dataSources' | 'accounts' | 'agents' | 'tokens' | 'requests' | 'exports' | 'receipts' | 'knowledge' | 'projects'
>
type Overview = Output<typeof readOverview>['data']
type Requests = Awaited<ReturnType<ConsolePorts['requests']['openOf']>>
type Expiring = Awaited<ReturnType<ConsolePorts['knowledge']['expiringSoon']>>
type Exports = Awaited<ReturnType<ConsolePorts['exports']['toFetch']>>

/** The inventory's record count. Queries the data sources one after the other to use a single connection. */
async function heldOn(dataSources: readonly DataSource[], subject: Subject, now: Date) {
  let records = 0
  let since: Date | null = null
  const stores = new Set<string>()
  for (const dataSource of dataSources) {
    const holding = await dataSource.inventory(subject, now)
    if (holding.count === 0) continue
    records += holding.count
    stores.add(dataSource.store)
    if (holding.since && (since === null || holding.since < since)) since = holding.since
  }
  return { records, stores: stores.size, since: iso(since) }
}

/** Queries agents, tokens, requests and sign-ins one after the other, to use a single connection. */
const currentState = async (ports: OverviewPorts, actor: Actor, accountId: string, now: Date) => ({
  agents: await ports.agents.summary(actor.agents),
  tokens: await ports.tokens.summary(actor.agents, { now, until: daysAfter(now, expiringWithin.tokens) }),
  requests: await ports.requests.openOf(actor, now, shownRequests),
  signIns: await ports.accounts.newestSignIns(accountId, actor.sessionId),
})

/** Queries expiring records, exports, receipts and closing projects one after the other, to use a single connection. */
const changesSoon = async (ports: OverviewPorts, actor: Actor, accountId: string, now: Date) => ({
  expiring: await ports.knowledge.expiringSoon(actor, { now, until: daysAfter(now, expiringWithin.records) }),
  exports: await ports.exports.toFetch(accountId, now),
  receipts: await ports.receipts.newest(actor, shownReceipts),
  closing: await ports.projects.closingSoon(actor, shownProjects),
})

const requestsView = ({ open, shown }: Requests): Overview['requests'] => ({
  open,
  shown: shown.map((one) => ({
    id: one.id,
    kinds: [...one.kinds],
    state: one.state,
    agent_id: one.agent_id,
    received_at: one.received_at,
    waiting_until: one.waiting_until,
    due_at: one.due_at,
    legal_due_at: one.legal_due_at,
    due: one.due,
    seconds_left: one.seconds_left,
    can_cancel: one.can_cancel,
  })),
})

const expiringView = (expiring: Expiring, exports: Exports): Overview['expiring'] => ({
  days: expiringWithin.records,
  total: expiring.reduce((sum, { count }) => sum + count, 0),
  by_visibility: expiring.map(({ visibility, count, firstAt }) => ({
    visibility,
    count,
    first_at: firstAt.toISOString(),
  })),
  exports: exports.map(({ id, expiresAt, records, isDownloaded }) => ({
    id,
    expires_at: expiresAt.toISOString(),
    records,
    is_downloaded: isDownloaded,
  })),
})

/** Reads what a person sees first: their data, agents, tokens and requests, and what expires soon. */
export const overview = (ports: OverviewPorts) =>
  read(readOverview, async ({ actor, now }) => {
    const accountId = personOf(actor)
    const participants = await ports.projects.participationsOf(accountId)
    // Three sequences of queries, with one connection each, so that an overview does not exhaust the pool.
    const [{ agents, tokens, requests, signIns }, { expiring, exports, receipts, closing }, held] = await Promise.all([
      currentState(ports, actor, accountId, now),
      changesSoon(ports, actor, accountId, now),
      heldOn(ports.dataSources, { account: accountId, agents: actor.agents, participants }, now),
    ])
    return {
      resourceId: accountId,
      body: {
        data: {
          as_of: now.toISOString(),
          held,
          agents,
          tokens: {
            active: tokens.active,
            expiring: tokens.expiring,
            next_expiry: iso(tokens.nextExpiry),
            last_used_at: iso(tokens.lastUsedAt),
          },
          requests: requestsView(requests),
          expiring: expiringView(expiring, exports),
          closing: closing.map(({ id, name, closesAt }) => ({
            project_id: id,
            name,
            closes_at: closesAt.toISOString(),
          })),
          receipts,
          sign_ins: signIns.map(({ at, browser, isCurrent }) => ({
            at: at.toISOString(),
            browser,
            is_current: isCurrent,
          })),
        },
      },
    }
  })
