import type { MutationContext } from '#lib/kernel/context.ts'
import type { PlannedRecord, ProjectPart } from '#lib/kernel/data-source.ts'
import { deletedFrom, isErased } from '#lib/kernel/deleted-from.ts'
import type { RunView, SubjectErasures } from '#lib/kernel/erasure-run.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { limitConcurrency } from '#lib/kernel/limit-concurrency.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { mutation, type Reply } from '#lib/kernel/use-case.ts'
import {
  type AuthorFields,
  isMine,
  mayErase,
  projectOfAuthor,
  projectReaderOf,
  queryInTransaction,
  wasErased,
  writableProject,
} from '../access.ts'
import { storedIdOwner } from '../chosen-ids.ts'
import {
  cancelErasure,
  eraseConversation,
  eraseDocument,
  eraseMessage,
  type PartErasure,
  type PartPlan,
  retryErasure,
} from './contract.ts'
import { answersForPart, lockPart, markProjectPart } from './parts.ts'
import { totalsOf } from './plan-totals.ts'

export interface PartErasurePorts {
  erasures: Pick<SubjectErasures, 'begin' | 'byAudit' | 'cancel' | 'explain' | 'lock' | 'resume' | 'retry' | 'run'>
  /** Advances a run as far as possible without waiting. */
  complete(runId: string): Promise<unknown>
  /** How long the request waits for the stores, in milliseconds of system time; default 10,000. */
  patience?: number
  /** Concurrency limits of this process for erasures and dry runs, and how many callers may queue for each. */
  bounds?: { erasures: Bounds; dryRuns: Bounds }
}
type Bounds = Parameters<typeof limitConcurrency>[0]

/**
 * Each one uses database connections for as long as the slowest store takes. Most of the ten connections must stay free for others. The
 * share leaves a slot to other organizations while one has slow erasures.
 */
const usual = {
  erasures: { atOnce: 3, waiting: 100, share: 2 / 3 },
  dryRuns: { atOnce: 2, waiting: 4, share: 1 / 2 },
}
/** Maximum number of decisions that a dry run lists. The others are only counted. */
const mostVerdicts = 5_000
type Answer = PartErasure | { data: PartPlan }
interface Wanted {
  part: ProjectPart
  reason: string
  query: { dry_run: boolean; redact: boolean }
}
/** The row of a part, locked by this transaction. */
interface PartRow extends AuthorFields {
  erasingSince: Date | null
}

/** The tenant whose erasures share a part of the slots. */
const partyOf = ({ actor }: MutationContext): string => actor.organisationId ?? actor.id

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)
const nothing = (kind: ProjectPart['kind']): Problem =>
  new Problem('not_found', `There is no such ${kind} here, or you take no part in it. Nothing was erased.`)

const noErasure = (): Problem => new Problem('not_found', 'There is no such erasure, or it is not yours.')

const ofRows = new Set<string>(['conversation', 'document', 'message'])
/** Ids of rows are returned without their scope prefix. */
const shownVerdict = (verdict: PlannedRecord): PlannedRecord =>
  verdict.store === 'postgresql' && ofRows.has(verdict.kind) ? { ...verdict, id: shownId(verdict.id) } : verdict

/** The response for a run: 200 when it is done and verified, otherwise 202. */
function answerOf(
  run: RunView,
  auditId: string,
): { body: PartErasure; status: number; headers: Record<string, string> } {
  const success = isErased(run)
  const held = sum(run.steps.flatMap((step) => step.held.map(({ count }) => count)))
  return {
    body: { success, deletedFrom: deletedFrom(run), auditId, ...(held > 0 && { held }) },
    status: success ? 200 : 202,
    headers: { Location: `/api/erasures/${auditId}`, ...(!success && { 'Retry-After': '10' }) },
  }
}

/** Whether the run makes no progress until someone retries it. */
const doesStandStill = ({ state, steps }: RunView): boolean =>
  state === 'failed' || steps.some((step) => step.state === 'stuck')

