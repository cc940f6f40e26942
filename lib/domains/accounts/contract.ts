import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
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
        required_from: z.iso.datetime().nullable().meta({
          description:
            'When a second factor becomes or became required. Null if none is required or this session has one',
        }),
      })
      .meta({ id: 'SecondFactorState' }),
    created_at: z.iso.datetime(),
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
    created_at: z.iso.datetime(),
    last_seen_at: z.iso.datetime().meta({ description: 'Rounded to the minute' }),
    expires_at: z.iso.datetime(),
    is_current: z.boolean(),
  })
  .meta({ id: 'Session' })
export type SessionView = z.output<typeof SessionView>

export const readAccount = operation({
  id: 'readAccount',
  method: 'get',
  path: '/api/account',
  summary: 'Get my account',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { none: 'people read their own name and role, on every page that they open' },
  limit: 'read',
  status: 200,
  output: z.object({ data: AccountView }),
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
  limit: 'write',
  status: 200,
  body: z.strictObject({ current_password: z.string().min(1).max(longestPassword), new_password: NewPassword }),
  output: z.object({ data: z.object({ sessions_ended: z.number().int() }) }),
  refusals: ['rate_limited', 'wrong_state'],
})

export const confirmPassword = operation({
  id: 'confirmPassword',
  method: 'post',
  path: '/api/account/confirm',
  summary: 'Confirm my password',
  description:
    'For ten minutes, the current session can call operations that require a recently entered password. Those operations otherwise return `step_up_required`. Signing in with a password has the same effect.',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'update', resourceType: 'session' },
  limit: 'write',
  status: 200,
  body: z.strictObject({ password: z.string().min(1).max(longestPassword) }),
  output: z.strictObject({ data: z.strictObject({ recent_until: z.iso.datetime() }) }),
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
  audit: { action: 'read', resourceType: 'session' },
  limit: 'read',
  status: 200,
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
  audit: { action: 'delete', resourceType: 'session' },
  deletes: { none: 'a session holds no content' },
  limit: 'write',
  status: 200,
  output: z.object({ data: z.object({ sessions_ended: z.number().int() }) }),
})

const IdentityId = z.string().regex(/^idn_[\w-]{22}$/, 'is not the id of a linked sign-in')

export const IdentityView = z
  .strictObject({
    identity_id: z.string(),
    issuer: z.string().meta({ description: 'The OpenID provider' }),
    linked_at: z.iso.datetime(),
  })
  .meta({ id: 'LinkedIdentity' })
export type IdentityView = z.output<typeof IdentityView>

export const listIdentities = operation({
  id: 'listIdentities',
  method: 'get',
  path: '/api/account/identities',
  summary: 'List the identity provider sign-ins linked to my account',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { none: 'people read how they themselves sign in' },
  limit: 'read',
  status: 200,
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
  limit: 'write',
  status: 200,
  params: z.strictObject({ id: IdentityId }),
  body: z.strictObject({ password: z.string().min(1).max(longestPassword) }),
  output: z.object({ data: z.object({ sessions_ended: z.number().int() }) }),
  refusals: ['not_found', 'rate_limited', 'wrong_state'],
})

export const revokeSession = operation({
  id: 'revokeSession',
  method: 'delete',
  path: '/api/sessions/{id}',
  summary: 'End one of my sessions',
  description: 'Its next request is rejected.',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'delete', resourceType: 'session' },
  deletes: { none: 'a session holds no content' },
  limit: 'write',
  status: 204,
  params: z.strictObject({ id: SessionId }),
  output: z.undefined(),
  refusals: ['not_found'],
})
