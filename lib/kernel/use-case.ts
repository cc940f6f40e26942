import type { z } from 'zod'
import type {
  AuditRecord,
  Context,
  IdempotencyClaim,
  MutationContext,
  SqlRow,
  Statement,
  StoredReply,
  UnboundAuditRecord,
} from './context.ts'
import { requireStorable } from './data-regions.ts'
import { type Effect, guardedEffects, isInPerson, isOpenToLent, needsOpenSession } from './effects.ts'
import type { AuditAction, Input, OperationShape, Output, RawInput, Returned } from './operation.ts'
import { type Issue, Problem } from './problem.ts'

/** For how many milliseconds after the password was entered dangerous actions are allowed. */
export const passwordStaysRecent = 10 * 60_000

/**
 * Requires a session whose password was entered within the last ten minutes: an unlocked browser or a stolen cookie is not enough.
 * Tokens pass; operations that tokens may not call reject them elsewhere. @throws `step_up_required`
 */
export function requireRecentPassword({ actor, now }: Pick<Context, 'actor' | 'now'>): void {
  if (actor.kind !== 'person') return
  const age = actor.passwordAt && now.getTime() - actor.passwordAt.getTime()
  if (age === undefined || age > passwordStaysRecent)
    throw new Problem(
      'step_up_required',
      'Confirm your password (POST /api/account/confirm), then repeat the request within ten minutes.',
    )
}

/** What guards need of a context. */
export type GuardedContext = Pick<Context, 'actor' | 'now' | 'consulted'>

/** Records that the guard of the effect decided in this run. */
export function consulted({ consulted: seen }: Pick<Context, 'consulted'>, effect: Effect): void {
  seen?.add(effect)
}

/** @throws Problem `forbidden` for every token, also of scope `admin` */
function requirePerson({ actor }: Pick<Context, 'actor'>, what: string): void {
  if (actor.kind === 'agent')
    throw new Problem('forbidden', `A token cannot ${what}. Sign in to the console as a person. Nothing was changed.`)
}

/**
 * The guard of credentials that one gives to oneself: an admin who issues or rotates a token for an agent of somebody else gains nothing over the
 * agent, until its owner or the agent itself rotates the token.
 */
function requireOwnToken(
  { actor }: Pick<Context, 'actor'>,
  { id, permission }: Pick<OperationShape, 'id' | 'permission'>,
): void {
  if (!actor.isLent || isOpenToLent(id)) return
  const verb = permission.slice(permission.lastIndexOf(':') + 1)
  // The admin who issued it has these rights.
  if (verb === 'admin' || verb === 'audit' || (permission === 'audit:self' && actor.isAdmin)) return
  throw new Problem(
    'forbidden',
    'An admin issued this token for an agent of somebody else, so it can contribute and read what everybody may read. For all other rights, the owner of the agent rotates it (POST /v1/auth/tokens/{id}/rotate). Nothing was changed.',
  )
}

/**
 * The guard of exports. The subject gets everything. Anybody else must be a person with a recently entered password, and sees private
 * content only within a request for access or portability that the subject confirmed.
 * @returns whether the export contains private content
 */
export function guardExport(
  ctx: GuardedContext,
  { isOwn, isRequested }: { isOwn: boolean; isRequested: boolean },
): boolean {
  consulted(ctx, 'export-subject')
  if (isOwn) return true
  requirePerson(ctx, 'export the data of another subject')
  requireRecentPassword(ctx)
  return isRequested
}

const readers = ['private', 'org', 'network'] as const

/**
 * The guard of changes to a shared record. Its author may change it. An admin may change a record of somebody else only in person, with a
 * recently entered password, and may not show it to more readers.
 * @throws Problem `forbidden`
 */
export function guardRecord(
  ctx: GuardedContext,
  effect: 'erase-words' | 'publish',
  { isOwn, from, to }: { isOwn: boolean } & Partial<Record<'from' | 'to', (typeof readers)[number]>>,
): void {
  consulted(ctx, effect)
  if (isOwn) return
  requirePerson(ctx, 'change or erase records of others')
  requireRecentPassword(ctx)
  if (from !== undefined && to !== undefined && readers.indexOf(to) > readers.indexOf(from))
    throw new Problem('forbidden', 'Only the author can show a record to more readers. Nothing was changed.')
}

