import { type Env, hasMailServer } from '#lib/config/env.ts'
import { countActiveAdmins, findPeople, lastSignIns, noticesReadBy } from '#lib/domains/accounts/queries.ts'
import { noteReadNotices } from '#lib/domains/accounts/writes.ts'
import { agentSummary, findAgents } from '#lib/domains/agents/queries.ts'
import { listWaitingProposals, waitingProposals } from '#lib/domains/approvals/queries.ts'
import { newestActsOfPeople } from '#lib/domains/audit/queries.ts'
import {
  activeRuns,
  deletionsByWeek,
  findErasure,
  findReceipts,
  newestReceipts,
  openRuns,
  receiptsSignedSince,
} from '#lib/domains/erasure/queries.ts'
import { activeExports, exportsToFetch } from '#lib/domains/exports/queries.ts'
import { holdsEnding } from '#lib/domains/holds/queries.ts'
import { expiringSoon, findRecords, quarantined } from '#lib/domains/knowledge/queries.ts'
import {
  countUnforwarded,
  findRequests,
  noticedRequests,
  openRequests,
  requestChanges,
  requestSubjectNames,
  requestTrend,
  runsOfOpenRequests,
  unforwardedForms,
  waitingRequests,
} from '#lib/domains/privacy-requests/queries.ts'
import {
  addressesForAdmins,
  closingSoon,
  findProjects,
  participationsOf,
  unconfirmedAddresses,
} from '#lib/domains/projects/queries.ts'
import { activeSweep } from '#lib/domains/retention/queries.ts'
import { revokedByLimits, tokenSummary } from '#lib/domains/tokens/queries.ts'
import { failedOnce } from '#lib/jobs/queue.ts'
import type { Actor } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Periods } from '#lib/kernel/expiring.ts'
import type { Output, Returned } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { preparedMutation, read } from '#lib/kernel/use-case.ts'
import type { EmailOutboxFolder } from '#lib/stores/mail/outbox-folder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  markNotices,
  readDashboard,
  readNotices,
  readOverview,
  readWaiting,
  readWork,
  type SearchHit,
  searchConsole,
  type WorkItem,
} from './contract.ts'
import { holdingsOf, personService } from './person.ts'
import { reportService } from './report.ts'
import {
  daysAfter,
  expiringWithin,
  hitsPerKind,
  inTurn,
  type NoticeKind,
  noticeKindOf,
  noticeKinds,
  noticesShown,
  type SetupFacts,
  setupStatus,
  trendWeeks,
  workShown,
} from './rules.ts'

interface NoticeDeps {
  db: Database
  settings: {
    /** Whether emails are sent. Without a mail server, an admin forwards the links by hand. */
    hasMailServer: boolean
  }
}
type Notice = Omit<Output<typeof readNotices>['data'][number], 'is_read'>

const noticeOf = (
  kind: NoticeKind,
  resourceId: string,
  at: string,
  { name = null, dueAt = null }: { name?: string | null; dueAt?: string | null } = {},
): Notice => ({ id: `${kind}:${resourceId}`, kind, resource_id: resourceId, name, at, due_at: dueAt })

async function ofRequests(db: Database, accountId: string, now: Date): Promise<Notice[]> {
  const requests = await noticedRequests(db, accountId, now, noticesShown)
  return requests.map(({ view, name }) =>
    noticeOf(noticeKindOf(view), view.id, view.received_at, { name, dueAt: view.due_at ?? view.legal_due_at }),
  )
}

async function ofErasures(db: Database, seesRequests: boolean): Promise<Notice[]> {
  const stuck = (await activeRuns(db)).filter(({ isStuck }) => isStuck).slice(0, noticesShown)
  const ids = seesRequests ? stuck.flatMap(({ requestId }) => requestId ?? []) : []
  const names = await requestSubjectNames(db, ids)
  return stuck.map(({ id, requestId, createdAt }) =>
    noticeOf('stuck', id, createdAt.toISOString(), { name: names.get(requestId ?? '') ?? null }),
  )
}