/** Resolves when the work ends, fails or exceeds the time limit. After the limit, it continues in this process and then in the queue. */
async function inTime(work: Promise<unknown>, patience: number, runId: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((done) => {
    timer = setTimeout(done, patience)
  })
  const over = work.catch((error: unknown) => logFault(error, { operationId: 'erasePart', runId }))
  await Promise.race([over, late]).finally(() => clearTimeout(timer))
}

/**
 * Use cases that erase a message, a conversation or a document. One transaction marks the part and begins the run; the engine carries out
 * the run after the commit.
 */
export function partErasures({ erasures, complete, patience = 10_000, bounds = usual }: PartErasurePorts) {
  /** One promise for each run in progress: concurrent requests for the same part share it. */
  const working = new Map<string, Promise<unknown>>()
  const erasing = limitConcurrency(bounds.erasures)
  const explaining = limitConcurrency(bounds.dryRuns)
  /** Does nothing if the waiting list is full; the job queue then carries out the run about half a minute later. */
  function carriedOut(runId: string, party: string): Promise<unknown> {
    const work = working.get(runId) ?? erasing(() => complete(runId), party).finally(() => working.delete(runId))
    working.set(runId, work)
    return work
  }

  /** The transaction stores a response that reports nothing as done. A retry with the same idempotency key returns that stored response. */
  const finishing = (runId: string, auditId: string, party: string, standsStill: boolean) => async () => {
    // A repeated request resumes a run that had given up.
    if (standsStill) await erasures.resume(runId)
    await inTime(carriedOut(runId, party), patience, runId)
    const run = await erasures.run(runId)
    // The requester cancelled the run before anything was erased.
    if (!run)
      throw new Problem('not_found', 'This erasure was cancelled before anything was erased. Nothing was changed.')
    return answerOf(run, auditId)
  }

  /** The problem for a missing part: it names the receipt if the part was erased, otherwise it is `not_found`. */
  async function gone({ tx }: MutationContext, { kind, id, project }: ProjectPart): Promise<Problem> {
    const [erased] = await tx.$queryRaw<{ receiptId: string }[]>`
      SELECT r.receipt_id AS "receiptId" FROM erased_records e JOIN erasure_scopes r ON r.receipt_id = e.receipt_id
      WHERE e.id = ${id} AND r.project_id = ${project}`
    return erased ? wasErased(erased.receiptId) : nothing(kind)
  }

  /** The row of a part, locked against writers. Null if it is not at the given place or if its conversation is being erased. */
  async function rowOf(
    { tx }: MutationContext,
    { kind, id, project, conversation }: ProjectPart,
  ): Promise<PartRow | null> {
    const select = { authorKind: true, authorId: true, writtenBy: true, erasingSince: true }
    const withClaimant = async (row: Omit<PartRow, 'claimedBy'> | null): Promise<PartRow | null> => {
      if (row?.authorKind !== 'participant') return row
      const author = await tx.projectParticipant.findUnique({ where: { id: row.authorId } })
      return { ...row, claimedBy: author?.accountId ?? null }
    }
    if (kind === 'message') {
      const where = { id, projectId: project, conversation: { id: conversation ?? '', erasingSince: null } }
      return withClaimant(await tx.message.findFirst({ where, select }))
    }
    if (kind === 'document')
      return withClaimant(await tx.document.findFirst({ where: { id, projectId: project }, select }))
    const row = await tx.conversation.findFirst({ where: { id, projectId: project } })
    if (!row) return null
    const isPerson = row.createdBy.startsWith('user:')
    return {
      authorKind: isPerson ? 'account' : 'agent',
      authorId: isPerson ? row.createdBy.slice('user:'.length) : row.createdBy,
      erasingSince: row.erasingSince,
    }
  }

  /** Checks that the actor may erase the part and locks it. @throws {Problem} `not_found`, `erased`, `forbidden` */
  async function found(
    ctx: MutationContext,
    part: ProjectPart,
    { dry_run, redact }: Wanted['query'],
  ): Promise<PartRow> {
    const ask = queryInTransaction(ctx.tx)
    const written = part.kind === 'conversation' ? null : await rowOf(ctx, part)
    // Authors may erase their own messages and documents after they leave. A conversation also contains messages of others.
    const enter = written && isMine(ctx.actor, written) ? projectOfAuthor : writableProject
    await enter(ask, projectReaderOf(ctx), part.project)
    await lockPart(ctx.tx, part)
    // Check again: the lock may have waited for a transaction that marked the project.
    const project = await enter(ask, projectReaderOf(ctx), part.project)
    const row = await rowOf(ctx, part)
    if (!row) throw await gone(ctx, part)
    if (dry_run && !ctx.actor.can('projects:read'))
      throw new Problem('scope_too_small', 'A dry run shows names of the project, so it needs the scope "read".')
    if (!mayErase(project, ctx.actor, row))
      throw new Problem('forbidden', `Who wrote the ${part.kind}, and the project's owners, erase it.`)
    if (dry_run && project.role === null)
      throw new Problem('forbidden', 'The plan names what others wrote: it is for members. Yours is erased without it.')
    if (redact && project.role !== 'owner')
      throw new Problem('forbidden', 'Names in what others wrote: the owners of the project have them taken out.')
    return row
  }

  /** A dry run. The data sources plan after the commit, because each reads in its own transactions. */
  function explained(ctx: MutationContext, part: ProjectPart): Reply<Answer> {
    return {
      body: undefined,
      status: 204,
      resourceId: part.id,
      entries: [{ resourceId: part.id, action: 'read', details: { dry_run: true } }],
      afterCommit: async () => {
        const taken = await explaining(() => erasures.explain(part, ctx.now), partyOf(ctx))
        if (typeof taken !== 'object')
          throw new Problem('unavailable', {
            detail: 'Others are having their erasures planned; nothing was changed. Ask again in a little while.',
            headers: { 'Retry-After': '10' },
          })
        const { planned, verdicts, unanswered } = taken.value
        const byOutcome = Object.groupBy(verdicts, ({ verdict }) => verdict)
        const counted = (wanted: PlannedRecord['verdict']) => byOutcome[wanted]?.length ?? 0
        // Untouched records are listed first, so that the limit does not hide them.
        const { untouched = [], deleted = [], changed = [], kept = [] } = byOutcome
        const data: PartPlan = {
          planned: planned.map(({ held, ...holding }) => ({ ...holding, held: sum(held.map(({ count }) => count)) })),
          verdicts: [...untouched, ...deleted, ...changed, ...kept].slice(0, mostVerdicts).map(shownVerdict),
          omitted: Math.max(0, verdicts.length - mostVerdicts),
          totals: totalsOf(verdicts),
          unanswered,
          counts: {
            deleted: counted('deleted'),
            kept: counted('kept'),
            changed: counted('changed'),
            untouched: counted('untouched'),
          },
        }
        return { body: { data }, status: 200, headers: { 'Cache-Control': 'no-store' } }
      },
    }
  }

  /**
   * An erasure of a part, for its requester, the author of the part, the owners of its project, the managers of its organization and
   * admins.
   * @throws {Problem} `not_found` for everybody else
   */
  async function ofAsker(ctx: MutationContext, auditId: string): Promise<RunView> {
    const known = await erasures.byAudit(auditId, ctx.tx)
    const { actor } = ctx
    const isAskers =
      known?.part != null &&
      (known.requestedBy === actor.id ||
        actor.agents.includes(known.requestedBy) ||
        (await answersForPart(ctx, known.part)))
    if (!known || !(isAskers || actor.can('erasures:admin'))) throw noErasure()
    return known
  }

  /** The part, with the ids under which it is stored. */
  async function storedPart(ctx: MutationContext, part: ProjectPart): Promise<ProjectPart> {
    const { kind, id, project: projectId, conversation } = part
    const { conversationId, messageId, documentId } = await storedIdOwner(queryInTransaction(ctx.tx), {
      ...{ projectId, conversationId: conversation ?? undefined },
      messageId: kind === 'message' ? id : undefined,
      documentId: kind === 'document' ? id : undefined,
    })
    return { ...part, id: messageId ?? documentId ?? conversationId ?? id, conversation: conversationId ?? null }
  }

  async function erase(ctx: MutationContext, { part: given, reason, query }: Wanted): Promise<Reply<Answer>> {
    const part = await storedPart(ctx, given)
    const row = await found(ctx, part, query)
    if (query.dry_run) return explained(ctx, part)
    const { runId, receiptId, auditId } = await erasures.begin(ctx.tx, {
      requestId: null,
      subject: { account: null, agents: [] },
      part,
      redacts: query.redact,
      requestedBy: ctx.actor.id,
      reason,
      now: ctx.now,
    })
    const run = await erasures.run(runId, ctx.tx)
    if (!run) throw new Error(`the run ${runId} is gone`)
    // A part under legal hold stays readable until the hold ends; the run marks it then.
    if (row.erasingSince === null && run.state !== 'held') await markProjectPart(ctx.tx, part, ctx.now)
    return {
      ...answerOf(run, auditId),
      resourceId: part.id,
      details: { receipt: receiptId, project: part.project, reason },
      afterCommit: finishing(runId, auditId, partyOf(ctx), doesStandStill(run)),
    }
  }

  return {
    retry: mutation(retryErasure, async (ctx, { params: { id } }) => {
      const known = await ofAsker(ctx, id)
      if (known.requestId !== null)
        throw new Problem('wrong_state', 'This erasure belongs to a privacy request. Retry that request instead.')
      await erasures.lock(ctx.tx, known.id)
      if (!(await erasures.retry(ctx.tx, known.id, undefined, ctx.now)))
        throw new Problem(
          'not_stuck',
          'The erasure is running, held or done, so there is nothing to retry. Nothing was changed. Read its status at GET /api/erasures/{id}.',
        )
      return { body: { data: { audit_id: id } }, status: 202, resourceId: known.id }
    }),
    cancel: mutation(cancelErasure, async (ctx, { params: { id } }) => {
      const known = await ofAsker(ctx, id)
      if (known.requestId !== null)
        throw new Problem('wrong_state', 'This erasure belongs to a privacy request. Cancel that request instead.')
      await erasures.lock(ctx.tx, known.id)
      if (!(await erasures.run(known.id, ctx.tx))) throw noErasure()
      if (!(await erasures.cancel(ctx.tx, known.id)))
        throw new Problem(
          'cannot_cancel',
          'The erasure has begun, so it can no longer be cancelled: some of the data may be erased already. Wait until it ends. If it is stuck, retry it.',
        )
      return { body: { data: { audit_id: id } }, resourceId: known.id, details: { part: known.part?.kind ?? 'none' } }
    }),
    eraseMessage: mutation(eraseMessage, (ctx, { params, query, body }) => {
      if (body?.messageId !== undefined && body.messageId !== params.messageId)
        throw invalid(['messageId'], 'is another one than the path has')
      const { projectId: project, conversationId: conversation, messageId: id } = params
      return erase(ctx, {
        part: { kind: 'message', id, project, conversation },
        reason: body?.reason ?? 'user_request',
        query,
      })
    }),
    eraseConversation: mutation(eraseConversation, (ctx, { params, query, body }) =>
      erase(ctx, {
        part: {
          kind: 'conversation',
          id: params.conversationId,
          project: params.projectId,
          conversation: params.conversationId,
        },
        reason: body?.reason ?? 'user_request',
        query,
      }),
    ),
    eraseDocument: mutation(eraseDocument, (ctx, { params, query, body }) =>
      erase(ctx, {
        part: { kind: 'document', id: params.documentId, project: params.projectId, conversation: null },
        reason: body?.reason ?? 'user_request',
        query,
      }),
    ),
  }
}
