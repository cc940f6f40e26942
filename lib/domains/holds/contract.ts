import { z } from 'zod'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { holdKinds } from './rules.ts'

const when = time()
const HoldId = z.string().regex(/^hold_[0-9A-Za-z]{22}$/, 'is not the id of a hold')
const TargetId = z
  .string()
  .regex(/^[\w.:-]{1,200}$/, 'must be the id of a unit, a skill, an agent, an account or a project')
  .meta({
    description:
      'The id of the held object. For the kind `agent`, the hold covers all data of the agent; for `account`, all data of the person and their agents; for `project`, the project and all data derived from it in every store',
  })

const Hold = z
  .strictObject({
    id: HoldId,
    kind: z.enum(holdKinds),
    target_id: z.string(),
    reason: z.string(),
    active: z.boolean(),
    created_by: z.string(),
    created_at: when,
    expires_at: when.nullable(),
    released_at: when.nullable(),
    released_by: z.string().nullable(),
    target_name: z.string().nullable().meta({
      description:
        'Of the person, agent or project, or the title of a unit or skill that the admin may see, in lists; null where it has none, and in answers to a POST',
    }),
    created_by_name: z.string().nullable(),
    released_by_name: z.string().nullable(),
  })
  .meta({ id: 'LegalHold' })

const hold = { resourceType: 'hold' }
const output = z.strictObject({ data: Hold })

export const createHold = operation({
  id: 'createHold',
  isOpenBeforeReplay: true,
  method: 'post',
  path: '/v1/holds',
  summary: 'Place a legal hold on a unit, a skill, a project, an agent or an account',
  description:
    'Data under a legal hold is neither erased nor swept until the hold is released or ends. It can be changed: the version before each change is preserved until no hold covers it, and appears in the access export of its owner. The owner is told about the hold, but not its reason.',
  permission: 'holds:admin',
  audit: hold,
  body: z.strictObject({
    kind: z.enum(holdKinds),
    target_id: TargetId,
    reason: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(1000, 'must have at most 1,000 characters')
      .meta({ description: 'Plain text, visible only to admins' }),
    expires_at: Timestamp.optional().meta({
      description: 'When the hold ends automatically. If omitted, it lasts until it is released',
    }),
  }),
  output,
  refusals: ['approval_required', 'conflict', 'content_rejected', 'not_found'],
})

export const listHolds = operation({
  id: 'listHolds',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/v1/holds',
  summary: 'List legal holds, newest first',
  description: '`total` stops counting at 1,001.',
  permission: 'holds:admin',
  audit: hold,
  query: z.strictObject({
    active: z
      .enum(['true', 'false'])
      .transform((text) => text === 'true')
      .optional()
      .meta({ description: 'Only holds in force, or only ended holds. If omitted, all' }),
    q: z
      .string()
      .regex(/^[\w.:-]{1,200}$/, 'must be the start of the id of a hold or of its target')
      .optional(),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  contributed: true,
  output: page(Hold),
})

export const releaseHold = operation({
  id: 'releaseHold',
  method: 'post',
  path: '/v1/holds/{id}/release',
  summary: 'Release a legal hold',
  description:
    'The data can be erased again, the next sweep deletes what has expired, and the preserved versions are deleted if no other hold covers them. Releasing again changes nothing.',
  permission: 'holds:admin',
  needsRecentPassword: true,
  audit: { action: 'update', ...hold },
  params: z.strictObject({ id: HoldId }),
  output,
  refusals: ['approval_required', 'conflict', 'not_found'],
})
