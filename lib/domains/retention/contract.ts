import { z } from 'zod'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { longestPeriod, presetNames, sweepStates } from './rules.ts'

const takes = `must be a whole number of days from 1 to ${longestPeriod}, or null to keep forever`
const Days = z.number().int().min(1).max(longestPeriod).nullable()
const GivenDays = z.number(takes).int(takes).min(1, takes).max(longestPeriod, takes).nullable()

/** A change of periods. Omitted periods stay as they are. */
const PeriodChange = z
  .strictObject({
    preset: z.enum(presetNames).optional().meta({
      description:
        'Periods for network, organization and private. `default`: forever, 730 and 365 days; `strict`: forever, 365 and 180 days',
    }),
    network_days: GivenDays.optional(),
    org_days: GivenDays.optional(),
    private_days: GivenDays.optional(),
  })
  .refine((change) => change.preset === undefined || Object.keys(change).length === 1, {
    path: ['preset'],
    message: 'cannot be combined with other fields: a preset sets all periods',
  })
  .meta({ id: 'RetentionChange' })

const Period = z
  .strictObject({
    days: Days.meta({ description: 'Days from when we stored it; null: forever' }),
    source: z.enum(['environment', 'override']),
    set_by: z.string().optional(),
    set_at: time().optional(),
    next: z.strictObject({ days: z.number().int(), at: time(), set_by: z.string() }).optional().meta({
      description: 'A shorter period that was set. To cancel it before that time, set the present days again',
    }),
  })
  .meta({ id: 'RetentionPeriod' })
const Periods = z.strictObject({ network: Days, org: Days, private: Days }).meta({ id: 'RetentionPeriods' })
const count = z.number().int()
const Removed = z.strictObject({ network: count, org: count, private: count, total: count })
const Due = z.strictObject({
  ...Removed.shape,
  held: count.meta({ description: 'Expired, but retained under a legal hold' }),
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
      description: '`interrupted`: it ended early. Its deletions are final; the next sweep deletes the rest',
    }),
    trigger: z.enum(['cron', 'demand', 'code']),
    requested_by: z.string(),
    policy: Periods,
    started_at: time(),
    finished_at: time().nullable(),
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
  summary: 'Get the retention periods of units and skills, and who set them',
  description:
    'The environment sets the periods; values set by an admin override them. Age counts from when this registry stored a unit.',
  permission: 'retention:audit',
  audit: retention,
  output: policyOutput,
})

export const editRetention = operation({
  id: 'editRetention',
  method: 'patch',
  path: '/v1/retention',
  summary: 'Override the retention periods of the environment',
  description:
    'A preset, or days by visibility. Omitted fields remain unchanged. Only a person can set shorter periods, which are in force after 24 hours.',
  permission: 'retention:admin',
  needsRecentPassword: true,
  audit: retention,
  body: PeriodChange,
  output: policyOutput,
  refusals: ['approval_required', 'conflict'],
})

export const resetRetention = operation({
  id: 'resetRetention',
  method: 'delete',
  path: '/v1/retention',
  summary: 'Restore the retention periods of the environment',
  permission: 'retention:admin',
  needsRecentPassword: true,
  audit: { action: 'update', ...retention },
  output: policyOutput,
  refusals: ['approval_required', 'conflict'],
})

export const dryRunRetention = operation({
  id: 'dryRunRetention',
  method: 'post',
  path: '/v1/retention/dry-run',
  summary: 'Preview what a sweep would remove, with these or other periods',
  description: 'Nothing is removed and nothing is saved. Omitted periods are those in force.',
  permission: 'retention:admin',
  audit: { action: 'read', ...retention },
  limit: 'read',
  body: PeriodChange.prefault({}),
  output: z.strictObject({
    data: z.strictObject({
      policy: Periods,
      at: time(),
      would_delete: Due.meta({ description: 'Removed by a sweep at that time' }),
      upcoming: z
        .array(z.strictObject({ within_days: count, ...Due.shape }))
        .meta({ description: 'Removed by sweeps within this many days, including those due now' }),
      records: z
        .array(
          z.strictObject({
            id: z.string(),
            kind: z.enum(['unit', 'skill']),
            visibility: z.enum(['network', 'org', 'private']),
            agent_id: z.string().meta({ description: 'The author' }),
            stored_at: time(),
            expires_at: time({ description: 'Deleted by the first sweep after it' }),
          }),
        )
        .meta({ description: 'The first 100 units and skills that expire within 30 days, without content' }),
    }),
  }),
})

export const sweepRetention = operation({
  id: 'sweepRetention',
  alsoStatus: [202],
  method: 'post',
  path: '/v1/retention/sweep',
  summary: 'Delete expired units and skills now',
  description:
    'Deletes everything that expired, in batches, except data under a legal hold. Returns 200 if it finishes within ten seconds; otherwise 202 with the sweep’s URL in Location, and the sweep continues. Only one sweep runs at a time.',
  permission: 'retention:admin',
  needsRecentPassword: true,
  audit: sweep,
  status: 200,
  output: z.strictObject({ data: SweepView }),
  refusals: ['approval_required', 'conflict'],
})

export const listSweeps = operation({
  id: 'listSweeps',
  method: 'get',
  path: '/v1/retention/sweeps',
  summary: 'List retention sweeps, newest first',
  description: '`total` stops counting at 1,001.',
  permission: 'retention:audit',
  audit: sweep,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(SweepView),
})

export const readSweep = operation({
  id: 'readSweep',
  method: 'get',
  path: '/v1/retention/sweeps/{id}',
  summary: 'Get a sweep, with the numbers removed so far',
  permission: 'retention:audit',
  audit: sweep,
  params: z.strictObject({ id: SweepId }),
  output: z.strictObject({ data: SweepView }),
  refusals: ['not_found'],
})
