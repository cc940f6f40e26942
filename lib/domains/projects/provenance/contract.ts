import { z } from 'zod'
import { countField, Id, when } from '#lib/domains/projects/contract.ts'
import { ExternalReference, max, provenanceStores } from '#lib/domains/projects/rules.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'

/** Where data derived from a message or document is stored, as reported by its writer. */
export const ProvenancePointer = z
  .strictObject({
    store: z.enum(provenanceStores),
    ref: ExternalReference.meta({
      description:
        'The id of a message in checkpoints, the uuid of an episode, the key of a cache entry or an object, or another reference',
    }),
    place: ExternalReference.optional().meta({
      description:
        'For checkpoints: the thread, if the conversation does not list it. For the graph: the group, if it is not the group of the project. For `outside`: the host name of the system, such as crm.example.org; deletion receipts name it',
    }),
    ended: z.array(ExternalReference).max(1_000, 'must have at most 1,000 facts').optional().meta({
      description:
        'For the graph: facts whose validity the episode ended. Their validity is restored when the episode is erased',
    }),
  })
  .refine(({ store, ended }) => store === 'graph' || ended === undefined, {
    path: ['ended'],
    message: 'is only allowed for the graph',
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
  summary: 'Report data derived from messages and documents in other stores',
  description:
    'For the application that wrote the derived data. Send only pointers, no content. When a message or document is erased, the data at its pointers is erased as well. All entries are stored, or none. An entry that is already stored is not counted twice.',
  permission: 'projects:write',
  stores: 'bytes',
  isOpenOutsideRegion: true,
  audit: provenance,
  status: 200,
  params,
  bodyLimit: 2 * 1024 * 1024,
  body: z.strictObject({
    entries: z
      .array(ProvenancePointer.safeExtend({ source_id: Id }))
      .min(1, 'must have at least one entry')
      .max(max.entries, `must have at most ${max.entries} entries`),
  }),
  output: z.strictObject({ data: z.strictObject({ received: countField, stored: countField, known: countField }) }),
  refusals: ['not_found', 'fenced', 'wrong_state'],
})
export const listProvenance = operation({
  id: 'listProvenance',
  method: 'get',
  path: '/api/projects/{projectId}/provenance',
  summary: 'List data derived from messages and documents in other stores, newest first',
  permission: 'projects:read',
  audit: provenance,
  params,
  query: z.strictObject({ source_id: Id.optional(), cursor: Cursor.optional(), limit: PageLimit }),
  output: page(PointerView),
  refusals: ['not_found'],
})
