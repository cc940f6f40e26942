import type { Answer } from './answer.ts'
import type { MutationContext, StoredReply } from './context.ts'
import type { OperationShape } from './operation.ts'

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
export const replay = (stored: StoredReply): Answer => ({
  ...stored,
  headers: { ...stored.headers, 'Idempotency-Replayed': 'true' },
})

/** An answer with the id of the resource that it created or changed. */
export type AnswerForResource = Answer & { resourceId: string }

/**
 * Reads the members that are not stored with the reply: content that would otherwise outlive its resource. Throws if the caller may no
 * longer read it.
 */
type Complete = (data: Record<string, unknown>) => Promise<Record<string, unknown>>

export async function completed(stored: StoredReply, complete: Complete | undefined): Promise<StoredReply> {
  const { body } = stored
  if (!complete || typeof body !== 'object' || body === null || !('data' in body)) return stored
  const data = { ...(body.data as Record<string, unknown>) }
  return { ...stored, body: { ...body, data: { ...data, ...(await complete(data)) } } }
}

/**
 * Runs the work only for the first of several requests with the same Idempotency-Key, in its transaction. The others get the stored answer.
 */
export async function runOnce(
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
