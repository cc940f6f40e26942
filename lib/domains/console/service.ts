import type { Actor } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import {
  readDashboard,
  readOverview,
  readWaiting,
  readWork,
  type SearchHit,
  searchConsole,
  type WorkItem,
} from './contract.ts'
import type { ConsolePorts } from './ports.ts'
import {
  daysAfter,
  expiringWithin,
  hitsPerKind,
  inTurn,
  type SetupFacts,
  setupStatus,
  trendWeeks,
  workShown,
} from './rules.ts'

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

/** The permission admits only people, who have an account. */
function personOf({ accountId }: Actor): string {
  if (accountId === undefined) throw new Problem('sign_in_needed')
  return accountId
}

/** Reads what a person sees first: their data, agents, tokens and requests, and what expires soon. */
const overview = (ports: OverviewPorts) =>
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
const dashboard = (ports: DashboardPorts) =>
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
            id: act.id,
            at: act.at.toISOString(),
            action: act.action,
            actor_id: act.actorId,
            actor_name: act.actorName,
            resource_type: act.resourceType,
            resource_id: act.resourceId,
            resource_name: act.resourceName,
            act: act.act,
          })),
        },
      },
    }
  })

type SearchPorts = ConsolePorts['search']
type FoundHit = Pick<SearchHit, 'kind' | 'id' | 'title'> & Partial<SearchHit>

const hit = (found: FoundHit): SearchHit => ({ detail: null, request_kinds: [], is_own: false, ...found })

/** Searches all domains for the command palette. Each domain finds only what the reader may open. */
const consoleSearch = ({ search }: { search: SearchPorts }) =>
  read(searchConsole, async (ctx, { query: { q } }) => {
    const { actor } = ctx
    const people = search.people(actor, q, hitsPerKind)
    const [persons, agents, requests, receipts, erasure, records, projects] = await Promise.all([
      people,
      search.agents(actor, q, hitsPerKind),
      people.then((found) => search.requests(actor, { q, accounts: found.map(({ id }) => id) }, hitsPerKind)),
      search.receipts(actor, q),
      search.erasure(actor, q),
      search.records(ctx, q, hitsPerKind),
      search.projects(ctx, q, hitsPerKind),
    ])
    const isMe = (id: string | null) => id !== null && id === actor.accountId
    const data = [
      ...persons.map(({ id, name, email }) =>
        hit({ kind: 'person', id, title: name, detail: email, is_own: isMe(id) }),
      ),
      ...agents.map(({ id, name, ownerId }) =>
        hit({ kind: 'agent', id, title: name ?? id, detail: name === null ? null : id, is_own: isMe(ownerId) }),
      ),
      ...requests.map(({ id, kinds, person }) =>
        hit({
          kind: 'request',
          id,
          title: person ?? id,
          detail: person === null ? null : id,
          request_kinds: [...kinds],
          is_own: !actor.can('privacy:admin'),
        }),
      ),
      ...receipts.map(({ id, deletedId }) => hit({ kind: 'receipt', id, title: id, detail: deletedId })),
      ...(erasure === undefined ? [] : [hit({ kind: 'erasure', id: erasure, title: erasure })]),
      ...records.map(({ kind, id, title, isOwn }) => hit({ kind, id, title, is_own: isOwn })),
      ...projects.map(({ id, name }) => hit({ kind: 'project', id, title: name })),
    ]
    return { resourceId: 'query', details: { count: data.length }, body: { data } }
  })

type WaitingPorts = Pick<
  ConsolePorts,
  'requests' | 'erasures' | 'knowledge' | 'holds' | 'mail' | 'tokens' | 'approvals'
>

