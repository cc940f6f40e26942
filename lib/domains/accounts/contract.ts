import { z } from 'zod'
import { SentEmailAddress } from '#lib/kernel/email-address.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { leastPasswordLength, locales, longestPassword, roles } from './rules.ts'

/** A new password; {@link passwordFault} checks further rules. */
export const NewPassword = z
  .string()
  .min(leastPasswordLength, `must have at least ${leastPasswordLength} characters`)
  .max(longestPassword, `must have at most ${longestPassword} characters`)

export const AccountView = z
  .object({
    account_id: z.string(),
    name: z.string(),
    email: z.string(),
    role: z.enum(roles),
    organisation: z.object({ organisation_id: z.string(), name: z.string() }),
    locale: z.enum(locales),
    must_change_password: z.boolean().meta({
      description: 'Until the password is changed, this account can only read its profile and change the password',
    }),
    has_password: z.boolean().meta({
      description: 'False for an account that signs in only with an identity provider. An emailed link sets a password',
    }),
    second_factor: z
      .strictObject({
        is_missing: z.boolean().meta({
          description:
            'True if a second factor is required and this session has none. It can then only add one, and use the rights over its own data',
        }),
        required_from: time().nullable().meta({
          description:
            'When a second factor becomes or became required. Null if none is required or this session has one',
        }),
      })
      .meta({ id: 'SecondFactorState' }),
    telemetry: z.boolean().meta({ description: 'False if the person turned usage events off' }),
    created_at: time(),
  })
  .meta({ id: 'Account' })
export type AccountView = z.output<typeof AccountView>

const SessionId = z.string().regex(/^ses_[0-9A-Za-z]{22}$/, 'is not the id of a session')

export const SessionView = z
  .object({
    session_id: z.string(),
    browser: z
      .string()
      .meta({ description: 'For example "Firefox on Linux". Empty if the browser did not identify itself' }),
    created_at: time(),
    last_seen_at: time({ description: 'Rounded to the minute' }),
    expires_at: time(),
    is_current: z.boolean(),
  })
  .meta({ id: 'Session' })
/** The view that use cases return: its times are Dates. */
export type SessionView = z.input<typeof SessionView>

export const readAccount = operation({
  id: 'readAccount',
  method: 'get',
  path: '/api/account',
  summary: 'Get my account',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { none: 'people read their own name and role, on every page that they open' },
  output: z.object({ data: AccountView }),
})

export const setTelemetry = operation({
  id: 'setTelemetry',
  method: 'put',
  path: '/api/privacy/telemetry',
  summary: 'Turn usage events about me and my agents on or off',
  description:
    'Off: from the next request on, no usage event is sent about the person and about agents that they own or claim later, and the keys of their pseudonyms are destroyed, so that nobody can attribute earlier events. Nothing else changes.',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'account' },
  body: z.strictObject({ enabled: z.boolean() }),
  output: z.object({ data: z.object({ enabled: z.boolean() }) }),
})

export const changePassword = operation({
  id: 'changePassword',
  method: 'post',
  path: '/api/account/password',
  summary: 'Change my password',
  description: 'Ends all other sessions of the account. The current session continues.',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'update', resourceType: 'account' },
  body: z.strictObject({ current_password: z.string().min(1).max(longestPassword), new_password: NewPassword }),
  output: z.object({ data: z.object({ sessions_ended: z.number().int() }) }),
  refusals: ['rate_limited', 'wrong_state', 'step_up_required'],
})

export const confirmPassword = operation({
  id: 'confirmPassword',
  method: 'post',
  path: '/api/account/confirm',
  summary: 'Confirm my password',
  description:
    'For ten minutes, this session can call operations that otherwise return `step_up_required`. An account with a second factor needs it too. Signing in with a password has the same effect.',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'update', resourceType: 'session' },
  body: z.strictObject({
    password: z.string().min(1).max(longestPassword),
    code: z.string().max(64).optional(),
    passkey: z.string().max(100_000).optional(),
  }),
  output: z.strictObject({ data: z.strictObject({ recent_until: time() }) }),
  refusals: ['rate_limited', 'wrong_state'],
})

export const listSessions = operation({
  id: 'listSessions',
  method: 'get',
  path: '/api/sessions',
  summary: 'List my sessions, newest first',
  description: 'Only open sessions: neither revoked nor expired.',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'session' },
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(SessionView),
})

export const revokeOtherSessions = operation({
  id: 'revokeOtherSessions',
  method: 'delete',
  path: '/api/sessions',
  summary: 'End all my other sessions',
  description: 'Their next request is rejected.',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'session' },
  deletes: { none: 'a session holds no content' },
  output: z.object({ data: z.object({ sessions_ended: z.number().int() }) }),
})

const IdentityId = z.string().regex(/^idn_[\w-]{22}$/, 'is not the id of a linked sign-in')

const IdentityView = z
  .strictObject({
    identity_id: z.string(),
    issuer: z.string().meta({ description: 'The OpenID provider' }),
    linked_at: time(),
  })
  .meta({ id: 'LinkedIdentity' })