/**
 * The guard of retention periods. A shorter period makes sweeps delete records of others, so a token cannot set it, and it applies only after
 * 24 hours in which it can be cancelled. A sweep applies the periods in force, so a token may start one.
 * @throws Problem `forbidden`
 */
export function guardRetention(ctx: GuardedContext, isShorter: boolean): void {
  consulted(ctx, 'erase-words')
  if (isShorter && ctx.actor.kind === 'agent')
    throw new Problem(
      'forbidden',
      'A token cannot shorten a retention period. An admin does this in the console, under Retention, and it is in force after 24 hours. Nothing was changed.',
    )
}

/**
 * The guard of acts that end somebody's access or service, and that nobody can undo in time. A leaked token could cause them in a loop, or once
 * and permanently, so they need a person whose password was entered recently.
 * @throws Problem `forbidden` for tokens, `step_up_required`
 */
export function guardEndOfAccess(ctx: GuardedContext, isEnding: boolean, what: string): void {
  consulted(ctx, 'end-access')
  if (!isEnding) return
  requirePerson(ctx, what)
  requireRecentPassword(ctx)
}

/**
 * The guard of irreversible acts on one's own account. The caller verifies the password afterwards. An account with a second factor must
 * also have confirmed it within the last ten minutes, because the password is not enough for an old session or a copied cookie.
 * @throws Problem `step_up_required`
 */
export function guardOwnAct(ctx: GuardedContext, hasFactor: boolean): void {
  consulted(ctx, 'act-on-oneself')
  if (hasFactor) requireRecentPassword(ctx)
}

/**
 * The guard of applications that act for people without an account, or close projects. It rejects a token that is older than the last change
 * of its owner's password or second factor, because an intruder in the owner's session could have created that token.
 * @throws Problem `forbidden` until the owner of the agent rotates the token
 */
export function guardApplication({ actor }: Pick<Context, 'actor'>): void {
  if (actor.needsOwner)
    throw new Problem(
      'forbidden',
      'The owner of this agent changed how they sign in after this token was created. It acts for participants and closes projects again after the owner rotated it (POST /v1/auth/tokens/{id}/rotate). Nothing was changed.',
    )
}

/** The guard of privacy requests: identity is confirmed, and subjects are erased, by themselves or by an admin in person. */
export function guardRequestChange(ctx: GuardedContext, asAdmin: boolean): void {
  consulted(ctx, 'confirm-identity')
  consulted(ctx, 'erase-subject')
  if (asAdmin) requirePerson(ctx, 'act on privacy requests of others')
}

/** Whether it is a write that a restricted or paused caller may not make. Deletion and operations on data about oneself remain allowed. */
const isOrdinaryWriting = ({ limit, method, permission }: OperationShape): boolean =>
  limit === 'write' && method !== 'delete' && permission !== 'public' && !permission.endsWith(':self')

/** @throws Problem if the caller may not run the operation */
function authorise(operation: OperationShape, ctx: Context): void {
  const { actor } = ctx
  if (actor.status === 'dead' && !operation.isOpenToDead)
    throw new Problem(
      'dead',
      'This agent has been retired. For 24 hours, its token can only export heartbeats (GET /v1/agents/{id}/heartbeats/export). Its owner still has its documents.',
    )
  if (actor.lacksSecondFactor && operation.permission !== 'public' && !operation.isOpenWithoutSecondFactor)
    throw new Problem(
      'second_factor_required',
      'Add a second factor to your account on the page /account/second-factor. Nothing was changed. Your own data and requests stay available on the page /settings/privacy.',
    )
  if (!actor.can(operation.permission)) {
    if (actor.kind === 'anonymous')
      throw new Problem(operation.path.startsWith('/v1/') ? 'token_missing' : 'sign_in_needed')
    const [, verb] = operation.permission.split(':')
    const isScope =
      actor.kind === 'agent' && (verb === 'read' || verb === 'write' || verb === 'privacy' || verb === 'admin')
    throw new Problem(
      isScope ? 'scope_too_small' : 'forbidden',
      isScope ? `This operation needs the scope "${verb}".` : {},
    )
  }
  if (isInPerson(operation.id)) requirePerson(ctx, 'call this operation')
  requireOwnToken(ctx, operation)
  if (operation.needsRecentPassword) requireRecentPassword(ctx)
  if (!isOrdinaryWriting(operation)) return
  // A restriction does not prevent people from erasing their own data (GDPR art. 17, 18(2)).
  if (actor.isRestricted)
    throw new Problem('restricted', 'Writing is paused for this agent because its processing was restricted.')
  if (actor.status === 'paused')
    throw new Problem(
      'paused',
      'This agent is paused. It can read, but it cannot write until its status is "active" again.',
    )
  if (operation.stores && !operation.isOpenOutsideRegion)
    requireStorable(ctx.pipeline.regions, actor.region, 'outside_region')
}

