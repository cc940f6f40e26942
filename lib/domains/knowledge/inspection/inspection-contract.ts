import { z } from 'zod'
import { params, StoredUnit } from '#lib/domains/knowledge/contract.ts'
import { Corrected, narrowing, searching, searchResultFields } from '#lib/domains/knowledge/search/contract.ts'
import { Skill, SkillId } from '#lib/domains/knowledge/skills/contract.ts'
import { visibilities } from '#lib/domains/knowledge/unit.ts'
import { operation } from '#lib/kernel/operation.ts'
import { page } from '#lib/kernel/pages.ts'

const when = z.iso.datetime()
/** Facts about a record that a person sees next to its content. */
const standing = {
  is_own: z.boolean().meta({ description: 'Written by an agent that you own: yours to correct and to erase' }),
  etag: z.string().meta({ description: 'For If-Match' }),
  was_public: z.boolean().meta({ description: 'It was once shared with the whole network; copies may be out there' }),
  quarantined_at: when.nullable().meta({ description: 'Held back for review: nobody but its owner sees it' }),
  is_paused: z.boolean().meta({ description: 'Its author’s processing is restricted: nobody but its owner sees it' }),
  expires_at: when.nullable().meta({ description: 'When retention removes it, as periods stand now; null: never' }),
}

export const recordKinds = ['trace', 'pattern', 'sop', 'skill'] as const

export const InspectedRecord = z
  .strictObject({
    id: z.string(),
    kind: z.enum(recordKinds),
    title: z.string().meta({ description: 'Its objective or name; the beginning of a long one' }),
    summary: z.string().nullable().meta({ description: 'What came of it, or what it is for; its beginning' }),
    agent_id: z.string(),
    is_own: standing.is_own,
    visibility: z.enum(visibilities),
    quality_score: z.number(),
    domain: z.string().nullable().meta({ description: 'null for a skill' }),
    created_at: when,
    updated_at: when,
    expires_at: standing.expires_at,
    quarantined_at: standing.quarantined_at,
    ...searchResultFields,
  })
  .meta({ id: 'RecordRow' })
export type InspectedRecord = z.output<typeof InspectedRecord>

export const listRecords = operation({
  id: 'listRecords',
  method: 'get',
  path: '/api/knowledge',
  summary: 'Units or skills in a line each: searched, or newest first',
  description:
    'As GET /v1/knowledge and GET /v1/skills, without their texts. `kind` `unit` is every type of unit. `total` stops counting at 1,001.',
  permission: 'knowledge:person',
  audit: { action: 'read', resourceType: 'knowledge' },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    ...searching,
    ...narrowing,
    kind: z.enum(['unit', ...recordKinds]).default('unit'),
    domain: z.string().min(1).max(300).optional().meta({ description: 'Of units alone' }),
  }),
  contributed: true,
  output: page(InspectedRecord).extend({ corrected: Corrected }),
})

export const inspectUnit = operation({
  id: 'inspectUnit',
  method: 'get',
  path: '/api/knowledge/{id}',
  summary: 'One unit, with how it stands',
  description: 'What you may not see is a 404. A unit of yours that was erased is a 410 with its receipt’s id.',
  permission: 'knowledge:person',
  audit: { action: 'read', resourceType: 'knowledge' },
  limit: 'read',
  status: 200,
  params,
  contributed: true,
  output: z.strictObject({
    data: StoredUnit.extend({
      agent_id: z.string(),
      ...standing,
      attributed_to: z.array(z.string()).meta({
        description: 'Whom the content came from, where that is not its author: they may export and erase it',
      }),
      votes: z.strictObject({
        for: z.int(),
        against: z.int(),
        waiting: z.int().meta({ description: 'Cast, and not counted yet' }),
      }),
      wordings: z.int().meta({ description: 'Of an SOP: how many, the present one included; else 1' }),
    }),
  }),
  refusals: ['not_found', 'erased'],
})

export const inspectSkill = operation({
  id: 'inspectSkill',
  method: 'get',
  path: '/api/skills/{id}',
  summary: 'One skill with its files, and how it stands',
  description: 'What you may not see is a 404. A skill of yours that was erased is a 410 with its receipt’s id.',
  permission: 'skills:person',
  audit: { action: 'read', resourceType: 'skill' },
  limit: 'read',
  status: 200,
  params: z.strictObject({ id: SkillId }),
  contributed: true,
  output: z.strictObject({ data: Skill.extend(standing) }),
  refusals: ['not_found', 'erased'],
})
