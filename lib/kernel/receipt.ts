import { z } from 'zod'
import { partKinds } from './holder.ts'

/** Who may be erased as a whole. */
export const subjectKinds = ['account', 'agent', 'participant'] as const
export type SubjectKind = (typeof subjectKinds)[number]

/** What a receipt may be about. */
export const erasedKinds = ['unit', 'skill', ...subjectKinds, ...partKinds] as const
export type ErasedKind = (typeof erasedKinds)[number]

/** A deletion receipt: ids and counts, no content. `jws` is a compact JWS over the RFC 8785 form of the rest. */
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
    physical: z.array(z.strictObject({ what: z.string(), until: z.string().nullable() })),
    signed_at: z.iso.datetime(),
    jws: z.string(),
  })
  .meta({ id: 'Receipt' })
export type Receipt = z.output<typeof Receipt>