/** Content that is the same for every caller. Memory contains it in each encoding. */
export interface FixedContent {
  mediaType: string
  etag: string
  encodings: Record<'br' | 'gzip' | 'identity', Uint8Array>
}
/** The response of a use case. */
export interface Answer {
  status: number
  body: unknown
  headers: Record<string, string>
  stream?: AsyncIterable<string | Uint8Array>
  fixed?: FixedContent
}

const parts = ['params', 'query', 'headers', 'body'] as const

/** The issues of a schema error, each with its path below `at`. An unknown field is reported under its own path. */
export const issuesOf = (error: z.ZodError, at: Issue['path'] = []): Issue[] =>
  error.issues.flatMap((issue) => {
    const path = [...at, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))]
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ path: [...path, key], message: 'This field is not known' }))
    return [{ path, message: issue.message }]
  })

/**
 * Validates every part of the input against the operation. Issues in the body have paths relative to its root; other paths begin with
 * the part's name.
 */
export function parseInput<O extends OperationShape>(operation: O, raw: RawInput): Input<O> {
  const input: Record<string, unknown> = {}
  const unasked = operation.query || operation.limit === 'exempt' ? [] : Object.keys(raw.query)
  if (unasked.length > 0)
    throw new Problem('invalid', {
      detail: 'This operation does not accept query parameters.',
      issues: unasked.map((name) => ({ path: ['query', name], message: 'This field is not known' })),
    })
  for (const part of parts) {
    const schema: z.ZodType | undefined = operation[part]
    if (!schema) continue
    const parsed = schema.safeParse(raw[part])
    if (!parsed.success) {
      const issues = issuesOf(parsed.error, part === 'body' ? [] : [part])
      throw new Problem('invalid', {
        detail: `${issues.length === 1 ? 'One field is' : `${issues.length} fields are`} not valid.`,
        issues: issues.slice(0, 100),
      })
    }
    input[part] = parsed.data
  }
  input.upload = raw.upload
  return input as unknown as Input<O>
}

const redacted = (operation: OperationShape, body: unknown): unknown => {
  if (
    !operation.secrets ||
    typeof body !== 'object' ||
    body === null ||
    !('data' in body) ||
    typeof body.data !== 'object'
  )
    return body
  const data = Object.fromEntries(Object.entries(body.data ?? {}).filter(([key]) => !operation.secrets?.includes(key)))
  return { ...body, data }
}
const replay = (stored: StoredReply): Answer => ({
  ...stored,
  headers: { ...stored.headers, 'Idempotency-Replayed': 'true' },
})

/** An answer with the id of the resource that it created or changed. */
type AnswerForResource = Answer & { resourceId: string }

/**
 * Reads the members that are not stored with the reply: content that would otherwise outlive its resource. Throws if the caller may no
 * longer read it.
 */
type Complete = (data: Record<string, unknown>) => Promise<Record<string, unknown>>

async function completed(stored: StoredReply, complete: Complete | undefined): Promise<StoredReply> {
  const { body } = stored
  if (!complete || typeof body !== 'object' || body === null || !('data' in body)) return stored
  const data = { ...(body.data as Record<string, unknown>) }
  return { ...stored, body: { ...body, data: { ...data, ...(await complete(data)) } } }
}

/**
 * Runs the work only for the first of several requests with the same Idempotency-Key, in its transaction. The others get the stored answer.
 */