/** Counts the work that waits for an admin. A count that the reader may not see is null. */
const waitingForAdmins = (ports: WaitingPorts) =>
  read(readWaiting, async ({ actor, now }) => {
    const mayAdmin = (domain: string) => actor.can(`${domain}:admin`)
    const [requests, unconfirmed, open, quarantined, ending, undelivered, files, recent, proposals] = await Promise.all(
      [
        mayAdmin('privacy') ? ports.requests.waiting(now) : null,
        mayAdmin('privacy') ? ports.requests.countUnforwarded(now) : 0,
        actor.can('erasures:audit') ? ports.erasures.open() : null,
        mayAdmin('quarantine') ? ports.knowledge.quarantined() : null,
        mayAdmin('holds') ? ports.holds.ending({ now, until: daysAfter(now, expiringWithin.holds) }) : null,
        mayAdmin('outbox') ? ports.mail.undelivered() : null,
        mayAdmin('outbox') ? ports.mail.files() : null,
        mayAdmin('tokens') ? ports.tokens.revokedByLimits(daysAfter(now, -expiringWithin.revocations)) : null,
        mayAdmin('approvals') && actor.accountId !== undefined
          ? ports.approvals.waitingFor(actor.accountId, now)
          : null,
      ],
    )
    return {
      resourceId: 'waiting',
      body: {
        data: {
          as_of: now.toISOString(),
          requests: requests && { ...requests, unconfirmed },
          erasures: open && {
            running: open.planning + open.erasing + open.verifying,
            stuck: open.stuck,
            failed: open.failed,
          },
          quarantined,
          holds: ending === null ? null : { ending },
          outbox: undelivered === null ? null : { undelivered, files },
          approvals: proposals === null ? null : { waiting: proposals },
          revocations: recent === null ? null : { recent },
        },
      },
    }
  })

type WorkPorts = Pick<ConsolePorts, 'exports' | 'requests' | 'erasures' | 'retention'>
type Run = Awaited<ReturnType<ConsolePorts['erasures']['active']>>[number]

function erasureItem(run: Run, isOwn: boolean, seesRequest: boolean): WorkItem {
  return {
    kind: 'erasure',
    id: run.id,
    request_id: seesRequest ? run.requestId : null,
    project_id: isOwn ? run.projectId : null,
    is_own: isOwn,
    state: run.isStuck ? 'stuck' : 'running',
    done: run.stepsDone,
    total: run.stepsTotal,
    started_at: run.createdAt.toISOString(),
  }
}

/** Returns the exports and erasures that the reader started. */
async function ownWork(ports: WorkPorts, actor: Actor, accountId: string, now: Date): Promise<WorkItem[]> {
  const [exports, own] = await Promise.all([ports.exports.active(accountId, now), ports.requests.ownRuns(actor)])
  const runs = await ports.erasures.active({ runs: own.map(({ runId }) => runId), askedBy: actor.id })
  return [
    ...exports.map((one) => ({
      kind: 'export' as const,
      id: one.id,
      request_id: one.requestId,
      project_id: null,
      is_own: true,
      state: one.state === 'queued' ? ('waiting' as const) : ('running' as const),
      done: one.partsDone,
      total: one.partsTotal,
      started_at: one.createdAt.toISOString(),
    })),
    ...runs.map((run) => erasureItem(run, true, true)),
  ]
}

/** Returns the running work that the reader may see as an auditor, and the number of all erasures. */
async function everybodysWork(
  ports: WorkPorts,
  actor: Actor,
  now: Date,
): Promise<{ items: WorkItem[]; erasures: number }> {
  const [runs, sweep] = await Promise.all([
    actor.can('erasures:audit') ? ports.erasures.active() : [],
    actor.can('retention:audit') ? ports.retention.active(now) : undefined,
  ])
  const items = runs.map((run) => erasureItem(run, false, actor.can('privacy:admin')))
  if (sweep)
    items.push({
      kind: 'sweep',
      id: sweep.id,
      request_id: null,
      project_id: null,
      is_own: false,
      state: 'running',
      done: sweep.deleted,
      total: 0,
      started_at: sweep.startedAt.toISOString(),
    })
  return { items, erasures: runs[0]?.total ?? 0 }
}

/** Lists running exports, erasures and retention sweeps. */
const workInProgress = (ports: WorkPorts) =>
  read(readWork, async ({ actor, now }) => {
    const [own, all] = await Promise.all([
      ownWork(ports, actor, personOf(actor), now),
      everybodysWork(ports, actor, now),
    ])
    const known = new Set(own.map(({ id }) => id))
    const others = all.items.filter(({ id }) => !known.has(id))
    const items = inTurn([...own, ...others])
    // The response may contain only some of the erasures.
    const unseen = Math.max(0, all.erasures - all.items.filter(({ kind }) => kind === 'erasure').length)
    return {
      resourceId: 'work',
      body: {
        data: {
          as_of: now.toISOString(),
          total: items.length + unseen,
          stuck: items.filter(({ state }) => state === 'stuck').length,
          items: items.slice(0, workShown),
        },
      },
    }
  })

/** The overview pages. Stores nothing: each domain answers for its own data. */
export const consoleService = (ports: ConsolePorts) => ({
  overview: overview(ports),
  work: workInProgress(ports),
  waiting: waitingForAdmins(ports),
  dashboard: dashboard(ports),
  search: consoleSearch(ports),
})