/** Everything that the reader should look at, the most urgent first. Each source is limited by the permission of its page. */
async function noticesOf({ db, settings }: NoticeDeps, actor: Actor, now: Date): Promise<Notice[]> {
  const { accountId } = actor
  if (accountId === undefined) throw new Problem('sign_in_needed')
  const seesRequests = actor.can('privacy:admin')
  const [requests, forms, erasures, proposals, addresses] = await Promise.all([
    seesRequests ? ofRequests(db, accountId, now) : [],
    seesRequests && !settings.hasMailServer ? unforwardedForms(db, now) : [],
    actor.can('erasures:audit') ? ofErasures(db, seesRequests) : [],
    actor.can('approvals:admin') ? listWaitingProposals(db, accountId, now, noticesShown) : [],
    seesRequests ? addressesForAdmins(db, noticesShown) : [],
  ])
  const all = [
    ...requests,
    ...erasures,
    ...forms.slice(0, noticesShown).map(({ id, createdAt }) => noticeOf('unconfirmed', id, createdAt.toISOString())),
    ...proposals.map(({ id, created_at }) => noticeOf('approval', id, created_at.toISOString())),
    ...addresses.map(({ id, name, at }) => noticeOf('address', id, at.toISOString(), { name })),
  ]
  return all.toSorted(
    (one, other) =>
      noticeKinds.indexOf(one.kind) - noticeKinds.indexOf(other.kind) ||
      (one.due_at ?? one.at).localeCompare(other.due_at ?? other.at),
  )
}

/** The number of notifications that the reader has not read. */
async function unreadNotices(deps: NoticeDeps, actor: Actor, now: Date): Promise<number> {
  const [notices, seen] = [await noticesOf(deps, actor, now), await noticesReadBy(deps.db, actor.accountId ?? '')]
  return notices.filter(({ id }) => !seen.has(id)).length
}

/** What an admin should look at now. Only what they have read is stored, as kinds and ids. */
const noticesService = (deps: NoticeDeps) => ({
  notices: read(readNotices, async ({ actor, now }) => {
    const notices = await noticesOf(deps, actor, now)
    const seen = await noticesReadBy(deps.db, actor.accountId ?? '')
    const data = notices.map((one) => ({ ...one, is_read: seen.has(one.id) }))
    return {
      resourceId: 'list',
      body: { data, unread: data.filter(({ is_read }) => !is_read).length },
    }
  }),
  markNotices: preparedMutation(
    markNotices,
    // Outside of the transaction, which has only one connection.
    async ({ actor, now }) => (await noticesOf(deps, actor, now)).map(({ id }) => id),
    async ({ tx, actor, now }, { body: { ids } }, existing) => {
      const given = new Set(ids)
      const read = existing.filter((id) => given.has(id))
      await noteReadNotices(tx, actor.accountId ?? '', { read, existing }, now)
      return { body: undefined, resourceId: 'list' }
    },
  ),
})

const shownRequests = 5
const shownReceipts = 5
const shownProjects = 5

/** What the console needs besides the queries of other domains. */
interface ConsoleDeps {
  db: Database
  dataSources: readonly DataSource[]
  /** The current retention periods. */
  periods(): Promise<Periods>
  settings: Omit<SetupFacts, 'admins'>
  mail: {
    /** Jobs whose failure the console reports as an undelivered email. */
    jobs: readonly string[]
    folder: Pick<EmailOutboxFolder, 'count'>
  }
}
type Overview = Returned<typeof readOverview>['data']
type Requests = Awaited<ReturnType<typeof openRequests>>
type Expiring = Awaited<ReturnType<typeof expiringSoon>>
type Exports = Awaited<ReturnType<typeof exportsToFetch>>

/** The inventory's record count, and since when records are stored. */
async function heldOn(dataSources: readonly DataSource[], subject: Subject, now: Date) {
  const held = await holdingsOf(dataSources, subject, now)
  const times = held.flatMap(({ since }) => (since === null ? [] : [since.getTime()]))
  return {
    records: held.reduce((sum, { count }) => sum + count, 0),
    stores: new Set(held.map(({ store }) => store)).size,
    since: times.length === 0 ? null : new Date(Math.min(...times)),
  }
}

/** Queries agents, tokens, requests and sign-ins one after the other, to use a single connection. */
const currentState = async ({ db }: ConsoleDeps, actor: Actor, accountId: string, now: Date) => ({
  agents: await agentSummary(db, actor.agents),
  tokens: await tokenSummary(db, actor.agents, { now, until: daysAfter(now, expiringWithin.tokens) }),
  requests: await openRequests(db, actor, now, shownRequests),
  signIns: await lastSignIns(db, accountId, actor.sessionId),
})

