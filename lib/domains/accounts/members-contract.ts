import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { AccountId, PersonEmail, PersonName, PersonSearch } from './person-fields.ts'
import { locales, memberStates, organisationMemberRoles, roles } from './rules.ts'

const params = z.strictObject({ id: AccountId })

export const OrganisationMember = z
  .strictObject({
    account_id: z.string(),
    name: z.string(),
    email: z.string(),
    role: z.enum(roles),
    state: z.enum(memberStates),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Member' })
export type OrganisationMember = z.output<typeof OrganisationMember>

export const listMembers = operation({
  id: 'listMembers',
  method: 'get',
  path: '/api/members',
  summary: 'List the members of my organization, newest first',
  description: 'For managers and admins.',
  permission: 'members:person',
  audit: { action: 'read', resourceType: 'account' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ q: PersonSearch.optional(), cursor: Cursor.optional(), limit: PageLimit }),
  output: page(OrganisationMember),
})

export const inviteMember = operation({
  id: 'inviteMember',
  method: 'post',
  path: '/api/members',
  summary: 'Invite somebody into my organization',
  description:
    'For managers and admins. Creates an invitation like an admin’s, but only for the roles person and manager. At most 50 invitations per day into one organization. The response does not reveal whether an account has the email address, and the address stays available. Inviting a manager requires a recently entered password.',
  permission: 'members:person',
  audit: { action: 'create', resourceType: 'account' },
  limit: 'write',
  status: 201,
  body: z.strictObject({
    email: PersonEmail,
    name: PersonName,
    role: z.enum(organisationMemberRoles).default('person'),
    locale: z.enum(locales).default('en'),
  }),
  output: z.strictObject({ data: OrganisationMember }),
  refusals: ['conflict', 'rate_limited', 'step_up_required'],
})

export const resendMemberInvitation = operation({
  id: 'resendMemberInvitation',
  method: 'post',
  path: '/api/members/{id}/invitation',
  summary: 'Resend a member’s invitation',
  description: 'For managers and admins. The link in the previous email stops working.',
  permission: 'members:person',
  audit: { action: 'update', resourceType: 'account' },
  limit: 'write',
  status: 202,
  params,
  output: z.strictObject({ data: OrganisationMember }),
  refusals: ['fenced', 'not_found', 'rate_limited', 'wrong_state'],
})

export const withdrawMemberInvitation = operation({
  id: 'withdrawMemberInvitation',
  method: 'delete',
  path: '/api/members/{id}/invitation',
  summary: 'Withdraw a member’s invitation',
  description: 'Deletes the account, which nobody has used yet. The link in the email stops working.',
  permission: 'members:person',
  audit: { action: 'delete', resourceType: 'account' },
  deletes: { counts: 'accountsDeleted' },
  limit: 'write',
  status: 204,
  params,
  output: z.undefined(),
  refusals: ['fenced', 'not_found', 'wrong_state'],
})
