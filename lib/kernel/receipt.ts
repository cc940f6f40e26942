import { z } from 'zod'
import { unreadReasons } from './data-source.ts'
import { partKinds } from './erasure-scope.ts'

/** Kinds of subject, which are erased as a whole. */
export const subjectKinds = ['account', 'agent', 'participant'] as const
export type SubjectKind = (typeof subjectKinds)[number]

/** The kinds of what a receipt can be about. */
export const erasedKinds = ['unit', 'skill', ...subjectKinds, ...partKinds] as const
export type ErasedKind = (typeof erasedKinds)[number]

export const NotRead = z.array(z.strictObject({ reason: z.enum(unreadReasons), count: z.number().int() })).meta({
  id: 'NotRead',
  description:
    'Values that could not be read. format: encrypted, or of an unknown format. binary: not text. large: above the size limit',
})
/** What a complete reading read in one kind of store. */
const ReadStore = z
  .strictObject({
    store: z.string(),
    holder: z.string(),
    from: z.iso.datetime(),
    until: z.iso.datetime(),
    how: z.array(z.enum(['words', 'contacts', 'names'])).meta({
      description:
        'What every text was compared with. words: sequences of the erased words. contacts: email addresses and telephone numbers of the erased person. names: their names; older statements did not compare them',
    }),
    texts: z.number().int().meta({ description: 'Number of texts that were read, including those of others' }),
    characters: z.number().int().optional().meta({
      description: 'Their length in UTF-16 code units, as stored and decoded. Absent from older statements',
    }),
    found: z.number().int().meta({
      description:
        'Places with erased words: erased + left + explained. A thread counts once for each table that contains the words',
    }),
    erased: z
      .number()
      .int()
      .meta({ description: 'Places that contained erased words and were read again without them' }),
    left: z.number().int().meta({
      description: 'Places in which erased words remain: others own them, or they cannot be changed safely',
    }),
    explained: z.number().int().meta({
      description: 'Places whose words a message or document of an author who was not erased also contains',
    }),
    names: z
      .strictObject({ found: z.number().int(), erased: z.number().int(), listed: z.number().int() })
      .optional()
      .meta({
        description:
          'Places with a name of the erased person, or with words that may be one. They are not part of `found`. erased: the name was older than the erasure and was removed. listed: it remains, and an admin sees the place, because the text is newer or has no time, belongs to others, another person has or wrote the name, or the words are uncertain. Absent from older statements',
      }),
    not_read: NotRead,
    never_read: z.array(z.string()).optional().meta({
      description: 'Kinds of data that are never read as text, whether they exist or not. Absent from older statements',
    }),
  })
  .meta({ id: 'ReadStore' })
/**
 * The second signed statement of a receipt: every connected store was read from end to end after the erasure. `jws` is a compact JWS over
 * the RFC 8785 form of the other members.
 */
export const CompleteReading = z
  .strictObject({
    receipt_id: z.string(),
    version: z.literal(1),
    issuer: z.string(),
    stores: z.array(ReadStore),
    signed_at: z.iso.datetime(),
    jws: z.string(),
  })
  .meta({ id: 'CompleteReading' })
export type CompleteReading = z.output<typeof CompleteReading>

/**
 * The signed statement of a completed reading over all its erasures: every connected store was read between two times. It names no receipt,
 * because the id of a receipt grants access to it. `jws` is a compact JWS over the RFC 8785 form of the other members.
 */
export const ReadingAttestation = z
  .strictObject({
    reading_id: z.string(),
    version: z.literal(1),
    issuer: z.string(),
    is_repeated: z.boolean().meta({ description: 'It also read for all former erasures with retained fingerprints' }),
    started_at: z.iso.datetime(),
    completed_at: z.iso.datetime(),
    erasures: z.number().int().meta({ description: 'Erasures whose words it looked for' }),
    erasures_found: z.number().int().meta({ description: 'Those of them whose words were erased again or left' }),
    stores: z.array(ReadStore).meta({ description: 'The counts include all erasures' }),
    signed_at: z.iso.datetime(),
    jws: z.string(),
  })
  .meta({ id: 'ReadingAttestation' })
export type ReadingAttestation = z.output<typeof ReadingAttestation>

/**
 * A deletion receipt: ids and counts, no content. `jws` is a compact JWS over the RFC 8785 form of the other members without
 * `complete_reading`, which has its own signature.
 */
export const Receipt = z
  .strictObject({
    receipt_id: z.string().meta({ description: 'Cannot be guessed. Anyone who knows it can read the receipt' }),
    version: z.literal(1),
    issuer: z.string().meta({ description: 'The installation that erased the data' }),
    deleted_id: z.string(),
    subject_kind: z.enum(subjectKinds).optional().meta({
      description:
        'Kind of the subject with the id deleted_id, because an agent and an account can have the same id. Absent from receipts of units and skills, and from older receipts',
    }),
    part_kind: z.enum(partKinds).optional().meta({
      description:
        'For part of a project: kind of the object with the id deleted_id. It was erased with all data derived from it in every store',
    }),
    deleted_at: z.iso.datetime(),
    reason: z.string(),
    stores: z.array(
      z.strictObject({
        store: z.string(),
        holder: z.string(),
        what: z.string(),
        found: z.number().int(),
        deleted: z.number().int().meta({ description: 'Deleted or pseudonymized' }),
        pseudonymized: z.number().int().positive().optional().meta({
          description: 'Those of `deleted` that remain under a pseudonym or without a name. Absent if none',
        }),
        residue: z.number().int(),
        verified_at: z.iso.datetime(),
      }),
    ),
    retained: z.array(z.strictObject({ what: z.string(), ground: z.string(), until: z.string().nullable() })),
    held: z.number().int().positive().optional().meta({
      description:
        'Number of records that legal holds retain for now, including their content. When the holds end, they are erased and the receipt is signed again under the same id. If absent, legal holds retain nothing, or an older receipt reports it in `retained`',
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
          'Data derived from several messages or documents, by store. cut: the erased words were removed, words of other authors remain. deleted: nothing of other authors would have remained. judged_again: facts, entities and summaries that were evaluated as if the erased texts had never existed. retained: another author wrote the words',
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
          'Places where erased words or a name of the erased person remain: texts of authors who were not erased. A match has at least six consecutive words, or 24 characters of a script without spaces. A name matches at any length',
      }),
    names_replaced: z.number().int().nullable().optional().meta({
      description:
        'For a person: number of places in knowledge graph records of other people in which their names and email addresses were replaced. null: the request did not ask for it, so nothing was replaced. Absent from other and older receipts, which prove neither',
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
    complete_reading: CompleteReading.optional().meta({
      description:
        'A second statement with its own signature, added when every connected store was read completely. It is not part of the text that the signature of the receipt covers. Absent: the receipt says what was verified by ids, links and indexes, and nothing about stores that were not read completely',
    }),
  })
  .meta({ id: 'Receipt' })
export type Receipt = z.output<typeof Receipt>

/** The signed counts of one record type, such as "2 deleted, 3 pseudonymized". */
export const erasedCounts = ({ deleted, pseudonymized }: Receipt['stores'][number]): string =>
  pseudonymized === undefined
    ? `${deleted} deleted`
    : `${deleted - pseudonymized} deleted, ${pseudonymized} pseudonymized`
