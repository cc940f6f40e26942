import { z } from 'zod'
import { operation, time } from '#lib/kernel/operation.ts'
import { factorKinds, factorRequirements, maxDaysAhead, maxReminders } from './rules.ts'

const FactorId = z.string().regex(/^fct_[0-9A-Za-z]{22}$/, 'is not the id of a second factor')
const FactorName = z.string().trim().min(1, 'must not be empty').max(100, 'must have at most 100 characters')
/** A code of an authenticator app or a recovery code. */
const SecondFactorCode = z.string().min(6).max(64)

export const FactorView = z
  .strictObject({
    factor_id: z.string(),
    kind: z.enum(factorKinds),
    name: z.string(),
    created_at: time(),
    last_used_at: time().nullable(),
  })
  .meta({ id: 'SecondFactor' })
/** The view that use cases return: its times are Dates. */
export type FactorView = z.input<typeof FactorView>

/**
 * Options and responses of WebAuthn (level 3, §5.1.8 and §5.1.9) as the browser encodes them in JSON. The WebAuthn library validates
 * responses.
 */
const WebAuthnJson = z.record(z.string(), z.unknown())
const RecoveryCodes = z.array(z.string()).optional().meta({
  description: 'Ten single-use codes, returned once: with the first second factor, and when they are replaced',
})

const own = {
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'update', resourceType: 'account' },
} as const

export const listFactors = operation({
  id: 'listSecondFactors',
  method: 'get',
  path: '/api/account/factors',
  summary: 'List my second factors',
  description: 'Passkeys and authenticator apps that protect the sign-in, and how many unused recovery codes remain.',
  permission: 'accounts:person',
  isOpenWithoutSecondFactor: true,
  audit: { none: 'people read how they sign in themselves' },
  output: z.strictObject({
    data: z.strictObject({ factors: z.array(FactorView), recovery_codes: z.number().int() }),
  }),
})

export const addTotp = operation({
  id: 'addAuthenticatorApp',
  method: 'post',
  path: '/api/account/factors/totp',
  summary: 'Add an authenticator app',
  description:
    'Returns the secret for the app (TOTP, RFC 6238: SHA-1, 6 digits, 30 seconds). The app protects the sign-in after it was confirmed with a code within 15 minutes.',
  ...own,
  needsRecentPassword: true,
  status: 201,
  body: z.strictObject({ name: FactorName }),
  output: z.strictObject({
    data: z.strictObject({ factor_id: z.string(), secret: z.string().optional(), uri: z.string().optional() }),
  }),
  secrets: ['secret', 'uri'],
  refusals: ['conflict', 'wrong_state'],
})

export const confirmTotp = operation({
  id: 'confirmAuthenticatorApp',
  method: 'post',
  path: '/api/account/factors/{id}/confirm',
  summary: 'Confirm an authenticator app with its first code',
  ...own,
  params: z.strictObject({ id: FactorId }),
  body: z.strictObject({ code: SecondFactorCode }),
  output: z.strictObject({ data: z.strictObject({ recovery_codes: RecoveryCodes }) }),
  secrets: ['recovery_codes'],
  refusals: ['not_found', 'rate_limited'],
})

export const startPasskey = operation({
  id: 'startPasskeyRegistration',
  method: 'post',
  path: '/api/account/passkeys/options',
  summary: 'Start the registration of a passkey',
  description: 'Returns options for `navigator.credentials.create()`, valid for five minutes.',
  ...own,
  needsRecentPassword: true,
  output: z.strictObject({ data: WebAuthnJson }),
  refusals: ['conflict', 'wrong_state'],
})

export const addPasskey = operation({
  id: 'addPasskey',
  method: 'post',
  path: '/api/account/passkeys',
  summary: 'Add a passkey',
  description: 'Takes the response of `navigator.credentials.create()` as JSON.',
  ...own,
  needsRecentPassword: true,
  status: 201,
  body: z.strictObject({ name: FactorName, response: WebAuthnJson }),
  output: z.strictObject({ data: z.strictObject({ factor_id: z.string(), recovery_codes: RecoveryCodes }) }),
  secrets: ['recovery_codes'],
  refusals: ['conflict', 'wrong_state'],
})

