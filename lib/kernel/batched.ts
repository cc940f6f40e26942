import { authorise } from './authorise.ts'
import type { Context, IdempotencyClaim, MutationContext, StoredReply } from './context.ts'
import type { Input, OperationShape, Output } from './operation.ts'
import { Problem } from './problem.ts'
import { completed, parseInput, type Reply, read, replay, type UseCase } from './use-case.ts'

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

/**
 * An operation that is too large for one transaction. It works in batches; each batch is a transaction that stores its rows and their
 * audit entries. The operation's own entry follows the last batch. After a fault, stored batches remain, and the error reports how many.
 * An Idempotency-Key is claimed before the work begins and completed after it; a failed request releases it. `kept` returns the body to
 * store for repetitions.
 */
export function batched<const O extends OperationShape>(
  operation: O,
  run: (ctx: Context, input: Input<O>) => Promise<Reply<Output<O>>>,
  retained: (body: NonNullable<Reply<Output<O>>['body']>) => unknown = (body) => body,
  complete?: (ctx: MutationContext, input: Input<O>, data: Record<string, unknown>) => Promise<Record<string, unknown>>,
): UseCase<O> {
  const work = read(operation, run)
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
      const noting = read(operation, async (...given: Parameters<typeof run>) => {
        const reply = await run(...given)
        resourceId = reply.resourceId
        return reply
      })
      try {
        if (ctx.overQuota) throw ctx.overQuota
        const made = await noting.execute(ctx, raw)
        const body = retained(made.body as NonNullable<Reply<Output<O>>['body']>)
        const requestHash = claim.wholeHash ? await claim.wholeHash() : claim.requestHash
        await pipeline.transaction((tx) =>
          pipeline.idempotency.complete(tx, { ...claim, requestHash }, { ...made, body, resourceId: resourceId ?? '' }),
        )
        return made
      } catch (error) {
        await pipeline.transaction((tx) => pipeline.idempotency.release(tx, claim))
        throw error
      }
    },
  }
}