async function runOnce(
  ctx: MutationContext,
  operation: OperationShape,
  run: () => Promise<AnswerForResource>,
  complete?: Complete,
): Promise<Answer> {
  if (!ctx.idempotency) return run()
  const stored = await ctx.pipeline.idempotency.claim(ctx.tx, ctx.idempotency, ctx.now)
  if (stored) return replay(await completed(stored, complete))
  if (ctx.overQuota) throw ctx.overQuota
  const { resourceId, ...made } = await run()
  await ctx.pipeline.idempotency.complete(ctx.tx, ctx.idempotency, {
    ...made,
    body: redacted(operation, made.body),
    resourceId,
  })
  return made
}

/** One of the resources that a mutation changed. Omitted members have the operation's values. */
export interface ChangedResource {
  resourceId: string
  resourceType?: string
  action?: AuditAction
  /** `system:<what>` if a rule of ours made the change as a consequence of the request. Such an entry has no IP address. */
  actorId?: `system:${string}`
  details?: Record<string, unknown>
}

/** The operation's response and the contents of its audit entry. */
export interface Reply<T> {
  /** Undefined where the status is 204. */
  body: T | undefined
  resourceId: string
  /** Set if the resource type differs from the operation's. */
  resourceType?: string
  details?: Record<string, unknown>
  /** Set if the mutation changed several resources: one audit entry for each, instead of one for the operation. */
  entries?: readonly ChangedResource[]
  /**
   * How many of {@link OperationShape.deletes} were deleted, by default one, and ids that the deletion log lists in addition to the
   * resource's.
   */
  deleted?: { count?: number; scope?: Record<string, string> }
  status?: number
  headers?: Record<string, string>
  /** Runs after the commit and before the response; its result replaces this reply. A crash before it does not undo the transaction. */
  afterCommit?: () => Promise<Pick<Reply<T>, 'body' | 'status' | 'headers'>>
}
export interface UseCase<O extends OperationShape = OperationShape> {
  operation: O
  execute(ctx: Context, raw: RawInput): Promise<Answer>
}

export const isUseCase = (value: unknown): value is UseCase =>
  typeof value === 'object' &&
  value !== null &&
  'operation' in value &&
  'execute' in value &&
  typeof value.execute === 'function'

/** A mutation on a hot path: its one statement, and how to read the returned row. */
export interface StatementPlan<T> {
  statement: Statement
  details?: Record<string, unknown>
  reply(row: SqlRow): Omit<Reply<T>, 'resourceId' | 'details'>
  /** Called when the statement returned no row. Returns the reason. */
  nothing(): Promise<Problem>
  /** Maps an error of the statement to a problem, if it has a known meaning. */
  translate?(error: unknown): unknown
}

const auditOf = (
  operation: OperationShape,
  ctx: Context,
  { details, resourceType }: Pick<Reply<unknown>, 'details' | 'resourceType'>,
): UnboundAuditRecord | undefined =>
  'none' in operation.audit
    ? undefined
    : {
        ...operation.audit,
        ...(resourceType !== undefined && { resourceType }),
        actorId: ctx.actor.id,
        at: ctx.now,
        ip: ctx.ip,
        details: { operation: operation.id, ...details },
      }

/** One record for each of the reply's entries, or the operation's one entry. */
function recordsOf(operation: OperationShape, ctx: Context, reply: Reply<unknown>): AuditRecord[] {
  const entry = auditOf(operation, ctx, reply)
  if (!entry) return []
  if (!reply.entries) return [{ ...entry, resourceId: reply.resourceId }]
  return reply.entries.map(({ details, actorId, ...touched }) => ({
    ...entry,
    ...touched,
    ...(actorId !== undefined && { actorId, ip: '' }),
    details: { operation: operation.id, ...details },
  }))
}

const answer = <O extends OperationShape>(operation: O, reply: Omit<Reply<unknown>, 'resourceId'>): Answer => ({
  status: reply.status ?? operation.status,
  body: (reply.status ?? operation.status) === 204 ? undefined : operation.output.parse(reply.body),
  headers: reply.headers ?? {},
})

/** The context of a run that notes which guards it consults. */
const watched = (operation: OperationShape, ctx: Context): Context =>
  guardedEffects(operation.id).length === 0 ? ctx : { ...ctx, consulted: new Set<Effect>() }