/** Queries expiring records, exports, receipts and closing projects one after the other, to use a single connection. */
const changesSoon = async ({ db, periods }: ConsoleDeps, actor: Actor, accountId: string, now: Date) => ({
  expiring: await expiringSoon(db, actor, await periods(), { now, until: daysAfter(now, expiringWithin.records) }),
  exports: await exportsToFetch(db, accountId, now),
  receipts: await newestReceipts(db, actor, shownReceipts),
  closing: await closingSoon(db, actor, shownProjects),
  addresses: await unconfirmedAddresses(db, actor, shownProjects),
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
    first_at: firstAt,
  })),
  exports: exports.map(({ id, expiresAt, records, isDownloaded }) => ({
    id,
    expires_at: expiresAt,
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
const overview = (deps: ConsoleDeps) =>
  read(readOverview, async ({ actor, now }) => {
    const accountId = personOf(actor)
    const participants = await participationsOf(deps.db.prisma, accountId)
    // Three sequences of queries, with one connection each, so that an overview does not exhaust the pool.
    const [{ agents, tokens, requests, signIns }, { expiring, exports, receipts, closing, addresses }, held] =
      await Promise.all([
        currentState(deps, actor, accountId, now),
        changesSoon(deps, actor, accountId, now),
        heldOn(deps.dataSources, { account: accountId, agents: actor.agents, participants }, now),
      ])
    return {
      resourceId: accountId,
      body: {
        data: {
          as_of: now,
          held,
          agents,
          tokens: {
            active: tokens.active,
            expiring: tokens.expiring,
            next_expiry: tokens.nextExpiry,
            last_used_at: tokens.lastUsedAt,
          },
          requests: requestsView(requests),
          expiring: expiringView(expiring, exports),
          closing: closing.map(({ id, name, closesAt }) => ({
            project_id: id,
            name,
            closes_at: closesAt,
          })),
          addresses: addresses.map(({ id, name, n }) => ({ project_id: id, name, count: n })),
          receipts,
          sign_ins: signIns.map(({ at, browser, isCurrent }) => ({
            at,
            browser,
            is_current: isCurrent,
          })),
        },
      },
    }
  })

const shownActs = 8

/** The time of the reader's sign-in before the current session. */
async function previousVisit(db: Database, actor: Actor): Promise<Date | undefined> {
  const signIns = await lastSignIns(db, personOf(actor), actor.sessionId)
  return signIns.find(({ isCurrent }) => !isCurrent)?.at
}

async function changesSince(db: Database, at: Date) {
  const [requests, receipts] = await Promise.all([requestChanges(db, at), receiptsSignedSince(db, at)])
  return { at, ...requests, receipts }
}

/** Reads what an admin or auditor sees first. */
const dashboard = ({ db, settings }: ConsoleDeps) =>
  read(readDashboard, async ({ actor, now }) => {
    const seesRequests = actor.can('privacy:admin')
    const visit = seesRequests ? await previousVisit(db, actor) : undefined
    const facts: SetupFacts = { ...settings, admins: await countActiveAdmins(db) }
    const [trend, deletions, since, activity] = await Promise.all([
      seesRequests ? requestTrend(db, now, trendWeeks) : null,
      seesRequests ? deletionsByWeek(db, now, trendWeeks) : [],
      visit ? changesSince(db, visit) : null,
      newestActsOfPeople(db, now, shownActs),
    ])
    return {
      resourceId: 'dashboard',
      details: { count: activity.length },
      body: {
        data: {
          as_of: now,
          setup: setupStatus(facts),
          trend:
            trend?.map(({ from, received, closed, answered, onTime, medianDays }, index) => ({
              from,
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
            at: act.at,
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

type FoundHit = Pick<SearchHit, 'kind' | 'id' | 'title'> & Partial<SearchHit>

const hit = (found: FoundHit): SearchHit => ({ detail: null, request_kinds: [], is_own: false, ...found })

/** Searches all domains for the command palette. Each domain finds only what the reader may open. */
const consoleSearch = ({ db }: ConsoleDeps) =>
  read(searchConsole, async (ctx, { query: { q } }) => {
    const { actor } = ctx
    const people = findPeople(db, actor, q, hitsPerKind)
    const [persons, agents, requests, receipts, erasure, records, projects] = await Promise.all([
      people,
      findAgents(db, actor, q, hitsPerKind),
      people.then((found) => findRequests(db, actor, { q, accounts: found.map(({ id }) => id) }, hitsPerKind)),
      findReceipts(db, actor, q),
      findErasure(db, actor, q),
      findRecords(db, ctx, q, hitsPerKind),
      findProjects(db, ctx, q, hitsPerKind),
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

/** Counts the work that waits for an admin. A count that the reader may not see is null. */
const waitingForAdmins = (deps: ConsoleDeps) =>
  read(readWaiting, async ({ actor, now }) => {
    const { db, mail, settings } = deps
    const mayAdmin = (domain: string) => actor.can(`${domain}:admin`)
    const [unread, requests, unconfirmed, open, inQuarantine, ending, undelivered, files, recent, proposals] =
      await Promise.all([
        actor.accountId === undefined ? undefined : unreadNotices(deps, actor, now),
        mayAdmin('privacy') ? waitingRequests(db, now) : null,
        mayAdmin('privacy') && !settings.hasMailServer ? countUnforwarded(db, now) : 0,
        actor.can('erasures:audit') ? openRuns(db) : null,
        mayAdmin('quarantine') ? quarantined(db) : null,
        mayAdmin('holds') ? holdsEnding(db, { now, until: daysAfter(now, expiringWithin.holds) }) : null,
        mayAdmin('outbox') ? failedOnce(db, mail.jobs) : null,
        mayAdmin('outbox') && !settings.hasMailServer ? mail.folder.count() : null,
        mayAdmin('tokens') ? revokedByLimits(db, daysAfter(now, -expiringWithin.revocations)) : null,
        mayAdmin('approvals') && actor.accountId !== undefined ? waitingProposals(db, actor.accountId, now) : null,
      ])
    return {
      resourceId: 'waiting',
      body: {
        data: {
          as_of: now,
          requests: requests && { ...requests, unconfirmed },
          erasures: open && {
            running: open.planning + open.erasing + open.verifying,
            stuck: open.stuck,
            failed: open.failed,
          },
          notices: unread === undefined ? null : { unread },
          quarantined: inQuarantine,
          holds: ending === null ? null : { ending },
          outbox: undelivered === null ? null : { undelivered, files },
          approvals: proposals === null ? null : { waiting: proposals },
          revocations: recent === null ? null : { recent },
        },
      },
    }
  })

type Run = Awaited<ReturnType<typeof activeRuns>>[number]

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
async function ownWork(db: Database, actor: Actor, accountId: string, now: Date): Promise<WorkItem[]> {
  const [exports, own] = await Promise.all([activeExports(db, accountId, now), runsOfOpenRequests(db, actor)])
  const runs = await activeRuns(db, { runs: own.map(({ runId }) => runId), askedBy: actor.id })
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
async function everybodysWork(db: Database, actor: Actor, now: Date): Promise<{ items: WorkItem[]; erasures: number }> {
  const [runs, sweep] = await Promise.all([
    actor.can('erasures:audit') ? activeRuns(db) : [],
    actor.can('retention:audit') ? activeSweep(db, now) : undefined,
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
const workInProgress = ({ db }: ConsoleDeps) =>
  read(readWork, async ({ actor, now }) => {
    const [own, all] = await Promise.all([ownWork(db, actor, personOf(actor), now), everybodysWork(db, actor, now)])
    const known = new Set(own.map(({ id }) => id))
    const others = all.items.filter(({ id }) => !known.has(id))
    const items = inTurn([...own, ...others])
    // The response may contain only some of the erasures.
    const unseen = Math.max(0, all.erasures - all.items.filter(({ kind }) => kind === 'erasure').length)
    return {
      resourceId: 'work',
      body: {
        data: {
          as_of: now,
          total: items.length + unseen,
          stuck: items.filter(({ state }) => state === 'stuck').length,
          items: items.slice(0, workShown),
        },
      },
    }
  })

/** The overview pages. Stores nothing: each domain answers for its own data. */
const consoleService = (deps: ConsoleDeps) => ({
  overview: overview(deps),
  work: workInProgress(deps),
  waiting: waitingForAdmins(deps),
  dashboard: dashboard(deps),
  search: consoleSearch(deps),
  ...noticesService(deps),
  ...personService(deps),
  ...reportService(deps),
})

/** The overview of the console. */
export const consoleModule = ({
  assessedLocations,
  emailJobs,
  env,
  mail,
  ...deps
}: Pick<ConsoleDeps, 'dataSources' | 'db' | 'periods'> & {
  assessedLocations: readonly { region: string | null }[]
  emailJobs: readonly string[]
  env: Pick<Env, 'KP_BACKUP_DAYS' | 'KP_OIDC_ISSUER' | 'KP_PRIVACY_EMAIL' | 'KP_SMTP_URL'>
  mail: { folder: ConsoleDeps['mail']['folder'] }
}) => ({
  useCases: {
    console: consoleService({
      ...deps,
      settings: {
        hasMailServer: hasMailServer(env),
        hasContact: env.KP_PRIVACY_EMAIL !== undefined,
        statesBackups: env.KP_BACKUP_DAYS !== undefined,
        unknownRegions: assessedLocations.filter(({ region }) => region === null).length,
        hasIdentityProvider: env.KP_OIDC_ISSUER !== undefined,
      },
      mail: { jobs: emailJobs, folder: mail.folder },
    }),
  },
})
