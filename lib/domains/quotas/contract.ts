import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

const count = z.int().nonnegative()
const limit = count.nullable().meta({ description: 'null: no limit' })
const StorageView = z
  .strictObject({
    organisation_id: z.string(),
    shared_by_network: z.boolean().meta({
      description: 'The numbers are totals of all unclaimed agents that registered from the same network',
    }),
    bytes_used: count,
    bytes_limit: limit,
    rows_used: count,
    rows_limit: limit,
    percent_used: count.meta({ description: 'Percentage of the nearest limit. Show a warning from 80' }),
    is_override: z.boolean().meta({ description: 'True if an admin set the limits; false if the tier does' }),
  })
  .meta({ id: 'Storage' })
const output = z.strictObject({ data: StorageView })
const params = z.strictObject({
  id: z.string().regex(/^org_[0-9A-Za-z]{22}$/, 'is not the id of an organization'),
})
const own = z.int().min(0, 'must be at least 0').max(Number.MAX_SAFE_INTEGER, 'is too large').nullable()

export const readStorage = operation({
  id: 'readStorage',
  method: 'get',
  path: '/api/storage',
  summary: 'Get the storage use and quota of your organization',
  description:
    'The quota is that of the highest tier among the organization’s agents, unless an admin set one. A write above the quota returns 413 (`quota_exceeded`). From 80 % on, responses to writes have the header KP-Storage-Used.',
  permission: 'storage:read',
  audit: { none: 'sizes of the caller’s own organization' },
  output,
})

export const readOrganisationStorage = operation({
  id: 'readOrganisationStorage',
  method: 'get',
  path: '/api/admin/organisations/{id}/storage',
  summary: 'Get the storage use and quota of an organization',
  permission: 'storage:admin',
  audit: { resourceType: 'organisation' },
  params,
  output,
  refusals: ['not_found'],
})

export const setStorageQuota = operation({
  id: 'setStorageQuota',
  method: 'put',
  path: '/api/admin/organisations/{id}/storage',
  summary: 'Set the storage quota of an organization',
  description:
    'null restores the quota of the tier. Takes effect within five seconds. Below the free quota or twice the use, a smaller one requires an admin’s own session with a recent password.',
  permission: 'storage:admin',
  audit: { resourceType: 'organisation' },
  params,
  body: z.strictObject({ bytes: own, rows: own }),
  output,
  refusals: ['not_found', 'step_up_required'],
})
