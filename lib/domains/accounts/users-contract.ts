import { z } from 'zod'
import { SentEmailAddress } from '#lib/kernel/email-address.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { accountStates, locales, memberStates, organisationMemberRoles, roles } from './rules.ts'

const when = time()
const count = z.number().int()
const OrganisationId = z.string().regex(/^org_[0-9A-Za-z]{22}$/, 'is not the id of an organization')
const OrganisationView = z.strictObject({ organisation_id: z.string(), name: z.string() })

export const UserView = z
  .strictObject({
    account_id: z.string(),
    name: z.string(),
    email: z.string(),
    role: z.enum(roles),
    organisation: OrganisationView,
    locale: z.enum(locales),
    states: z.array(z.enum(accountStates)).meta({
      description:
        'invited: has not chosen a password or signed in yet; deactivated: closed by an admin; erasing: the erasure is scheduled or running; active: none of these; restricted: processing is restricted (GDPR art. 18)',
    }),
    has_password: z.boolean(),
    has_second_factor: z.boolean().meta({ description: 'A passkey or an authenticator app' }),
    created_at: when,
  })
  .meta({ id: 'User' })
/** The view that use cases return: its times are Dates. */
export type UserView = z.input<typeof UserView>

export const UserDetail = UserView.extend({
  deactivated_at: when.nullable(),
  sessions: z.number().int().meta({ description: 'Number of open sessions' }),
  last_seen_at: when.nullable().meta({ description: 'In a session that is open or ended within the last day' }),
  identities: z.array(z.strictObject({ issuer: z.string(), linked_at: when })),
  letter: z
    .strictObject({ purpose: z.enum(['invitation', 'reset']), sent_at: when, expires_at: when })
    .nullable()
    .meta({ description: 'The most recent invitation or reset email whose link still works' }),
  agents: z.number().int(),
  open_requests: z.number().int().meta({ description: 'Privacy requests about the person or one of their agents' }),
  is_last_admin: z
    .boolean()
    .meta({ description: 'True for the last active admin, who can be neither demoted nor deactivated' }),
}).meta({ id: 'UserDetail' })
export type UserDetail = z.output<typeof UserDetail>

const admin = { permission: 'accounts:admin' } as const
const changed = { audit: { action: 'update', resourceType: 'account' } } as const

const AccountId = z.string().regex(/^usr_[0-9A-Za-z]{22}$/, 'is not the id of an account')
const PersonEmail = SentEmailAddress
const PersonName = z.string().trim().min(1, 'must not be empty').max(200, 'must have at most 200 characters')
const PersonSearch = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .meta({ description: 'Text in the name or email address, case-insensitive' })

const params = z.strictObject({ id: AccountId })
const output = z.strictObject({ data: UserView })

