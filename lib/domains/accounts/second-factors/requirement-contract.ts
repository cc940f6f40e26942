import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { factorRequirements, mostDaysAhead, mostReminders } from './rules.ts'

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
const admin = { permission: 'accounts:admin', status: 200 } as const
const output = z.strictObject({ data: RequirementView })

export const readRequirement = operation({
  ...admin,
  id: 'readSecondFactorRequirement',
  method: 'get',
  path,
  summary: 'Get who must have a second factor',
  audit: { action: 'read', resourceType: 'settings' },
  limit: 'read',
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
  audit: { action: 'update', resourceType: 'settings' },
  limit: 'write',
  needsRecentPassword: true,
  body: z.strictObject({
    required_of: z.enum(factorRequirements),
    from: z.iso
      .datetime()
      .optional()
      .meta({
        description: `Now, if omitted or past. At most ${mostDaysAhead} days ahead`,
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
  description: `Sends one email to each affected account with a password and without a second factor, but none to an account that was reminded within 24 hours. At most ${mostReminders} emails in one call.`,
  audit: { action: 'update', resourceType: 'settings' },
  limit: 'write',
  output: z.strictObject({ data: z.strictObject({ reminded: count }) }),
  refusals: ['wrong_state'],
})
