import type { MutationContext, Transaction } from './context.ts'
import type { Input, OperationShape, RawInput } from './operation.ts'
import { parseInput } from './use-case.ts'

/** What an approver sees of an action, with the present state that it depends on. */
export interface ApprovalFacts {
  facts: Record<string, string | number | boolean | null>
  /** Ids of the accounts and agents that the action is about. */
  subjects?: readonly string[]
}
/** An operation that can wait for the approval of a second admin. */
export interface Approvable {
  operation: OperationShape
  /** @throws Problem for invalid input, and if the action is not possible */
  explain(tx: Transaction, raw: RawInput): Promise<ApprovalFacts>
}
/** An action that needs an approval: the operation, and its parsed input. */
export interface ApprovalRequest {
  operation: OperationShape
  input: { params?: unknown; body?: unknown }
}
/**
 * Returns if no approval is required. Otherwise uses up the approval of exactly this action, in this transaction. Call it after all other
 * checks and before the first change. Without a request, the action cannot be approved, and is rejected while approvals are required.
 * @throws Problem `approval_required`; `conflict` if the approval no longer applies
 */
export type RequireApproval = (ctx: MutationContext, request?: ApprovalRequest) => Promise<void>

/** Declares how an operation is described to an approver. */
export const approvable = <const O extends OperationShape>(
  operation: O,
  explain: (tx: Transaction, input: Input<O>) => Promise<ApprovalFacts>,
): Approvable => ({ operation, explain: (tx, raw) => explain(tx, parseInput(operation, raw)) })

/** Sorts the members of objects, so that their order does not matter. */
const sorted = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value

/** The parsed input as text that is equal for equal actions, and differs for all others. */
export const canonicalInput = ({ params, body }: ApprovalRequest['input']): string =>
  JSON.stringify([params ?? null, body ?? null], sorted)
