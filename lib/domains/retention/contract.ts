import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { longestPeriod, presetNames, sweepStates } from './rules.ts'

const takes = `takes a whole number of days from 1 to ${longestPeriod}, or null for ever`
const when = z.iso.datetime()
const Days = z.number().int().min(1).max(longestPeriod).nullable()
const GivenDays = z.number(takes).int(takes).min(1, takes).max(longestPeriod, takes).nullable()

/** A change of periods. Omitted periods stay as they are. */
const PeriodChange = z
  .strictObject({
    preset: z
      .enum(presetNames)
      .optional()
      .meta({ description: '`default`: for ever, 730 and 365 days; `strict`: for ever, 365 and 180 days' }),
    network_days: GivenDays.optional(),
    org_days: GivenDays.optional(),
    private_days: GivenDays.optional(),
  })
  .refine((change) => change.preset === undefined || Object.keys(change).length === 1, {
    path: ['preset'],
    message: 'stands alone: a preset sets all periods',
  })
  .meta({ id: 'RetentionChange' })

const Period = z.strictObject({
  days: Days.meta({ description: 'Days from when we stored it; null: for ever' }),
  source: z.enum(['environment', 'override']),
  set_by: z.string().optional(),
  set_at: when.optional(),
})
const Periods = z.strictObject({ network: Days, org: Days, private: Days })
const count = z.number().int()
const Removed = z.strictObject({ network: count, org: count, private: count, total: count })
const Due = z.strictObject({
  ...Removed.shape,
  held: count.meta({ description: 'Expired too, and left because a legal hold covers them' }),
})

const RetentionPolicy = z
  .strictObject({
    policy: z.strictObject({ network: Period, org: Period, private: Period }),
    presets: z.strictObject({ default: Periods, strict: Periods }),
  })
  .meta({ id: 'RetentionPolicy' })

const SweepId = z.string().regex(/^swp_[0-9A-Za-z]{22}$/, 'is not the id of a sweep')
export const SweepView = z
  .strictObject({
    id: SweepId,
    state: z.enum(sweepStates).meta({
      description: '`interrupted`: it ended before its work did; what it removed is gone, the rest is the next sweep’s',
    }),
    trigger: z.enum(['cron', 'demand', 'code']),
    requested_by: z.string(),
    policy: Periods,
    started_at: when,
    finished_at: when.nullable(),
    deleted: Removed,
    held: count,
  })
  .meta({ id: 'RetentionSweep' })

const policyOutput = z.strictObject({ data: RetentionPolicy })
const retention = { resourceType: 'retention' }
const sweep = { resourceType: 'retention-sweep' }

export const readRetention = operation({
  id: 'readRetention',
  method: 'get',
  path: '/v1/retention',
  summary: 'How long units and skills are kept, and who set it',
  description:
    'The environment gives the periods; what an admin set takes their place. Age counts from when this registry stored a unit.',
  permission: 'retention:audit',
  audit: { action: 'read', ...retention },
  limit: 'read',
  status: 200,
  output: policyOutput,
})

export const editRetention = operation({
  id: 'editRetention',
  method: 'patch',
  path: '/v1/retention',
  summary: 'Set periods in place of the environment’s',
  description: 'A preset, or days by visibility. Fields that are not sent stay as they are. The next sweep follows.',
  permission: 'retention:admin',
  needsRecentPassword: true,
  audit: { action: 'update', ...retention },
  limit: 'write',
  status: 200,
  body: PeriodChange,
  output: policyOutput,
})

export const resetRetention = operation({
  id: 'resetRetention',
  method: 'delete',
  path: '/v1/retention',
  summary: 'Back to the environment’s periods',
  permission: 'retention:admin',
  needsRecentPassword: true,
  audit: { action: 'update', ...retention },
  limit: 'write',
  status: 200,
  output: policyOutput,
})

export const dryRunRetention = operation({
  id: 'dryRunRetention',
  method: 'post',
  path: '/v1/retention/dry-run',
  summary: 'What a sweep would remove, under these periods or others',
  description: 'Nothing is removed and nothing is saved. Periods that are not sent are those in force.',
  permission: 'retention:admin',
  audit: { action: 'read', ...retention },
  limit: 'read',
  status: 200,
  body: PeriodChange.prefault({}),
  output: z.strictObject({
    data: z.strictObject({
      policy: Periods,
      at: when,
      would_delete: Due.meta({ description: 'By a sweep at that time' }),
      upcoming: z
        .array(z.strictObject({ within_days: count, ...Due.shape }))
        .meta({ description: 'By sweeps until so many days later, those of now included' }),
    }),
  }),
})

export const sweepRetention = operation({
  id: 'sweepRetention',
  alsoStatus: [202],
  method: 'post',
  path: '/v1/retention/sweep',
  summary: 'Remove now what expired',
  description:
    'Everything that expired goes, in batches, unless a legal hold covers it. Done within ten seconds, the answer is 200; else 202 with the sweep’s address in Location, and it goes on. One sweep runs at a time.',
  permission: 'retention:admin',
  needsRecentPassword: true,
  audit: { action: 'create', ...sweep },
  limit: 'write',
  status: 200,
  output: z.strictObject({ data: SweepView }),
  refusals: ['conflict'],
})

export const listSweeps = operation({
  id: 'listSweeps',
  method: 'get',
  path: '/v1/retention/sweeps',
  summary: 'Sweeps, newest first',
  description: '`total` stops counting at 1,001.',
  permission: 'retention:audit',
  audit: { action: 'read', ...sweep },
  limit: 'read',
  status: 200,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(SweepView),
})

export const readSweep = operation({
  id: 'readSweep',
  method: 'get',
  path: '/v1/retention/sweeps/{id}',
  summary: 'One sweep, with what it removed so far',
  permission: 'retention:audit',
  audit: { action: 'read', ...sweep },
  limit: 'read',
  status: 200,
  params: z.strictObject({ id: SweepId }),
  output: z.strictObject({ data: SweepView }),
  refusals: ['not_found'],
})
