import { limitConcurrency } from '#lib/kernel/concurrency.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { PlannedRecord } from '#lib/kernel/data-source.ts'
import { deletedFrom, isErased } from '#lib/kernel/deleted-from.ts'
import type { RunView, SubjectErasures } from '#lib/kernel/erasure-run.ts'
import type { ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { mutation, type Reply } from '#lib/kernel/use-case.ts'
import {
  type AuthorFields,
  isMine,
  mayErase,
  projectOfAuthor,
  projectReaderOf,
  wasErased,
  writableProject,
} from '../access.ts'
import { storedPath } from '../stored-ids.ts'
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
import { receiptOfErasedPart } from './repository.ts'
import { totalsOf } from './rules.ts'

interface PartErasurePorts {
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
type Answer = PartErasure | { data: PartPlan }
interface Wanted {
  part: ProjectPart
  reason?: string | undefined
  query: { dry_run: boolean; redact: boolean }
}
/** The tenant whose erasures share a part of the slots. */
const partyOf = ({ actor }: MutationContext): string => actor.organisationId ?? actor.id

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)

const noErasure = (): Problem =>
  new Problem('not_found', 'This erasure does not exist, or you do not have access to it.')

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
const isStuck = ({ state, steps }: RunView): boolean =>
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

/** Carries out runs after their transaction committed. Concurrent requests for the same part share one execution of its run. */
function runsAfterCommit({ erasures, complete, patience = 10_000, bounds = usual }: PartErasurePorts) {
  const working = new Map<string, Promise<unknown>>()
  const erasing = limitConcurrency(bounds.erasures)
  /** Does nothing if the waiting list is full; the job queue then carries out the run about half a minute later. */
  function carriedOut(runId: string, party: string): Promise<unknown> {
    const work = working.get(runId) ?? erasing(() => complete(runId), party).finally(() => working.delete(runId))
    working.set(runId, work)
    return work
  }

  return async ({ id, auditId, party, isStuck }: { id: string; auditId: string; party: string; isStuck: boolean }) => {
    // A repeated request resumes a run that had given up.
    if (isStuck) await erasures.resume(id)
    await inTime(carriedOut(id, party), patience, id)
    const run = await erasures.run(id)
    // The requester cancelled the run before anything was erased.
    if (!run)
      throw new Problem('not_found', 'This erasure was cancelled before anything was erased. Nothing was changed.')
    return answerOf(run, auditId)
  }
}

/** Maximum number of decisions that a dry run lists. The others are only counted. */
const maxDecisions = 5_000

const kindsOfRows = new Set<string>(['conversation', 'document', 'message'])
/** Ids of rows are returned without their scope prefix. */
const shownDecision = (decision: PlannedRecord): PlannedRecord =>
  decision.store === 'postgresql' && kindsOfRows.has(decision.kind)
    ? { ...decision, id: shownId(decision.id) }
    : decision

/** The answer to a dry run. Lists untouched records first, so that the limit does not hide them. */
function planView({ planned, verdicts, unanswered }: Awaited<ReturnType<SubjectErasures['explain']>>): PartPlan {
  const { untouched = [], deleted = [], changed = [], kept = [] } = Object.groupBy(verdicts, ({ verdict }) => verdict)
  return {
    planned: planned.map(({ held, results: _, ...holding }) => ({
      ...holding,
      held: held.reduce((total, { count }) => total + count, 0),
    })),
    verdicts: [...untouched, ...deleted, ...changed, ...kept].slice(0, maxDecisions).map(shownDecision),
    omitted: Math.max(0, verdicts.length - maxDecisions),
    totals: totalsOf(verdicts),
    unanswered,
    counts: {
      deleted: deleted.length,
      kept: kept.length,
      changed: changed.length,
      untouched: untouched.length,
    },
  }
}

/** The row of a part, locked by this transaction. */
interface ErasablePart extends AuthorFields {
  erasingSince: Date | null
}

/** The part, with the ids under which it is stored. */
async function storedPart(tx: Transaction, part: ProjectPart): Promise<ProjectPart> {
  const { kind, id, project: projectId, conversation } = part
  const { conversationId, messageId, documentId } = await storedPath(tx, {
    projectId,
    conversationId: conversation ?? undefined,
    messageId: kind === 'message' ? id : undefined,
    documentId: kind === 'document' ? id : undefined,
  })
  return { ...part, id: messageId ?? documentId ?? conversationId ?? id, conversation: conversationId ?? null }
}

/** The problem for a missing part: it names the receipt if the part was erased, otherwise it is `not_found`. */
async function missing(tx: Transaction, { kind, id, project }: ProjectPart): Promise<Problem> {
  const [erased] = await receiptOfErasedPart(tx, { id, project })
  return erased
    ? wasErased(erased.receiptId)
    : new Problem('not_found', `This ${kind} does not exist, or you do not have access to it. Nothing was erased.`)
}

const select = { authorKind: true, authorId: true, writtenBy: true, erasingSince: true }
async function withClaimant(
  tx: Transaction,
  row: Omit<ErasablePart, 'claimedBy'> | null,
): Promise<ErasablePart | null> {
  if (row?.authorKind !== 'participant') return row
  const author = await tx.projectParticipant.findUnique({ where: { id: row.authorId } })
  return { ...row, claimedBy: author?.accountId ?? null }
}

/** The row of a part. Null if it is not in the given containers, or if its conversation is being erased. */
async function rowOf(tx: Transaction, { kind, id, project, conversation }: ProjectPart): Promise<ErasablePart | null> {
  if (kind === 'message') {
    const where = { id, projectId: project, conversation: { id: conversation ?? '', erasingSince: null } }
    return withClaimant(tx, await tx.message.findFirst({ where, select }))
  }
  if (kind === 'document')
    return withClaimant(tx, await tx.document.findFirst({ where: { id, projectId: project }, select }))
  const row = await tx.conversation.findFirst({ where: { id, projectId: project } })
  if (!row) return null
  const isPerson = row.createdBy.startsWith('user:')
  return {
    authorKind: isPerson ? 'account' : 'agent',
    authorId: isPerson ? row.createdBy.slice('user:'.length) : row.createdBy,
    erasingSince: row.erasingSince,
  }
}

/** Checks that the actor may erase the part, and locks it. @throws {Problem} `not_found`, `erased`, `forbidden`, `scope_too_small` */
async function lockErasablePart(
  { tx, actor }: MutationContext,
  part: ProjectPart,
  { dry_run, redact }: { dry_run: boolean; redact: boolean },
): Promise<ErasablePart> {
  const written = part.kind === 'conversation' ? null : await rowOf(tx, part)
  // Authors may erase their own messages and documents after they leave. A conversation also contains messages of others.
  const enter = written && isMine(actor, written) ? projectOfAuthor : writableProject
  await enter(tx, projectReaderOf({ actor }), part.project)
  await lockPart(tx, part)
  // Check again: the lock may have waited for a transaction that marked the project.
  const project = await enter(tx, projectReaderOf({ actor }), part.project)
  const row = await rowOf(tx, part)
  if (!row) throw await missing(tx, part)
  if (dry_run && !actor.can('projects:read'))
    throw new Problem('scope_too_small', 'A dry run shows names of the project, so it needs the scope "read".')
  if (!mayErase(project, actor, row))
    throw new Problem(
      'forbidden',
      `Only the author of the ${part.kind} and owners of the project can erase it. Nothing was erased.`,
    )
  if (dry_run && project.role === null)
    throw new Problem(
      'forbidden',
      'A dry run shows names in data of others, so only members can start one. You can still erase your own data.',
    )
  if (redact && project.role !== 'owner')
    throw new Problem(
      'forbidden',
      'Only owners of the project can remove names from data of other authors. Leave out `redact`. Nothing was erased.',
    )
  return row
}

/** Starts erasures of parts, and dry runs. */
function partEraser(ports: PartErasurePorts) {
  const { erasures, bounds = usual } = ports
  const finish = runsAfterCommit(ports)
  const explaining = limitConcurrency(bounds.dryRuns)

  /** A dry run. The data sources plan after the commit, because each reads in its own transactions. */
  const explained = (ctx: MutationContext, part: ProjectPart): Reply<Answer> => ({
    body: undefined,
    status: 204,
    resourceId: part.id,
    entries: [{ resourceId: part.id, action: 'read', details: { dry_run: true } }],
    afterCommit: async () => {
      const taken = await explaining(() => erasures.explain(part, ctx.now), partyOf(ctx))
      if (typeof taken !== 'object')
        throw new Problem('unavailable', {
          detail: 'The server is planning other erasures. Nothing was changed. Try again in 10 seconds.',
          headers: { 'Retry-After': '10' },
        })
      return { body: { data: planView(taken.value) }, status: 200, headers: { 'Cache-Control': 'no-store' } }
    },
  })

  /** The transaction stores a response that reports nothing as done. A retry with the same idempotency key returns that response. */
  return async (
    ctx: MutationContext,
    { part: given, reason = 'user_request', query }: Wanted,
  ): Promise<Reply<Answer>> => {
    const part = await storedPart(ctx.tx, given)
    const row = await lockErasablePart(ctx, part, query)
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
    if (!run) throw new Error(`The erasure run ${runId} does not exist, although its transaction has just created it.`)
    // A part under legal hold stays readable until the hold ends; the run marks it then.
    if (row.erasingSince === null && run.state !== 'held') await markProjectPart(ctx.tx, part, ctx.now)
    return {
      ...answerOf(run, auditId),
      resourceId: part.id,
      details: { receipt: receiptId, project: part.project, reason },
      afterCommit: () => finish({ id: runId, auditId, party: partyOf(ctx), isStuck: isStuck(run) }),
    }
  }
}

/**
 * An erasure of a part that is not of a privacy request, for its requester, the author of the part, the owners of its project, the
 * managers of its organization and admins.
 * @throws {Problem} `not_found` for everybody else, `wrong_state` for an erasure of a privacy request
 */
async function ownErasure(
  { erasures }: Pick<PartErasurePorts, 'erasures'>,
  ctx: MutationContext,
  auditId: string,
  action: 'Cancel' | 'Retry',
): Promise<RunView> {
  const { actor, tx } = ctx
  const run = await erasures.byAudit(auditId, tx)
  const isOwn =
    run?.part != null &&
    (run.requestedBy === actor.id || actor.agents.includes(run.requestedBy) || (await answersForPart(ctx, run.part)))
  if (!run || !(isOwn || actor.can('erasures:admin'))) throw noErasure()
  if (run.requestId !== null)
    throw new Problem('wrong_state', `This erasure belongs to a privacy request. ${action} that request instead.`)
  await erasures.lock(tx, run.id)
  return run
}

/**
 * Use cases that erase a message, a conversation or a document. One transaction marks the part and begins the run; the engine carries out
 * the run after the commit.
 */
export function partErasures(ports: PartErasurePorts) {
  const { erasures } = ports
  const erase = partEraser(ports)
  return {
    retry: mutation(retryErasure, async (ctx, { params: { id } }) => {
      const run = await ownErasure(ports, ctx, id, 'Retry')
      if (!(await erasures.retry(ctx.tx, run.id, undefined, ctx.now)))
        throw new Problem(
          'not_stuck',
          'The erasure is running, under a legal hold or done, so there is nothing to retry. Nothing was changed. Read its status at GET /api/erasures/{id}.',
        )
      return { body: { data: { audit_id: id } }, status: 202, resourceId: run.id }
    }),
    cancel: mutation(cancelErasure, async (ctx, { params: { id } }) => {
      const run = await ownErasure(ports, ctx, id, 'Cancel')
      // Others could undo an erasure that a person ordered, without a reason and without telling them.
      if (run.requestedBy !== ctx.actor.id && !ctx.actor.agents.includes(run.requestedBy))
        throw new Problem(
          'forbidden',
          'Somebody else ordered this erasure, so only they can cancel it. Nothing was changed.',
        )
      if (!(await erasures.run(run.id, ctx.tx))) throw noErasure()
      if (!(await erasures.cancel(ctx.tx, run.id)))
        throw new Problem(
          'cannot_cancel',
          'The erasure has begun, so it can no longer be cancelled: some of the data may be erased already. Wait until it ends. If it is stuck, retry it.',
        )
      return { body: { data: { audit_id: id } }, resourceId: run.id, details: { part: run.part?.kind ?? 'none' } }
    }),
    eraseMessage: mutation(eraseMessage, (ctx, { params, query, body }) => {
      if (body?.messageId !== undefined && body.messageId !== params.messageId)
        throw invalid(['messageId'], 'differs from the message id in the path')
      const { projectId: project, conversationId: conversation, messageId: id } = params
      return erase(ctx, { part: { kind: 'message', id, project, conversation }, reason: body?.reason, query })
    }),
    eraseConversation: mutation(eraseConversation, (ctx, { params, query, body }) => {
      const { projectId: project, conversationId: id } = params
      return erase(ctx, { part: { kind: 'conversation', id, project, conversation: id }, reason: body?.reason, query })
    }),
    eraseDocument: mutation(eraseDocument, (ctx, { params, query, body }) => {
      const { projectId: project, documentId: id } = params
      return erase(ctx, { part: { kind: 'document', id, project, conversation: null }, reason: body?.reason, query })
    }),
  }
}
