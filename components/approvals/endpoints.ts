import type { Endpoint } from '#lib/client/request.ts'
import type {
  changeApprovalSetting,
  decideProposal,
  listProposals,
  propose,
  readApprovalSetting,
} from '#lib/domains/approvals/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const proposalsAt: Endpoint<typeof listProposals> = { method: 'get', path: '/api/admin/proposals' }
export const proposeAt: Endpoint<typeof propose> = { method: 'post', path: '/api/admin/proposals' }
export const decideAt: Endpoint<typeof decideProposal> = {
  method: 'post',
  path: '/api/admin/proposals/{id}/decision',
}
export const approvalSettingAt: Endpoint<typeof readApprovalSetting> = { method: 'get', path: '/api/admin/approvals' }
export const changeApprovalSettingAt: Endpoint<typeof changeApprovalSetting> = {
  method: 'put',
  path: '/api/admin/approvals',
}
export type ApprovalSetting = Output<typeof readApprovalSetting>
export type Proposals = Output<typeof listProposals>
export type Proposal = Proposals['data'][number]
