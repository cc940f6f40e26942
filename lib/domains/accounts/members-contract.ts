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
  summary: 'Members of my organisation, newest first',
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
  summary: 'Invite somebody into my organisation',
  description:
    'For managers and admins. As an admin’s invitation, for the roles person and manager; 50 a day into one organisation. The answer does not tell whether an account has the address, and the address stays free. The role manager needs a recently entered password.',
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
  summary: 'Send the invitation of a member again',
  description: 'For managers and admins. The link of the letter before does nothing any more.',
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
  summary: 'Withdraw the invitation of a member',
  description: 'Deletes the account that waits for its person. The link of the email does nothing any more.',
  permission: 'members:person',
  audit: { action: 'delete', resourceType: 'account' },
  deletes: { counts: 'accountsDeleted' },
  limit: 'write',
  status: 204,
  params,
  output: z.undefined(),
  refusals: ['fenced', 'not_found', 'wrong_state'],
})