export const removeFactor = operation({
  id: 'removeSecondFactor',
  method: 'delete',
  path: '/api/account/factors/{id}',
  summary: 'Remove a second factor',
  description:
    'Without any second factor, the password alone opens a session again, and the recovery codes are deleted. The last one cannot be removed while a second factor is required.',
  ...own,
  needsRecentPassword: true,
  params: z.strictObject({ id: FactorId }),
  output: z.undefined(),
  refusals: ['not_found', 'wrong_state'],
})

export const renewRecoveryCodes = operation({
  id: 'renewRecoveryCodes',
  method: 'post',
  path: '/api/account/recovery-codes',
  summary: 'Replace my recovery codes',
  description: 'The former codes stop working.',
  ...own,
  needsRecentPassword: true,
  output: z.strictObject({ data: z.strictObject({ recovery_codes: RecoveryCodes }) }),
  secrets: ['recovery_codes'],
  refusals: ['wrong_state'],
})

export const startPasskeySignIn = operation({
  id: 'startPasskeySignIn',
  method: 'post',
  path: '/api/account/passkeys/sign-in',
  summary: 'Start a sign-in with a passkey',
  description:
    'Returns options for `navigator.credentials.get()`, valid for five minutes. They name no account, so they are the same for everybody.',
  permission: 'public',
  audit: { none: 'nobody is identified yet; the sign-in itself is audited' },
  limit: 'exempt',
  perAddress: 60,
  output: z.strictObject({ data: WebAuthnJson }),
})

const count = z.number().int()

/** The value of the setting as it is stored. */
export const StoredFactorPolicy = z.strictObject({
  required_of: z.enum(factorRequirements),
  from: z.iso.datetime().nullable(),
})

const RequirementView = StoredFactorPolicy.extend({
  accounts: count.meta({ description: 'Active accounts with a password, of which a second factor is required' }),
  without: count.meta({ description: 'Those without a second factor' }),
  by_provider: count.meta({
    description: 'Further active accounts without a password: the identity provider decides how they sign in',
  }),
}).meta({ id: 'SecondFactorRequirement' })
export type RequirementView = z.output<typeof RequirementView>

const path = '/api/admin/second-factors'
const admin = { permission: 'accounts:admin' } as const
const output = z.strictObject({ data: RequirementView })

export const readRequirement = operation({
  ...admin,
  id: 'readSecondFactorRequirement',
  method: 'get',
  path,
  summary: 'Get who must have a second factor',
  audit: { resourceType: 'settings' },
  output,
})

export const changeRequirement = operation({
  ...admin,
  id: 'changeSecondFactorRequirement',
  method: 'put',
  path,
  summary: 'Require second factors',
  description:
    'From the given time on, a session of an affected account without a second factor can only add one, and use the rights over its own data. Sessions that are already open are included. Tokens are unaffected. The caller must have a second factor. Takes effect in all processes within a second.',
  audit: { resourceType: 'settings' },
  needsRecentPassword: true,
  body: z.strictObject({
    required_of: z.enum(factorRequirements),
    from: z.iso
      .datetime()
      .optional()
      .meta({
        description: `Now, if omitted or past. At most ${maxDaysAhead} days ahead`,
      }),
  }),
  output,
  refusals: ['approval_required', 'conflict', 'wrong_state'],
})

export const remindOfRequirement = operation({
  ...admin,
  id: 'remindOfSecondFactors',
  method: 'post',
  path: `${path}/reminders`,
  summary: 'Remind everybody who must add a second factor',
  description: `Sends one email to each affected account with a password and without a second factor, but none to an account that was reminded within 24 hours. At most ${maxReminders} emails in one call.`,
  audit: { action: 'update', resourceType: 'settings' },
  output: z.strictObject({ data: z.strictObject({ reminded: count }) }),
  refusals: ['wrong_state'],
})
