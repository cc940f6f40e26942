import { z } from 'zod'
import { params, StoredUnit, visibilities } from '#lib/domains/knowledge/contract.ts'
import { Corrected, narrowing, searching, searchResultFields } from '#lib/domains/knowledge/search/contract.ts'
import { Skill, SkillId } from '#lib/domains/knowledge/skills/contract.ts'
import { operation, sharedFields, time } from '#lib/kernel/operation.ts'
import { page } from '#lib/kernel/pages.ts'

/** Facts about a record that a person sees next to its content. */
const status = sharedFields('RecordStatus', {
  is_own: z.boolean().meta({ description: 'Written by an agent that you own. You can correct and erase it' }),
  etag: z.string().meta({ description: 'For If-Match' }),
  was_public: z
    .boolean()
    .meta({ description: 'It was once shared with the entire network. Copies may exist elsewhere' }),
  quarantined_at: time().nullable().meta({ description: 'Quarantined for review: only its owner can see it' }),
  is_paused: z
    .boolean()
    .meta({ description: 'The processing of its author’s data is restricted: only its owner can see it' }),
  expires_at: time()
    .nullable()
    .meta({ description: 'When retention deletes it under the current periods; null: never' }),
})

export const recordKinds = ['trace', 'pattern', 'sop', 'skill'] as const

export const InspectedRecord = z
  .strictObject({
    id: z.string(),
    kind: z.enum(recordKinds),
    title: z.string().meta({ description: 'Its objective or name, truncated if long' }),
    summary: z.string().nullable().meta({ description: 'Its outcome or purpose, truncated if long' }),
    agent_id: z.string(),
    is_own: status.is_own,
    visibility: z.enum(visibilities),
    quality_score: z.number(),
    domain: z.string().nullable().meta({ description: 'null for a skill' }),
    created_at: time(),
    updated_at: time(),
    expires_at: status.expires_at,
    quarantined_at: status.quarantined_at,
    ...searchResultFields,
  })
  .meta({ id: 'RecordRow' })
export type InspectedRecord = z.output<typeof InspectedRecord>

export const listRecords = operation({
  id: 'listRecords',
  method: 'get',
  path: '/api/knowledge',
  summary: 'Search units and skills, or list them newest first',
  description:
    'Like GET /v1/knowledge and GET /v1/skills, but without the full texts. `kind` `unit` includes all types of units. `total` stops counting at 1,001.',
  permission: 'knowledge:person',
  audit: { resourceType: 'knowledge' },
  query: z.strictObject({
    ...searching,
    ...narrowing,
    kind: z.enum(['unit', ...recordKinds]).default('unit'),
    domain: z.string().min(1).max(300).optional().meta({ description: 'Only for units' }),
    owner: z
      .string()
      .regex(/^usr_[0-9A-Za-z]{22}$/, 'is not the id of an account')
      .optional()
      .meta({ description: 'Of agents of this account. Only for admins' }),
  }),
  contributed: true,
  output: page(InspectedRecord).extend({ corrected: Corrected }),
  refusals: ['forbidden'],
})

export const inspectUnit = operation({
  id: 'inspectUnit',
  method: 'get',
  path: '/api/knowledge/{id}',
  summary: 'Get a unit with its status',
  description:
    'Returns 404 for a unit that you cannot see. Returns 410 with the receipt’s id for a unit of yours that was erased.',
  permission: 'knowledge:person',
  audit: { resourceType: 'knowledge' },
  params,
  contributed: true,
  output: z.strictObject({
    data: StoredUnit.extend({
      agent_id: z.string(),
      ...status,
      attributed_to: z.array(z.string()).meta({
        description: 'The person or agent from whom the content came, if not its author. They can export and erase it',
      }),
      votes: z.strictObject({
        for: z.int(),
        against: z.int(),
        waiting: z.int().meta({ description: 'Cast, but not counted yet' }),
      }),
      wordings: z
        .int()
        .meta({ description: 'For an SOP: the number of its versions, including the current one; otherwise 1' }),
    }),
  }),
  refusals: ['not_found', 'erased'],
})

export const inspectSkill = operation({
  id: 'inspectSkill',
  method: 'get',
  path: '/api/skills/{id}',
  summary: 'Get a skill with its files and its status',
  description:
    'Returns 404 for a skill that you cannot see. Returns 410 with the receipt’s id for a skill of yours that was erased.',
  permission: 'skills:person',
  audit: { resourceType: 'skill' },
  params: z.strictObject({ id: SkillId }),
  contributed: true,
  output: z.strictObject({ data: Skill.extend(status) }),
  refusals: ['not_found', 'erased'],
})
