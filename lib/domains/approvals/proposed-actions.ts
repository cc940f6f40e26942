import { isDeepStrictEqual } from 'node:util'
import { seal, unsealed } from '#lib/config/secret.ts'
import { type Approvable, type ApprovalFacts, type ApprovalRequest, canonicalInput } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { parseInput } from '#lib/kernel/input.ts'
import type { OperationShape, RawInput } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ApprovalDeps } from './ports.ts'
import type { ProposalRow } from './repository.ts'

/** The params and the body of a proposed request, before they are parsed. */
export interface ProposedInput {
  params: Record<string, unknown> | null
  body: Record<string, unknown> | null
}
/** What a proposal seals. */
export interface ProposalContent extends ProposedInput {
  facts: ApprovalFacts['facts']
}

const rawOf = ({ params, body }: ProposedInput, { body: takesBody }: OperationShape): RawInput => ({
  params: Object.fromEntries(Object.entries(params ?? {}).map(([name, value]) => [name, String(value)])),
  ...{ query: {}, headers: {} },
  body: takesBody ? (body ?? undefined) : undefined,
})

/** Undefined if the error is a problem: the action is not valid or not possible. */
async function unlessRefused<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (Problem.is(error)) return undefined
    throw error
  }
}

/** Reads and writes what proposals would do. */
export function proposedActions({ approvables, key }: Pick<ApprovalDeps, 'approvables' | 'key'>) {
  const actions = new Map(approvables.map((action) => [action.operation.id, action]))
  const inputOf = (action: Approvable, given: ProposedInput): ApprovalRequest['input'] =>
    parseInput(action.operation, rawOf(given, action.operation))
  const contentOf = ({ id, content }: Pick<ProposalRow, 'id' | 'content'>): ProposalContent | undefined => {
    const text = content ? unsealed(key(), content, id) : undefined
    return text && (JSON.parse(text.toString('utf8')) as ProposalContent)
  }
  return {
    actionOf: (operation: string): Approvable | undefined => actions.get(operation),
    contentOf,
    sealedFor: (id: string, content: ProposalContent) =>
      new Uint8Array(seal(key(), Buffer.from(JSON.stringify(content)), id)),

    /** The canonical input. @throws Problem `invalid` */
    canonicalOf: (action: Approvable, given: ProposedInput): string => canonicalInput(inputOf(action, given)),
    /** @throws Problem for invalid input, and if the action is not possible */
    explain: (tx: Transaction, action: Approvable, given: ProposedInput): Promise<ApprovalFacts> =>
      action.explain(tx, rawOf(given, action.operation)),

    /** The proposal for exactly this input. Proposals that this version cannot read do not match. */
    async matching(
      rows: readonly ProposalRow[],
      action: Approvable,
      canonical: string,
    ): Promise<ProposalRow | undefined> {
      for (const row of rows) {
        const content = contentOf(row)
        const own = content && (await unlessRefused(() => canonicalInput(inputOf(action, content))))
        if (own === canonical) return row
      }
      return undefined
    },
    /** False if what the action depends on has changed since the proposal, or if it is no longer possible. */
    async isCurrent(tx: Transaction, row: ProposalRow): Promise<boolean> {
      const [action, content] = [actions.get(row.operation), contentOf(row)]
      if (!action || !content) return false
      const now = await unlessRefused(() => action.explain(tx, rawOf(content, action.operation)))
      return now !== undefined && isDeepStrictEqual(now.facts, content.facts)
    },
  }
}
export type ProposedActions = ReturnType<typeof proposedActions>
