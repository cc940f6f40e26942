import type { Endpoint } from '#lib/client/request.ts'
import type {
  askForReset,
  listIdentities,
  listSessions,
  revokeOtherSessions,
  revokeSession,
  unlinkIdentity,
  usePasswordLink,
} from '#lib/domains/accounts/contract.ts'
import type {
  changeRole,
  deactivateUser,
  endUserSessions,
  inviteMember,
  inviteUser,
  listMembers,
  listOrganisations,
  listUsers,
  reactivateUser,
  resendInvitation,
  resendMemberInvitation,
  sendReset,
  withdrawMemberInvitation,
} from '#lib/domains/accounts/users-contract.ts'
import type { fileRequest } from '#lib/domains/privacy-requests/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const sessionsAt: Endpoint<typeof listSessions> = { method: 'get', path: '/api/sessions' }
export const endSessionAt: Endpoint<typeof revokeSession> = { method: 'delete', path: '/api/sessions/{id}' }
export const endOthersAt: Endpoint<typeof revokeOtherSessions> = { method: 'delete', path: '/api/sessions' }
export const unlinkAt: Endpoint<typeof unlinkIdentity> = { method: 'post', path: '/api/account/identities/{id}/unlink' }
export const requestResetAt: Endpoint<typeof askForReset> = { method: 'post', path: '/api/account/reset' }
export const usePasswordLinkAt: Endpoint<typeof usePasswordLink> = {
  method: 'post',
  path: '/api/account/password/link',
}

export const usersAt: Endpoint<typeof listUsers> = { method: 'get', path: '/api/admin/users' }
export const organisationsAt: Endpoint<typeof listOrganisations> = { method: 'get', path: '/api/admin/organisations' }
export type Organisation = Output<typeof listOrganisations>['data'][number]
export const inviteUserAt: Endpoint<typeof inviteUser> = { method: 'post', path: '/api/admin/users' }
export const roleAt: Endpoint<typeof changeRole> = { method: 'patch', path: '/api/admin/users/{id}' }
export const deactivateAt: Endpoint<typeof deactivateUser> = {
  method: 'post',
  path: '/api/admin/users/{id}/deactivate',
}
export const reactivateAt: Endpoint<typeof reactivateUser> = {
  method: 'post',
  path: '/api/admin/users/{id}/reactivate',
}
export const endUserSessionsAt: Endpoint<typeof endUserSessions> = {
  method: 'post',
  path: '/api/admin/users/{id}/end-sessions',
}
export const resendInvitationAt: Endpoint<typeof resendInvitation> = {
  method: 'post',
  path: '/api/admin/users/{id}/invitation',
}
export const sendResetAt: Endpoint<typeof sendReset> = { method: 'post', path: '/api/admin/users/{id}/reset' }

export const organisationMembersAt: Endpoint<typeof listMembers> = { method: 'get', path: '/api/members' }
export const inviteMemberAt: Endpoint<typeof inviteMember> = { method: 'post', path: '/api/members' }
export const resendMemberAt: Endpoint<typeof resendMemberInvitation> = {
  method: 'post',
  path: '/api/members/{id}/invitation',
}
export const fileForMemberAt: Endpoint<typeof fileRequest> = { method: 'post', path: '/api/privacy/requests' }

export type SessionPage = Output<typeof listSessions>
export type Identities = Output<typeof listIdentities>['data']
export type UserPage = Output<typeof listUsers>
export type OrganisationMemberPage = Output<typeof listMembers>
export const withdrawMemberAt: Endpoint<typeof withdrawMemberInvitation> = {
  method: 'delete',
  path: '/api/members/{id}/invitation',
}
