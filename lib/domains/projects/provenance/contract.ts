import { z } from 'zod'
import { countField, Id, when } from '#lib/domains/projects/contract.ts'
import { ExternalReference, most, provenanceStores } from '#lib/domains/projects/rules.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'

/** Where data derived from a message or document is stored, as reported by its writer. */
export const ProvenancePointer = z
  .strictObject({
    store: z.enum(provenanceStores),
    ref: ExternalReference.meta({
      description:
        'In checkpoints a message’s id, in the graph an episode’s uuid, in the cache and among objects a key, outside whatever finds it there',
    }),
    place: ExternalReference.optional().meta({
      description:
        'In checkpoints the thread, where it is not one of the conversation’s; in the graph the group, where it is not the project’s',
    }),
    ended: z.array(ExternalReference).max(1_000, 'has 1,000 at most').optional().meta({
      description:
        'In the graph: facts whose validity the episode ended. Proof that it comes back when the episode is erased',
    }),
  })
  .refine(({ store, ended }) => store === 'graph' || ended === undefined, {
    path: ['ended'],
    message: 'is for the graph',
  })
export type ProvenancePointer = z.output<typeof ProvenancePointer>

export const PointerView = z
  .strictObject({
    id: z.string(),
    source_kind: z.enum(['message', 'document']),
    source_id: z.string(),
    store: z.enum(provenanceStores),
    ref: z.string(),
    place: z.string().nullable(),
    ended: z.array(z.string()),
    told_by: z.string(),
    at: when,
  })
  .meta({ id: 'Provenance' })
export type PointerView = z.output<typeof PointerView>

const provenance = { resourceType: 'provenance' } as const
const params = z.strictObject({ projectId: Id })

export const reportProvenance = operation({
  id: 'reportProvenance',
  method: 'post',
  path: '/api/projects/{projectId}/provenance',
  summary: 'Say what came of messages and documents in other stores',
  description:
    'For the application that wrote it there. Pointers alone, no content: when a message or document is erased, what they point at goes with it. All entries are taken, or none; one that is known already is not counted twice.',
  permission: 'projects:write',
  stores: 'bytes',
  isOpenOutsideRegion: true,
  audit: { action: 'create', ...provenance },
  limit: 'write',
  status: 200,
  params,
  bodyLimit: 2 * 1024 * 1024,
  body: z.strictObject({
    entries: z
      .array(ProvenancePointer.safeExtend({ source_id: Id }))
      .min(1, 'has one entry at least')
      .max(most.entries, `has ${most.entries} entries at most`),
  }),
  output: z.strictObject({ data: z.strictObject({ received: countField, stored: countField, known: countField }) }),
  refusals: ['not_found', 'fenced', 'wrong_state'],
})
export const listProvenance = operation({
  id: 'listProvenance',
  method: 'get',
  path: '/api/projects/{projectId}/provenance',
  summary: 'What came of messages and documents in other stores, newest first',
  permission: 'projects:read',
  audit: { action: 'read', ...provenance },
  limit: 'read',
  status: 200,
  params,
  query: z.strictObject({ source_id: Id.optional(), cursor: Cursor.optional(), limit: PageLimit }),
  output: page(PointerView),
  refusals: ['not_found'],
})
