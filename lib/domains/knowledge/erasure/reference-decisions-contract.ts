import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

const params = z.strictObject({ id: z.string().regex(/^rcpt_[0-9A-Za-z]{22}$/, 'is not the id of a receipt') })
/** Maximum number of records per decision and per list. */
export const mostRecords = 1_000
export const referencePlaces = ['original_author', 'source.expert_id', 'metadata.validated_by', 'skill.author'] as const

const Reference = z
  .strictObject({
    id: z.string().meta({ description: 'Of the unit or skill' }),
    organisation_id: z.string(),
    visibility: z.enum(['private', 'org', 'network']),
    places: z.array(z.enum(referencePlaces)),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'UndecidedReference' })
const Restorable = z.strictObject({
  data: z.array(Reference),
  total: z.number().int(),
  until: z.iso.datetime().nullable().meta({ description: 'When backups end; null: as long as the erasure ledger' }),
})

export const listUndecidedReferences = operation({
  id: 'listUndecidedReferences',
  method: 'get',
  path: '/api/admin/erasures/{id}/references',
  summary: 'References that an erasure did not rename',
  description: `Records of others that contain an id of the erased person or agent and do not verifiably mean them: of another organisation, and private, or written before the registration. They stay unless an admin renames them. By the id of the receipt, once the erasure is carried out; ids and places, no content; ${mostRecords.toLocaleString('en')} at most, those that were stored before the erasure.`,
  permission: 'erasures:admin',
  audit: { action: 'read', resourceType: 'receipt' },
  limit: 'read',
  status: 200,
  params,
  output: z.strictObject({
    data: z.array(Reference),
    total: z.number().int(),
    restorable: Restorable.meta({
      description: `Records in which \`restore\` brings the id of the erased agent back; ${mostRecords.toLocaleString('en')} at most, and none after backups end`,
    }),
  }),
  refusals: ['not_found'],
})

export const decideReferences = operation({
  id: 'decideReferences',
  method: 'post',
  path: '/api/admin/erasures/{id}/references',
  summary: 'Rename references of an erased agent, or restore names that an erasure replaced wrongly',
  description:
    '`rename`: in these records the pseudonym of the erasure replaces the id. `restore`: in these records the id of the erased agent replaces its pseudonym again, where this erasure or such a decision renamed them: they are known from the sealed items of the erasure ledger, and only until backups end (KP_BACKUP_DAYS). The id of a person is not restored, nor who wrote or approved a version. What is renamed or restored already stays as it is.',
  permission: 'erasures:admin',
  audit: { action: 'update', resourceType: 'receipt' },
  limit: 'write',
  status: 200,
  params,
  body: z.strictObject({
    decision: z.enum(['rename', 'restore']),
    records: z
      .array(z.string().regex(/^kp:[\w:.-]{1,200}$/, 'is not the id of a unit or skill'))
      .min(1)
      .max(mostRecords),
  }),
  output: z.strictObject({ data: z.strictObject({ changed: z.number().int(), unchanged: z.number().int() }) }),
  refusals: ['not_found', 'expired', 'held'],
})
