import type { Actor } from '#lib/kernel/context.ts'
import type { DataSource, Subject } from '#lib/kernel/data-source.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import { readOverview, readWaiting, readWork, type WorkItem } from './contract.ts'
import type { ConsolePorts } from './ports.ts'
import { daysAfter, expiringWithin, inTurn, workShown } from './rules.ts'

const iso = (at: Date | null): string | null => at?.toISOString() ?? null
const shownRequests = 5
const shownReceipts = 5
const shownProjects = 5

/** Counts like the inventory. Queries the data sources one after the other to use a single connection. */
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

/** The overview pages. Stores nothing: each domain answers for its own data. */
export function consoleService(ports: ConsolePorts) {
  async function ownWork(actor: Actor, accountId: string, now: Date): Promise<WorkItem[]> {
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
  async function everybodysWork(actor: Actor, now: Date): Promise<{ items: WorkItem[]; erasures: number }> {
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

  return {
    overview: read(readOverview, async ({ actor, now }) => {
      const accountId = personOf(actor)
      const { agents } = actor
      // Three sequences of queries, with one connection each, so that an overview does not exhaust the pool.
      const standing = async () => ({
        agents: await ports.agents.summary(agents),
        tokens: await ports.tokens.summary(agents, { now, until: daysAfter(now, expiringWithin.tokens) }),
        requests: await ports.requests.openOf(actor, now, shownRequests),
        signIns: await ports.accounts.newestSignIns(accountId, actor.sessionId),
      })
      const going = async () => ({
        expiring: await ports.knowledge.expiringSoon(actor, { now, until: daysAfter(now, expiringWithin.records) }),
        exports: await ports.exports.toFetch(accountId, now),
        receipts: await ports.receipts.newest(actor, shownReceipts),
        closing: await ports.projects.closingSoon(actor, shownProjects),
      })
      const [{ tokens, requests, signIns, agents: agentsNow }, { expiring, exports, receipts, closing }, held] =
        await Promise.all([standing(), going(), heldOn(ports.dataSources, { account: accountId, agents }, now)])
      return {
        resourceId: accountId,
        body: {
          data: {
            as_of: now.toISOString(),
            held,
            agents: agentsNow,
            tokens: {
              active: tokens.active,
              expiring: tokens.expiring,
              next_expiry: iso(tokens.nextExpiry),
              last_used_at: iso(tokens.lastUsedAt),
            },
            requests: {
              open: requests.open,
              shown: requests.shown.map((one) => ({
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
            },
            expiring: {
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
            },
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
    }),

    work: read(readWork, async ({ actor, now }) => {
      const [own, all] = await Promise.all([ownWork(actor, personOf(actor), now), everybodysWork(actor, now)])
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
    }),

    waiting: read(readWaiting, async ({ actor, now }) => {
      const mayAdmin = (domain: string) => actor.can(`${domain}:admin`)
      const [requests, open, quarantined, ending, undelivered, files, recent] = await Promise.all([
        mayAdmin('privacy') ? ports.requests.waiting(now) : null,
        actor.can('erasures:audit') ? ports.erasures.open() : null,
        mayAdmin('quarantine') ? ports.knowledge.quarantined() : null,
        mayAdmin('holds') ? ports.holds.ending({ now, until: daysAfter(now, expiringWithin.holds) }) : null,
        mayAdmin('outbox') ? ports.mail.undelivered() : null,
        mayAdmin('outbox') ? ports.mail.files() : null,
        mayAdmin('tokens') ? ports.tokens.revokedByLimits(daysAfter(now, -expiringWithin.revocations)) : null,
      ])
      return {
        resourceId: 'waiting',
        body: {
          data: {
            as_of: now.toISOString(),
            requests,
            erasures: open && {
              running: open.planning + open.erasing + open.verifying,
              stuck: open.stuck,
              failed: open.failed,
            },
            quarantined,
            holds: ending === null ? null : { ending },
            outbox: undelivered === null ? null : { undelivered, files },
            revocations: recent === null ? null : { recent },
          },
        },
      }
    }),
  }
}

/** The permission admits only people, who have an account. */
function personOf({ accountId }: Actor): string {
  if (accountId === undefined) throw new Problem('sign_in_needed')
  return accountId
}

function erasureItem(
  run: {
    id: string
    requestId: string | null
    projectId: string | null
    state: string
    stepsDone: number
    stepsTotal: number
    isStuck: boolean
    createdAt: Date
  },
  isOwn: boolean,
  seesRequest: boolean,
): WorkItem {
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