/** Fails a run that could cause an effect without its guard, before it commits or answers. */
function requireGuards({ id }: OperationShape, { consulted }: Context): void {
  for (const effect of guardedEffects(id))
    if (!consulted?.has(effect))
      throw new Error(`The operation ${id} did not consult the guard of the effect ${effect}.`)
}

/** Writes the deletion log row of an operation that deletes personal content without an erasure run. */
async function recordDeletion(
  { deletes, audit }: OperationShape,
  { tx, pipeline, actor, now }: MutationContext,
  { resourceId, resourceType, deleted: { count = 1, scope } = {} }: Reply<unknown>,
): Promise<void> {
  if (!deletes || !('counts' in deletes) || 'none' in audit || count === 0) return
  await pipeline.recordDeletion(tx, {
    requestedBy: actor.id,
    reason: 'user_request',
    scope: { ...scope, [resourceType ?? audit.resourceType]: resourceId },
    results: { [deletes.counts]: count },
    now,
  })
}

/**
 * Runs the work, the validation of its output and its audit entry in one transaction. When a request is repeated with an
 * Idempotency-Key, `complete` reads the members of `data` that are not stored with the reply ({@link OperationShape.secrets}).
 */
export const mutation = <const O extends OperationShape>(
  operation: O,
  run: (ctx: MutationContext, input: Input<O>) => Promise<Reply<Returned<O>>>,
  complete?: (ctx: MutationContext, input: Input<O>, data: Record<string, unknown>) => Promise<Record<string, unknown>>,
): UseCase<O> =>
  preparedMutation(
    operation,
    async () => undefined,
    (ctx, input) => run(ctx, input),
    complete,
  )

/**
 * A {@link mutation} that first queries another server, before its transaction locks anything. `prepare` must change nothing: it also
 * runs for a repetition that gets the stored reply.
 */
export function preparedMutation<const O extends OperationShape, P>(
  operation: O,
  prepare: (ctx: Context, input: Input<O>) => Promise<P>,
  run: (ctx: MutationContext, input: Input<O>, prepared: P) => Promise<Reply<Returned<O>>>,
  complete?: (ctx: MutationContext, input: Input<O>, data: Record<string, unknown>) => Promise<Record<string, unknown>>,
): UseCase<O> {
  return {
    operation,
    async execute(given, raw) {
      const ctx = watched(operation, given)
      authorise(operation, ctx)
      const input = parseInput(operation, raw)
      const prepared = await prepare(ctx, input)
      let afterCommit: Reply<Returned<O>>['afterCommit']
      const made = await ctx.pipeline
        .transaction(async (tx) => {
          const inside = { ...ctx, tx }
          if (needsOpenSession(operation.id)) await ctx.pipeline.requireOpenSession(tx, ctx.actor, ctx.now)
          const missing = complete && ((data: Record<string, unknown>) => complete(inside, input, data))
          const first = async () => {
            const reply = await run(inside, input, prepared)
            requireGuards(operation, ctx)
            afterCommit = reply.afterCommit
            await ctx.pipeline.auditWithin(tx, ...recordsOf(operation, ctx, reply))
            await recordDeletion(operation, inside, reply)
            return { ...answer(operation, reply), resourceId: reply.resourceId }
          }
          return runOnce(inside, operation, first, missing)
        })
        .catch(async (error: unknown) => {
          if (Problem.is(error)) await error.afterRollback?.()
          throw error
        })
      return afterCommit ? answer(operation, await afterCommit()) : made
    },
  }
}

/** Only a {@link mutation} locks the session of its caller. @throws if what the operation makes outlives that session */
function requireNoSession({ id }: OperationShape): void {
  if (needsOpenSession(id)) throw new Error(`${id} outlives the session of its caller, so it must be a mutation.`)
}

/**
 * A mutation of one statement that includes the audit entry: one round trip.
 * @param share stores the plan together with concurrent ones, with its own audit entry; undefined if this plan must be stored alone. Not
 * called for requests with an Idempotency-Key, whose transaction is their own.
 */
