import { z } from 'zod'
import { DeletedFrom } from '#lib/kernel/deleted-from.ts'
import { operation } from '#lib/kernel/operation.ts'
import { countField, Id } from '../contract.ts'
import { erasureReasons } from '../rules.ts'
import { businessLabels, entityGroups, outcomes } from './rules.ts'

const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')

/** Result of the erasure of a part, in the terms of the API. */
export const PartErasure = z
  .strictObject({
    success: z.boolean().meta({
      description:
        'True only if every store is erased and was searched again. Otherwise `Location` contains the URL of the erasure',
    }),
    deletedFrom: DeletedFrom,
    auditId: z.string().meta({ description: 'Id of its entry in the deletion log: GET /api/erasures/{auditId}' }),
    held: z.number().int().positive().optional().meta({
      description: 'Records that a legal hold retains. They are erased when it ends',
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
        held: countField.meta({ description: 'Retained by a legal hold' }),
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
    omitted: countField.meta({ description: 'Decisions beyond the first 5,000, which are only counted' }),
    totals: z
      .array(
        z.strictObject({
          store: z.string(),
          kind: z.string(),
          verdict: z.enum(outcomes),
          group: z.enum(entityGroups).nullable().meta({
            description: 'For entities: their kind, or why they are retained',
          }),
          label: z.enum(businessLabels).nullable().meta({ description: 'For retained entities: their kind' }),
          count: countField,
        }),
      )
      .meta({ description: 'Counts of all decisions, including omitted ones, by store and result' }),
    unanswered: z.array(z.string()).meta({
      description:
        'Stores that do not answer, or that stored data and are switched off. More data may exist than reported. The erasure waits for them',
    }),
    counts: z.strictObject({ deleted: countField, kept: countField, changed: countField, untouched: countField }),
  })
  .meta({ id: 'PartPlan' })
export type PartPlan = z.output<typeof PartPlan>

const Reason = z.enum(erasureReasons).default('user_request')
const query = z.strictObject({
  dry_run: flag.meta({ description: 'Reports the decision for each item and changes nothing' }),
  redact: flag.meta({ description: 'Also removes names of the erased people from texts of others' }),
})
const erasing = {
  method: 'delete',
  pool: 'erasures',
  permission: 'projects:write',
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
  'Erases rows, checkpoints, graph, cache and objects. Nobody can read the data from the start of the erasure. Returns 200 if it is verified within 10 seconds; otherwise 202 with `success: false`, and the erasure continues.'
const forAuthors =
  'For its author, even after they left the project (then without a dry run), and for the project’s owners.'

export const eraseMessage = operation({
  ...erasing,
  id: 'eraseMessage',
  path: '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}',
  summary: 'Erase a message and all data derived from it',
  description: `${forAuthors} ${description}`,
  audit: { resourceType: 'message' },
  deletes: { by: 'erasure' },
  params: z.strictObject({ projectId: Id, conversationId: Id, messageId: Id }),
  body: z
    .strictObject({
      messageId: Id.optional().meta({ description: 'Must match the path if sent' }),
      reason: Reason,
    })
    .optional(),
})
const body = z.strictObject({ reason: Reason }).optional()
export const eraseConversation = operation({
  ...erasing,
  id: 'eraseConversation',
  path: '/api/projects/{projectId}/conversations/{conversationId}',
  summary: 'Erase a conversation with its messages, and all data derived from it',
  description: `For its creator and the project’s owners. ${description}`,
  audit: { resourceType: 'conversation' },
  deletes: { by: 'erasure' },
  params: z.strictObject({ projectId: Id, conversationId: Id }),
  body,
})
export const eraseDocument = operation({
  ...erasing,
  id: 'eraseDocument',
  path: '/api/projects/{projectId}/documents/{documentId}',
  summary: 'Erase a document and all data derived from it',
  description: `${forAuthors} ${description}`,
  audit: { resourceType: 'document' },
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
    'Only its requester cancels it. Works while the erasure is planned, for example while a store does not answer; the message, conversation or document is readable again. After that it returns 409. The closing of a project and an erasure of a privacy request are cancelled where they were requested.',
  permission: 'projects:write',
  audit: { action: 'update', resourceType: 'erasure' },
  params: z.strictObject({ id: Id }),
  output: z.strictObject({ data: z.strictObject({ audit_id: z.string() }) }),
  refusals: ['cannot_cancel', 'forbidden', 'not_found', 'wrong_state'],
})
