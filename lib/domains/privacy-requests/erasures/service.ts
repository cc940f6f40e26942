import type { Context } from '#lib/kernel/context.ts'
import type { RunView } from '#lib/kernel/erasure-run.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { PrivacyDeps } from '../ports.ts'
import { type NamedSubject, requestSubjects } from '../queries.ts'
import { erasuresOfPerson, requestsOfSubjects } from '../repository.ts'
import { ownedBy } from '../requests.ts'
import { type ErasuresAhead, ourTerm, sum } from '../rules.ts'
import { erasureView, signedReceipt } from '../views.ts'
import { listErasures, type RequestCause, readErasure } from './contract.ts'
import { erasurePlans } from './plan-for-pages.ts'
import { causesOfDelays, causesOfRun, delaysOf } from './run-causes.ts'

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const listed = (run: RunView, subject: NamedSubject | undefined, causes: readonly RequestCause[]) => ({
  run_id: run.id,
  request_id: run.requestId,
  receipt_id: signedReceipt(run),
  state: run.state,
  created_at: run.createdAt.toISOString(),
  finished_at: run.finishedAt?.toISOString() ?? null,
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