export const listIdentities = operation({
  id: 'listIdentities',
  method: 'get',
  path: '/api/account/identities',
  summary: 'List the identity provider sign-ins linked to my account',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { none: 'people read how they themselves sign in' },
  output: z.strictObject({ data: z.array(IdentityView) }),
})

export const unlinkIdentity = operation({
  id: 'unlinkIdentity',
  method: 'post',
  path: '/api/account/identities/{id}/unlink',
  summary: 'Unlink an identity provider sign-in',
  description:
    'Requires the account’s password, so that the account can still sign in. Ends all other sessions of the account. The sign-in is not linked again, even if the provider reports the same email address.',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'update', resourceType: 'account' },
  params: z.strictObject({ id: IdentityId }),
  body: z.strictObject({ password: z.string().min(1).max(longestPassword) }),
  output: z.object({ data: z.object({ sessions_ended: z.number().int() }) }),
  refusals: ['not_found', 'rate_limited', 'wrong_state', 'step_up_required'],
})

export const revokeSession = operation({
  id: 'revokeSession',
  method: 'delete',
  path: '/api/sessions/{id}',
  summary: 'End one of my sessions',
  description: 'Its next request is rejected.',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'session' },
  deletes: { none: 'a session holds no content' },
  params: z.strictObject({ id: SessionId }),
  output: z.undefined(),
  refusals: ['not_found'],
})

export const askForReset = operation({
  id: 'askForPasswordReset',
  method: 'post',
  path: '/api/account/reset',
  summary: 'Request a link to choose a new password',
  description:
    'The response is the same whether or not an account has this email address. If one has, it receives an email, at most three per hour. The link works once and expires after an hour.',
  permission: 'public',
  audit: { action: 'update', resourceType: 'account' },
  limit: 'exempt',
  status: 202,
  body: z.strictObject({ email: SentEmailAddress }),
  output: z.strictObject({ message: z.string() }),
  refusals: ['rate_limited'],
})

export const usePasswordLink = operation({
  id: 'usePasswordLink',
  method: 'post',
  path: '/api/account/password/link',
  summary: 'Choose a password with the code from an emailed link',
  description:
    'Works once. Ends all sessions of the account, invalidates its other links, and does not sign in. Invitation and reset emails link to /password/new#<code>.',
  permission: 'public',
  audit: { action: 'update', resourceType: 'account' },
  limit: 'exempt',
  body: z.strictObject({
    code: z.string().regex(/^[0-9A-Za-z]{43}$/, 'is not a code from an email link'),
    new_password: NewPassword,
  }),
  output: z.strictObject({ data: z.strictObject({ sessions_ended: z.number().int() }) }),
  refusals: ['link_spent', 'rate_limited'],
})

const OrganisationId = z.string().regex(/^org_[0-9A-Za-z]{22}$/, 'is not the id of an organization')
const Namespace = z
  .string()
  .regex(/^(?:\*|[\w.:-]{3,200})$/, 'must be *, or 3 to 200 letters, digits, _ . : and -')
  .meta({ description: 'A prefix, or `*` for every id outside the namespaces of other organizations' })

const NamespaceView = z
  .strictObject({
    organisation_id: z.string(),
    prefix: z
      .string()
      .meta({ description: 'The organization’s own prefix. No other organization can claim ids that begin with it' }),
    namespaces: z.array(z.string()).meta({ description: 'Assigned by an admin' }),
    is_any: z.boolean().meta({
      description:
        'The organization may claim every id outside the namespaces of other organizations: an admin assigned `*`, or everyone on this installation belongs to this organization',
    }),
  })
  .meta({ id: 'StoreNamespace' })
const output = z.strictObject({ data: NamespaceView })
const organisation = { resourceType: 'organisation' }

export const readNamespace = operation({
  id: 'readStoreNamespace',
  method: 'get',
  path: '/api/stores/namespace',
  summary: 'List the id prefixes that your organization may claim',
  description:
    'A project’s `group_id` and a conversation’s `threads` must begin with one of these prefixes, because erasing the project or conversation deletes them. Chosen ids of units must also begin with one, unless the id cannot be guessed.',
  permission: 'projects:read',
  audit: { none: 'the id and the prefixes of the caller’s own organization' },
  output,
  refusals: ['not_found'],
})

export const assignNamespaces = operation({
  id: 'assignStoreNamespaces',
  needsRecentPassword: true,
  method: 'put',
  path: '/api/admin/organisations/{id}/namespaces',
  summary: 'Assign id prefixes to an organization',
  description:
    'Replaces the assigned prefixes. Prefixes of two organizations never overlap. Existing claims remain valid. The organization’s own prefix needs no assignment.',
  permission: 'accounts:admin',
  audit: organisation,
  params: z.strictObject({ id: OrganisationId }),
  body: z.strictObject({ namespaces: z.array(Namespace).max(20, 'must have at most 20 items') }),
  output,
  refusals: ['not_found', 'conflict'],
})
