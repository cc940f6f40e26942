import { z } from 'zod'
import { partKinds } from './erasure-scope.ts'

/** Kinds of subject, which are erased as a whole. */
export const subjectKinds = ['account', 'agent', 'participant'] as const
export type SubjectKind = (typeof subjectKinds)[number]

/** The kinds of what a receipt can be about. */
export const erasedKinds = ['unit', 'skill', ...subjectKinds, ...partKinds] as const
export type ErasedKind = (typeof erasedKinds)[number]

/** A deletion receipt: ids and counts, no content. `jws` is a compact JWS over the RFC 8785 form of the other members. */
export const Receipt = z
  .strictObject({
    receipt_id: z.string().meta({ description: 'Unguessable; knowing it is the right to read the receipt' }),
    version: z.literal(1),
    issuer: z.string().meta({ description: 'The installation that erased' }),
    deleted_id: z.string(),
    subject_kind: z.enum(subjectKinds).optional().meta({
      description:
        'Of a subject: what deleted_id is the id of, for an agent may be called what an account is called. Receipts of units, of skills and of former days lack it',
    }),
    part_kind: z.enum(partKinds).optional().meta({
      description:
        'Of a part of a project: what deleted_id is the id of. It went with all that came of it in every store',
    }),
    deleted_at: z.iso.datetime(),
    reason: z.string(),
    stores: z.array(
      z.strictObject({
        store: z.string(),
        holder: z.string(),
        what: z.string(),
        found: z.number().int(),
        deleted: z.number().int(),
        residue: z.number().int(),
        verified_at: z.iso.datetime(),
      }),
    ),
    retained: z.array(z.strictObject({ what: z.string(), ground: z.string(), until: z.string().nullable() })),
    held: z.number().int().positive().optional().meta({
      description:
        'Records that legal holds keep for now, content included. They are erased when the holds end, and the receipt is signed anew under its id. A receipt that lacks it leaves nothing to a hold, or is of former days and says it among retained',
    }),
    derived: z
      .array(
        z.strictObject({
          store: z.string(),
          cut: z.number().int(),
          deleted: z.number().int(),
          judged_again: z.number().int(),
          retained: z.number().int(),
        }),
      )
      .optional()
      .meta({
        description:
          'Data derived from several messages or documents, by store. cut: the erased words were removed, words of other authors remain. deleted: nothing of other authors would have remained. judged_again: facts, entities and summaries that were judged as if the erased texts had never existed. retained: another author wrote the words',
      }),
    exposed: z.strictObject({ matched: z.number().int(), unmatched: z.number().int() }).optional().meta({
      description:
        'Texts that a model generated while an erased episode was in its context. matched: they contained erased words or names and were blanked. unmatched: they contained none and remain; they may paraphrase erased text',
    }),
    remaining_mentions: z
      .array(
        z.strictObject({ store: z.string(), kind: z.string(), field: z.string(), count: z.number().int().positive() }),
      )
      .optional()
      .meta({
        description:
          'Places where erased words or a name of the erased person remain: texts of authors who were not erased. Six consecutive words count, or 24 characters of a script without spaces; a name counts at any length',
      }),
    not_searched: z
      .array(z.strictObject({ store: z.string(), what: z.string(), count: z.number().int().nullable() }))
      .optional()
      .meta({
        description: 'Data that could not be searched for words: encrypted, compressed or binary values, embeddings',
      }),
    physical: z.array(z.strictObject({ what: z.string(), until: z.string().nullable() })),
    signed_at: z.iso.datetime(),
    jws: z.string(),
  })
  .meta({ id: 'Receipt' })
export type Receipt = z.output<typeof Receipt>
