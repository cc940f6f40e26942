import { z } from 'zod'
import { operation, time } from '#lib/kernel/operation.ts'

const params = z.strictObject({ id: z.string().regex(/^rcpt_[0-9A-Za-z]{22}$/, 'is not the id of a receipt') })
/** Maximum number of records per decision and per list. */
export const maxRecords = 1_000
export const referencePlaces = ['original_author', 'source.expert_id', 'metadata.validated_by', 'skill.author'] as const

const Reference = z
  .strictObject({
    id: z.string().meta({ description: 'Id of the unit or skill' }),
    organisation_id: z.string(),
    visibility: z.enum(['private', 'org', 'network']),
    places: z.array(z.enum(referencePlaces)),
    created_at: time(),
  })
  .meta({ id: 'UndecidedReference' })
const Restorable = z.strictObject({
  data: z.array(Reference),
  total: z.number().int(),
  until: time().nullable().meta({ description: 'When backups end; null: when the erasure ledger ends' }),
})

export const listUndecidedReferences = operation({
  id: 'listUndecidedReferences',
  method: 'get',
  path: '/api/admin/erasures/{id}/references',
  summary: 'List references that an erasure did not rename',
  description: `Records of others that contain an id of the erased person or agent but do not verifiably refer to them: records of another organization that are private or were written before the registration. They are kept unless an admin renames them. Selected by receipt id, after the erasure is carried out. At most ${maxRecords.toLocaleString('en')}, and only records that were stored before the erasure.`,
  permission: 'erasures:admin',
  audit: { resourceType: 'receipt' },
  params,
  output: z.strictObject({
    data: z.array(Reference),
    total: z.number().int(),
    restorable: Restorable.meta({
      description: `Records in which \`restore\` brings the id of the erased agent back. At most ${maxRecords.toLocaleString('en')}, and none after backups end`,
    }),
  }),
  refusals: ['not_found'],
})

export const decideReferences = operation({
  needsRecentPassword: true,
  id: 'decideReferences',
  method: 'post',
  path: '/api/admin/erasures/{id}/references',
  summary: 'Rename references of an erased agent, or restore names that an erasure replaced by mistake',
  description:
    '`rename`: replaces the id with the pseudonym of the erasure in these records. `restore`: replaces the pseudonym with the id of the erased agent in these records, if this erasure or a previous decision renamed them. The sealed items of the erasure ledger identify these records, but only until backups end (KP_BACKUP_DAYS). The id of a person is not restored, nor the author or approver of a version.',
  permission: 'erasures:admin',
  audit: { action: 'update', resourceType: 'receipt' },
  params,
  body: z.strictObject({
    decision: z.enum(['rename', 'restore']),
    records: z
      .array(z.string().regex(/^kp:[\w:.-]{1,200}$/, 'is not the id of a unit or skill'))
      .min(1)
      .max(maxRecords),
  }),
  output: z.strictObject({ data: z.strictObject({ changed: z.number().int(), unchanged: z.number().int() }) }),
  refusals: ['not_found', 'expired', 'held'],
})
