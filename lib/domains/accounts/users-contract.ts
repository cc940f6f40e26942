import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { AccountId, PersonEmail, PersonName, PersonSearch } from './person-fields.ts'
import { accountStates, locales, roles } from './rules.ts'

const when = z.iso.datetime()
const OrganisationId = z.string().regex(/^org_[0-9A-Za-z]{22}$/, 'is not the id of an organisation')
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
        'invited: no way in was chosen yet; deactivated: closed by an admin; erasing: the erasure waits or is under way; active: none of these; restricted: GDPR art. 18',
    }),
    has_password: z.boolean(),
    created_at: when,
  })
  .meta({ id: 'User' })
export type UserView = z.output<typeof UserView>

export const UserDetail = UserView.extend({
  deactivated_at: when.nullable(),
  sessions: z.number().int().meta({ description: 'That are open' }),
  last_seen_at: when.nullable().meta({ description: 'In a session that is open or ended within the last day' }),
  identities: z.array(z.strictObject({ issuer: z.string(), linked_at: when })),
  letter: z
    .strictObject({ purpose: z.enum(['invitation', 'reset']), sent_at: when, expires_at: when })
    .nullable()
    .meta({ description: 'The last one whose link still works' }),
  agents: z.number().int(),
  open_requests: z.number().int().meta({ description: 'Privacy requests about the person or an agent of theirs' }),
  is_last_admin: z.boolean().meta({ description: 'Who can be neither demoted nor deactivated' }),
}).meta({ id: 'UserDetail' })
export type UserDetail = z.output<typeof UserDetail>

const admin = { permission: 'accounts:admin', limit: 'write' } as const
const changed = { audit: { action: 'update', resourceType: 'account' } } as const
const params = z.strictObject({ id: AccountId })
const output = z.strictObject({ data: UserView })

export const listUsers = operation({
  id: 'listUsers',
  method: 'get',
  path: '/api/admin/users',
  summary: 'Accounts of this installation, newest first',
  permission: 'accounts:admin',
  audit: { action: 'read', resourceType: 'account' },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    q: PersonSearch.optional(),
    role: z.enum(roles).optional(),
    state: z.enum(accountStates).optional(),
    organisation: OrganisationId.optional(),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(UserView),
})

export const listOrganisations = operation({
  id: 'listOrganisations',
  method: 'get',
  path: '/api/admin/organisations',
  summary: 'Organisations that people belong to, by name',
  description: 'A hundred at most; narrow it with `q`.',
  permission: 'accounts:admin',
  audit: { none: 'names of organisations, to choose from' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ q: PersonSearch.optional() }),
  output: z.strictObject({
    data: z.array(
      OrganisationView.extend({
        people: z.number().int(),
        namespaces: z.array(z.string()).meta({
          description: 'Prefixes of graph groups and threads that an admin assigned, beside the organization’s own',
        }),
      }),
    ),
  }),
})

export const readUser = operation({
  id: 'readUser',
  method: 'get',
  path: '/api/admin/users/{id}',
  summary: 'One account, with what an admin answers for',
  permission: 'accounts:admin',
  audit: { action: 'read', resourceType: 'account' },
  limit: 'read',
  status: 200,
  params,
  output: z.strictObject({ data: UserDetail }),
  refusals: ['not_found'],
})

export const inviteUser = operation({
  id: 'inviteUser',
  method: 'post',
  path: '/api/admin/users',
  summary: 'Invite somebody',
  description:
    'Makes an account without a password; a letter goes out, in the language given, with a link that works once, for seven days. A role above `person` takes an admin’s own session with a recently entered password: a token is refused.',
  ...admin,
  audit: { action: 'create', resourceType: 'account' },
  status: 201,
  body: z
    .strictObject({
      email: PersonEmail,
      name: PersonName,
      role: z.enum(roles),
      locale: z.enum(locales).default('en'),
      organisation_id: OrganisationId.optional(),
      new_organisation: PersonName.optional().meta({ description: 'The name of one that is made for them' }),
    })
    .refine(({ organisation_id: id, new_organisation: made }) => id === undefined || made === undefined, {
      path: ['new_organisation'],
      message: 'cannot be combined with organisation_id',
    })
    .meta({ description: 'Without an organisation: into the admin’s own' }),
  output,
  refusals: ['conflict', 'not_found', 'step_up_required'],
})

export const changeRole = operation({
  id: 'changeUserRole',
  method: 'patch',
  path: '/api/admin/users/{id}',
  summary: 'Give an account another role',
  description:
    'In force with their next request. Nobody changes their own, and the last active admin stays one. Whoever is an admin no more loses the tokens of scope `admin` that agents of theirs have. For an admin’s own session: a token is refused.',
  needsRecentPassword: true,
  ...admin,
  ...changed,
  status: 200,
  params,
  body: z.strictObject({ role: z.enum(roles) }),
  output,
  refusals: ['conflict', 'fenced', 'not_found'],
})

export const deactivateUser = operation({
  id: 'deactivateUser',
  method: 'post',
  path: '/api/admin/users/{id}/deactivate',
  summary: 'Close an account',
  description:
    'Its sessions and links end at once, and nobody signs in to it. What is held stays, and so do the rights over it: links of privacy letters work, and requests go on. Tokens of agents stay, but those of scope `admin` are revoked. For an admin’s own session: a token is refused.',
  ...admin,
  ...changed,
  status: 200,
  params,
  output,
  refusals: ['conflict', 'fenced', 'not_found', 'wrong_state'],
})

export const reactivateUser = operation({
  id: 'reactivateUser',
  method: 'post',
  path: '/api/admin/users/{id}/reactivate',
  summary: 'Open a closed account again',
  description: 'For an admin’s own session: a token is refused.',
  ...admin,
  ...changed,
  status: 200,
  params,
  output,
  refusals: ['fenced', 'not_found', 'wrong_state'],
})

export const endUserSessions = operation({
  id: 'endUserSessions',
  method: 'post',
  path: '/api/admin/users/{id}/end-sessions',
  summary: 'End every session of an account',
  ...admin,
  audit: { action: 'update', resourceType: 'account' },
  status: 200,
  params,
  output: z.strictObject({ data: z.strictObject({ sessions_ended: z.number().int() }) }),
  refusals: ['not_found'],
})

export const resendInvitation = operation({
  id: 'resendInvitation',
  method: 'post',
  path: '/api/admin/users/{id}/invitation',
  summary: 'Send the invitation again',
  description: 'The link of the letter before does nothing any more.',
  ...admin,
  ...changed,
  status: 202,
  params,
  output,
  refusals: ['fenced', 'not_found', 'rate_limited', 'wrong_state'],
})

export const sendReset = operation({
  id: 'sendUserReset',
  method: 'post',
  path: '/api/admin/users/{id}/reset',
  summary: 'Send a letter with a link to choose a new password',
  description: 'The password and the sessions stay until the link is used.',
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
  description: 'Deletes the account that waits for its person. The link of the email does nothing any more.',
  ...admin,
  audit: { action: 'delete', resourceType: 'account' },
  deletes: { counts: 'accountsDeleted' },
  status: 204,
  params,
  output: z.undefined(),
  refusals: ['fenced', 'not_found', 'wrong_state'],
})