export function statement<const O extends OperationShape, P extends StatementPlan<Returned<O>>>(
  operation: O,
  plan: (ctx: Context, input: Input<O>) => Promise<P>,
  share?: (ctx: Context, planned: P, entry: UnboundAuditRecord | undefined) => Promise<SqlRow | undefined> | undefined,
): UseCase<O> {
  requireNoSession(operation)
  return {
    operation,
    async execute(ctx, raw) {
      authorise(operation, ctx)
      const planned = await plan(ctx, parseInput(operation, raw))
      const entry = auditOf(operation, ctx, planned)
      const run = async (tx?: MutationContext['tx']): Promise<AnswerForResource> => {
        const stored =
          (tx ? undefined : share?.(ctx, planned, entry)) ?? ctx.pipeline.statement(planned.statement, entry, tx)
        const row = await stored.catch((error: unknown) => {
          throw planned.translate?.(error) ?? error
        })
        if (!row) throw await planned.nothing()
        return { ...answer(operation, planned.reply(row)), resourceId: String(row.resource_id) }
      }
      return ctx.idempotency
        ? ctx.pipeline.transaction((tx) => runOnce({ ...ctx, tx }, operation, () => run(tx)))
        : run()
    },
  }
}

/** Runs without a transaction. The response is sent after its audit entry is stored; concurrent entries share an insert. */
export function read<const O extends OperationShape>(
  operation: O,
  run: (ctx: Context, input: Input<O>) => Promise<Reply<Returned<O>>>,
): UseCase<O> {
  requireNoSession(operation)
  return {
    operation,
    async execute(given, raw) {
      const ctx = watched(operation, given)
      authorise(operation, ctx)
      const reply = await run(ctx, parseInput(operation, raw))
      requireGuards(operation, ctx)
      const made = answer(operation, reply)
      const entry = auditOf(operation, ctx, reply)
      if (entry) await ctx.pipeline.auditGrouped({ ...entry, resourceId: reply.resourceId })
      return made
    },
  }
}

/**
 * A streamed response. It is authorized and audited before the first byte, then sent piece by piece from a cursor, outside any ORM
 * transaction.
 */
export function stream<const O extends OperationShape>(
  operation: O,
  run: (ctx: Context, input: Input<O>) => Promise<Reply<AsyncIterable<string | Uint8Array>>>,
): UseCase<O> {
  requireNoSession(operation)
  return {
    operation,
    async execute(given, raw) {
      const ctx = watched(operation, given)
      authorise(operation, ctx)
      const reply = await run(ctx, parseInput(operation, raw))
      requireGuards(operation, ctx)
      const entry = auditOf(operation, ctx, reply)
      if (entry) await ctx.pipeline.auditGrouped({ ...entry, resourceId: reply.resourceId })
      return {
        status: operation.status,
        body: undefined,
        headers: reply.headers ?? {},
        ...(reply.body && { stream: reply.body }),
      }
    },
  }
}

/** Returns content that is prepared once and never validated, serialized or compressed again. For operations without an audit entry. */
export function fixed<const O extends OperationShape>(
  operation: O,
  content: () => Promise<FixedContent>,
  headers: Record<string, string> = {},
): UseCase<O> {
  return {
    operation,
    async execute(ctx, raw) {
      authorise(operation, ctx)
      parseInput(operation, raw)
      return { status: operation.status, body: undefined, headers, fixed: await content() }
    },
  }
}

/**
 * Claims the key, or returns the reply already stored for it. For an upload, it compares the bytes with those of the first request. It
 * reads them outside any transaction, because they arrive only as fast as the client sends them.
 */
async function claimed({ pipeline, now }: Context, claim: IdempotencyClaim): Promise<StoredReply | undefined> {
  const { wholeHash } = claim
  try {
    return await pipeline.transaction((tx) => pipeline.idempotency.claim(tx, claim, now))
  } catch (error) {
    if (!wholeHash || !Problem.is(error, 'idempotency_mismatch')) throw error
    const requestHash = await wholeHash()
    return pipeline.transaction((tx) => pipeline.idempotency.claim(tx, { ...claim, requestHash }, now))
  }
}

/** How long a key of long work is not renewed, in milliseconds: far less than the time after which it is free again. */
const renewedEvery = 5 * 60_000

/**
 * Keeps the key of work that takes several transactions, so that the same work does not run twice. After a pause in which another
 * request could have claimed the key, no transaction commits before the key is renewed.
 */
