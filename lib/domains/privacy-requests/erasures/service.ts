import { countRemainingProjects, countUnclaimedParticipations } from '#lib/domains/projects/queries.ts'
import type { Context } from '#lib/kernel/context.ts'
import type { PlannedHolding, RunView } from '#lib/kernel/erasure-run.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import { planErasure, planForParticipant } from '../contract.ts'
import type { PrivacyDeps } from '../ports.ts'
import { type NamedSubject, requestSubjects } from '../queries.ts'
import { erasuresOfPerson, requestsOfSubjects } from '../repository.ts'
import { ownedBy } from '../requests.ts'
import { type ErasuresAhead, ourTerm, sum } from '../rules.ts'
import { erasureView, heldCountView, signedReceipt } from '../views.ts'
import { listErasures, type RequestCause, readErasure } from './contract.ts'
import { causesOfDelays, causesOfRun, delaysOf } from './run-causes.ts'

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
function erasurePlans(deps: PrivacyDeps) {
  const plan = createPlan(deps)
  return { plan: planOwn(deps, plan), planForParticipant: planOfParticipant(deps, plan) }
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const listed = (run: RunView, subject: NamedSubject | undefined, causes: readonly RequestCause[]) => ({
  run_id: run.id,
  request_id: run.requestId,
  receipt_id: signedReceipt(run),
  state: run.state,
  created_at: run.createdAt,
  finished_at: run.finishedAt,
  subject: run.part?.kind ?? subject?.kind ?? null,
  subject_name: subject?.name ?? null,
  steps_done: run.steps.filter(({ state }) => state === 'done').length,
  steps_total: run.steps.length,
  stuck:
    run.steps.filter(({ state }) => state === 'stuck').length +
    ((run.state === 'planning' || run.state === 'verifying') && run.fault !== null && run.fault !== 'unavailable'
      ? 1
      : 0),
  planned: sum(run.steps.map(({ planned }) => planned)),
  erased: sum(run.steps.map(({ erased }) => erased)),
  held: sum(run.steps.flatMap(({ held }) => held.map(({ count }) => count))),
  causes: [...causes],
})

/** Whether a run that is done took longer than our own deadline. */
const isSlow = ({ state, createdAt, finishedAt }: RunView): boolean =>
  state === 'done' && finishedAt !== null && finishedAt.getTime() - createdAt.getTime() > ourTerm
/** The timelines of the requests of these runs. */
const eventsOf = ({ db }: Pick<PrivacyDeps, 'db'>, runs: readonly RunView[]) =>
  db.prisma.privacyRequestEvent.findMany({
    where: { requestId: { in: runs.flatMap(({ requestId }) => requestId ?? []) } },
    select: { requestId: true, event: true, at: true },
  })
/** What delayed a run according to the timeline of its request, and its longest step. */
function delaysOfRun(run: RunView, events: readonly { requestId: string; event: string; at: Date }[]): RequestCause[] {
  const ofRequest = events.filter(({ requestId }) => requestId === run.requestId)
  return causesOfDelays(delaysOf(ofRequest, run.createdAt), run)
}

/** People whose erasures a text finds. */
const maxMatching = 200
/** The search for a text; the requests are those of people and agents whose name, address or id contains it. */
async function searchFor({ db, people }: Pick<PrivacyDeps, 'db' | 'people'>, text: string) {
  const accounts = (await people.matching(db.prisma, text, maxMatching)).map(({ accountId }) => accountId)
  const requests = await requestsOfSubjects(db, { text, accounts, max: maxMatching })
  return { text, requests: requests.map(({ id }) => id) }
}

const list = ({ erasures, ...deps }: Pick<PrivacyDeps, 'db' | 'people' | 'agents' | 'erasures'>) =>
  read(listErasures, async ({ now }, { query: { state, q, cursor, limit } }) => {
    const open = await erasures.open()
    const search = q === undefined ? undefined : await searchFor(deps, q)
    const found = await erasures.runs({ state, search, after: parseCursor(cursor), now, limit: limit + 1 })
    const { shown, page } = pageOf(found, limit, found.length, ({ createdAt, id }) => ({ at: createdAt, id }))
    const subjects = await requestSubjects(
      deps.db,
      shown.flatMap(({ requestId }) => requestId ?? []),
    )
    const events = await eventsOf(deps, shown.filter(isSlow))
    const causesOf = (run: RunView) => [...causesOfRun(run, now), ...(isSlow(run) ? delaysOfRun(run, events) : [])]
    return {
      body: {
        data: shown.map((run) => listed(run, subjects.get(run.requestId ?? ''), causesOf(run))),
        limit: page.limit,
        next_cursor: page.next_cursor,
        open,
      },
      resourceId: 'list',
      details: { count: shown.length },
    }
  })

/** Returns true for auditors, for the requester of the run, and for people who answer for the erased part. */
async function mayRead(
  { db, answersForPart }: Pick<PrivacyDeps, 'db' | 'answersForPart'>,
  ctx: Context,
  run: RunView,
): Promise<boolean> {
  const { actor } = ctx
  if (actor.can('erasures:audit')) return true
  if (run.part !== null) {
    const isRequester = run.requestedBy === actor.id || actor.agents.includes(run.requestedBy)
    if (isRequester || (await answersForPart(ctx, run.part))) return true
  }
  if (run.requestId === null) return false
  return (await db.prisma.privacyRequest.count({ where: { AND: [{ id: run.requestId }, ownedBy(ctx)] } })) > 0
}

const readOne = (deps: Pick<PrivacyDeps, 'db' | 'erasures' | 'answersForPart'>) =>
  read(readErasure, async (ctx, { params: { id } }) => {
    const run = await (uuid.test(id) ? deps.erasures.byAudit(id) : deps.erasures.run(id))
    if (!run || !(await mayRead(deps, ctx, run)))
      throw new Problem('not_found', 'There is no such erasure, or it is not yours.')
    return { body: { data: erasureView(run) }, resourceId: run.id }
  })

/** Use cases that plan, list and read erasures. */
export const erasuresList = (deps: PrivacyDeps) => ({
  ...erasurePlans(deps),
  listErasures: list(deps),
  readErasure: readOne(deps),
})

/** Read for every page of the console, without an audit entry. */
export const erasuresAhead = ({ db, graceTokens }: Pick<PrivacyDeps, 'db' | 'graceTokens'>) => ({
  async erasuresAhead(accountId: string): Promise<ErasuresAhead> {
    const rows = await erasuresOfPerson(db, { account: accountId })
    return {
      total: rows[0]?.total ?? 0,
      shown: rows.map((row) => ({
        requestId: row.id,
        agent: row.agent,
        state: row.is_running ? 'running' : row.is_paused ? 'paused' : row.is_blocked ? 'blocked' : 'waiting',
        grace: row.from && row.until && { from: row.from.toISOString(), until: row.until.toISOString() },
        waitsForCopy: row.waits_for_copy,
        isMixed: row.is_mixed,
        areTokensStopped: graceTokens === 'stop',
      })),
    }
  },
})
