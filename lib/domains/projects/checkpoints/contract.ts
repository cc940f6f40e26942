import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

/** The application chooses the name of a thread. */
const ThreadId = z.string().min(1).max(500)
const ErasureId = z.string().regex(/^[\w.:-]{1,200}$/, 'is not the id of an erasure')
const Decision = z.enum(['delete', 'retain'])

export const listUndecidedThreads = operation({
  id: 'listErasureThreads',
  method: 'get',
  path: '/api/erasures/{id}/threads',
  summary: 'List the LangGraph threads that an erasure cannot rewrite',
  description:
    'Threads with a checkpoint that is encrypted, pickled or malformed. For the requester, owners of the project and admins. All other steps of the erasure continue without a decision.',
  permission: 'projects:read',
  audit: { resourceType: 'erasure' },
  params: z.strictObject({ id: ErasureId }),
  output: z.strictObject({
    data: z.array(
      z.strictObject({
        thread_id: z.string(),
        decision: Decision.nullable(),
        authors: z
          .array(z.strictObject({ kind: z.string(), id: z.string(), messages: z.number().int() }))
          .meta({ description: 'Authors who are not erased, whose messages in the thread are lost if it is deleted' }),
      }),
    ),
  }),
  refusals: ['not_found'],
})

export const decideThread = operation({
  id: 'decideErasureThread',
  method: 'post',
  path: '/api/erasures/{id}/threads/{threadId}/decision',
  summary: 'Delete or retain a LangGraph thread that an erasure cannot rewrite',
  description:
    '`delete` deletes the whole thread, including messages of other authors. `retain` keeps it, and the receipt reports it. For the requester, project owners, managers and admins; managers and admins delete in person, with a recent password. Other requesters delete only threads without other authors.',
  permission: 'projects:write',
  audit: { action: 'update', resourceType: 'erasure' },
  params: z.strictObject({ id: ErasureId, threadId: ThreadId }),
  body: z.strictObject({ decision: Decision }),
  output: z.strictObject({
    data: z.strictObject({ audit_id: z.string(), thread_id: z.string(), decision: Decision }),
  }),
  refusals: ['not_found', 'forbidden', 'wrong_state'],
})

export const dropThread = operation({
  needsRecentPassword: true,
  id: 'dropErasureThread',
  method: 'post',
  path: '/api/erasures/{id}/threads/{threadId}/drop',
  summary: 'Delete a LangGraph thread that an erasure cannot rewrite',
  description:
    'The same as the decision `delete`, for admins. Deletes the whole thread, including messages of other authors.',
  permission: 'erasures:admin',
  audit: { action: 'update', resourceType: 'erasure' },
  params: z.strictObject({ id: ErasureId, threadId: ThreadId }),
  output: z.strictObject({
    data: z.strictObject({
      audit_id: z.string(),
      thread_id: z.string(),
      items: z.number().int().meta({ description: 'Always 1' }),
    }),
  }),
  refusals: ['not_found', 'wrong_state'],
})
