import { canonicalInput, type RequireApproval } from '#lib/kernel/approval.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ApprovalDeps } from './ports.ts'
import type { ProposedActions } from './proposed-actions.ts'
import { closeProposal, lockedOpenProposals, type ProposalRow } from './repository.ts'

const missing = (detail: string, operation?: string) =>
  new Problem('approval_required', { detail, ...(operation !== undefined && { extensions: { operation } }) })

/** What to do about an action without an approval. */
async function refusalOf(ctx: MutationContext, operation: string, { activeAdmins }: ApprovalDeps): Promise<Problem> {
  const admins = await activeAdmins(ctx.tx)
  return admins.length < 2
    ? missing(
        'Another admin must approve this, but there is only one active admin. Add an admin on the server (kp admin account), or end the requirement there (kp admin lift-approvals). Nothing was changed.',
      )
    : missing(
        'Another admin must approve this. Propose it (POST /api/admin/proposals), and repeat it after the approval. Nothing was changed.',
        operation,
      )
}

/** Closes a proposal whose premise has changed. The transaction of the action is rolled back. */
const outdated = ({ actor, ip, now, pipeline }: MutationContext, { id, operation }: ProposalRow) =>
  new Problem('conflict', {
    detail:
      'Since the proposal, the target of this action has changed, or the approver is no longer an active admin. Nothing was changed. Propose it again.',
    afterRollback: () =>
      pipeline.transaction(async (tx) => {
        if ((await closeProposal(tx, { id, status: 'outdated', now })) === 0) return
        await pipeline.auditWithin(tx, {
          ...{ action: 'update', actorId: actor.id, ip, at: now, resourceType: 'approval', resourceId: id },
          details: { decision: 'outdated', action: operation },
        })
      }),
  })

/** Lets actions pass that another admin has approved, once each. */
export function approvalEnforcement(deps: ApprovalDeps, actions: ProposedActions): RequireApproval {
  async function consume(ctx: MutationContext, row: ProposalRow): Promise<void> {
    const { tx, now, actor, ip, pipeline } = ctx
    const approver = row.decided_by
    const isStillAdmin = approver !== null && (await deps.activeAdmins(tx)).includes(approver)
    if (!isStillAdmin || !(await actions.isCurrent(tx, row))) throw outdated(ctx, row)
    await closeProposal(tx, { id: row.id, status: 'carried_out', now })
    await pipeline.auditWithin(tx, {
      ...{ action: 'update', actorId: actor.id, ip, at: now, resourceType: 'approval', resourceId: row.id },
      details: { decision: 'carry_out', action: row.operation, approved_by: `user:${approver}` },
    })
  }

  return async (ctx, request) => {
    const { tx, now, actor } = ctx
    if (!(await deps.setting.read(tx))) return
    if (actor.accountId === undefined)
      throw missing('Another admin must approve this, so a token cannot do it. Use the console. Nothing was changed.')
    const action = request && actions.actionOf(request.operation.id)
    if (!action)
      throw missing(
        'A token with the scope admin needs the approval of another admin. Create it separately (POST /v1/auth/tokens). Nothing was changed.',
      )
    const { id: operation } = action.operation
    const open = await lockedOpenProposals(tx, { account: actor.accountId, operation, now })
    const approved = open.filter(({ status }) => status === 'approved')
    const own = await actions.matching(approved, action, canonicalInput(request.input))
    if (!own) throw await refusalOf(ctx, operation, deps)
    await consume(ctx, own)
  }
}