export const listUsers = operation({
  id: 'listUsers',
  method: 'get',
  path: '/api/admin/users',
  summary: 'List the accounts of this installation, newest first',
  permission: 'accounts:admin',
  audit: { resourceType: 'account' },
  query: z.strictObject({
    q: PersonSearch.optional(),
    role: z.enum(roles).optional(),
    state: z.enum(accountStates).optional(),
    organisation: OrganisationId.optional(),
    second_factor: z
      .enum(['missing'])
      .optional()
      .meta({ description: 'Only accounts with a password and without a second factor' }),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(UserView).extend({
    counts: z
      .strictObject({ active: count, invited: count, deactivated: count, erasing: count, restricted: count })
      .meta({ description: 'All accounts by state, regardless of the filters' }),
  }),
})

export const listOrganisations = operation({
  id: 'listOrganisations',
  method: 'get',
  path: '/api/admin/organisations',
  summary: 'List organizations with members, by name',
  description: 'At most 100. Use `q` to filter.',
  permission: 'accounts:admin',
  audit: { none: 'names of organizations, to choose from' },
  query: z.strictObject({ q: PersonSearch.optional() }),
  output: z.strictObject({
    data: z.array(
      OrganisationView.extend({
        people: z.number().int(),
        namespaces: z.array(z.string()).meta({
          description:
            'Prefixes of graph groups and threads that an admin assigned, in addition to the organization’s own prefix',
        }),
      }),
    ),
  }),
})

export const readUser = operation({
  id: 'readUser',
  method: 'get',
  path: '/api/admin/users/{id}',
  summary: 'Get an account, with the facts that an admin is responsible for',
  permission: 'accounts:admin',
  audit: { resourceType: 'account' },
  params,
  output: z.strictObject({ data: UserDetail }),
  refusals: ['not_found'],
})

export const inviteUser = operation({
  id: 'inviteUser',
  method: 'post',
  path: '/api/admin/users',
  summary: 'Invite a person',
  description:
    'Creates an account without a password and sends an email in the given language with a link. The link works once and expires after seven days. Needs a recently entered password; a role above `person` an admin’s session.',
  ...admin,
  audit: { resourceType: 'account' },
  body: z
    .strictObject({
      email: PersonEmail,
      name: PersonName,
      role: z.enum(roles),
      locale: z.enum(locales).default('en'),
      organisation_id: OrganisationId.optional(),
      new_organisation: PersonName.optional().meta({ description: 'The name of a new organization to create' }),
    })
    .refine(({ organisation_id: id, new_organisation: made }) => id === undefined || made === undefined, {
      path: ['new_organisation'],
      message: 'cannot be combined with organisation_id',
    })
    .meta({ description: 'If omitted, the admin’s own organization' }),
  output,
  refusals: ['approval_required', 'conflict', 'not_found', 'step_up_required'],
})

export const changeRole = operation({
  id: 'changeUserRole',
  method: 'patch',
  path: '/api/admin/users/{id}',
  summary: 'Change the role of an account',
  description:
    'Takes effect with the account’s next request. Nobody can change their own role, and the last active admin cannot be demoted. An account that stops being an admin loses the tokens with the scope `admin` of its agents. Requires an admin’s own session.',
  needsRecentPassword: true,
  ...admin,
  ...changed,
  params,
  body: z.strictObject({ role: z.enum(roles) }),
  output,
  refusals: ['approval_required', 'conflict', 'fenced', 'not_found'],
})

export const deactivateUser = operation({
  needsRecentPassword: true,
  id: 'deactivateUser',
  method: 'post',
  path: '/api/admin/users/{id}/deactivate',
  summary: 'Deactivate an account',
  description:
    'Ends the account’s sessions and invalidates its links immediately. Nobody can sign in to it. Its data is kept, and so are the person’s rights: links in privacy emails work, and requests continue. Tokens of its agents are kept, except tokens with the scope `admin`, which are revoked. Requires an admin’s own session.',
  ...admin,
  ...changed,
  params,
  output,
  refusals: ['approval_required', 'conflict', 'fenced', 'not_found', 'wrong_state'],
})

export const reactivateUser = operation({
  needsRecentPassword: true,
  id: 'reactivateUser',
  method: 'post',
  path: '/api/admin/users/{id}/reactivate',
  summary: 'Reactivate an account',
  description: 'Requires an admin’s own session.',
  ...admin,
  ...changed,
  params,
  output,
  refusals: ['approval_required', 'conflict', 'fenced', 'not_found', 'wrong_state'],
})

export const endUserSessions = operation({
  needsRecentPassword: true,
  id: 'endUserSessions',
  method: 'post',
  path: '/api/admin/users/{id}/end-sessions',
  summary: 'End all sessions of an account',
  description: 'Requires an admin’s own session.',
  ...admin,
  audit: { action: 'update', resourceType: 'account' },
  params,
  output: z.strictObject({ data: z.strictObject({ sessions_ended: z.number().int() }) }),
  refusals: ['not_found'],
})

export const resendInvitation = operation({
  id: 'resendInvitation',
  method: 'post',
  path: '/api/admin/users/{id}/invitation',
  summary: 'Resend an invitation',
  description: 'The link in the previous email stops working.',
  ...admin,
  ...changed,
  status: 202,
  params,
  output,
  refusals: ['approval_required', 'conflict', 'fenced', 'not_found', 'rate_limited', 'step_up_required', 'wrong_state'],
})

export const removeUserFactors = operation({
  id: 'removeUserSecondFactors',
  method: 'delete',
  path: '/api/admin/users/{id}/factors',
  summary: 'Remove the second factors of an account',
  description:
    'For a person who has lost every second factor and recovery code. Afterwards the password alone opens a session. The person gets an email. Needs a signed-in admin: a token is rejected.',
  needsRecentPassword: true,
  ...admin,
  ...changed,
  params,
  output: z.strictObject({ data: z.strictObject({ factors_removed: z.number().int() }) }),
  refusals: ['approval_required', 'conflict', 'not_found'],
})

export const sendReset = operation({
  id: 'sendUserReset',
  needsRecentPassword: true,
  method: 'post',
  path: '/api/admin/users/{id}/reset',
  summary: 'Send an email with a link to choose a new password',
  description: 'The password and the sessions remain until the link is used.',
  ...admin,
  ...changed,
  status: 202,
  params,
  output,
  refusals: ['fenced', 'not_found', 'rate_limited', 'wrong_state'],
})

export const withdrawInvitationOf = operation({
  id: 'withdrawInvitation',
  method: 'delete',
  path: '/api/admin/users/{id}/invitation',
  summary: 'Withdraw an invitation',
  description: 'Deletes the account, which nobody has used yet. The link in the email stops working.',
  ...admin,
  audit: { resourceType: 'account' },
  deletes: { counts: 'accountsDeleted' },
  params,
  output: z.undefined(),
  refusals: ['fenced', 'not_found', 'wrong_state'],
})

export const OrganisationMember = z
  .strictObject({
    account_id: z.string(),
    name: z.string(),
    email: z.string(),
    role: z.enum(roles),
    state: z.enum(memberStates),
    created_at: when,
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
  audit: { resourceType: 'account' },
  query: z.strictObject({ q: PersonSearch.optional(), cursor: Cursor.optional(), limit: PageLimit }),
  output: page(OrganisationMember),
})

export const inviteMember = operation({
  id: 'inviteMember',
  method: 'post',
  path: '/api/members',
  summary: 'Invite somebody into my organization',
  description:
    'For managers and admins. Creates an invitation like an admin’s, but only for the roles person and manager. At most 50 invitations per day into one organization. The response does not reveal whether an account has the email address, and the address stays available. Requires a recently entered password.',
  permission: 'members:person',
  audit: { resourceType: 'account' },
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
  status: 202,
  params,
  output: z.strictObject({ data: OrganisationMember }),
  refusals: ['fenced', 'not_found', 'rate_limited', 'step_up_required', 'wrong_state'],
})

export const withdrawMemberInvitation = operation({
  id: 'withdrawMemberInvitation',
  method: 'delete',
  path: '/api/members/{id}/invitation',
  summary: 'Withdraw a member’s invitation',
  description: 'Deletes the account, which nobody has used yet. The link in the email stops working.',
  permission: 'members:person',
  audit: { resourceType: 'account' },
  deletes: { counts: 'accountsDeleted' },
  params,
  output: z.undefined(),
  refusals: ['fenced', 'not_found', 'wrong_state'],
})