function heldKey({ idempotency: claim, pipeline, now: begun }: Context) {
  /** The times at which the key was claimed or renewed, also in transactions that were rolled back. */
  const mine = [begun]
  let renewedAt = begun
  return {
    async within<T>(tx: MutationContext['tx'], now: Date, run: () => Promise<T>): Promise<T> {
      if (!claim || now.getTime() - renewedAt.getTime() < renewedEvery) return run()
      mine.push(now)
      await pipeline.idempotency.renew(tx, claim, mine, now)
      return run()
    },
    /** Called after the commit of a transaction that began at this time. */
    committed(now: Date): void {
      if (now.getTime() - renewedAt.getTime() >= renewedEvery) renewedAt = now
    },
    release: (tx: MutationContext['tx']) => (claim ? pipeline.idempotency.release(tx, claim, mine) : Promise.resolve()),
  }
}
type HeldKey = ReturnType<typeof heldKey>

/** Runs a transaction that commits only while the key still belongs to this request. */
async function transactionWith<T>(
  { pipeline }: Pick<Context, 'pipeline'>,
  held: HeldKey,
  run: (tx: MutationContext['tx'], now: Date) => Promise<T>,
): Promise<T> {
  let began: Date | undefined
  const result = await pipeline.transaction((tx) => {
    const now = pipeline.clock.now()
    began = now
    return held.within(tx, now, () => run(tx, now))
  })
  if (began) held.committed(began)
  return result
}

/** The context of an operation that can take as long as its caller sends: each transaction begins only while the caller may still call it. */
const rechecked = (operation: OperationShape, ctx: Context, held: HeldKey): Context => ({
  ...ctx,
  pipeline: {
    ...ctx.pipeline,
    transaction: (run) =>
      transactionWith(ctx, held, async (tx, now) => {
        await ctx.pipeline.requirePresent(tx, ctx.actor, isOrdinaryWriting(operation), now)
        return run(tx)
      }),
  },
})

/**
 * An operation that is too large for one transaction. It works in batches; each batch is a transaction that stores its rows and their
 * audit entries. The operation's own entry follows the last batch. After a fault, stored batches remain, and the error reports how many.
 * An Idempotency-Key is claimed before the work begins, renewed with its batches and completed after it; a failed request releases it.
 * `retained` returns the body to store for repetitions.
 */
export function batched<const O extends OperationShape>(
  operation: O,
  run: (ctx: Context, input: Input<O>) => Promise<Reply<Returned<O>>>,
  retained: (body: Output<O>) => unknown = (body) => body,
  complete?: (ctx: MutationContext, input: Input<O>, data: Record<string, unknown>) => Promise<Record<string, unknown>>,
): UseCase<O> {
  const work = read(operation, (ctx, input) => run(rechecked(operation, ctx, heldKey(ctx)), input))
  return {
    operation,
    async execute(ctx, raw) {
      const { idempotency: claim, pipeline } = ctx
      if (!claim) return work.execute(ctx, raw)
      authorise(operation, ctx)
      const stored = await claimed(ctx, claim)
      if (stored && complete)
        return pipeline.transaction(async (tx) => {
          const input = parseInput(operation, raw)
          return replay(await completed(stored, (data) => complete({ ...ctx, tx }, input, data)))
        })
      if (stored) return replay(stored)
      let resourceId: string | undefined
      const held = heldKey(ctx)
      const noting = read(operation, async (inner: Context, input: Input<O>) => {
        const reply = await run(rechecked(operation, inner, held), input)
        resourceId = reply.resourceId
        return reply
      })
      try {
        if (ctx.overQuota) throw ctx.overQuota
        const made = await noting.execute(ctx, raw)
        const body = retained(made.body as Output<O>)
        const requestHash = claim.wholeHash ? await claim.wholeHash() : claim.requestHash
        await transactionWith(ctx, held, (tx) =>
          pipeline.idempotency.complete(tx, { ...claim, requestHash }, { ...made, body, resourceId: resourceId ?? '' }),
        )
        return made
      } catch (error) {
        await pipeline.transaction((tx) => held.release(tx))
        throw error
      }
    },
  }
}
