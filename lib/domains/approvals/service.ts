import type { Approvable } from '#lib/kernel/approval.ts'
import type { Actor, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { decideProposal, listProposals, type ProposalView, propose } from './contract.ts'
import { approvalEnforcement } from './enforcement.ts'
import type { ApprovalDeps } from './ports.ts'
import { type ProposedActions, type ProposedInput, proposedActions } from './proposed-actions.ts'
import {
  closeProposal,
  countProposed,
  lockedOpenProposals,
  lockedProposal,
  lockProposer,
  type ProposalRow,
  recentProposals,
  storeApproval,
  storeRejection,
} from './repository.ts'
import { approvableOperations, mostOpenProposals, mostProposalsPerDay, proposalLife, statusAt } from './rules.ts'
import { approvalSetting } from './setting.ts'

const mostListed = 100
const day = 86_400_000

/** @throws Problem `forbidden` for tokens, which do not identify a person */
function adminOf({ accountId, isAdmin }: Actor): string {
  if (accountId === undefined || !isAdmin)
    throw new Problem('forbidden', 'This operation requires the session of an admin. Nothing was changed.')
  return accountId
}

interface Viewing {
  tx: Transaction
  actor: Actor
  now: Date
}
/** Presents proposals to an admin. */
const presenting =
  ({ namesOf }: ApprovalDeps, actions: ProposedActions) =>
  async (rows: readonly ProposalRow[], { tx, actor, now }: Viewing): Promise<ProposalView[]> => {
    const ids = rows.flatMap(({ account_id, decided_by }) => [account_id, ...(decided_by ? [decided_by] : [])])
    const names = await namesOf(tx, [...new Set(ids)])
    const admin = (id: string) => ({ account_id: id, name: names.get(id) ?? null })
    return rows.flatMap((row): ProposalView[] => {
      const operation = approvableOperations.find((one) => one === row.operation)
      const action = operation && actions.actionOf(operation)
      // A later version may have stored operations that this one does not know.
      if (!operation || !action) return []
      const status = statusAt(row.status, row.expires_at, now)
      const content = status === 'waiting' || status === 'approved' ? actions.contentOf(row) : undefined
      const { method, path } = action.operation
      return [
        {
          ...{ proposal_id: row.id, operation, status },
          proposed_by: admin(row.account_id),
          decided_by: row.decided_by === null ? null : admin(row.decided_by),
          is_own: row.account_id === actor.accountId,
          facts: content?.facts ?? null,
          request: content ? { method, path, params: content.params, body: content.body } : null,
          created_at: row.created_at.toISOString(),
          expires_at: row.expires_at.toISOString(),
          decided_at: row.decided_at?.toISOString() ?? null,
          carried_out_at: row.carried_out_at?.toISOString() ?? null,
        },
      ]
    })
  }
type Present = ReturnType<typeof presenting>

async function replyWith(present: Present, ctx: MutationContext, id: string, details: Record<string, unknown>) {
  const [data] = await present(await lockedProposal(ctx.tx, { id }), ctx)
  if (!data) throw new Error('The proposal does not exist.')
  return { resourceId: id, body: { data }, details }
}

/** Locks the proposer. @throws Problem `conflict` if the admin has too many proposals, or an open one for the same action */
async function refuseExcess(
  { tx, now }: MutationContext,
  { account, action, given }: { account: string; action: Approvable; given: ProposedInput },
  actions: ProposedActions,
): Promise<void> {
  await lockProposer(tx, { account })
  const open = await lockedOpenProposals(tx, { account, operation: null, now })
  const same = open.filter(({ operation }) => operation === action.operation.id)
  const twin = await actions.matching(same, action, actions.canonicalOf(action, given))
  if (twin)
    throw new Problem('conflict', {
      detail: 'You have already proposed exactly this. Nothing was changed.',
      extensions: { proposal_id: twin.id },
    })
  if (open.length >= mostOpenProposals)
    throw new Problem('conflict', `You have ${mostOpenProposals} open proposals. Withdraw one first.`)
  const [today] = await countProposed(tx, { account, since: new Date(now.getTime() - day) })
  if ((today?.n ?? 0) >= mostProposalsPerDay)
    throw new Problem('conflict', `You have made ${mostProposalsPerDay} proposals within a day. Try again tomorrow.`)
}

const proposing = (deps: ApprovalDeps, actions: ProposedActions, present: Present) =>
  mutation(propose, async (ctx, { body: { operation, params, body } }) => {
    const { tx, now } = ctx
    const account = adminOf(ctx.actor)
    const action = actions.actionOf(operation)
    if (!action) throw new Problem('not_found', 'This operation cannot be approved.')
    if (!(await deps.setting.read(tx)))
      throw new Problem('wrong_state', 'No approval is required. Carry out the action directly. Nothing was proposed.')
    const given = { params, body }
    const { facts, subjects = [] } = await actions.explain(tx, action, given)
    await refuseExcess(ctx, { account, action, given }, actions)
    const id = newId('app')
    await tx.approvalProposal.create({
      data: {
        ...{ id, operation, accountId: account, subjectIds: [...subjects], status: 'waiting', createdAt: now },
        expiresAt: new Date(now.getTime() + proposalLife),
        content: actions.sealedFor(id, { ...given, facts }),
      },
    })
    const others = (await deps.activeAdmins(tx)).filter((one) => one !== account)
    for (const other of others) await deps.notify.proposed(tx, other, now)
    return replyWith(present, ctx, id, { action: operation, admins: others.length })
  })

/** @throws Problem `forbidden` for proposers who decide, and for others who withdraw; `wrong_state` for closed proposals */
function refuseDecision(row: ProposalRow, account: string, decision: string, now: Date): void {
  const isOwn = row.account_id === account
  if (isOwn !== (decision === 'withdraw'))
    throw new Problem(
      'forbidden',
      isOwn ? 'Another admin has to decide your proposal.' : 'Only the proposer can withdraw a proposal.',
    )
  const status = statusAt(row.status, row.expires_at, now)
  if (status !== 'waiting' && !(decision === 'withdraw' && status === 'approved'))
    throw new Problem('wrong_state', `This proposal is no longer waiting (${status}). Nothing was changed.`)
}

const deciding = (deps: ApprovalDeps, actions: ProposedActions, present: Present) =>
  mutation(decideProposal, async (ctx, { params: { id }, body: { decision } }) => {
    const { tx, now } = ctx
    const account = adminOf(ctx.actor)
    const [row] = await lockedProposal(tx, { id })
    if (!row) throw new Problem('not_found', 'There is no such proposal.')
    refuseDecision(row, account, decision, now)
    const { account_id: proposer, operation } = row
    const details = { action: operation, proposed_by: `user:${proposer}` }
    if (decision === 'withdraw') await closeProposal(tx, { id, status: 'withdrawn', now })
    else if (decision === 'reject') await storeRejection(tx, { id, by: account, now })
    else {
      const isAdmin = (await deps.activeAdmins(tx)).includes(proposer)
      if (!isAdmin || !(await actions.isCurrent(tx, row))) {
        await closeProposal(tx, { id, status: 'outdated', now })
        return replyWith(present, ctx, id, { ...details, decision: 'outdated' })
      }
      await storeApproval(tx, { id, by: account, now })
    }
    if (decision !== 'withdraw')
      await deps.notify.decided(tx, proposer, { isApproved: decision === 'approve', at: now })
    return replyWith(present, ctx, id, { ...details, decision })
  })

/** Proposals of consequential actions, which a second admin approves. The proposer then carries out exactly what was approved, once. */
export function approvalsService(deps: ApprovalDeps) {
  const actions = proposedActions(deps)
  const present = presenting(deps, actions)
  const requireApproval = approvalEnforcement(deps, actions)
  return {
    requireApproval,
    list: read(listProposals, async ({ actor, now }) => {
      adminOf(actor)
      const rows = await recentProposals(deps.db, { now, limit: mostListed })
      return {
        resourceId: 'list',
        details: { count: rows.length },
        body: { data: await present(rows, { tx: deps.db.prisma, actor, now }) },
      }
    }),
    propose: proposing(deps, actions, present),
    decide: deciding(deps, actions, present),
    ...approvalSetting(deps, requireApproval),
  }
}
