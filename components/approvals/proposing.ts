import { RequestRefused, request } from '#lib/client/request.ts'
import { approvableOperations } from '#lib/domains/approvals/rules.ts'
import { proposeAt } from './endpoints.ts'

const asRecord = (part: unknown): Record<string, unknown> | null =>
  typeof part === 'object' && part !== null ? { ...part } : null

/**
 * Asks for the approval of an action that was refused because it needs one. Returns the refusal, with the id of the proposal. Other errors
 * are returned unchanged. @throws RequestRefused if the proposal is refused
 */
export async function askForApproval(error: unknown, parts: { params?: unknown; body?: unknown }): Promise<unknown> {
  if (!(error instanceof RequestRefused) || error.problem.code !== 'approval_required') return error
  const operation = approvableOperations.find((one) => one === error.problem.operation)
  if (!operation) return error
  const asked = (id: string) => new RequestRefused({ ...error.problem, proposal_id: id })
  try {
    const body = { operation, params: asRecord(parts.params), body: asRecord(parts.body) }
    return asked((await request(proposeAt, { body })).data.proposal_id)
  } catch (refusal) {
    // The same action was already proposed.
    if (refusal instanceof RequestRefused && refusal.problem.proposal_id) return asked(refusal.problem.proposal_id)
    throw refusal
  }
}
