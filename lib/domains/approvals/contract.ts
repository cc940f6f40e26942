import { z } from 'zod'
import { operation, time } from '#lib/kernel/operation.ts'
import { approvableOperations, proposalStatuses } from './rules.ts'

const ProposalId = z.string().regex(/^app_[0-9A-Za-z]{22}$/, 'is not the id of a proposal')
const Admin = z.strictObject({ account_id: z.string(), name: z.string().nullable() })
const Part = z.record(z.string(), z.unknown()).nullable()

export const ProposalView = z
  .strictObject({
    proposal_id: z.string(),
    operation: z.enum(approvableOperations).meta({ description: 'The operationId of the action' }),
    status: z.enum(proposalStatuses).meta({
      description:
        'waiting: for another admin; approved: the proposer can carry it out; outdated: its target or the admins have changed since',
    }),
    proposed_by: Admin,
    decided_by: Admin.nullable(),
    is_own: z.boolean(),
    facts: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).nullable())
      .nullable()
      .meta({ description: 'What would happen, with the state at the time of the proposal. Null after it is closed' }),
    request: z
      .strictObject({ method: z.string(), path: z.string(), params: Part, body: Part })
      .nullable()
      .meta({ description: 'The exact request that the approval allows. Null after the proposal is closed' }),
    created_at: time(),
    expires_at: time(),
    decided_at: time().nullable(),
    carried_out_at: time().nullable(),
  })
  .meta({ id: 'Proposal' })
export type ProposalView = z.output<typeof ProposalView>

const permission = 'approvals:admin'
const audit = { action: 'update', resourceType: 'approval' } as const
const output = z.strictObject({ data: ProposalView })
const isOn = { is_on: z.boolean() }
const Setting = z
  .strictObject({
    ...isOn,
    active_admins: z.number().int().meta({
      description:
        'Admins who can sign in and have replaced a one-time password. With fewer than two, nothing can be approved',
    }),
  })
  .meta({ id: 'ApprovalSetting' })

export const listProposals = operation({
  id: 'listProposals',
  method: 'get',
  path: '/api/admin/proposals',
  summary: 'List proposed actions that need the approval of a second admin',
  description: 'At most 100: open ones first. Closed ones are deleted 90 days after they would have expired.',
  permission,
  audit: { resourceType: 'approval' },
  output: z.strictObject({ data: z.array(ProposalView) }),
})

export const propose = operation({
  id: 'propose',
  method: 'post',
  path: '/api/admin/proposals',
  summary: 'Propose an action that needs the approval of a second admin',
  description:
    'For an operation that answered `approval_required`, with the same input. Within 72 hours, another admin can approve it. Then the proposer repeats the operation, which uses up the approval.',
  permission,
  audit: { resourceType: 'approval' },
  needsRecentPassword: true,
  body: z.strictObject({
    operation: z.enum(approvableOperations),
    params: Part.default(null),
    body: Part.default(null),
  }),
  output,
  refusals: ['conflict', 'not_found', 'wrong_state'],
})

export const decideProposal = operation({
  id: 'decideProposal',
  method: 'post',
  path: '/api/admin/proposals/{id}/decision',
  summary: 'Approve, reject or withdraw a proposal',
  description:
    'Only another admin than the proposer approves or rejects. Only the proposer withdraws, also after the approval. If its target has changed since the proposal, or the proposer is no longer an active admin, an approval closes it as `outdated`.',
  permission,
  audit,
  needsRecentPassword: true,
  params: z.strictObject({ id: ProposalId }),
  body: z.strictObject({ decision: z.enum(['approve', 'reject', 'withdraw']) }),
  output,
  refusals: ['not_found', 'wrong_state'],
})

export const readApprovalSetting = operation({
  id: 'readApprovalSetting',
  method: 'get',
  path: '/api/admin/approvals',
  summary: 'Get whether consequential actions need the approval of a second admin',
  permission,
  audit: { resourceType: 'settings' },
  output: z.strictObject({ data: Setting }),
})

export const changeApprovalSetting = operation({
  id: 'changeApprovalSetting',
  method: 'put',
  path: '/api/admin/approvals',
  summary: 'Require the approval of a second admin for consequential actions',
  description:
    'Changing a role, inviting an admin or auditor, deactivating and reactivating an account, removing its second factors, changing who must have a second factor, creating and rotating tokens with the scope `admin`, creating and releasing legal holds, changing retention periods, starting a sweep, retiring a store, and turning this setting off. Needs at least two active admins. Tokens cannot do these actions then. `kp admin` on the server is not restricted.',
  permission,
  audit: { resourceType: 'settings' },
  needsRecentPassword: true,
  body: z.strictObject(isOn),
  output: z.strictObject({ data: Setting }),
  refusals: ['approval_required', 'conflict', 'wrong_state'],
})
