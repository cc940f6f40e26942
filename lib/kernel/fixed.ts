import type { FixedContent } from './answer.ts'
import { authorise } from './authorise.ts'
import { parseInput } from './input.ts'
import type { OperationShape } from './operation.ts'
import type { UseCase } from './use-case.ts'

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
