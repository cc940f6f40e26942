import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

/** A thread's name is its application's to choose. */
const ThreadId = z.string().min(1).max(500)

export const dropThread = operation({
  id: 'dropErasureThread',
  method: 'post',
  path: '/api/erasures/{id}/threads/{threadId}/drop',
  summary: 'Let a stuck erasure delete a whole LangGraph thread',
  description:
    'For a thread with a checkpoint that cannot be rewritten safely: encrypted, malformed, or written by Python with the message in it. The thread goes whole, and the step is tried again. What others said in it goes too.',
  permission: 'erasures:admin',
  audit: { action: 'update', resourceType: 'erasure' },
  limit: 'write',
  status: 200,
  params: z.strictObject({
    id: z.string().regex(/^[\w.:-]{1,200}$/, 'is not the id of an erasure'),
    threadId: ThreadId,
  }),
  output: z.strictObject({
    data: z.strictObject({
      audit_id: z.string(),
      thread_id: z.string(),
      items: z.number().int().meta({ description: 'Planned messages of the thread, in whose place it goes whole' }),
    }),
  }),
  refusals: ['not_found', 'not_stuck'],
})
