import { z } from 'zod'
import { DeletedFrom } from '#lib/kernel/deleted-from.ts'
import { operation } from '#lib/kernel/operation.ts'
import { countField, Id } from '../contract.ts'
import { erasureReasons } from '../rules.ts'
import { businessLabels, entityGroups, outcomes } from './plan-totals.ts'

const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')

/** Result of the erasure of a part, in the terms of the API. */
export const PartErasure = z
  .strictObject({
    success: z.boolean().meta({
      description: 'True only when every store is done and was searched again. Else `Location` says where to look',
    }),
    deletedFrom: DeletedFrom,
    auditId: z.string().meta({ description: 'Of its entry in the deletion log: GET /api/erasures/{auditId}' }),
    held: z.number().int().positive().optional().meta({
      description: 'Records that a legal hold keeps for now. They are erased when it ends',
    }),
  })
  .meta({ id: 'PartErasure' })
export type PartErasure = z.output<typeof PartErasure>

/** What an erasure would do to every record. Contains personal data: returned only to people who may erase the part, and never stored. */
export const PartPlan = z
  .strictObject({
    planned: z.array(
      z.strictObject({
        holder: z.string(),
        store: z.string(),
        what: z.string(),
        items: countField,
        held: countField.meta({ description: 'Kept by a legal hold' }),
      }),
    ),
    verdicts: z.array(
      z.strictObject({
        store: z.string(),
        kind: z.string(),
        id: z.string(),
        name: z.string().nullable(),
        verdict: z.enum(outcomes),
        reason: z.string(),
        evidence: z.array(z.string()),
        found: z.string().meta({ description: 'How it was found: pointer, thread, group, text, row' }),
      }),
    ),
    omitted: countField.meta({ description: 'Verdicts beyond the first 5,000, which are only counted' }),
    totals: z
      .array(
        z.strictObject({
          store: z.string(),
          kind: z.string(),
          verdict: z.enum(outcomes),
          group: z.enum(entityGroups).nullable().meta({
            description: 'Of entities: what they are, or why they stay',
          }),
          label: z.enum(businessLabels).nullable().meta({ description: 'Of entities that stay: what they are' }),
          count: countField,
        }),
      )
      .meta({ description: 'All verdicts, those omitted too, by what becomes of what' }),
    unanswered: z.array(z.string()).meta({
      description:
        'Stores that do not answer, or that kept data and are switched off: there may be more than is told. The erasure waits for them',
    }),
    counts: z.strictObject({ deleted: countField, kept: countField, changed: countField, untouched: countField }),
  })
  .meta({ id: 'PartPlan' })
export type PartPlan = z.output<typeof PartPlan>

const Reason = z.enum(erasureReasons).default('user_request')
const query = z.strictObject({
  dry_run: flag.meta({ description: 'Says what would become of every single thing, and changes nothing' }),
  redact: flag.meta({ description: 'Names of whom it erases are taken out of what others wrote, too' }),
})
const erasing = {
  method: 'delete',
  pool: 'erasures',
  permission: 'projects:write',
  limit: 'write',
  status: 200,
  alsoStatus: [202],
  query,
  // The plan of a dry run contains names and evidence from texts.
  contributed: true,
  output: z.union([PartErasure, z.strictObject({ data: PartPlan })]),
  // The plan of a dry run contains personal data.
  secrets: ['planned', 'verdicts', 'totals', 'counts'],
  refusals: ['not_found', 'forbidden', 'erased', 'fenced'],
} as const
const description =
  'Erases rows, checkpoints, graph, cache and objects. Nobody can read it from the first moment. 200 when it is verified; after 10 s 202 with `success: false`, and the erasure continues.'
const forAuthors =
  'For its author, even after they left the project (then without a dry run), and for the project’s owners.'

export const eraseMessage = operation({
  ...erasing,
  id: 'eraseMessage',
  path: '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}',
  summary: 'Erase a message, and all that came of it',
  description: `${forAuthors} ${description}`,
  audit: { action: 'delete', resourceType: 'message' },
  deletes: { by: 'erasure' },
  params: z.strictObject({ projectId: Id, conversationId: Id, messageId: Id }),
  body: z
    .strictObject({
      messageId: Id.optional().meta({ description: 'As in the path, or not at all' }),
      reason: Reason,
    })
    .optional(),
})
const body = z.strictObject({ reason: Reason }).optional()
export const eraseConversation = operation({
  ...erasing,
  id: 'eraseConversation',
  path: '/api/projects/{projectId}/conversations/{conversationId}',
  summary: 'Erase a conversation with its messages, and all that came of it',
  description: `For who began it, and the project’s owners. ${description}`,
  audit: { action: 'delete', resourceType: 'conversation' },
  deletes: { by: 'erasure' },
  params: z.strictObject({ projectId: Id, conversationId: Id }),
  body,
})
export const eraseDocument = operation({
  ...erasing,
  id: 'eraseDocument',
  path: '/api/projects/{projectId}/documents/{documentId}',
  summary: 'Erase a document, and all that came of it',
  description: `${forAuthors} ${description}`,
  audit: { action: 'delete', resourceType: 'document' },
  deletes: { by: 'erasure' },
  params: z.strictObject({ projectId: Id, documentId: Id }),
  body,
})

export const retryErasure = operation({
  id: 'retryErasure',
  method: 'post',
  path: '/api/erasures/{id}/retry',
  summary: 'Retry an erasure that is stuck, failed, or waiting for a store',
  description:
    'For the requester of an erasure of a part of a project, the author of that part, the owners of the project, the managers of its organization, and admins. An erasure that waits for a store also continues without this. An erasure of a privacy request is retried with that request.',
  permission: 'projects:write',
  audit: { action: 'update', resourceType: 'erasure' },
  limit: 'write',
  status: 202,
  params: z.strictObject({ id: Id }),
  output: z.strictObject({ data: z.strictObject({ audit_id: z.string() }) }),
  refusals: ['not_found', 'not_stuck', 'wrong_state'],
})

export const cancelErasure = operation({
  id: 'cancelErasure',
  method: 'post',
  path: '/api/erasures/{id}/cancel',
  summary: 'Cancel an erasure before anything is erased',
  description:
    'For those who may retry it. Works while the erasure is being planned, for example while a store does not answer; the message, conversation or document is readable again. After that it returns 409. The closing of a project and an erasure of a privacy request are cancelled where they were requested.',
  permission: 'projects:write',
  audit: { action: 'update', resourceType: 'erasure' },
  limit: 'write',
  status: 200,
  params: z.strictObject({ id: Id }),
  output: z.strictObject({ data: z.strictObject({ audit_id: z.string() }) }),
  refusals: ['cannot_cancel', 'not_found', 'wrong_state'],
})
